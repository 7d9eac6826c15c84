//! What is counted.

use crate::Random;

/// The unit of counts. Its size is a power of two, so that a switch can divide by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 2 to this power of packets; 0 to 24.
    Packets(u8),
    /// 2 to this power of octets; 0 to 24. The usual unit is 10: 1024 octets.
    Octets(u8),
}

/// The greatest power of two that is a unit.
pub(crate) const MOST_SHIFT: u8 = 24;

impl Unit {
    /// Units of 1024 octets.
    pub const KIBI_OCTETS: Self = Self::Octets(10);

    /// The size, as a power of two.
    pub const fn shift(self) -> u8 {
        match self {
            Self::Packets(shift) | Self::Octets(shift) => shift,
        }
    }

    /// What of a packet is counted: the packet, or its octets.
    const fn amount(self, octets: u32) -> u32 {
        match self {
            Self::Packets(_) => 1,
            Self::Octets(_) => octets,
        }
    }

    /// The amount that is less than a unit.
    const fn remainder(self, amount: u32) -> u32 {
        amount & ((1 << self.shift()) - 1)
    }

    /// The units of a packet of this many octets: whole units, and one more with the chance of the remainder.
    ///
    /// `random` are even bits, at least as many as the power of the unit; the mean over all of them is exact. At most 255 units: a
    /// packet of at most 65,535 octets has more only in units of less than 256 octets.
    pub const fn units(self, octets: u32, random: u32) -> u8 {
        let amount = self.amount(octets);
        let more = self.remainder(random) < self.remainder(amount);
        at_most_255((amount >> self.shift()) + more as u32)
    }

    /// Whether [`units`](Self::units) needs random bits.
    pub const fn has_remainder(self) -> bool {
        self.shift() > 0
    }

    /// [`units`](Self::units) with the next random bits, if it needs them.
    #[inline]
    pub const fn draw(self, octets: u32, random: &mut Random) -> u8 {
        let bits = if self.has_remainder() { random.word() } else { 0 };
        self.units(octets, bits)
    }
}

const fn at_most_255(units: u32) -> u8 {
    if units > 255 { 255 } else { units as u8 }
}

/// Gives the packets of one stream their units, with a random number for each unit instead of each packet.
///
/// Packets have their whole units. Their remainders are laid end to end and cut into pieces of a unit. In each piece one octet,
/// or packet, is chosen evenly, and the packet that has it gets a unit more. So each packet gets on average exactly its amount, as
/// with [`Unit::draw`], and all packets together theirs to a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitSampler {
    unit: Unit,
    random: Random,
    /// The amount of remainders before the next one that is chosen.
    before: u32,
    /// What is left of its piece, with itself: 1 to a unit.
    left: u32,
}

impl UnitSampler {
    /// Before the first packet.
    pub const fn new(unit: Unit, random: Random) -> Self {
        let mut sampler = Self { unit, random, before: 0, left: 0 };
        sampler.choose();
        sampler
    }

    /// Chooses in the next piece.
    const fn choose(&mut self) {
        let at = self.unit.remainder(self.random.word());
        self.before += self.left + at;
        self.left = (1 << self.unit.shift()) - at;
    }

    /// The units of the next packet, of this many octets; at most 255.
    #[inline]
    pub const fn of(&mut self, octets: u32) -> u8 {
        let amount = self.unit.amount(octets);
        let (mut units, remainder) = (amount >> self.unit.shift(), self.unit.remainder(amount));
        // Twice at most: a remainder is less than a piece.
        while self.before < remainder {
            self.choose();
            units += 1;
        }
        self.before -= remainder;
        at_most_255(units)
    }

    /// Takes the next packets, 64 at most, if none of them has a unit. Otherwise nothing changes.
    #[inline]
    pub fn pass(&mut self, octets: &[u32]) -> bool {
        let amounts = octets.iter().map(|octets| self.unit.amount(*octets));
        // The sum counts where no amount is a unit, so that it is exact.
        let (sum, bits) = amounts.fold((0_u32, 0), |(sum, bits), it| (sum.wrapping_add(it), bits | it));
        let has_none = bits >> self.unit.shift() == 0 && self.before >= sum;
        if has_none {
            self.before -= sum;
        }
        has_none
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
            let sum: u64 = (0..1 << 16).map(|random| u64::from(unit.units(octets, random))).sum();
            assert!((sum as f64 / 65536.0 - expected).abs() < 1e-12, "{unit:?} {octets}");
        }
    }

    // Input:  packets of three kinds in random order: 60 octets, 1,400, and any size; several units and seeds.
    // Output: at any time all packets have as many units as their amount, to one; each kind has its share, to what chance permits. Packets
    //         pass together exactly if each has no unit, with the same state afterwards.
    #[test]
    fn all_units_are_the_amount_and_each_kind_has_its_share() {
        let units =
            [Unit::Octets(17), Unit::KIBI_OCTETS, Unit::Octets(8), Unit::Packets(0), Unit::Packets(6)];
        for (unit, seed) in units.into_iter().flat_map(|unit| (0..10).map(move |seed| (unit, seed))) {
            let mut sampler = UnitSampler::new(unit, Random::with_seed(seed));
            let mut random = Random::with_seed(seed + 100);
            let (mut amounts, mut found) = ([0_f64; 3], [0_f64; 3]);
            while amounts.iter().sum::<f64>() < 2000.0 {
                let kinds: Vec<usize> = (0..1 + random.bits() % 64).map(|_| random.bits().into()).collect();
                let octets: Vec<u32> =
                    kinds.iter().map(|kind| [60, 1400, *kind as u32 % 1460][kind % 3]).collect();
                let mut together = sampler.clone();
                let passed = together.pass(&octets);
                let before = sampler.clone();
                let drawn: Vec<u8> = octets.iter().map(|octets| sampler.of(*octets)).collect();
                assert_eq!(passed, drawn.iter().all(|units| *units == 0));
                assert_eq!(together, if passed { sampler.clone() } else { before });
                for ((kind, octets), drawn) in kinds.iter().zip(octets).zip(drawn) {
                    amounts[kind % 3] += f64::from(unit.amount(octets)) / f64::from(1_u32 << unit.shift());
                    found[kind % 3] += f64::from(drawn);
                    let difference = found.iter().sum::<f64>() - amounts.iter().sum::<f64>();
                    assert!(difference.abs() <= 1.0, "{unit:?} {seed}: {difference}");
                }
            }
            for (amount, found) in amounts.into_iter().zip(found) {
                assert!(
                    (found - amount).abs() <= 5.0 * amount.sqrt() + 1.0,
                    "{unit:?} {seed}: {amount} {found}"
                );
            }
        }
    }

    // Input:  packets larger than 255 units.
    // Output: 255.
    #[test]
    fn a_packet_has_255_units_at_most() {
        let mut sampler = UnitSampler::new(Unit::Octets(2), Random::with_seed(1));
        assert_eq!((sampler.of(65_535), sampler.of(1023)), (255, 255));
        assert!((252..=254).contains(&sampler.of(1011)));
    }
}
