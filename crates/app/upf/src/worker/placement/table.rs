//! A map whose entries are in one array, so that they can be prefetched.

use std::hash::Hash;

use causeway_collections::{HashIndex, Prefaulter};
use causeway_fastpath::index::request_prefault;

/// Numbered slots, and an index of their keys. Neither is moved as a whole until there are more entries than expected.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    index: HashIndex,
    slots: Vec<Slot<K, V>>,
    /// The vacant slots.
    free: Vec<u32>,
    ahead: Prefaulter,
}

/// An entry, from the start of a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Slot<K, V>(Option<(K, V)>);

impl<K: Copy + Eq + Hash, V> Table<K, V> {
    /// An empty table. Memory for `expected` entries is reserved, and not used before they exist.
    pub(super) fn for_entries(expected: usize) -> Self {
        let mut slots = Vec::new();
        // Without it the table grows by doubling.
        let _ = slots.try_reserve_exact(expected);
        let (mut index, ahead) =
            (HashIndex::with_capacity(expected), Prefaulter::new(Some(request_prefault)));
        index.set_prefault(request_prefault);
        Self { index, slots, free: Vec::new(), ahead }
    }

    /// All entries, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.slots.iter().filter_map(|slot| slot.0.as_ref())
    }

    /// Calls `fetch` with the address of the index entry of a key.
    pub(super) fn prefetch_index(&self, key: &K, fetch: impl Fn(*const u8)) {
        let (words, at) = self.index.home_bucket(self.index.probe(key));
        fetch(words.as_ptr().wrapping_add(at).cast());
    }

    /// Calls `fetch` with the address of the entry of a key, and seldom with others.
    pub(super) fn prefetch(&self, key: &K, fetch: impl Fn(*const u8)) {
        for slot in self.index.all(key) {
            fetch(self.slots.as_ptr().wrapping_add(slot as usize).cast());
        }
    }

    #[inline]
    fn slot(&self, key: &K) -> Option<u32> {
        self.index.find(key, |slot| {
            self.slots
                .get(slot as usize)
                .and_then(|slot| slot.0.as_ref())
                .is_some_and(|(known, _)| known == key)
        })
    }

    #[inline]
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let slot = self.slots.get(self.slot(key)? as usize)?;
        slot.0.as_ref().map(|(_, value)| value)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.slot(key)? as usize;
        self.slots.get_mut(slot)?.0.as_mut().map(|(_, value)| value)
    }

    /// Sets the value of a key. Returns the previous one.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(known) = self.get_mut(&key) {
            return Some(std::mem::replace(known, value));
        }
        let entry = Slot(Some((key, value)));
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(at as usize) {
            Some(vacant) => *vacant = entry,
            None => {
                let (used, start) = (self.slots.as_ptr_range().end, self.slots.as_ptr());
                self.ahead.advance(used.cast(), start.wrapping_add(self.slots.capacity()).cast());
                self.slots.push(entry);
            }
        }
        self.index.insert(key, at);
        None
    }

    /// Removes the entry of a key.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.slot(key)?;
        self.index.remove(key, at);
        let (_, value) = self.slots.get_mut(at as usize)?.0.take()?;
        self.free.push(at);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    // Input:  ten thousand random insertions, changes and removals of three hundred keys, of which none or all were expected.
    // Output: the same as of a sorted map at each step; prefetching names the entry of a key that exists.
    #[test]
    fn the_table_is_a_map() {
        for expected in [0, 300] {
            let (mut table, mut model) = (Table::for_entries(expected), BTreeMap::new());
            let mut random = fastrand::Rng::with_seed(7);
            for step in 0..10_000_u32 {
                let key = random.u64(..300);
                match random.u8(..3) {
                    0 => assert_eq!(table.insert(key, step), model.insert(key, step)),
                    1 => assert_eq!(table.remove(&key), model.remove(&key)),
                    _ => assert_eq!(table.get_mut(&key), model.get_mut(&key)),
                }
                assert_eq!((table.get(&key), table.index.len()), (model.get(&key), model.len()));
                let named = std::cell::RefCell::new(Vec::new());
                table.prefetch_index(&key, |_| ());
                table.prefetch(&key, |address| named.borrow_mut().push(address.addr()));
                let held = table.slots.iter().find(|slot| slot.0.is_some_and(|(known, _)| known == key));
                let held = held.map(|slot| std::ptr::from_ref(slot).addr());
                assert!(held.is_none_or(|held| named.borrow().contains(&held)));
            }
            assert_eq!(table.iter().copied().collect::<BTreeMap<_, _>>(), model);
        }
    }
}
