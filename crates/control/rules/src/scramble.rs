//! Identifiers that nobody can guess, from numbers that are counted.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rounds of the Feistel networks: four make one that cannot be told from a random permutation with few queries
/// (Luby and Rackoff); two more are a margin.
const ROUNDS: u8 = 6;

/// A keyed permutation of 32-bit and of 64-bit numbers.
///
/// TEIDs and SEIDs are the only secret between an attacker who can reach N3 or N4 and other people's sessions, so
/// they should not follow from those that he has seen. The permutation keeps them distinct, and the way back
/// leads to the table slot that they stand for. It is a Feistel network whose round function is SipHash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scramble([u64; 2]);

impl Scramble {
    /// Of this key, 128 random bits.
    pub const fn new(key: [u64; 2]) -> Self {
        Self(key)
    }

    /// The number that stands for `value`. Zero stands for nothing but zero.
    pub fn hide32(&self, value: u32) -> u32 {
        around_zero(value, |value| {
            let (mut left, mut right) = ((value >> 16) as u16, value as u16);
            for round in 0..ROUNDS {
                (left, right) = (right, left ^ self.round(round, right.into()) as u16);
            }
            u32::from(left) << 16 | u32::from(right)
        })
    }

    /// The number that `hidden` stands for.
    pub fn reveal32(&self, hidden: u32) -> u32 {
        around_zero(hidden, |hidden| {
            let (mut left, mut right) = ((hidden >> 16) as u16, hidden as u16);
            for round in (0..ROUNDS).rev() {
                (left, right) = (right ^ self.round(round, left.into()) as u16, left);
            }
            u32::from(left) << 16 | u32::from(right)
        })
    }

    /// The number that stands for `value`, one for each.
    pub fn hide64(&self, value: u64) -> u64 {
        let (mut left, mut right) = ((value >> 32) as u32, value as u32);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round | 0x80, right) as u32);
        }
        u64::from(left) << 32 | u64::from(right)
    }

    fn round(&self, round: u8, half: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0, round, half).hash(&mut hasher);
        hasher.finish()
    }
}

/// A permutation with the places of two numbers exchanged, so that zero stays where it is: what leads to zero leads
/// to where zero led.
fn around_zero(value: u32, permute: impl Fn(u32) -> u32) -> u32 {
    match (value, permute(value)) {
        (0, _) => 0,
        (_, 0) => permute(0),
        (_, other) => other,
    }
}

impl fmt::Debug for Scramble {
    /// Without the key, which must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scramble")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Input:  any key and any number.
        // Output: what is hidden is revealed again; zero only for zero.
        #[test]
        fn the_way_back_leads_to_the_number(key: [u64; 2], value: u32) {
            let scramble = Scramble::new(key);
            let hidden = scramble.hide32(value);
            prop_assert_eq!(scramble.reveal32(hidden), value);
            prop_assert_eq!(hidden == 0, value == 0);
            prop_assert_eq!(scramble.hide32(scramble.reveal32(value)), value);
        }
    }

    // Input:  the numbers 1 to 65536 under two keys.
    // Output: all distinct; as many high bits set as not, within four standard deviations; no run of neighbours;
    //         the keys have next to nothing in common.
    #[test]
    fn neighbours_look_unrelated() {
        let of = |key| -> Vec<u32> { (1..=65_536).map(|value| Scramble::new(key).hide32(value)).collect() };
        let (one, other) = (of([1, 2]), of([1, 3]));
        assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 65_536);
        let high = one.iter().filter(|value| **value >> 31 == 1).count();
        assert!((32_768 - 512..32_768 + 512).contains(&high), "{high}");
        assert_eq!(one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count(), 0);
        assert!(one.iter().zip(&other).filter(|(one, other)| one == other).count() <= 1);
    }

    #[test]
    fn sixty_four_bits_stay_distinct_and_the_key_is_not_shown() {
        let scramble = Scramble::new([7, 8]);
        let all: BTreeSet<_> = (0..10_000).map(|value| scramble.hide64(value)).collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(format!("{scramble:?}"), "Scramble");
    }
}
