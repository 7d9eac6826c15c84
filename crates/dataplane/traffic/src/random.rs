//! A seeded generator of random numbers.

use crate::key::fold;

/// A generator with 64 bits of state: the same seed gives the same numbers on any machine.
///
/// For decisions that only have to be fair on average; not for secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Random {
    state: u64,
}

/// What the state grows by: odd, so that all states are visited.
const STEP: u64 = 0xa076_1d64_78bd_642f;

impl Random {
    /// A generator with this seed.
    pub const fn with_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Sixteen bits, evenly distributed.
    pub const fn bits(&mut self) -> u16 {
        self.state = self.state.wrapping_add(STEP);
        (fold(self.state, self.state ^ 0xe703_7ed1_a0b4_28db) >> 24) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a million numbers.
    // Output: each of sixteen ranges comes up as often, in the high and in the low bits, after each other number too.
    #[test]
    fn numbers_are_evenly_distributed() {
        let mut random = Random::with_seed(7);
        let mut counts = [[0_u32; 16]; 18];
        let mut last = 0;
        for _ in 0..1 << 20 {
            let bits = random.bits();
            counts[0][usize::from(bits >> 12)] += 1;
            counts[1][usize::from(bits & 15)] += 1;
            counts[2 + last][usize::from(bits >> 12)] += 1;
            last = usize::from(bits >> 12);
        }
        for (place, counts) in counts.iter().enumerate() {
            let mean = if place < 2 { 1 << 16 } else { 1 << 12 };
            assert!(counts.iter().all(|count| count.abs_diff(mean) < mean / 8), "{place}: {counts:?}");
        }
    }
}
