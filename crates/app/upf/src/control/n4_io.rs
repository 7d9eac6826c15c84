//! N4 at its sockets: what has come and what leaves, and how long requests took.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_pfcp::Header;
use causeway_types::Time;

use super::local_source::{LocalSource, SourceByPeer};
use super::request_times::{Histograms, RequestTimes};
use super::sockets::{Arrivals, Outgoing, SharedSockets, Sockets, lock};
use crate::clock::Clock;
use crate::config::Upf;
use crate::management::HistogramStatus;

/// The sockets of N4, and the datagrams of the control thread.
pub(super) struct N4Io {
    /// The sockets of each thread that receives N4.
    sockets: Vec<SharedSockets>,
    /// Those from which the control thread sends.
    own: SharedSockets,
    /// The datagrams of the control thread.
    pub(super) datagrams: Datagrams,
}

impl N4Io {
    /// N4 at the sockets of each thread that receives it, and what the control thread waits for: nothing, if others receive.
    ///
    /// # Errors
    /// The error of the kernel, or there are no sockets.
    pub(super) fn new(
        sockets: Vec<SharedSockets>,
        upf: &Upf,
        times: Arc<Histograms>,
    ) -> io::Result<(Self, Arrivals)> {
        let first = sockets.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let datagrams = Datagrams::of(&lock(first), times);
        let (own, arrivals) = match upf.pfcp.accelerate {
            true => (Arc::new(lock(first).sender(upf.offload)?.into()), Arrivals::of_none()),
            false => (Arc::clone(first), Arrivals::of(&lock(first))?),
        };
        Ok((Self { sockets, own, datagrams }, arrivals))
    }

    /// The sockets of a thread.
    pub(super) fn of_thread(&self, thread: usize) -> Option<SharedSockets> {
        self.sockets.get(thread).map(Arc::clone)
    }

    /// The sockets from which the control thread sends.
    pub(super) fn own(&self) -> SharedSockets {
        Arc::clone(&self.own)
    }

    /// The datagrams of a thread with these sockets.
    pub(super) fn datagrams_beside(&self, sockets: &Sockets) -> Datagrams {
        self.datagrams.beside(sockets)
    }

    /// If there is something to send, waits until the packet threads have sent what they have queued, which comes first: they give their parts back
    /// before they send.
    pub(super) fn wait_for_threads(&self) {
        if !self.datagrams.outgoing.is_empty() {
            self.sockets.iter().for_each(|sockets| drop(lock(sockets)));
        }
    }

    /// Sends the queued datagrams from the sockets of the control thread.
    pub(super) fn send(&mut self, own: &mut Sockets, clock: &Clock) {
        self.datagrams.give_queued(own);
        own.flush(clock, self.datagrams.times.histograms());
    }

    /// Datagrams may be left at the sockets of the control thread.
    pub(super) fn has_more(&self) -> bool {
        lock(&self.own).has_more()
    }

    /// The number of datagrams that the kernel dropped because a buffer was full.
    pub(super) fn dropped(&self) -> u64 {
        self.sockets.iter().map(|sockets| lock(sockets).dropped()).sum()
    }

    /// How long requests took, by their type.
    pub(super) fn latencies(&self) -> Vec<(String, HistogramStatus)> {
        self.datagrams.times.status()
    }
}

/// The datagrams of a thread: where those of its peers were received, and those that leave.
pub(super) struct Datagrams {
    sources: SourceByPeer,
    /// Datagrams that the thread sends at the end of its turn.
    outgoing: Vec<Outgoing>,
    times: RequestTimes,
}

impl Datagrams {
    /// None yet, at these sockets. Times are counted in `times`.
    pub(super) fn of(sockets: &Sockets, times: Arc<Histograms>) -> Self {
        Self { sources: SourceByPeer::new(sockets), outgoing: Vec::new(), times: RequestTimes::new(times) }
    }

