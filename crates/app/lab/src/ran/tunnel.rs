//! A downlink tunnel, from the UPF to a gNB.

use std::time::Duration;

use causeway_types::{QfiSet, Teid};

use super::{GnbId, UeId};

/// What came through one downlink tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TunnelCounters {
    /// G-PDUs.
    pub packets: u64,
    /// Octets of the user IP packets in them.
    pub octets: u64,
    /// QFIs that their PDU Session Containers carried.
    pub qfis: QfiSet,
    /// G-PDUs without a PDU Session Container.
    pub without_container: u64,
    /// End Markers.
    pub end_markers: u64,
    /// G-PDUs after the first End Marker; they were not delivered.
    pub after_end_marker: u64,
}

/// What a UE has sent and received, in user IP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeCounters {
    /// Packets that left in an uplink tunnel.
    pub uplink_packets: u64,
    /// Their octets.
    pub uplink_octets: u64,
    /// Packets that arrived in a downlink tunnel.
    pub downlink_packets: u64,
    /// Their octets.
    pub downlink_octets: u64,
    /// Packets between the UE and its first router, of either direction: Router Solicitations and Advertisements,
    /// multicast listener reports. They are no user traffic, and not among the others.
    pub link_packets: u64,
    /// Packets that the UE wanted to send while it was not connected.
    pub not_connected: u64,
    /// Packets that the UE sent, but that the N3 socket of its gNB did not accept.
    pub unsent: u64,
    /// Packets that arrived in a downlink tunnel, but that the UE's device did not accept.
    pub undelivered: u64,
}

impl UeCounters {
    pub(super) fn add(&mut self, other: &Self) {
        self.uplink_packets += other.uplink_packets;
        self.uplink_octets += other.uplink_octets;
        self.downlink_packets += other.downlink_packets;
        self.downlink_octets += other.downlink_octets;
        self.link_packets += other.link_packets;
        self.not_connected += other.not_connected;
        self.unsent += other.unsent;
        self.undelivered += other.undelivered;
    }
}

/// A downlink tunnel. It stays on record when it is closed.
pub(super) struct Tunnel {
    pub(super) ue: UeId,
    pub(super) open: bool,
    pub(super) counters: TunnelCounters,
    /// Holds back packets until the old tunnel of a handover has ended.
    pub(super) held: Option<BufferedPackets>,
}

/// What waits in a new tunnel.
pub(super) struct BufferedPackets {
    /// The old tunnel.
    pub(super) behind: (GnbId, Teid),
    /// Not longer than this, in the time of the thread that moves the packets.
    pub(super) left: Duration,
    pub(super) packets: Vec<Vec<u8>>,
}

impl Tunnel {
    pub(super) fn new(ue: UeId) -> Self {
        Self { ue, open: true, counters: TunnelCounters::default(), held: None }
    }
}
