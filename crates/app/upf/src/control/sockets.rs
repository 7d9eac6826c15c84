//! The N4 sockets of a thread: several addresses, IPv4 and IPv6, as one socket. One system call receives or sends many datagrams. Ports below
//! IP may receive beside them, and send to the peers from which they received.
//!
//! [`Sockets`] receives and sends without waiting, and without N4; the control thread waits with [`Arrivals`].

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::udp::{DatagramReceiver, DatagramSender, overruns};
use causeway_ports::{Port, PortError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::local_source::LocalSource;
use super::request_times::{Answer, Histograms};
use crate::clock::Clock;

/// While a port below IP is busy, the sockets are read in one of so many turns.
const PORT_TURNS: u8 = 8;

/// The sockets of N4 in a thread. The sockets of all threads have the same addresses, in the same order.
pub(crate) struct Sockets {
    sockets: Vec<Socket>,
    ports: Vec<N4Port>,
    /// Turns since sockets were read before ports.
    turns: u8,
    /// A port had datagrams since the last [`Sockets::arrived`].
    is_port_busy: bool,
    /// The socket to poll first, so that a busy one does not starve the others.
    first: usize,
    /// The datagrams received by one socket.
    inbox: DatagramReceiver,
    by: usize,
    /// Datagrams that the kernel dropped at all sockets.
    lost: u64,
    /// The last error of a read that is not logged yet.
    error: Option<io::Error>,
    /// Datagrams to send.
    pub(super) outgoing: Vec<Outgoing>,
    answers: Vec<Answer>,
    /// The memory of datagrams that were sent, for N4.
    pub(super) spare: Vec<Vec<u8>>,
    /// Datagrams that were not sent, to be logged.
    pub(super) unsent: Vec<(SocketAddr, io::Error)>,
}

/// A datagram to send.
pub(super) struct Outgoing {
    /// Where the last datagram of its peer was received, if there is a choice.
    pub(super) source: Option<LocalSource>,
    pub(super) to: SocketAddr,
    pub(super) octets: Vec<u8>,
}

/// Sockets that a thread shares with the control thread, which reads them while N4 is left to it.
pub(crate) type SharedSockets = Arc<Mutex<Sockets>>;

/// The sockets, once the other thread has ended its system call.
pub(super) fn lock(sockets: &SharedSockets) -> MutexGuard<'_, Sockets> {
    sockets.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(crate) fn new(sockets: Vec<UdpSocket>, joins: bool) -> io::Result<Self> {
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
            first: 0,
            inbox: DatagramReceiver::default(),
            by: 0,
            lost: 0,
            error: None,
            outgoing: Vec::new(),
            answers: Vec::new(),
            spare: Vec::new(),
            unsent: Vec::new(),
        })
    }

    /// Others of the same sockets, for a thread that only sends.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn sender(&self, joins: bool) -> io::Result<Self> {
        let sockets =
            self.sockets.iter().map(|socket| socket.socket.try_clone()).collect::<io::Result<_>>()?;
        Self::new(sockets, joins)
    }

    /// The same, with ports that receive most of what is sent to the sockets.
    pub(crate) fn with_ports(mut self, ports: Vec<Box<dyn Port>>) -> Self {
        self.ports = ports.into_iter().map(N4Port::new).collect();
        self
    }

    /// Whether there are several sockets or ports of this IP version.
    pub(super) fn has_choice(&self, is_v4: bool) -> bool {
        let same_version = self.sockets.iter().filter(|socket| socket.local.is_ipv4() == is_v4);
        same_version.count() > 1 || !self.ports.is_empty()
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

    /// The next datagram, its sender and where it was received, if one is available; for errors see [`Sockets::take_error`].
    pub(super) fn receive(&mut self) -> Option<(SocketAddr, LocalSource, &[u8])> {
        if self.fill() { self.take() } else { None }
    }

    /// Reads if all that was received is taken. Returns whether there is a datagram.
    pub(super) fn fill(&mut self) -> bool {
        if self.has_received() {
            return true;
        }
        if !self.ports.is_empty() {
            let comes_first = self.turns > 0 || !self.fill_inbox();
            if !comes_first || (0..self.ports.len()).any(|index| self.fill_port(index)) {
                return true;
            }
        }
        self.fill_inbox()
    }

    /// Datagrams were received and not taken.
    pub(super) fn has_received(&self) -> bool {
        self.inbox.has_more() || self.ports.iter().any(N4Port::has_received)
    }

    /// The next datagram that was received, its sender and where.
    pub(super) fn take(&mut self) -> Option<(SocketAddr, LocalSource, &[u8])> {
        let Self { ports, inbox, by, .. } = self;
        if inbox.has_more() {
            return inbox.take().map(|(from, datagram)| (from, LocalSource::Socket(*by), datagram));
        }
        let (index, port) = ports.iter_mut().enumerate().find(|(_, port)| port.has_received())?;
        port.take().map(|(local, from, datagram)| (from, LocalSource::Port(index, local), datagram))
    }

    /// Reads from the sockets. Returns whether there was a datagram.
    fn fill_inbox(&mut self) -> bool {
        let count = self.sockets.len();
        let mut turns = (self.first..count).chain(0..self.first);
        let Some(filled) = turns.find(|index| self.fill_from(*index)) else { return false };
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

    /// Reads from this socket. Returns whether there was a datagram.
    fn fill_from(&mut self, index: usize) -> bool {
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

    /// There is something to log.
    pub(super) fn has_news(&self) -> bool {
        self.error.is_some() || !self.unsent.is_empty()
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

    /// Takes over what is to be sent.
    pub(super) fn queue(&mut self, outgoing: &mut Vec<Outgoing>, answers: &mut Vec<Answer>) {
        self.outgoing.append(outgoing);
        self.answers.append(answers);
    }

    /// Sends what is queued, without waiting; PFCP repeats what is not sent. Measures the requests that it answers.
    pub(super) fn flush(&mut self, clock: &Clock, times: &Histograms) {
        if self.outgoing.is_empty() {
            return;
        }
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for Outgoing { source, to, octets } in outgoing.drain(..) {
            if let Err(error) = self.put(source, to, octets) {
                self.unsent.push((to, error));
            }
        }
        self.outgoing = outgoing;
        let Self { sockets, ports, unsent, spare, .. } = self;
        for Socket { socket, outbox: sender, .. } in sockets {
            let lost = |to, error| unsent.push((to, error));
            sender.send_and_recycle(&*socket, lost, |octets| spare.push(octets));
        }
        for port in ports.iter_mut().filter(|port| !port.outbox.is_empty()) {
            if let Err(error) = port.flush(|octets| spare.push(octets)) {
                self.error = Some(io::Error::other(error));
            }
        }
        times.sent(|| clock.now(), &mut self.answers);
    }

    /// Has a datagram sent by a port or a socket.
    ///
    /// # Errors
    /// No socket has the IP version.
    fn put(&mut self, source: Option<LocalSource>, to: SocketAddr, datagram: Vec<u8>) -> io::Result<()> {
        if let Some(LocalSource::Port(index, local)) = source
            && let Some(port) = self.ports.get_mut(index).filter(|port| port.port.is_some())
        {
            port.outbox.push((Meta::Gtpu { local, peer: to, tos: 0, hops: None }, datagram));
            return Ok(());
        }
        let position = |is_it: &dyn Fn(&Socket) -> bool| self.sockets.iter().position(is_it);
        let same_version = || position(&|socket| socket.local.is_ipv4() == to.is_ipv4());
        let index = match source {
            Some(LocalSource::Socket(index)) => Some(index),
            Some(LocalSource::Port(_, local)) => {
                position(&|socket| socket.local.ip() == local).or_else(same_version)
            }
            None => same_version(),
        };
        let socket = index.and_then(|index| self.sockets.get_mut(index));
        socket.ok_or(io::ErrorKind::AddrNotAvailable)?.outbox.put(to, datagram);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as Std;
    use std::time::Duration;

    use causeway_packet::BATCH;

    use super::super::local_source::SourceByPeer;
    use super::*;

    fn socket(at: &str) -> Std {
        let socket = Std::bind(at).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    async fn next(sockets: &mut Sockets, arrivals: &mut Arrivals) -> (SocketAddr, Vec<u8>) {
        loop {
            if let Some((from, _, datagram)) = sockets.receive() {
                return (from, datagram.to_vec());
            }
            arrivals.wait().await.unwrap();
            sockets.arrived();
        }
    }

    fn outgoing(sources: &SourceByPeer, to: SocketAddr) -> Outgoing {
        Outgoing { source: sources.of(to.ip()), to, octets: b"answer".to_vec() }
    }

    fn at(sockets: Vec<Std>) -> (Sockets, Arrivals) {
        let sockets = Sockets::new(sockets, true).unwrap();
        let arrivals = Arrivals::of(&sockets).unwrap();
        (sockets, arrivals)
    }

    // Input:  a datagram to the second of two addresses, then a response.
    // Output: the response is sent from the second address, by whatever thread.
    #[tokio::test]
    async fn a_peer_is_answered_from_the_address_it_wrote_to() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let second = b.local_addr().unwrap();
        let (mut sockets, mut arrivals) = at(vec![a, b]);
        let peer = Std::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        peer.send_to(b"request", second).unwrap();
        let sources = SourceByPeer::new(&sockets);
        arrivals.wait().await.unwrap();
        let (from, source, datagram) = sockets.receive().unwrap();
        assert_eq!((from, datagram), (peer.local_addr().unwrap(), &b"request"[..]));
        sources.note(from.ip(), source, |_| false);
        let mut of_others = Sockets::sender(&sockets, true).unwrap();
        of_others.queue(&mut vec![outgoing(&sources, from)], &mut Vec::new());
        of_others.flush(&Clock::new(), &Histograms::default());
        assert!(of_others.unsent.is_empty());
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
        assert_eq!(sockets.receive(), Some((peer.local_addr().unwrap(), LocalSource::Socket(1), &b"2"[..])));
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
    async fn no_socket_sends_to_the_other_ip_version() {
        let mut sockets = Sockets::new(vec![socket("127.0.0.1:0")], true).unwrap();
        let sources = SourceByPeer::new(&sockets);
        sockets.queue(&mut vec![outgoing(&sources, "[::1]:8805".parse().unwrap())], &mut Vec::new());
        sockets.flush(&Clock::new(), &Histograms::default());
        assert_eq!(sockets.unsent[0].1.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
