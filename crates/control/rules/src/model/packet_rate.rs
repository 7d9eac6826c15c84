//! Limits on the number of packets (TS 29.244 clause 5.4.15).

use causeway_types::{Direction, QerId, Span, WallTime};

/// The packet rates of both directions (Packet Rate, clause 8.2.63).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRates {
    /// From the UE; `None` limits nothing.
    pub uplink: Option<PacketRate>,
    /// Towards the UE; `None` limits nothing.
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

/// How many packets of one direction may pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketRate {
    /// In each period.
    pub base: Allowance,
    /// Beyond those, for exception reports.
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

/// What is left of an allowance (Packet Rate Status, clause 8.2.139): given to a QER, it holds before the
/// QER's own rates do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRateStatus {
    /// From the UE; `None` where there is no limit.
    pub uplink: Option<Remaining>,
    /// Towards the UE; `None` where there is no limit.
    pub downlink: Option<Remaining>,
    /// How long no more than that may pass.
    pub valid_until: WallTime,
}

impl PacketRateStatus {
    /// What is left in one direction.
    pub fn remaining(&self, direction: Direction) -> Option<Remaining> {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// Packets of one direction that may still pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Remaining {
    /// Usual ones.
    pub packets: u16,
    /// Additional ones; `None` where none were allowed.
    pub additional: Option<u16>,
}

/// The status of one QER, on its way to the SMF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketRateReport {
    /// The QER.
    pub qer: QerId,
    /// What is left at that moment.
    pub status: PacketRateStatus,
}
