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

    /// A datagram was received at this time. `is_smf`: an SMF has this address.
    pub(super) fn received(
        &mut self,
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
