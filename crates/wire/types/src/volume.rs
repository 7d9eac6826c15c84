//! Traffic volumes and bit rates.

use std::ops::{Add, AddAssign};

/// The direction of user traffic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

/// Counted user traffic: octets of the inner (user) IP packet, and packets.
///
/// 64 bits of octets last 11 years at 400 Gbit/s, so sums wrap nowhere in practice; they saturate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Volume {
    /// Octets from the UE.
    pub uplink: u64,
    /// Octets to the UE.
    pub downlink: u64,
    /// Packets from the UE.
    pub uplink_packets: u64,
    /// Packets to the UE.
    pub downlink_packets: u64,
}

impl Volume {
    /// Nothing counted.
    pub const ZERO: Self = Self { uplink: 0, downlink: 0, uplink_packets: 0, downlink_packets: 0 };

    /// Octets of both directions.
    pub const fn total(&self) -> u64 {
        self.uplink.saturating_add(self.downlink)
    }

    /// Packets of both directions.
    pub const fn total_packets(&self) -> u64 {
        self.uplink_packets.saturating_add(self.downlink_packets)
    }

    /// Counts one packet of this many octets.
    pub const fn count(&mut self, direction: Direction, octets: u64) {
        match direction {
            Direction::Uplink => {
                self.uplink = self.uplink.saturating_add(octets);
                self.uplink_packets = self.uplink_packets.saturating_add(1);
            }
            Direction::Downlink => {
                self.downlink = self.downlink.saturating_add(octets);
                self.downlink_packets = self.downlink_packets.saturating_add(1);
            }
        }
    }
}

impl Add for Volume {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            uplink: self.uplink.saturating_add(other.uplink),
            downlink: self.downlink.saturating_add(other.downlink),
            uplink_packets: self.uplink_packets.saturating_add(other.uplink_packets),
            downlink_packets: self.downlink_packets.saturating_add(other.downlink_packets),
        }
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A bit rate in kbit/s (1 kbit = 1000 bits), 0 to 2^40 - 1 (TS 29.244 clause 8.2.8).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// The largest rate that PFCP can carry.
    pub const MAX: Self = Self((1 << 40) - 1);

    /// `None` above [`Bitrate::MAX`].
    pub const fn from_kbps(kbps: u64) -> Option<Self> {
        if kbps <= Self::MAX.0 { Some(Self(kbps)) } else { None }
    }

    /// In kbit/s.
    pub const fn kbps(self) -> u64 {
        self.0
    }

    /// In bit/s; always fits.
    pub const fn bps(self) -> u64 {
        self.0 * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_forty_bits() {
        assert_eq!(Bitrate::from_kbps(1 << 40), None);
        assert_eq!(Bitrate::from_kbps((1 << 40) - 1).map(Bitrate::bps), Some(((1 << 40) - 1) * 1000));
    }

    #[test]
    fn a_volume_counts_each_direction_apart() {
        let mut volume = Volume::ZERO;
        volume.count(Direction::Uplink, 100);
        volume.count(Direction::Downlink, 40);
        assert_eq!((volume.total(), volume.total_packets()), (140, 2));
        assert_eq!((volume.uplink, volume.downlink), (100, 40));
    }
}
