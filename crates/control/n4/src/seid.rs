//! Allocation of the UPF's SEIDs, and their mapping to sessions.

use std::num::NonZeroU8;

use causeway_types::{IdCipher, Seid, spread};

/// Bits of a session index; the other bits hold the sequence number.
const INDEX_BITS: u32 = 28;

/// The highest bit of the sequence number.
const HIGHEST: u64 = 1 << 63;

/// The SEIDs of one of several parts. Those of the UPF are of a part if their lower half has its number as the remainder when
/// divided by the number of parts; those of SMFs, which may be in order, are spread before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeidShare {
    part: u32,
    parts: u32,
}

impl SeidShare {
    /// The SEIDs of this part, below so many.
    pub(crate) fn of(part: u8, parts: NonZeroU8) -> Self {
        Self { part: part.into(), parts: parts.get().into() }
    }

    /// The number of the part.
    pub(crate) const fn part(self) -> u32 {
        self.part
    }

    /// The number of parts.
    pub(crate) const fn parts(self) -> u32 {
        self.parts
    }

    /// The part that a SEID of the UPF belongs to.
    pub(crate) const fn part_of(self, Seid(value): Seid) -> usize {
        (value as u32 % self.parts) as usize
    }

    /// The part that establishes the sessions with this SEID of an SMF.
    pub(crate) const fn establishing(self, Seid(value): Seid) -> usize {
        spread(value as u32, self.parts as usize)
    }

    /// Whether this SEID of the UPF is one of them.
    pub(crate) const fn has(self, seid: Seid) -> bool {
        self.part_of(seid) == self.part as usize
    }

    /// Whether the part establishes the sessions with this SEID of an SMF.
    pub(crate) const fn establishes(self, seid: Seid) -> bool {
        self.establishing(seid) == self.part as usize
    }
}

/// A sequence of SEIDs that contain the index of their session, so that no lookup table is needed.
///
/// Each consists of the session index and a sequence number, permuted: with a secret by a keyed permutation that hides
/// both, otherwise by a known one that only spreads the values. The numbers begin at the seed, and repeat after 2^36.
/// Even then no two sessions have the same SEID, since their indices differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeidSequence {
    number: u64,
    secret: Option<IdCipher>,
}

impl Default for SeidSequence {
    fn default() -> Self {
        Self::new(0, None)
    }
}

impl SeidSequence {
    /// The number of indices.
    pub(crate) const INDICES: usize = 1 << INDEX_BITS;

    pub(crate) fn new(seed: u64, secret: Option<IdCipher>) -> Self {
        Self { number: mix(seed), secret }
    }

    /// The next SEID, for a session with this index, below [`SeidSequence::INDICES`].
    pub(crate) fn peek(&self, index: u32) -> Seid {
        let plain = self.number << INDEX_BITS | u64::from(index);
        // Zero means "not known"; only one input maps to it.
        match self.permuted(plain) {
            0 => Seid(self.permuted(plain ^ HIGHEST)),
            value => Seid(value),
        }
    }

    /// The next SEID is allocated.
    pub(crate) const fn advance(&mut self) {
        self.number = self.number.wrapping_add(1);
    }

    /// The index of the session with this SEID, if it exists: a session with this SEID has this index.
    #[inline]
    pub(crate) fn index_of_seid(&self, Seid(value): Seid) -> u32 {
        let plain = self.secret.map_or_else(|| unmix(value), |secret| secret.decrypt64(value));
        plain as u32 & (Self::INDICES - 1) as u32
    }

    fn permuted(&self, plain: u64) -> u64 {
        self.secret.map_or_else(|| mix(plain), |secret| secret.encrypt64(plain))
    }
}

/// Steele, Lea and Flood's SplitMix64 finalizer: a bijection of 64 bits.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The inverse: of both factors, and of the shifts.
const fn unmix(value: u64) -> u64 {
    let value = (value ^ (value >> 31) ^ (value >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    let value = (value ^ (value >> 27) ^ (value >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    value ^ (value >> 30) ^ (value >> 60)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    // Input:  ten thousand SEIDs at a hundred indices in turn, with two seeds, with and without a secret.
    // Output: none is zero, all differ within a sequence and between sequences, and each maps to its index; the same
    // seed and secret give the same.
    #[test]
    fn seids_are_nonzero_and_distinct_and_depend_on_seed_and_secret() {
        let take = |seed, secret| {
            let mut sequence = SeidSequence::new(seed, secret);
            let seids = (0..10_000_u32).map(|at| {
                let seid = sequence.peek(at % 100);
                assert_eq!((seid, sequence.index_of_seid(seid)), (sequence.peek(at % 100), at % 100));
                sequence.advance();
                seid
            });
            seids.collect::<BTreeSet<_>>()
        };
        let secret = Some(IdCipher::new([5, 6, 7]));
        let (one, two, three) = (take(1, None), take(2, None), take(1, secret));
        assert_eq!(one.len(), 10_000);
        assert!(!one.contains(&Seid(0)));
        assert!(one.is_disjoint(&two));
        assert!(three.is_disjoint(&one) && three.len() == 10_000);
        assert_eq!(one, take(1, None));
    }

    // Input:  the one number that is mapped to zero.
    // Output: another SEID, with the same index.
    #[test]
    fn zero_is_no_seid() {
        let sequence = SeidSequence { number: 0, secret: None };
        assert_eq!(mix(0), 0);
        assert_eq!((sequence.peek(0), sequence.index_of_seid(sequence.peek(0))), (Seid(mix(HIGHEST)), 0));
    }

    // Input:  the last SEID before the numbers repeat, and the first after it, at one index; the last index.
    // Output: they differ, and map to the index.
    #[test]
    fn sequence_numbers_restart() {
        let last = SeidSequence::INDICES as u32 - 1;
        let mut sequence = SeidSequence { number: u64::MAX, secret: None };
        let before = sequence.peek(last);
        sequence.advance();
        assert_ne!(before, sequence.peek(last));
        assert_eq!(
            (sequence.index_of_seid(before), sequence.index_of_seid(sequence.peek(last))),
            (last, last)
        );
    }

    proptest! {
        // Input:  any value.
        // Output: both functions are inverse to each other.
        #[test]
        fn mixing_has_a_way_back(value: u64) {
            prop_assert_eq!((unmix(mix(value)), mix(unmix(value))), (value, value));
        }
    }
}
