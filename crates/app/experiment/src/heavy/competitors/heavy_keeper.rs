//! HeavyKeeper: T. Yang et al., "HeavyKeeper: An Accurate Algorithm for Finding Top-k Elephant Flows", IEEE/ACM ToN 27(5),
//! 2019.

use causeway_traffic::Key;

use super::{Counter, Entry, entries, entry_bits, identity};

/// Arrays of {16-bit identity, count}. A packet of another flow decreases the count `c` of an entry with the chance `b^-c`; a flow that
/// finds or makes a count of zero takes the entry. The estimate is the greatest count of the flow's entries.
#[derive(Clone, Debug)]
pub struct HeavyKeeper {
    arrays: Vec<Vec<Entry>>,
    /// The chance of a decrease by count.
    chances: Vec<f64>,
    random: fastrand::Rng,
}

const IDENTITY_BITS: u32 = 16;

impl HeavyKeeper {
    /// With so many arrays; `base` is the paper's b, which is 1.08 there.
    pub fn new(octets: usize, arrays: usize, base: f64, seed: u64) -> Self {
        let each = (entries(octets, entry_bits(IDENTITY_BITS)) / arrays).max(1);
        Self {
            arrays: vec![vec![Entry::default(); each]; arrays],
            chances: (0..256).map(|count| base.powi(-count)).collect(),
            random: fastrand::Rng::with_seed(seed),
        }
    }
}

impl Counter for HeavyKeeper {
    fn count(&mut self, key: Key) -> u32 {
        let identity = identity(key, IDENTITY_BITS);
        let mut estimate = 0;
        for (way, array) in self.arrays.iter_mut().enumerate() {
            let place = key.place(way, array.len());
            let Some(entry) = array.get_mut(place) else { continue };
            if entry.identity == identity {
                entry.count += 1;
            } else {
                let chance = self.chances.get(entry.count as usize).copied().unwrap_or_default();
                if entry.count > 0 && self.random.f64() < chance {
                    entry.count -= 1;
                }
                if entry.count == 0 {
                    *entry = Entry { identity, count: 1 };
                }
            }
            if entry.identity == identity {
                estimate = estimate.max(entry.count);
            }
        }
        estimate
    }

    fn reset(&mut self) {
        self.arrays.iter_mut().for_each(|array| array.fill(Entry::default()));
    }
}
