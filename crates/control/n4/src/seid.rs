//! Where our SEIDs come from.

use causeway_types::Seid;

/// A sequence of SEIDs: each value once in 2^64, in an order that depends on the seed.
///
/// The order is that of a counter put through an invertible mixing function, so neighbours in time look
/// unrelated. It hinders guessing by accident; it is not cryptography.
#[derive(Debug)]
pub(crate) struct SeidSequence {
    counter: u64,
}

impl SeidSequence {
    pub(crate) fn new(seed: u64) -> Self {
        Self { counter: mix(seed) }
    }

    /// The next SEID: never zero, which means "not known", and not one that `in_use` knows.
    pub(crate) fn next(&mut self, in_use: impl Fn(Seid) -> bool) -> Seid {
        loop {
            self.counter = self.counter.wrapping_add(1);
            let seid = Seid(mix(self.counter));
            if seid != Seid(0) && !in_use(seid) {
                return seid;
            }
        }
    }
}

/// Steele, Lea and Flood's SplitMix64 finalizer: a bijection of 64 bits.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seids_are_nonzero_and_distinct_and_depend_on_the_seed() {
        let take = |seed| {
            let mut sequence = SeidSequence::new(seed);
            (0..10_000).map(|_| sequence.next(|_| false)).collect::<BTreeSet<_>>()
        };
        let (one, two) = (take(1), take(2));
        assert_eq!(one.len(), 10_000);
        assert!(!one.contains(&Seid(0)));
        assert!(one.is_disjoint(&two));
        assert_eq!(one, take(1));
    }

    // Input:  a counter about to reach the one value that mixes to zero, and a SEID in use after it.
    // Output: both are passed over.
    #[test]
    fn zero_and_used_values_are_passed_over() {
        let mut sequence = SeidSequence { counter: u64::MAX };
        assert_eq!(mix(0), 0);
        assert_eq!(sequence.next(|seid| seid == Seid(mix(1))), Seid(mix(2)));
    }
}
