//! Where things are that are found by something in them.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Numbers of places in a table elsewhere, by a hash of the key of what is there; the key itself is there, too.
///
/// Nine octets for each, and no access to the other table but for what is likely to be right: not even when this one grows.
/// Seeded anew each time one is made, since peers choose the keys.
#[derive(Debug, Default)]
pub struct Places {
    hasher: RandomState,
    /// The lower half of the hash, and the place.
    table: HashTable<(u32, u32)>,
}

impl Places {
    /// None, and room for so many: the table grows no more.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { table: HashTable::with_capacity(capacity), ..Self::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Enters the place of a key, beside others of it. O(places of the key).
    pub fn insert(&mut self, key: impl Hash, place: u32) {
        let low = self.hash(key);
        self.table.insert_unique(spread(low), (low, place), |(low, _)| spread(*low));
    }

    /// Takes a place of a key out.
    pub fn remove(&mut self, key: impl Hash, place: u32) {
        let low = self.hash(key);
        if let Ok(entry) = self.table.find_entry(spread(low), |held| *held == (low, place)) {
            entry.remove();
        }
    }

    /// The place of a key, where `is_it` says which of those that it may be.
    pub fn find(&self, key: impl Hash, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let low = self.hash(key);
        self.table.find(spread(low), |held| held.0 == low && is_it(held.1)).map(|(_, place)| *place)
    }

    /// All places that may be those of a key.
    pub fn all(&self, key: impl Hash) -> impl Iterator<Item = u32> {
        let low = self.hash(key);
        self.table.iter_hash(spread(low)).filter(move |held| held.0 == low).map(|(_, place)| *place)
    }

    fn hash(&self, key: impl Hash) -> u32 {
        self.hasher.hash_one(key) as u32
    }
}

/// The table asks for hashes whose upper bits differ, too.
const fn spread(low: u32) -> u64 {
    (low as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thousand things entered by their remainder modulo 100; those below 500 taken out.
    // Output: each key leads to those that are left and have it, and to no other.
    #[test]
    fn keys_lead_to_their_places() {
        let mut places = Places::default();
        (0..1000_u32).for_each(|place| places.insert(place % 100, place));
        (0..500_u32).for_each(|place| places.remove(place % 100, place));
        for key in 0..100_u32 {
            let mut found: Vec<_> = places.all(key).filter(|place| place % 100 == key).collect();
            found.sort_unstable();
            assert_eq!(found, (500..1000).filter(|place| place % 100 == key).collect::<Vec<_>>());
            assert_eq!(places.find(key, |place| place == 900 + key), Some(900 + key));
            assert_eq!(places.find(key, |place| place == key), None);
        }
        assert_eq!((places.len(), places.is_empty()), (500, false));
    }
}
