//! Limits on the number of packets (TS 29.244 clause 5.4.15).

use causeway_types::{Direction, QerId, Span, WallTime};

/// The packet rates of both directions (Packet Rate, clause 8.2.63).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRates {
    /// From the UE; `None`: no limit.
    pub uplink: Option<PacketRate>,
    /// To the UE; `None`: no limit.
    pub downlink: Option<PacketRate>,
}

impl PacketRates {
    /// The rate of one direction.
    pub fn rate(&self, direction: Direction) -> Option<PacketRate> {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// The packet rate limit of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketRate {
    /// Packets in each period.
    pub base: Allowance,
    /// Additional packets, for exception reports.
    pub additional: Option<Allowance>,
}

/// A number of packets in each period.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Allowance {
    /// Packets.
    pub packets: u16,
    /// The length of a period; never zero.
    pub period: Span,
}

/// The remaining allowance (Packet Rate Status, clause 8.2.139): a QER that is given one applies it before its own
/// rates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRateStatus {
    /// From the UE; `None`: no limit.
    pub uplink: Option<Remaining>,
    /// To the UE; `None`: no limit.
    pub downlink: Option<Remaining>,
    /// The end of its validity.
    pub valid_until: WallTime,
}

impl PacketRateStatus {
    /// The remaining packets of one direction.
    pub fn remaining(&self, direction: Direction) -> Option<Remaining> {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// The packets of one direction that may still pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Remaining {
    /// Ordinary packets.
    pub packets: u16,
    /// Additional packets; `None` if none were allowed.
    pub additional: Option<u16>,
}

/// The status of one QER, for a report to the SMF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketRateReport {
    /// The QER.
    pub qer: QerId,
    /// The status at the time of the report.
    pub status: PacketRateStatus,
}
