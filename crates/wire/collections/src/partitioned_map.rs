//! Hash maps that grow in small steps.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Parts of a map: a power of two.
const PARTS: usize = 1024;

/// The lowest bit of a hash that selects the part. A part uses the lowest bits and the seven highest ones.
const PART_SHIFT: u32 = 40;

/// Removals between two checks of a part: a power of two.
const ROUND: usize = 8;

/// Entries for which a part may always have capacity.
const FEW: usize = 2;

/// A hash map without long pauses: an insertion moves at most one of 1024 parts. The hasher mixes its result once
/// more at its end: otherwise some seeds put most of the keys that are consecutive numbers into few parts. Memory
/// is released in the same steps: every eighth removal checks the next part in turn.
///
/// It consists of many hash tables, each of which doubles separately when it is full. A map that moves all of a
/// million entries stops its thread for a tenth of a second. Each map has a random seed, since peers choose the
/// keys.
#[derive(Clone, Debug)]
pub struct PartitionedMap<K, V> {
    hasher: RandomState,
    /// None before the first entry.
    parts: Vec<HashTable<(K, V)>>,
    len: usize,
    /// The part that was last checked for unused capacity.
    last: usize,
}

impl<K, V> Default for PartitionedMap<K, V> {
    fn default() -> Self {
        Self { hasher: RandomState::default(), parts: Vec::new(), len: 0, last: 0 }
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for PartitionedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Eq + Hash, V: Eq> Eq for PartitionedMap<K, V> {}

const fn part_of(hash: u64) -> usize {
    (hash >> PART_SHIFT) as usize % PARTS
}

impl<K, V> PartitionedMap<K, V> {
    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// There are no entries.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.parts.iter().flatten().map(|(key, value)| (key, value))
    }

    /// All values, in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// All values, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.parts.iter_mut().flatten().map(|(_, value)| value)
    }
}

