//! HashPipe: V. Sivaraman et al., "Heavy-Hitter Detection Entirely in the Data Plane", SOSR 2017.

use causeway_traffic::Key;

use super::{Counter, Entry, entries, entry_bits, identity};

/// Stages of {identity, count}. A packet always takes its entry of the first stage; what was there goes on to the next stage, where the
/// greater of both stays and the smaller goes on, and is lost after the last. A flow may have entries in several stages; the
/// estimate is their sum.
#[derive(Clone, Debug)]
pub struct HashPipe {
    stages: Vec<Vec<Held>>,
}

/// The place in the next stage follows from the identity, so it cannot be shorter.
const IDENTITY_BITS: u32 = 32;

/// An entry with the key that leads to its place in the next stage.
#[derive(Clone, Copy, Debug)]
struct Held {
    entry: Entry,
    key: Key,
}

const EMPTY: Held = Held { entry: Entry { identity: 0, count: 0 }, key: Key(0) };

impl HashPipe {
    /// With so many stages.
    pub fn new(octets: usize, stages: usize) -> Self {
        let each = (entries(octets, entry_bits(IDENTITY_BITS)) / stages).max(1);
        Self { stages: vec![vec![EMPTY; each]; stages] }
    }

    fn estimate(&self, key: Key, identity: u32) -> u32 {
        let held = self
            .stages
            .iter()
            .enumerate()
            .filter_map(|(stage, array)| array.get(key.place(stage, array.len())));
        held.filter(|held| held.entry.identity == identity).map(|held| held.entry.count).sum()
    }
}

impl Counter for HashPipe {
    fn count(&mut self, key: Key) -> u32 {
        let identity = identity(key, IDENTITY_BITS);
        let mut carried = Held { entry: Entry { identity, count: 1 }, key };
        for (stage, array) in self.stages.iter_mut().enumerate() {
            let place = carried.key.place(stage, array.len());
            let Some(held) = array.get_mut(place) else { continue };
            if held.entry.identity == carried.entry.identity {
                held.entry.count += carried.entry.count;
                break;
            }
            if stage == 0 || held.entry.count < carried.entry.count {
                std::mem::swap(held, &mut carried);
            }
            if carried.entry.count == 0 {
                break;
            }
        }
        self.estimate(key, identity)
    }

    fn reset(&mut self) {
        self.stages.iter_mut().for_each(|array| array.fill(EMPTY));
    }
}
