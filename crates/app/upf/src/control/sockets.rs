//! The N4 sockets: several addresses, IPv4 and IPv6, as one socket. One system call receives or sends many datagrams. Ports below IP
//! may receive beside them, and send to the peers from which they received.
//!
//! [`Sockets`] receives and sends without waiting, in whatever thread; the control thread waits with [`Arrivals`].

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::task::{Context, Poll};

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::udp::{DatagramReceiver, DatagramSender, overruns};
use causeway_ports::{Port, PortError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// While a port below IP is busy, the sockets are read in one of so many turns.
const PORT_TURNS: u8 = 8;

/// Maximum number of peers whose socket is stored. Other peers use the first socket of their IP version.
const MAX_PEERS: usize = 4096;

/// The sockets of N4. A response has the address to which the request was sent as its source.
pub(super) struct Sockets {
    sockets: Vec<Socket>,
    ports: Vec<N4Port>,
    /// Turns since sockets were read before ports.
    turns: u8,
    /// A port had datagrams since the last [`Sockets::arrived`].
    is_port_busy: bool,
    /// How the last datagram of a peer came, if there is a choice.
    received: BTreeMap<IpAddr, Way>,
    /// The last peer in `received`.
    last: Option<(IpAddr, Way)>,
    /// The socket to poll first, so that a busy one does not starve the others.
    first: usize,
    /// The datagrams received by one socket.
    inbox: DatagramReceiver,
    by: usize,
    /// Datagrams that the kernel dropped at all sockets.
    lost: u64,
    /// The last error of a read that is not logged yet.
    error: Option<io::Error>,
}

struct Socket {
    local: SocketAddr,
    socket: UdpSocket,
    outbox: DatagramSender,
    /// The last drop counter of the kernel, which wraps.
    overruns: u32,
    /// No read has found it empty since the last [`Sockets::arrived`].
    has_more: bool,
}

/// The way of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The socket of this index.
    Socket(usize),
    /// The port of this index, at this address.
    Port(usize, IpAddr),
}

/// A port below IP, with the datagrams that it received and will send. A lost one stays closed: the sockets receive everything then.
struct N4Port {
    port: Option<Box<dyn Port>>,
    inbox: Batch,
    /// Datagrams of the inbox that were taken.
    taken: usize,
    outbox: Vec<(Meta, Vec<u8>)>,
    /// No read has found it empty since the last [`Sockets::arrived`].
    has_more: bool,
}

impl N4Port {
    fn new(port: Box<dyn Port>) -> Self {
        let inbox = Batch::with_frame_size(port.mtu() as usize);
        Self { port: Some(port), inbox, taken: 0, outbox: Vec::new(), has_more: true }
    }

    fn has_received(&self) -> bool {
        self.taken < self.inbox.len()
    }

    /// Reads if all is taken. Returns whether there is a datagram.
    fn fill(&mut self) -> Result<bool, PortError> {
        if self.has_received() {
            return Ok(true);
        }
        let Some(port) = self.port.as_mut().filter(|_| self.has_more) else { return Ok(false) };
        (self.taken, self.has_more) = (0, false);
        match port.receive(&mut self.inbox) {
            Ok(count) => {
                self.has_more = count == BATCH;
                Ok(count > 0)
            }
            Err(error) => {
                self.inbox.clear();
                self.port = None;
                Err(error)
            }
        }
    }

    /// The next datagram of the inbox.
    fn take(&mut self) -> Option<(IpAddr, SocketAddr, &[u8])> {
        while self.has_received() {
            let at = self.taken;
            self.taken += 1;
            if let Some(Meta::Gtpu { local, peer, .. }) = self.inbox.frame(at).map(|frame| frame.meta) {
                return self.inbox.frame(at).map(|frame| (local, peer, frame.data));
            }
        }
        None
    }

    fn flush(&mut self, mut give_back: impl FnMut(Vec<u8>)) -> Result<(), PortError> {
        let sent = self.port.as_mut().map_or(Ok(()), |port| {
            self.outbox.chunks(BATCH).try_for_each(|some| {
                let frames: ArrayVec<_, BATCH> =
                    some.iter().map(|(meta, data)| Frame { meta: *meta, data }).collect();
                // The port counts those that it does not send; PFCP repeats them.
                port.send(&frames).map(drop)
            })
        });
        self.outbox.drain(..).for_each(|(_, octets)| give_back(octets));
        if sent.is_err() {
            self.port = None;
        }
        sent
    }
}

