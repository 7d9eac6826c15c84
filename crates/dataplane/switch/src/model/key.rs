//! Concatenated keys of a table, in as many bits as they need.

use std::hash::Hash;

use crate::driver::{FieldMatch, Table, ones};

/// Words of a key.
const WORDS: usize = 6;

/// The keys of a packet or an entry, or a mask of them: the first key in the highest bits that are used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Packed([u64; WORDS]);

/// A bit string that is long enough for a table.
pub(super) trait Bits: Copy + Eq + Ord + Hash + Default {
    /// Appends a value of so many bits.
    fn push(&mut self, value: u128, width: u8);

    /// The bits that are also set in the mask.
    fn masked(&self, mask: &Self) -> Self;
}

impl Bits for u64 {
    fn push(&mut self, value: u128, width: u8) {
        *self = self.checked_shl(width.into()).unwrap_or(0) | value as Self;
    }

    fn masked(&self, mask: &Self) -> Self {
        self & mask
    }
}

impl Bits for Packed {
    fn push(&mut self, value: u128, width: u8) {
        let mut shifted = [0; WORDS];
        let (words, bits) = (usize::from(width) / 64, u32::from(width) % 64);
        for (place, word) in shifted.iter_mut().enumerate().skip(words) {
            let low = self.0[place - words] << bits;
            let carry = (place - words).checked_sub(1).filter(|_| bits > 0);
            *word = low | carry.map_or(0, |carry| self.0[carry] >> (64 - bits));
        }
        shifted[0] |= value as u64;
        shifted[1] |= (value >> 64) as u64;
        self.0 = shifted;
    }

    fn masked(&self, mask: &Self) -> Self {
        Self(std::array::from_fn(|place| self.0[place] & mask.0[place]))
    }
}

/// The keys of a packet. Values that are too wide are truncated.
pub(super) fn packed<B: Bits>(table: &Table, values: &[u128]) -> B {
    let mut packed = B::default();
    for (key, value) in table.keys.iter().zip(values) {
        packed.push(value & ones(key.width), key.width);
    }
    packed
}

/// The match of an entry: its bits, its mask, and the length of its prefix if it has one.
pub(super) struct Matched<B> {
    pub(super) value: B,
    pub(super) mask: B,
    pub(super) prefix: u8,
}

impl<B: Bits> Matched<B> {
    /// Packs the fields of an entry that fit the table.
    pub(super) fn new(table: &Table, fields: &[FieldMatch]) -> Self {
        let mut matched = Self { value: B::default(), mask: B::default(), prefix: 0 };
        for (key, field) in table.keys.iter().zip(fields) {
            if let FieldMatch::Lpm { prefix, .. } = field {
                matched.prefix = *prefix;
            }
            let (value, mask) = field.value_and_mask(key.width);
            matched.value.push(value, key.width);
            matched.mask.push(mask, key.width);
        }
        matched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  keys of 3, 128, 61, 128 and 64 bits: each is set to all ones in turn.
    // Output: their bits are adjacent and fill all 384; in 64 bits, the keys that fit do likewise.
    #[test]
    fn keys_lie_side_by_side() {
        let widths = [3, 128, 61, 128, 64];
        let mut sum = [0_u64; WORDS];
        for set in 0..widths.len() {
            let mut packed = Packed::default();
            for (place, width) in widths.into_iter().enumerate() {
                packed.push(if place == set { ones(width) } else { 0 }, width);
            }
            assert_eq!(packed.0.iter().map(|word| word.count_ones()).sum::<u32>(), u32::from(widths[set]));
            sum.iter_mut().zip(packed.0).for_each(|(sum, word)| *sum ^= word);
        }
        assert_eq!(sum, [u64::MAX; WORDS]);
        let mut narrow = 0_u64;
        [(5, 3), (0, 1), (1, 60)].into_iter().for_each(|(value, width)| narrow.push(value, width));
        assert_eq!(narrow, (5 << 61) | 1);
        let mut whole = 1_u64;
        whole.push(u64::MAX.into(), 64);
        assert_eq!(whole, u64::MAX);
    }
}
