//! Counters of the whole data plane.

use crate::DropReason;

/// Packets and octets that passed a point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficCounter {
    /// Packets.
    pub packets: u64,
    /// Octets, of what the port carried: from the GTP-U header, the IP header or the frame's first address on.
    pub octets: u64,
}

impl TrafficCounter {
    /// The sum of both.
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

/// What became of every packet since the start.
///
/// `received + copies = forwarded + consumed + dropped + buffered`: each packet received, and each further
/// copy of it, is in exactly one place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Received on GTP-U ports.
    pub gtpu_received: TrafficCounter,
    /// Received from data networks.
    pub ip_received: TrafficCounter,
    /// Received from Ethernet data networks.
    pub ethernet_received: TrafficCounter,
    /// Sent on GTP-U ports, signalling included.
    pub gtpu_sent: TrafficCounter,
    /// Sent to data networks, signalling included.
    pub ip_sent: TrafficCounter,
    /// Sent to Ethernet data networks, answers in the place of others included.
    pub ethernet_sent: TrafficCounter,
    /// Copies of frames for further sessions, beyond the first each.
    pub copies: u64,
    /// Received packets that were sent on, at once or from the buffer.
    pub forwarded: u64,
    /// Received signalling that was dealt with.
    pub consumed: u64,
    /// Packets that wait in buffers now.
    pub buffered: u64,
    /// Sessions there are now.
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
    /// The sum of both: of two parts of a data plane.
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

    /// Counts one packet thrown away.
    pub fn count_drop(&mut self, reason: DropReason) {
        self.dropped.0[reason as usize] += 1;
    }

    /// Counts so many packets thrown away.
    pub fn count_drops(&mut self, reason: DropReason, packets: u64) {
        self.dropped.0[reason as usize] += packets;
    }

    /// How many were thrown away for this reason.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped.0[reason as usize]
    }

    /// How many were thrown away in all.
    pub fn total_drops(&self) -> u64 {
        self.dropped.0.iter().sum()
    }
}
