//! The value of a switch counter.

use std::ops::{Add, AddAssign};

/// A packet-and-byte counter: octets as the switch counts them, and packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Count {
    /// Octets.
    pub octets: u64,
    /// Packets.
    pub packets: u64,
}

impl Count {
    /// Nothing counted.
    pub const ZERO: Self = Self { octets: 0, packets: 0 };

    /// The difference to an earlier reading of the same counter; `None` if the value is lower than then: the counter
    /// was cleared in between.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let octets = self.octets.checked_sub(earlier.octets)?;
        let packets = self.packets.checked_sub(earlier.packets)?;
        Some(Self { octets, packets })
    }
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let octets = self.octets.saturating_add(other.octets);
        Self { octets, packets: self.packets.saturating_add(other.packets) }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
