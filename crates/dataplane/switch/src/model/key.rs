//! Keys of a table side by side in 256 bits.

use crate::driver::{FieldMatch, MatchKind, Table, WriteError};

/// Words of a key.
const WORDS: usize = 4;

/// The keys of a packet or an entry, or a mask of them: the first key in the highest bits that are used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Packed([u64; WORDS]);

impl Packed {
    /// Appends a value of so many bits.
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

    /// The bits that the mask has, too.
    pub(super) fn masked(&self, mask: &Self) -> Self {
        Self(std::array::from_fn(|place| self.0[place] & mask.0[place]))
    }

    /// The keys of a packet. What is too wide is cut.
    pub(super) fn of_packet(table: &Table, values: &[u128]) -> Self {
        let mut packed = Self::default();
        for (key, value) in table.keys.iter().zip(values) {
            packed.push(value & ones(key.width), key.width);
        }
        packed
    }
}

/// What an entry matches: its bits, which bits count, and the length of its prefix if it has one.
pub(super) struct Matched {
    pub(super) value: Packed,
    pub(super) mask: Packed,
    pub(super) prefix: u8,
}

impl Matched {
    /// Checks and packs the fields of an entry.
    pub(super) fn new(table: &Table, fields: &[FieldMatch]) -> Result<Self, WriteError> {
        if fields.len() != table.keys.len() {
            let (expected, given) = (table.keys.len(), fields.len());
            return Err(WriteError::Arity { table: table.name.clone(), what: "keys", expected, given });
        }
        let mut matched = Self { value: Packed::default(), mask: Packed::default(), prefix: 0 };
        for (key, field) in table.keys.iter().zip(fields) {
            let wrong =
                || WriteError::Field { table: table.name.clone(), name: key.name.clone(), width: key.width };
            let all = ones(key.width);
            let (value, mask) = match (key.kind, *field) {
                (MatchKind::Exact, FieldMatch::Exact(value)) => (value, all),
                (MatchKind::Ternary, FieldMatch::Ternary { value, mask }) => (value, mask),
                (MatchKind::Lpm, FieldMatch::Lpm { value, prefix }) if prefix <= key.width => {
                    matched.prefix = prefix;
                    (value, all & !ones(key.width - prefix))
                }
                _ => return Err(wrong()),
            };
            if value & !mask != 0 || mask & !all != 0 {
                return Err(wrong());
            }
            matched.value.push(value, key.width);
            matched.mask.push(mask, key.width);
        }
        Ok(matched)
    }
}

/// So many low bits.
pub(super) const fn ones(width: u8) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  keys of 3, 128, 61 and 64 bits: one is set after the other to all ones.
    // Output: their bits lie side by side and fill all 256.
    #[test]
    fn keys_lie_side_by_side() {
        let widths = [3, 128, 61, 64];
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
    }
}
