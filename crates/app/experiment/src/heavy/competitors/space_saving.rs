//! Space-Saving: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT
//! 2005.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use causeway_traffic::Key;

use super::{Counter, entries};

/// A number of counts. A flow without one takes the least, with its count and one more; what it took over is its error.
///
/// The least is found by a heap. Only the entry is counted as memory: 32 bits of identity, 16 of count, 16 of error, and 64 for the
/// links of the paper's list and its index.
#[derive(Clone, Debug)]
pub struct SpaceSaving {
    most: usize,
    is_guaranteed: bool,
    /// A binary heap by count.
    heap: Vec<Held>,
    places: HashMap<u64, usize, BuildHasherDefault<KeyHasher>>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    key: Key,
    count: u32,
    error: u32,
}

/// Keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        octets.iter().for_each(|octet| self.0 = self.0.rotate_left(8) ^ u64::from(*octet));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

const ENTRY_BITS: usize = 128;

impl SpaceSaving {
    /// The estimate is the count, or what is guaranteed: the count less the error.
    pub fn new(octets: usize, is_guaranteed: bool) -> Self {
        Self::with_entries(entries(octets, ENTRY_BITS), is_guaranteed)
    }

    /// The same with so many entries.
    pub(super) fn with_entries(most: usize, is_guaranteed: bool) -> Self {
        Self { most, is_guaranteed, heap: Vec::with_capacity(most), places: HashMap::default() }
    }

    /// Moves an entry whose count has grown towards the leaves; returns its place.
    fn sink(&mut self, mut place: usize) -> usize {
        while let Some(child) = self.lesser_child(place) {
            if self.count_at(child) >= self.count_at(place) {
                break;
            }
            self.heap.swap(place, child);
            self.note(place);
            place = child;
        }
        self.note(place);
        place
    }

    fn lesser_child(&self, place: usize) -> Option<usize> {
        let children = [2 * place + 1, 2 * place + 2];
        children
            .into_iter()
            .filter(|child| *child < self.heap.len())
            .min_by_key(|child| self.count_at(*child))
    }

    fn count_at(&self, place: usize) -> u32 {
        self.heap.get(place).map_or(u32::MAX, |held| held.count)
    }

    fn note(&mut self, place: usize) {
        if let Some(held) = self.heap.get(place) {
            self.places.insert(held.key.0, place);
        }
    }

    fn estimate(&self, place: usize) -> u32 {
        let error = |held: &Held| if self.is_guaranteed { held.error } else { 0 };
        self.heap.get(place).map_or(0, |held| held.count - error(held))
    }
}

impl Counter for SpaceSaving {
    fn count(&mut self, key: Key) -> u32 {
        let place = match self.places.get(&key.0) {
            Some(place) => *place,
            None if self.heap.len() < self.most => {
                // A new entry has the least count there can be, so its parents must not be greater.
                self.heap.push(Held { key, count: 0, error: 0 });
                self.rise(self.heap.len() - 1)
            }
            None => {
                let Some(least) = self.heap.first_mut() else { return 0 };
                self.places.remove(&least.key.0);
                *least = Held { key, count: least.count, error: least.count };
                0
            }
        };
        self.heap.get_mut(place).into_iter().for_each(|held| held.count += 1);
        let place = self.sink(place);
        self.estimate(place)
    }

    fn reset(&mut self) {
        self.heap.clear();
        self.places.clear();
    }
}

impl SpaceSaving {
    /// Moves an entry towards the root; returns its place.
    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.count_at(parent) <= self.count_at(place) {
                break;
            }
            self.heap.swap(place, parent);
            self.note(place);
            place = parent;
        }
        self.note(place);
        place
    }
}
