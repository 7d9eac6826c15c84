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
        self.word() as u16
    }

    /// 32 bits, evenly distributed.
    pub const fn word(&mut self) -> u32 {
        self.state = self.state.wrapping_add(STEP);
        (fold(self.state, self.state ^ 0xe703_7ed1_a0b4_28db) >> 24) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a million numbers.
    // Output: each of sixteen values comes up as often in the bits at both ends and in the middle, after each other one too.
    #[test]
    fn numbers_are_evenly_distributed() {
        let mut random = Random::with_seed(7);
        let mut counts = [[0_u32; 16]; 20];
        let mut last = 0;
        for _ in 0..1 << 20 {
            let word = random.word();
            let of = |bits: u32| (word >> bits & 15) as usize;
            for (counts, bits) in counts.iter_mut().zip([12, 0, 28, 16]) {
                counts[of(bits)] += 1;
            }
            counts[4 + last][of(12)] += 1;
            last = of(12);
        }
        for (place, counts) in counts.iter().enumerate() {
            let mean = if place < 4 { 1 << 16 } else { 1 << 12 };
            assert!(counts.iter().all(|count| count.abs_diff(mean) < mean / 8), "{place}: {counts:?}");
        }
    }
}
