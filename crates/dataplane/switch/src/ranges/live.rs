//! Which numbers are in use, counted for every aligned block.

use super::Block;

/// Bits of one word of the set.
const WORD: u8 = 6;

/// A set of numbers below `2^bits` that counts its numbers in each aligned block.
///
/// 12 octets for 64 numbers: 3 MiB at 24 bits. Counting is one lookup, insertion and removal one step per level.
#[derive(Clone, Debug)]
pub(super) struct NumberSet {
    bits: u8,
    words: Vec<u64>,
    /// The counts of all blocks from 64 numbers up, as a heap: the root is at 1, the halves of `n` at `2n` and `2n + 1`.
    counts: Vec<u32>,
}

impl NumberSet {
    /// An empty set of numbers of `bits` bits.
    pub(super) fn new(bits: u8) -> Self {
        let words = 1_usize << bits.saturating_sub(WORD);
        Self { bits, words: vec![0; words], counts: vec![0; 2 * words] }
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.word(number) & bit(number) != 0
    }

    /// How many numbers of the block are in use.
    pub(super) fn count(&self, block: Block) -> u32 {
        if block.bits() < WORD {
            return (self.word(block.base()) & mask(block)).count_ones();
        }
        self.counts.get(self.node(block.base(), block.bits())).copied().unwrap_or(0)
    }

    /// Whether no number of the block is free.
    pub(super) fn is_full(&self, block: Block) -> bool {
        self.count(block) == block.size()
    }

    /// The first number of the block that is not in use.
    pub(super) fn first_free(&self, block: Block) -> Option<u32> {
        if self.is_full(block) {
            return None;
        }
        let mut block = block;
        while block.bits() > WORD {
            let (lower, upper) = block.halves()?;
            block = if self.is_full(lower) { upper } else { lower };
        }
        let free = !self.word(block.base()) & mask(block);
        Some((block.base() >> WORD << WORD) + free.trailing_zeros())
    }

    /// Adds a number; false if it was present.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        self.change(number, true)
    }

    /// Removes a number; false if it was absent.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        self.change(number, false)
    }

    fn change(&mut self, number: u32, used: bool) -> bool {
        let Some(word) = self.words.get_mut(number as usize >> WORD) else { return false };
        if (*word & bit(number) != 0) == used || number >> self.bits != 0 {
            return false;
        }
        *word ^= bit(number);
        let mut node = self.node(number, WORD);
        while node > 0 {
            if let Some(count) = self.counts.get_mut(node) {
                *count = if used { *count + 1 } else { *count - 1 };
            }
            node /= 2;
        }
        true
    }

    fn word(&self, number: u32) -> u64 {
        self.words.get(number as usize >> WORD).copied().unwrap_or(0)
    }

    fn node(&self, base: u32, bits: u8) -> usize {
        let depth = self.bits.max(WORD).saturating_sub(bits);
        (1 << depth) + (base >> bits) as usize
    }
}

const fn bit(number: u32) -> u64 {
    1 << (number & 63)
}

/// The bits of a block of at most 64 numbers in its word.
const fn mask(block: Block) -> u64 {
    let ones = if block.bits() >= WORD { u64::MAX } else { (1 << block.size()) - 1 };
    ones << (block.base() & 63)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Input:  numbers entered and removed in any order, in spaces below, at and above one word.
        // Output: for every aligned block the count and the first free number of a plain set.
        #[test]
        fn it_agrees_with_a_plain_set(bits in 1..=9_u8, steps in proptest::collection::vec(any::<(bool, u16)>(), 0..600)) {
            let (mut live, mut plain) = (NumberSet::new(bits), BTreeSet::new());
            for (enter, number) in steps {
                let number = u32::from(number) % (1 << bits);
                let changed = if enter { live.insert(number) } else { live.remove(number) };
                prop_assert_eq!(changed, if enter { plain.insert(number) } else { plain.remove(&number) });
            }
            for size in 0..=bits {
                for block in (0..1 << (bits - size)).map(|prefix: u32| Block::around(prefix << size, size)) {
                    let numbers = block.base()..=block.last();
                    prop_assert_eq!(live.count(block) as usize, plain.range(numbers.clone()).count());
                    prop_assert_eq!(live.first_free(block), numbers.clone().find(|number| !plain.contains(number)));
                    prop_assert!(numbers.into_iter().all(|number| live.contains(number) == plain.contains(&number)));
                }
            }
        }
    }

    #[test]
    fn a_number_beyond_the_space_is_not_entered() {
        let mut live = NumberSet::new(3);
        assert!(!live.insert(8) && !live.insert(100));
        assert_eq!(live.count(Block::around(0, 3)), 0);
    }
}
