//! Where our SEIDs come from.

use causeway_rules::Scramble;
use causeway_types::Seid;

/// A sequence of SEIDs: each value once in 2^64, in an order that depends on the seed.
///
/// The order is that of a counter put through a permutation: a keyed one that hides the order, or, without a
/// secret, a known one that only spreads the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeidSequence {
    counter: u64,
    secret: Option<Scramble>,
    /// The next two.
    ahead: [Seid; 2],
}

impl SeidSequence {
    pub(crate) fn new(seed: u64, secret: Option<Scramble>) -> Self {
        Self::from_counter(mix(seed), secret)
    }

    fn from_counter(counter: u64, secret: Option<Scramble>) -> Self {
        let mut sequence = Self { counter, secret, ahead: [Seid(0); 2] };
        sequence.ahead = [sequence.draw(), sequence.draw()];
        sequence
    }

    /// The next SEID, if it is not in use.
    pub(crate) const fn peek(&self) -> Seid {
        self.ahead[0]
    }

    /// The one after that.
    pub(crate) const fn peek_second(&self) -> Seid {
        self.ahead[1]
    }

    /// The next SEID: not one that `in_use` knows.
    pub(crate) fn next(&mut self, in_use: impl Fn(Seid) -> bool) -> Seid {
        loop {
            let [seid, second] = self.ahead;
            self.ahead = [second, self.draw()];
            if !in_use(seid) {
                return seid;
            }
        }
    }

    /// The next value that is not zero, which means "not known".
    fn draw(&mut self) -> Seid {
        loop {
            self.counter = self.counter.wrapping_add(1);
            let value = self.secret.map_or_else(|| mix(self.counter), |secret| secret.hide64(self.counter));
            if value != 0 {
                return Seid(value);
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
    fn seids_are_nonzero_and_distinct_and_depend_on_seed_and_secret() {
        let take = |seed, secret| {
            let mut sequence = SeidSequence::new(seed, secret);
            (0..10_000).map(|_| sequence.next(|_| false)).collect::<BTreeSet<_>>()
        };
        let secret = Some(Scramble::new([5, 6, 7]));
        let (one, two, three) = (take(1, None), take(2, None), take(1, secret));
        assert_eq!(one.len(), 10_000);
        assert!(!one.contains(&Seid(0)));
        assert!(one.is_disjoint(&two));
        assert!(three.is_disjoint(&one) && three.len() == 10_000);
        assert_eq!(one, take(1, None));
        let mut sequence = SeidSequence::new(1, secret);
        let second = sequence.peek_second();
        assert_eq!(sequence.peek(), sequence.next(|_| false));
        assert_eq!(sequence.peek(), second);
    }

    // Input:  a counter about to reach the one value that mixes to zero, and a SEID in use after it.
    // Output: both are passed over.
    #[test]
    fn zero_and_used_values_are_passed_over() {
        let mut sequence = SeidSequence::from_counter(u64::MAX, None);
        assert_eq!(mix(0), 0);
        assert_eq!(sequence.next(|seid| seid == Seid(mix(1))), Seid(mix(2)));
    }
}
