//! What all sessions share: topology, counters, meters, events, and GTP-U signalling (TS 29.281 clause 7).

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{
    BlockedAddresses, Counters, Disposition, DropReason, Egress, Event, Topology, is_unroutable,
};
use causeway_model::{Applications, RuleSet};
use causeway_packet::gtpu::{Extension, PORT, Repr};
use causeway_types::{Span, Teid, Time, WallClock};

use super::enforcement::Meters;
use super::forwarding::{Sent, Surroundings};
use super::limits::Limits;
use super::packet::Outer;

/// Error Indications about one tunnel to one peer are at least this far apart.
const INDICATION_PAUSE: Span = Span::from_secs(1);
/// Supported Extension Headers Notifications in one second.
const MOST_NOTIFICATIONS: usize = 200;

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
    /// Packets to transmit.
    pub(crate) sent: Sent,
    indicated: BTreeMap<(SocketAddr, IpAddr, Option<Teid>), Time>,
    notified: VecDeque<Time>,
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
            sent: Vec::new(),
            indicated: BTreeMap::new(),
            notified: VecDeque::new(),
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

    /// The buffers of all sessions have room for one more packet.
    pub(crate) fn has_room(&self, octets: usize) -> bool {
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
        if !self.is_peer(peer.ip()) {
            return;
        }
        let key = (SocketAddr::new(peer.ip(), 0), local, teid);
        if self.indicated.get(&key).is_some_and(|at| now < *at + INDICATION_PAUSE) {
            return;
        }
        self.indicated.insert(key, now);
        let extensions = [Extension::UdpPort(peer.port())];
        let message =
            Repr::error_indication(teid, local, if peer.port() == PORT { &[] } else { &extensions });
        self.signal(local, SocketAddr::new(peer.ip(), PORT), &message);
    }

    /// Tells the sender which extension headers are known (TS 29.281 clause 7.2.3), at a limited rate.
    pub(crate) fn notify_extensions(&mut self, outer: &Outer, now: Time) {
        self.notified.retain(|at| now < *at + Span::from_secs(1));
        if self.notified.len() < MOST_NOTIFICATIONS && self.is_peer(outer.peer.ip()) {
            self.notified.push_back(now);
            let peer = SocketAddr::new(outer.peer.ip(), PORT);
            self.signal(outer.local, peer, &Repr::supported_extension_headers(0));
        }
    }

    /// Another host may have the address.
    fn is_peer(&self, ip: IpAddr) -> bool {
        let is_own = self.topology.gtpu.iter().any(|end| end.addr.contains(ip));
        !is_unroutable(ip) && !is_own
    }
}