/// Waits for datagrams at the N4 sockets. Reports readability only, so that sending causes no events.
pub(super) struct Arrivals(Vec<AsyncFd<UdpSocket>>);

impl Arrivals {
    /// Those of no socket: another thread receives.
    pub(super) const fn of_none() -> Self {
        Self(Vec::new())
    }

    /// It waits for no socket.
    pub(super) const fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of these sockets.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn of(sockets: &Sockets) -> io::Result<Self> {
        let watch = |socket: &Socket| {
            #[expect(deprecated, reason = "the socket owns its descriptor, which stays open and the same")]
            AsyncFd::with_interest(socket.socket.try_clone()?, Interest::READABLE)
        };
        sockets.sockets.iter().map(watch).collect::<io::Result<_>>().map(Self)
    }

    /// Waits until a datagram is available. Those that arrived before [`Sockets::receive`] found no more are not reported again.
    ///
    /// # Errors
    /// The error of the kernel; the next call may succeed.
    pub(super) async fn wait(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut poll = Poll::Pending;
        for socket in &self.0 {
            if let Poll::Ready(ready) = socket.poll_read_ready(context) {
                // Before the datagrams are read: what arrives meanwhile is reported.
                let cleared = ready.map(|mut ready| ready.clear_ready());
                poll = Poll::Ready(cleared);
            }
        }
        poll
    }
}

impl Sockets {
    /// Takes non-blocking sockets. `joins`: as in [`DatagramSender::new`].
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn new(sockets: Vec<UdpSocket>, joins: bool) -> io::Result<Self> {
        let adopt = |socket: UdpSocket| {
            let local = socket.local_addr()?;
            Ok(Socket { local, socket, outbox: DatagramSender::new(joins), overruns: 0, has_more: true })
        };
        let sockets = sockets.into_iter().map(adopt).collect::<io::Result<_>>()?;
        Ok(Self {
            sockets,
            ports: Vec::new(),
            turns: 0,
            is_port_busy: false,
            received: BTreeMap::new(),
            last: None,
            first: 0,
            inbox: DatagramReceiver::default(),
            by: 0,
            lost: 0,
            error: None,
        })
    }

    /// The same, with ports that receive most of what is sent to the sockets.
    pub(super) fn with_ports(mut self, ports: Vec<Box<dyn Port>>) -> Self {
        self.ports = ports.into_iter().map(N4Port::new).collect();
        self
    }

    /// Any socket may have datagrams from now on.
    pub(super) fn arrived(&mut self) {
        self.turns = if self.turns + 1 < PORT_TURNS { self.turns + 1 } else { 0 };
        // A read of a socket that has nothing costs as much as a request.
        let reads = !std::mem::take(&mut self.is_port_busy) || self.turns == 0;
        self.sockets.iter_mut().for_each(|socket| socket.has_more |= reads);
        self.ports.iter_mut().for_each(|port| port.has_more = true);
    }

    /// Datagrams may be left.
    pub(super) fn has_more(&self) -> bool {
        let of_ports = || self.ports.iter().any(|port| port.has_received() || port.has_more);
        self.inbox.has_more() || self.sockets.iter().any(|socket| socket.has_more) || of_ports()
    }

    /// The next datagram and its sender, if one is available; for errors see [`Sockets::take_error`].
    pub(super) fn receive(&mut self) -> Option<(SocketAddr, &[u8])> {
        if !self.ports.is_empty() && !self.inbox.has_more() {
            let comes_first = self.turns > 0 || !self.fill_inbox();
            if let Some(index) = (0..self.ports.len()).find(|index| comes_first && self.fill_port(*index)) {
                return self.take_from_port(index);
            }
        }
        if !self.inbox.has_more() && !self.fill_inbox() {
            return None;
        }
        let has_ports = !self.ports.is_empty();
        let Self { sockets, received, inbox, by, last, .. } = self;
        let (from, datagram) = inbox.take()?;
        let same_version = sockets.iter().filter(|socket| socket.local.is_ipv4() == from.is_ipv4()).count();
        if same_version > 1 || has_ports {
            note(received, last, from.ip(), Way::Socket(*by));
        }
        Some((from, datagram))
    }

    /// Reads from the sockets. Returns whether there was a datagram.
    fn fill_inbox(&mut self) -> bool {
        let count = self.sockets.len();
        let mut turns = (self.first..count).chain(0..self.first);
        let Some(filled) = turns.find(|index| self.fill(*index)) else { return false };
        self.poll_first(filled);
        true
    }

