//! The packing of exact table entries into SRAM words.

use crate::architecture::Architecture;
use crate::table::Field;

/// Bits of the key that the address of the word determines, so that they are not stored.
const GHOST_BITS: u32 = 10;
/// Bits of each entry for the version of the table, for hitless changes.
const VERSION_BITS: u32 = 4;
/// The most entries in one word.
const ENTRIES_PER_WORD: u32 = 5;
/// The most entries in the words of one wide row.
const ENTRIES_PER_ROW: u32 = 9;
/// Bits of one word that can be read out with a match (immediate bits, number of the action).
const OVERHEAD_BITS: u32 = 64;

/// Adjacent entries in words of several blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Packing {
    /// Entries that are packed together.
    pub(super) entries: u32,
    /// Blocks of the packing.
    pub(super) width: u32,
}

/// The packings of a key with `overhead` further bits for each entry.
pub(super) fn packings(arch: &Architecture, key: &[Field], overhead: u32) -> Vec<Packing> {
    let key_bits: u32 = key.iter().map(|field| field.bits).sum();
    let bits = key_bits.saturating_sub(GHOST_BITS) + VERSION_BITS + overhead;
    let octets = stored_octets(key);
    let mut packings = Vec::new();
    for entries in 1..=ENTRIES_PER_ROW {
        let width = [
            (entries * bits).div_ceil(arch.sram_bits),
            (entries * octets).div_ceil(arch.sram_bits / 8),
            (entries * overhead).div_ceil(OVERHEAD_BITS),
            entries.div_ceil(ENTRIES_PER_WORD),
        ];
        let width = width.into_iter().max().unwrap_or(1).max(1);
        let (few, many) = (entries.min(width), entries.max(width));
        // A multiple of a smaller packing is the same packing, but less flexible.
        let multiple = few > 1 && many % few == 0;
        // An odd number of entries in two words, where the parts of all of them, each in octets of its own, fill these. The compiler was seen to
        // do so with keys of more than 32 bits.
        let parts =
            (entries * overhead).div_ceil(8) + (entries * VERSION_BITS).div_ceil(8) + entries * octets;
        let is_pair = width == 2 && key_bits > 32 && overhead != 0 && parts == 2 * arch.sram_bits / 8;
        let is_narrow = width <= bits.div_ceil(arch.sram_bits).max(1);
        if width <= arch.sram_rows && !multiple && (is_narrow || is_pair) {
            packings.push(Packing { entries, width });
        }
    }
    packings
}

/// Octets of the key that are compared: the smallest ones may be ghost bits.
fn stored_octets(key: &[Field]) -> u32 {
    let mut sizes: Vec<u32> = Vec::new();
    for field in key {
        sizes.extend(std::iter::repeat_n(8, (field.bits / 8) as usize));
        sizes.extend((field.bits % 8 != 0).then_some(field.bits % 8));
    }
    sizes.sort_unstable();
    let mut left = GHOST_BITS;
    let kept = sizes.iter().filter(|size| match left.checked_sub(**size) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    kept.count() as u32
}

#[cfg(test)]
mod tests {
    use super::{Packing, packings};
    use crate::architecture::Architecture;
    use crate::table::Field;

    fn best(bits: u32, overhead: u32) -> Packing {
        let key = [Field { name: "key", bits }];
        let packings = packings(&Architecture::TOFINO1, &key, overhead);
        packings.into_iter().max_by_key(|p| p.entries * 1000 / p.width).unwrap()
    }

    // Input:  a 24-bit id without operands: 14 + 4 bits for each entry.
    // Output: five in a word, the maximum.
    #[test]
    fn a_word_has_five_entries_at_most() {
        assert_eq!(best(24, 0), Packing { entries: 5, width: 1 });
    }

    // Input:  an IPv4 address with 32 immediate bits: 22 + 4 + 32 = 58 bits.
    // Output: two in a word.
    #[test]
    fn immediate_bits_take_room() {
        assert_eq!(best(32, 32), Packing { entries: 2, width: 1 });
    }

    // Input:  a tenant and an IPv4 address with 13 immediate bits: 30 + 4 + 13 = 47 bits, and five times four octets of key.
    // Output: five in two words, as the compiler places them (`ue-tenant-2-13` of docs/capacity.csv).
    #[test]
    fn two_words_are_filled_to_the_octet() {
        assert_eq!(best(40, 13), Packing { entries: 5, width: 2 });
    }

    // Input:  two IPv6 addresses.
    // Output: one entry over two blocks, as 246 + 4 bits need.
    #[test]
    fn wide_keys_take_several_blocks() {
        assert_eq!(best(256, 0), Packing { entries: 1, width: 2 });
    }
}
