//! Aligned blocks of numbers.

use std::fmt;

/// A block of `2^bits` numbers that starts at a multiple of its size: the numbers that one ternary entry can match.
///
/// The paper writes it `(r, m)`, with `r` the prefix and `m` the bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block {
    base: u32,
    bits: u8,
}

impl Block {
    /// The block of `bits` bits (at most 31) that contains this number.
    pub const fn around(number: u32, bits: u8) -> Self {
        Self { base: number >> bits << bits, bits }
    }

    /// The first number.
    pub const fn base(self) -> u32 {
        self.base
    }

    /// The number of low bits that are free.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The number of its numbers.
    pub const fn size(self) -> u32 {
        1 << self.bits
    }

    /// The last number.
    pub const fn last(self) -> u32 {
        self.base + (self.size() - 1)
    }

    /// Whether it contains the number.
    pub const fn contains(self, number: u32) -> bool {
        number >> self.bits == self.base >> self.bits
    }

    /// Whether it contains the whole other block.
    pub const fn covers(self, other: Self) -> bool {
        other.bits <= self.bits && self.contains(other.base)
    }

    /// The other half of its parent.
    pub const fn buddy(self) -> Self {
        Self { base: self.base ^ self.size(), bits: self.bits }
    }

    /// The block that is twice as large.
    pub const fn parent(self) -> Self {
        Self::around(self.base, self.bits + 1)
    }

    /// Its lower and its upper half; `None` for a single number.
    pub const fn halves(self) -> Option<(Self, Self)> {
        if self.bits == 0 {
            return None;
        }
        let lower = Self { base: self.base, bits: self.bits - 1 };
        Some((lower, lower.buddy()))
    }
}

/// In the paper's notation: `(prefix, bits)`.
impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.base >> self.bits, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the block around 22 with two free bits.
    // Output: 20 to 23, (5, 2) in the paper's notation; its buddy is 16 to 19.
    #[test]
    fn a_block_knows_its_neighbours() {
        let block = Block::around(22, 2);
        assert_eq!((block.base(), block.last(), block.to_string().as_str()), (20, 23, "(5, 2)"));
        assert_eq!((block.buddy().base(), block.parent().base(), block.parent().size()), (16, 16, 8));
        let (lower, upper) = block.halves().unwrap();
        assert_eq!((lower.last(), upper.base()), (21, 22));
        assert!(block.covers(upper) && block.covers(block) && !upper.covers(block));
        assert_eq!(Block::around(7, 0).halves(), None);
    }
}
