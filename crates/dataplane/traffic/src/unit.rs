//! What is counted.

use crate::Random;

/// The unit of counts. Its size is a power of two, so that a switch can divide by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 2 to this power of packets; 0 to 15.
    Packets(u8),
    /// 2 to this power of octets; 0 to 15. The usual unit is 10: 1024 octets.
    Octets(u8),
}

impl Unit {
    /// Units of 1024 octets.
    pub const KIBI_OCTETS: Self = Self::Octets(10);

    /// The size, as a power of two.
    pub const fn shift(self) -> u8 {
        match self {
            Self::Packets(shift) | Self::Octets(shift) => shift,
        }
    }

    /// The units of a packet of this many octets: whole units, and one more with the chance of the remainder.
    ///
    /// `random` are sixteen even bits; the mean over all of them is exact. At most 255 units: a packet of at most 65,535
    /// octets has more only in units of less than 256 octets.
    pub const fn units(self, octets: u32, random: u16) -> u8 {
        let amount = match self {
            Self::Packets(_) => 1,
            Self::Octets(_) => octets,
        };
        let shift = self.shift();
        let mask = (1_u32 << shift) - 1;
        let units = (amount >> shift) + ((random as u32 & mask) < (amount & mask)) as u32;
        if units > 255 { 255 } else { units as u8 }
    }

    /// Whether [`units`](Self::units) needs random bits.
    pub const fn has_remainder(self) -> bool {
        self.shift() > 0
    }

    /// [`units`](Self::units) with the next random bits, if it needs them.
    #[inline]
    pub const fn draw(self, octets: u32, random: &mut Random) -> u8 {
        let bits = if self.has_remainder() { random.bits() } else { 0 };
        self.units(octets, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  packets of several sizes, with all random numbers.
    // Output: the mean of the units is the exact quotient; a packet is one packet; units are limited to 255.
    #[test]
    fn remainders_are_exact_on_average() {
        for (unit, octets, expected) in [
            (Unit::KIBI_OCTETS, 60, 60.0 / 1024.0),
            (Unit::KIBI_OCTETS, 1450, 1450.0 / 1024.0),
            (Unit::KIBI_OCTETS, 2048, 2.0),
            (Unit::KIBI_OCTETS, 0, 0.0),
            (Unit::Packets(0), 1450, 1.0),
            (Unit::Packets(2), 1450, 0.25),
            (Unit::Packets(15), 1450, 1.0 / 32768.0),
            (Unit::Octets(0), 1450, 255.0),
        ] {
            let sum: u64 = (0..=u16::MAX).map(|random| u64::from(unit.units(octets, random))).sum();
            assert!((sum as f64 / 65536.0 - expected).abs() < 1e-12, "{unit:?} {octets}");
        }
    }
}