    /// None yet, of another thread with these sockets, which may answer what this one receives.
    fn beside(&self, sockets: &Sockets) -> Self {
        let (sources, times) = (self.sources.beside(sockets), self.times.beside());
        Self { sources, outgoing: Vec::new(), times }
    }

    /// A datagram was received at this time. `is_smf`: an SMF has this address.
    pub(super) fn received(
        &self,
        at: Time,
        from: SocketAddr,
        source: LocalSource,
        datagram: &[u8],
        is_smf: impl Fn(IpAddr) -> bool,
    ) {
        self.sources.note(from.ip(), source, is_smf);
        messages(datagram).for_each(|header| self.times.received(at, from, &header));
    }

    /// Queues a datagram until the thread sends.
    pub(super) fn queue(&mut self, to: SocketAddr, octets: Vec<u8>) {
        messages(&octets).for_each(|header| self.times.queued(to, &header));
        self.outgoing.push(Outgoing { source: self.sources.of(to.ip()), to, octets });
    }

    /// Gives the queued datagrams to sockets.
    pub(super) fn give_queued(&mut self, sockets: &mut Sockets) {
        sockets.queue(&mut self.outgoing, &mut self.times.answers);
    }
}

/// The headers of the messages of a datagram, up to the first that is malformed.
fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Header> {
    std::iter::from_fn(move || {
        let (header, _, rest) = Header::decode(datagram).ok()?;
        datagram = rest;
        Some(header)
    })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::config::{Config, Overrides};

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    // Input:  a packet thread has given its part back and is about to send a response; meanwhile the control thread sends another one.
    // Output: the SMF gets that of the packet thread first.
    #[test]
    fn the_control_thread_sends_behind_the_packet_threads() {
        let text = "{upf: {pfcp: {accelerate: true}}}";
        let upf = Config::parse(None, text, &Overrides::default()).unwrap().upf;
        let of_thread: SharedSockets = Arc::new(Mutex::new(Sockets::new(vec![socket()], true).unwrap()));
        let (mut n4, _) = N4Io::new(vec![Arc::clone(&of_thread)], &upf, Arc::default()).unwrap();
        let smf = UdpSocket::bind("127.0.0.1:0").unwrap();
        smf.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (to, clock) = (smf.local_addr().unwrap(), Clock::new());
        let mut sockets = lock(&of_thread);
        let mut first = Datagrams::of(&sockets, Arc::default());
        first.queue(to, b"first".to_vec());
        first.give_queued(&mut sockets);
        n4.datagrams.queue(to, b"second".to_vec());
        thread::scope(|scope| {
            let control = scope.spawn(move || {
                n4.wait_for_threads();
                let own = n4.own();
                n4.send(&mut lock(&own), &clock);
            });
            // If it does not wait, it has sent by then.
            for _ in 0..100 {
                if !control.is_finished() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            sockets.flush(&clock, &Histograms::default());
            drop(sockets);
        });
        let mut buffer = [0; 16];
        let mut next = || {
            let (len, _) = smf.recv_from(&mut buffer).unwrap();
            String::from_utf8(buffer[..len].to_vec()).unwrap()
        };
        assert_eq!([next(), next()], ["first", "second"]);
    }

    // Input:  two addresses; a request to the second one that one thread receives, and another one answers.
    // Output: the response has the second address as its source, and its time is measured.
    #[test]
    fn any_thread_answers_what_another_one_has_received() {
        let sockets = Sockets::new(vec![socket(), socket()], true).unwrap();
        let receiver = Datagrams::of(&sockets, Arc::default());
        let mut other = receiver.beside(&sockets);
        let smf = SocketAddr::from(([192, 0, 2, 10], 8805));
        // Session Deletion Request and Response.
        let message = |message_type| [[0x20, message_type, 0, 4].as_slice(), &[0, 0, 7, 0]].concat();
        receiver.received(Time::from_secs(5), smf, LocalSource::Socket(1), &message(54), |_| true);
        other.queue(smf, message(55));
        assert_eq!((other.outgoing[0].source, other.times.answers.len()), (Some(LocalSource::Socket(1)), 1));
    }
}
