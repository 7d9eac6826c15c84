//! PRECISION: R. Ben Basat, X. Chen, G. Einziger, O. Rottenstreich, "Designing Heavy-Hitter Detection Algorithms for Programmable
//! Switches", IEEE/ACM ToN 28(3), 2020.

use causeway_traffic::Key;

use super::{Counter, Entry, entries, entry_bits, identity};

/// Ways of {identity, count}. A packet of a flow without an entry finds the least count `c` of its ways, and is recirculated with the
/// chance `1 / (c + 1)`: then it takes that entry, with the count `c + 1`.
#[derive(Clone, Debug)]
pub struct Precision {
    ways: Vec<Vec<Entry>>,
    identity_bits: u32,
    random: fastrand::Rng,
}

impl Precision {
    /// With so many ways; the paper has two.
    pub fn new(octets: usize, ways: usize, identity_bits: u32, seed: u64) -> Self {
        let each = (entries(octets, entry_bits(identity_bits)) / ways).max(1);
        Self {
            ways: vec![vec![Entry::default(); each]; ways],
            identity_bits,
            random: fastrand::Rng::with_seed(seed),
        }
    }
}

impl Counter for Precision {
    fn count(&mut self, key: Key) -> u32 {
        let identity = identity(key, self.identity_bits);
        let mut least: Option<&mut Entry> = None;
        for (way, array) in self.ways.iter_mut().enumerate() {
            let place = key.place(way, array.len());
            let Some(entry) = array.get_mut(place) else { continue };
            if entry.identity == identity {
                entry.count += 1;
                return entry.count;
            }
            if least.as_ref().is_none_or(|least| entry.count < least.count) {
                least = Some(entry);
            }
        }
        match least {
            Some(least) if self.random.u32(0..=least.count) == 0 => {
                *least = Entry { identity, count: least.count + 1 };
                least.count
            }
            _ => 0,
        }
    }

    fn reset(&mut self) {
        self.ways.iter_mut().for_each(|array| array.fill(Entry::default()));
    }
}
