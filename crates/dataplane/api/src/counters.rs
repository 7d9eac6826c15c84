//! Counters of the whole data plane.

use crate::{DropReason, Egress, Ingress};

/// Packets and octets at one point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficCounter {
    /// Packets.
    pub packets: u64,
    /// Octets as the port carries them: from the GTP-U header, the IP header or the destination MAC address on.
    pub octets: u64,
}

impl TrafficCounter {
    /// The sum of both counters.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, octets: self.octets + other.octets }
    }

    /// Counts one packet.
    pub const fn count(&mut self, octets: usize) {
        self.packets += 1;
        self.octets += octets as u64;
    }
}

/// A counter of one kind of data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedCounter {
    /// Its name, as metrics show it: lower case, with underscores.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// Dispositions of all packets since the start.
///
/// `received + copies = forwarded + consumed + dropped + buffered`: each received packet, and each further copy of one,
/// is in exactly one of these counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets received on GTP-U ports.
    pub gtpu_received: TrafficCounter,
    /// Packets received from data networks.
    pub ip_received: TrafficCounter,
    /// Frames received from Ethernet data networks.
    pub ethernet_received: TrafficCounter,
    /// Packets sent on GTP-U ports, signalling included.
    pub gtpu_sent: TrafficCounter,
    /// Packets sent to data networks, signalling included.
    pub ip_sent: TrafficCounter,
    /// Frames sent to Ethernet data networks, proxied ARP and ND responses included.
    pub ethernet_sent: TrafficCounter,
    /// Copies of frames for further sessions, the first session of each frame excluded; and copies that FARs request (DUPL) and that were
    /// dropped.
    pub copies: u64,
    /// Received packets that were forwarded, immediately or from the buffer.
    pub forwarded: u64,
    /// Received signalling packets that the UPF handled.
    pub consumed: u64,
    /// Packets in buffers now.
    pub buffered: u64,
    /// Current sessions.
    pub sessions: u64,
    dropped: DroppedByReason,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct DroppedByReason([u64; DropReason::ALL.len()]);

impl Default for DroppedByReason {
    fn default() -> Self {
        Self([0; DropReason::ALL.len()])
    }
}

impl Counters {
    /// The sum of the counters of two parts of a data plane.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.gtpu_received = self.gtpu_received.with(other.gtpu_received);
        self.ip_received = self.ip_received.with(other.ip_received);
        self.ethernet_received = self.ethernet_received.with(other.ethernet_received);
        self.gtpu_sent = self.gtpu_sent.with(other.gtpu_sent);
        self.ip_sent = self.ip_sent.with(other.ip_sent);
        self.ethernet_sent = self.ethernet_sent.with(other.ethernet_sent);
        self.copies += other.copies;
        self.forwarded += other.forwarded;
        self.consumed += other.consumed;
        self.buffered += other.buffered;
        self.sessions += other.sessions;
        self.dropped.0.iter_mut().zip(other.dropped.0).for_each(|(sum, more)| *sum += more);
        self
    }

    /// Packets received, of all kinds.
    pub fn received(&self) -> u64 {
        self.gtpu_received.packets + self.ip_received.packets + self.ethernet_received.packets
    }

    /// Counts one received packet.
    pub const fn count_received(&mut self, ingress: &Ingress, octets: usize) {
        match ingress {
            Ingress::Gtpu { .. } => self.gtpu_received.count(octets),
            Ingress::Ip { .. } => self.ip_received.count(octets),
            Ingress::Ethernet { .. } => self.ethernet_received.count(octets),
        }
    }

    /// Counts one sent packet.
    pub const fn count_sent(&mut self, egress: &Egress, octets: usize) {
        match egress {
            Egress::Gtpu { .. } => self.gtpu_sent.count(octets),
            Egress::Ip { .. } => self.ip_sent.count(octets),
            Egress::Ethernet { .. } => self.ethernet_sent.count(octets),
        }
    }

    /// Counts one dropped packet.
    pub fn count_drop(&mut self, reason: DropReason) {
        self.dropped.0[reason as usize] += 1;
    }

    /// Counts several dropped packets.
    pub fn count_drops(&mut self, reason: DropReason, packets: u64) {
        self.dropped.0[reason as usize] += packets;
    }

    /// The number of packets dropped for this reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped.0[reason as usize]
    }

    /// The number of packets dropped for any reason.
    pub fn total_drops(&self) -> u64 {
        self.dropped.0.iter().sum()
    }
}
