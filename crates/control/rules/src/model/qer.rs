//! QoS Enforcement Rules: what may pass.

use causeway_types::{Bitrate, Direction, QerId, Qfi};

/// A QoS Enforcement Rule (TS 29.244 clause 7.5.2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Qer {
    /// Unique in the session.
    pub id: QerId,
    /// The uplink gate.
    pub uplink: Gate,
    /// The downlink gate.
    pub downlink: Gate,
    /// Maximum bit rate per direction; `None` limits nothing.
    pub mbr: Option<RateLimit>,
    /// The QFI that downlink packets are marked with in the PDU Session Container.
    pub qfi: Option<Qfi>,
}

impl Qer {
    /// Lets everything pass and marks nothing.
    pub fn new(id: QerId) -> Self {
        Self { id, uplink: Gate::Open, downlink: Gate::Open, mbr: None, qfi: None }
    }

    /// The gate of one direction.
    pub fn gate(&self, direction: Direction) -> Gate {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// A gate (TS 29.244 clause 8.2.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// Packets pass.
    Open,
    /// Packets are dropped.
    Closed,
}

/// Bit rates of both directions (TS 29.244 clause 8.2.8), measured on the user IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RateLimit {
    /// From the UE.
    pub uplink: Bitrate,
    /// Towards the UE.
    pub downlink: Bitrate,
}

impl RateLimit {
    /// The rate of one direction.
    pub fn rate(&self, direction: Direction) -> Bitrate {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}