impl<K: Eq + Hash, V> PartitionedMap<K, V> {
    /// The value of a key.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let part = self.parts.get(part_of(hash))?;
        part.find(hash, |(known, _)| known.borrow() == key).map(|(_, value)| value)
    }

    /// The same, mutable.
    #[inline]
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let part = self.parts.get_mut(part_of(hash))?;
        part.find_mut(hash, |(known, _)| known.borrow() == key).map(|(_, value)| value)
    }

    /// The key has a value.
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The entry of a key, and the number of entries.
    fn entry(&mut self, key: &K) -> (Entry<'_, (K, V)>, &mut usize) {
        let Self { hasher, parts, len, .. } = self;
        if parts.is_empty() {
            parts.resize_with(PARTS, HashTable::new);
        }
        let hash = hasher.hash_one(key);
        // The index is less than the number of parts.
        let part = &mut parts[part_of(hash)];
        (part.entry(hash, |(known, _)| known == key, |(known, _)| hasher.hash_one(known)), len)
    }

    /// Sets the value of a key. Returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.entry(&key) {
            (Entry::Occupied(mut held), _) => Some(std::mem::replace(&mut held.get_mut().1, value)),
            (Entry::Vacant(place), len) => {
                *len += 1;
                place.insert((key, value));
                None
            }
        }
    }

    /// The value of a key; inserts `value()` if it has none.
    pub fn get_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let held = match self.entry(&key) {
            (Entry::Occupied(held), _) => held.into_mut(),
            (Entry::Vacant(place), len) => {
                *len += 1;
                place.insert((key, value())).into_mut()
            }
        };
        &mut held.1
    }

    /// Removes the value of a key.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let part = self.parts.get_mut(part_of(hash))?;
        let held = part.find_entry(hash, |(known, _)| known.borrow() == key).ok()?;
        let ((_, value), _) = held.remove();
        self.len -= 1;
        if self.len.is_multiple_of(ROUND) {
            self.shrink();
        }
        Some(value)
    }

    /// Checks one more part, and shrinks it if its capacity far exceeds its length.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        self.last = (self.last + 1) % PARTS;
        if let Some(part) = self.parts.get_mut(self.last)
            && part.capacity() / 4 > part.len() + FEW
        {
            part.shrink_to(part.len() * 2, |(key, _)| self.hasher.hash_one(key));
        }
    }

    /// Keeps only the entries for which `is_wanted` is true. O(entries).
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&K, &mut V) -> bool) {
        for part in &mut self.parts {
            part.retain(|(key, value)| is_wanted(key, value));
        }
        self.len = self.parts.iter().map(HashTable::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    // Input:  three hundred thousand entries, one after the other.
    // Output: where an insertion grows tables, they have at most a 256th of all entries, and these are moved; a map
    // in one table moves all of them at once.
    #[test]
    fn an_insertion_moves_few_entries() {
        let mut map = PartitionedMap::default();
        let room =
            |map: &PartitionedMap<u32, u32>| map.parts.iter().map(HashTable::capacity).collect::<Vec<_>>();
        let mut before = room(&map);
        for key in 0..300_000_u32 {
            let hash = map.hasher.hash_one(key);
            map.insert(key, key);
            let part = &map.parts[part_of(hash)];
            if before.is_empty() {
                before = room(&map);
            }
            let transition = if part.capacity() == before[part_of(hash)] { 0 } else { part.len() };
            before[part_of(hash)] = part.capacity();
            assert!(transition < 16 + map.len() / 256, "{transition} of {}", map.len());
        }
        // No other part has grown.
        assert_eq!((map.len(), room(&map)), (300_000, before));
    }

    // Input:  keys that are consecutive numbers, or 2^16 or 2^32 apart, in a hundred maps with seeds of their own.
    // Output: no part has more than 16 plus a 256th of them.
    #[test]
    fn numbers_in_a_row_are_spread_over_all_parts() {
        for apart in [1, 1 << 16, 1 << 32] {
            for _ in 0..100 {
                let map = PartitionedMap::<u64, ()>::default();
                let mut parts = vec![0; PARTS];
                for number in 0..4096_u64 {
                    parts[part_of(map.hasher.hash_one(number * apart))] += 1;
                }
                let most = parts.into_iter().max();
                assert!(most < Some(16 + 4096 / 256), "{most:?}, {apart} apart: {:?}", map.hasher);
            }
        }
    }

    // Input:  three hundred thousand entries are inserted, and all but a hundred are removed.
    // Output: the capacity of the tables is small, and no step moved many entries; the remaining ones are found.
    #[test]
    fn what_entries_leave_is_given_back() {
        let mut map = PartitionedMap::default();
        for key in 0..300_000_u32 {
            map.insert(key, key);
        }
        for key in 100..300_000_u32 {
            let part = (map.last + 1) % PARTS;
            let before = map.parts[part].capacity();
            map.remove(&key);
            let transition = if map.parts[part].capacity() == before { 0 } else { map.parts[part].len() };
            assert!(transition < 16 + map.len() / 256, "{transition} of {}", map.len());
        }
        let room: usize = map.parts.iter().map(HashTable::capacity).sum();
        assert!(room < PARTS * 16, "{room}");
        assert!(map.len() == 100 && (0..100).all(|key| map.get(&key) == Some(&key)));
    }

    // Input:  ten thousand steps of insertion, change and removal among two thousand keys.
    // Output: the same results as from a sorted map at each step, and the same content at the end; equal to a map
    // filled in another order.
    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut map, mut model) = (PartitionedMap::default(), BTreeMap::new());
        assert!(map.get(&1).is_none() && map.remove(&1).is_none() && map.is_empty());
        let mut random = 1_u32;
        for step in 0..10_000_u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = random >> 8 & 2047;
            match random >> 30 {
                0 => assert_eq!(map.insert(key, step), model.insert(key, step)),
                1 => {
                    let (held, expected) =
                        (map.get_or_insert_with(key, || step), model.entry(key).or_insert(step));
                    assert_eq!(held, expected);
                    (*held, *expected) = (step + 1, step + 1);
                }
                2 => assert_eq!(map.get_mut(&key), model.get_mut(&key)),
                _ => assert_eq!(map.remove(&key), model.remove(&key)),
            }
            assert_eq!((map.get(&key), map.len()), (model.get(&key), model.len()));
            assert_eq!(
                (map.contains_key(&key), map.is_empty()),
                (model.contains_key(&key), model.is_empty())
            );
        }
        let mut other = PartitionedMap::default();
        for (key, value) in model.iter().rev() {
            other.insert(*key, *value);
        }
        assert_eq!(map, other);
        assert_eq!(map.iter().collect::<BTreeMap<_, _>>(), model.iter().collect());
        other.values_mut().for_each(|value| *value += 1);
        assert_ne!(map, other);
        assert_eq!(map.values().count(), model.len());
        map.retain(|key, _| key % 2 == 0);
        model.retain(|key, _| key % 2 == 0);
        assert_eq!(
            (map.iter().collect::<BTreeMap<_, _>>(), map.len()),
            (model.iter().collect(), model.len())
        );
    }
}
