//! What all sessions share: topology, counters, meters, events, and GTP-U signalling (TS 29.281 clause 7).

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{
    BlockedAddresses, Counters, Disposition, DropReason, Egress, Event, Topology, is_unroutable,
};
use causeway_model::{Applications, RuleSet};
use causeway_packet::gtpu::{PORT, Repr};
use causeway_types::{Span, Teid, Time, WallClock};

use super::enforcement::Meters;
use super::forwarding::{Sent, Surroundings};
use super::limits::Limits;
use super::packet::Packet;

/// Error Indications about one local tunnel to one peer are at least this far apart.
const INDICATION_PAUSE: Span = Span::from_secs(1);
/// Error Indications and Supported Extension Headers Notifications a second, at most so many together: to one peer.
const SIGNALS_TO_A_PEER: u64 = 200;
/// The same to all peers.
const SIGNALS: u64 = 1000;
const SECOND: u64 = 1_000_000_000;

/// What all sessions share.
pub(crate) struct Node {
    pub(crate) topology: Topology,
    pub(crate) blocked: BlockedAddresses,
    pub(crate) limits: Limits,
    pub(crate) clock: WallClock,
    pub(crate) applications: Arc<Applications>,
    pub(crate) counters: Counters,
    pub(crate) meters: Meters,
    pub(crate) events: VecDeque<Event>,
    /// Octets in all buffers.
    pub(crate) buffered_octets: usize,
    /// Packets that waited so far.
    pub(crate) buffered_so_far: u64,
    /// Packets to transmit.
    pub(crate) sent: Sent,
    indicated: BTreeMap<(IpAddr, Option<Teid>, IpAddr), Time>,
    signals: Allowance,
    signals_to: BTreeMap<IpAddr, Allowance>,
}

/// What is left of a number a second that fills evenly, in nanoseconds, and when that was.
#[derive(Clone, Copy)]
struct Allowance {
    left: u64,
    at: Time,
}

impl Allowance {
    const FULL: Self = Self { left: SECOND, at: Time::from_secs(0) };

    /// One is left of so many a second.
    fn has_one(&mut self, per_second: u64, now: Time) -> bool {
        let passed = now.as_nanos().saturating_sub(self.at.as_nanos());
        self.left = SECOND.min(self.left.saturating_add(passed));
        self.at = self.at.max(now);
        self.left >= SECOND / per_second
    }
}

impl Node {
    /// A node without sessions.
    pub(crate) fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            blocked: topology.blocked_addresses(),
            limits,
            clock: WallClock::default(),
            applications: Arc::default(),
            counters: Counters::default(),
            meters: Meters::new(&topology.slices),
            events: VecDeque::new(),
            buffered_octets: 0,
            buffered_so_far: 0,
            sent: Vec::new(),
            indicated: BTreeMap::new(),
            signals: Allowance::FULL,
            signals_to: BTreeMap::new(),
            topology,
        }
    }

    /// What surrounds the packets of a session with these rules.
    pub(crate) fn surroundings<'a>(&'a self, rules: &'a RuleSet) -> Surroundings<'a> {
        Surroundings { topology: &self.topology, blocked: &self.blocked, rules }
    }

    /// Counts a packet that is dropped.
    pub(crate) fn drop(&mut self, reason: DropReason) -> Disposition {
        self.counters.count_drop(reason);
        Disposition::Dropped(reason)
    }

    /// A packet no longer waits.
    pub(crate) fn leaves_buffer(&mut self, packet: &Packet) {
        self.counters.buffered -= 1;
        self.buffered_octets -= packet.buffered_len();
    }

    /// Transmits packets.
    pub(crate) fn transmit(&mut self, sent: Sent) {
        for (egress, octets) in sent {
            let counter = match &egress {
                Egress::Gtpu { .. } => &mut self.counters.gtpu_sent,
                Egress::Ip { .. } => &mut self.counters.ip_sent,
                Egress::Ethernet { .. } => &mut self.counters.ethernet_sent,
            };
            counter.count(octets.len());
            self.sent.push((egress, octets));
        }
    }

    /// The limits of all sessions leave space for one more packet.
    pub(crate) fn has_space(&self, octets: usize) -> bool {
        self.counters.buffered < self.limits.buffer_packets as u64
            && self.buffered_octets + octets <= self.limits.buffer_octets
    }

    /// The buffers of all sessions hold more than they may.
    pub(crate) fn is_overfull(&self) -> bool {
        self.counters.buffered > self.limits.buffer_packets as u64
            || self.buffered_octets > self.limits.buffer_octets
    }

    /// Sends a message about a path.
    pub(crate) fn signal(&mut self, local: IpAddr, peer: SocketAddr, message: &Repr<'_>) {
        if let Ok(octets) = message.to_vec() {
            let egress = Egress::Gtpu { local, peer, tos: 0, hops: None };
            self.transmit(vec![(egress, octets)]);
        }
    }

    /// Tells the sender that the tunnel does not exist (TS 29.281 clause 7.3.1), at a limited rate.
    pub(crate) fn indicate(&mut self, local: IpAddr, peer: SocketAddr, teid: Option<Teid>, now: Time) {
        let key = (local, teid, peer.ip());
        let is_told = self.indicated.get(&key).is_some_and(|at| now < *at + INDICATION_PAUSE);
        // What is not said again counts as a message, too: a flood into one tunnel ends as any other.
        if !self.may_signal(peer.ip(), now) || is_told {
            return;
        }
        self.indicated.insert(key, now);
        let message = Repr::error_indication(teid, local, &[]);
        self.signal(local, SocketAddr::new(peer.ip(), PORT), &message);
    }

    /// Tells the sender which extension headers are known (TS 29.281 clause 7.2.3), at a limited rate.
    pub(crate) fn notify_extensions(&mut self, local: IpAddr, peer: SocketAddr, now: Time) {
        if self.may_signal(peer.ip(), now) {
            let peer = SocketAddr::new(peer.ip(), PORT);
            self.signal(local, peer, &Repr::supported_extension_headers(0));
        }
    }

    /// The peer is another host, and there were not too many such messages.
    fn may_signal(&mut self, peer: IpAddr, now: Time) -> bool {
        let to = self.signals_to.entry(peer).or_insert(Allowance::FULL);
        let may = self.signals.has_one(SIGNALS, now) & to.has_one(SIGNALS_TO_A_PEER, now);
        if !may || !self.is_peer(peer) {
            return false;
        }
        self.signals.left -= SECOND / SIGNALS;
        if let Some(to) = self.signals_to.get_mut(&peer) {
            to.left -= SECOND / SIGNALS_TO_A_PEER;
        }
        true
    }

    /// Another host may have the address.
    fn is_peer(&self, ip: IpAddr) -> bool {
        let is_own = self.topology.gtpu.iter().any(|end| end.addr.contains(ip));
        !is_unroutable(ip) && !is_own
    }
}