    /// Reads from this port, if all that it received is taken. Returns whether there is a datagram.
    fn fill_port(&mut self, index: usize) -> bool {
        let Some(port) = self.ports.get_mut(index) else { return false };
        let filled = port.fill();
        let is_filled = matches!(filled, Ok(true));
        self.is_port_busy |= is_filled;
        self.error = filled.err().map(io::Error::other).or(self.error.take());
        is_filled
    }

    fn take_from_port(&mut self, index: usize) -> Option<(SocketAddr, &[u8])> {
        let Self { ports, received, last, .. } = self;
        let (local, from, datagram) = ports.get_mut(index)?.take()?;
        note(received, last, from.ip(), Way::Port(index, local));
        Some((from, datagram))
    }

    /// Reads from this socket. Returns whether there was a datagram.
    fn fill(&mut self, index: usize) -> bool {
        let Some(socket) = self.sockets.get_mut(index).filter(|socket| socket.has_more) else { return false };
        match self.inbox.fill(&socket.socket) {
            Ok(()) => {
                socket.has_more = !self.inbox.is_drained();
                self.inbox.has_more()
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.has_more = false;
                false
            }
            // Behind it there may be datagrams.
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }

    /// The last error of a read since the last call. The next read may succeed.
    pub(super) const fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The number of datagrams that the kernel dropped because a buffer was full.
    pub(super) fn dropped(&mut self) -> u64 {
        for socket in &mut self.sockets {
            // A kernel without this counter is not read again.
            let total = overruns(&socket.socket).unwrap_or(socket.overruns);
            self.lost += u64::from(total.wrapping_sub(socket.overruns));
            socket.overruns = total;
        }
        self.lost
    }

    /// The datagram after the next one of [`Sockets::receive`], if it was received already.
    pub(super) fn peek_next(&self) -> Option<&[u8]> {
        if self.inbox.has_more() {
            return self.inbox.peek_next();
        }
        let port = self.ports.iter().find(|port| port.has_received())?;
        port.inbox.frame(port.taken + 1).map(|frame| frame.data)
    }

    /// The batch is from this socket; the next socket is polled first.
    const fn poll_first(&mut self, index: usize) {
        (self.by, self.first) = (index, if index + 1 < self.sockets.len() { index + 1 } else { 0 });
    }

    /// Queues a datagram until [`Sockets::flush`].
    ///
    /// # Errors
    /// No socket has the IP version.
    pub(super) fn send(&mut self, to: SocketAddr, datagram: Vec<u8>) -> io::Result<()> {
        let way = self.last.filter(|(last, _)| *last == to.ip()).map(|(_, way)| way);
        let way = way.or_else(|| self.received.get(&to.ip()).copied());
        if let Some(Way::Port(index, local)) = way
            && let Some(port) = self.ports.get_mut(index).filter(|port| port.port.is_some())
        {
            port.outbox.push((Meta::Gtpu { local, peer: to, tos: 0, hops: None }, datagram));
            return Ok(());
        }
        let received = way.and_then(|way| if let Way::Socket(index) = way { Some(index) } else { None });
        let same_version = || self.sockets.iter().position(|it| it.local.is_ipv4() == to.is_ipv4());
        let socket = received.or_else(same_version).and_then(|index| self.sockets.get_mut(index));
        socket.ok_or(io::ErrorKind::AddrNotAvailable)?.outbox.put(to, datagram);
        Ok(())
    }

    /// Sends the queued datagrams without waiting. Failed ones are reported with their error; PFCP repeats them.
    /// Returns the memory of each.
    pub(super) fn flush(
        &mut self,
        mut lost: impl FnMut(SocketAddr, io::Error),
        mut give_back: impl FnMut(Vec<u8>),
    ) {
        for Socket { socket, outbox: sender, .. } in &mut self.sockets {
            sender.send_and_recycle(&*socket, &mut lost, &mut give_back);
        }
        for port in self.ports.iter_mut().filter(|port| !port.outbox.is_empty()) {
            if let Err(error) = port.flush(&mut give_back) {
                self.error = Some(io::Error::other(error));
            }
        }
    }
}

/// The way of the last datagram of this peer.
fn note(received: &mut BTreeMap<IpAddr, Way>, last: &mut Option<(IpAddr, Way)>, peer: IpAddr, way: Way) {
    if *last == Some((peer, way)) {
        return;
    }
    if received.len() < MAX_PEERS || received.contains_key(&peer) {
        received.insert(peer, way);
        *last = Some((peer, way));
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as Std;
    use std::time::Duration;

    use causeway_packet::BATCH;

    use super::*;

    fn socket(at: &str) -> Std {
        let socket = Std::bind(at).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    async fn next(sockets: &mut Sockets, arrivals: &mut Arrivals) -> (SocketAddr, Vec<u8>) {
        loop {
            if let Some((from, datagram)) = sockets.receive() {
                return (from, datagram.to_vec());
            }
            arrivals.wait().await.unwrap();
            sockets.arrived();
        }
    }

    fn at(sockets: Vec<Std>) -> (Sockets, Arrivals) {
        let sockets = Sockets::new(sockets, true).unwrap();
        let arrivals = Arrivals::of(&sockets).unwrap();
        (sockets, arrivals)
    }

    // Input:  a datagram to the second of two addresses, then a response.
    // Output: the response is sent from the second address.
    #[tokio::test]
    async fn a_peer_is_answered_from_the_address_it_wrote_to() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let second = b.local_addr().unwrap();
        let (mut sockets, mut arrivals) = at(vec![a, b]);
        let peer = Std::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        peer.send_to(b"request", second).unwrap();
        let (from, datagram) = next(&mut sockets, &mut arrivals).await;
        assert_eq!((from, &datagram[..]), (peer.local_addr().unwrap(), &b"request"[..]));
        sockets.send(from, b"answer".to_vec()).unwrap();
        sockets.flush(|to, error| panic!("{to}: {error}"), drop);
        let mut buffer = [0; 16];
        let (len, answered) = peer.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], answered), (&b"answer"[..], second));
    }

    // Input:  two sockets, one with a hundred datagrams waiting and one with one.
    // Output: the one is received after at most one system call for the others.
    #[tokio::test]
    async fn a_busy_address_does_not_starve_the_other() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let (first, second) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let (mut sockets, mut arrivals) = at(vec![a, b]);
        let peer = Std::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            peer.send_to(b"1", first).unwrap();
        }
        peer.send_to(b"2", second).unwrap();
        let mut received = Vec::new();
        while received.len() < 101 {
            received.extend(next(&mut sockets, &mut arrivals).await.1);
        }
        assert!(received.iter().position(|octet| *octet == b'2').unwrap() <= BATCH, "{received:?}");
    }

    // Input:  two datagrams at one of two addresses, taken without waiting once the first was waited for.
    // Output: the second, then nothing.
    #[tokio::test]
    async fn what_has_come_is_taken_at_once() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let to = b.local_addr().unwrap();
        let (mut sockets, mut arrivals) = at(vec![a, b]);
        let peer = Std::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"1", to).unwrap();
        peer.send_to(b"2", to).unwrap();
        assert_eq!(next(&mut sockets, &mut arrivals).await.1, b"1");
        assert_eq!(sockets.receive(), Some((peer.local_addr().unwrap(), &b"2"[..])));
        assert_eq!(sockets.receive(), None);
        assert!(!sockets.has_more());
    }

    // Input:  more datagrams than the buffer of a socket holds, before any is received.
    // Output: the sum of received and lost datagrams is the number sent.
    #[tokio::test]
    async fn what_the_kernel_drops_is_counted() {
        let socket = socket("127.0.0.1:0");
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 4096).unwrap();
        let to = socket.local_addr().unwrap();
        let mut sockets = Sockets::new(vec![socket], true).unwrap();
        assert_eq!(sockets.dropped(), 0);
        let peer = Std::bind("127.0.0.1:0").unwrap();
        (0..1000).for_each(|_| assert_eq!(peer.send_to(&[0; 500], to).unwrap(), 500));
        let mut taken = 0;
        Arrivals::of(&sockets).unwrap().wait().await.unwrap();
        while sockets.receive().is_some() {
            taken += 1;
        }
        assert!(taken < 1000);
        assert_eq!((sockets.dropped(), sockets.dropped()), (1000 - taken, 1000 - taken));
    }

    #[tokio::test]
    async fn there_is_no_way_to_the_other_ip_version() {
        let mut sockets = Sockets::new(vec![socket("127.0.0.1:0")], true).unwrap();
        let error = sockets.send("[::1]:8805".parse().unwrap(), b"x".to_vec()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
