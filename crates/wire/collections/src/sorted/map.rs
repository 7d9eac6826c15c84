//! A map as a sorted vector.

use std::fmt;
use std::ops::Index;

use thin_vec::ThinVec;

/// A map of few entries, in the order of their keys.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedMap<K, V>(ThinVec<(K, V)>);

impl<K, V> SortedMap<K, V> {
    /// An empty map, which takes no memory.
    pub const fn new() -> Self {
        Self(ThinVec::new())
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values in the order of their keys, mutable.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The entries in the order of their keys, with mutable values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> + ExactSizeIterator {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Keeps the entries for which `keeps` is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keeps(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// The value of this key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value of this key, mutable.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// The key has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_ok()
    }

    /// Inserts a value and returns the previous one of the key.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.make_room(at, key, value);
                None
            }
        }
    }

    /// The value of this key; inserts `new()` if it has none.
    pub fn get_or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        let at = self.find(&key).unwrap_or_else(|at| {
            self.make_room(at, key, new());
            at
        });
        &mut self.0[at].1
    }

    /// Removes a value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Most maps never grow again, so the capacity is exact.
    fn make_room(&mut self, at: usize, key: K, value: V) {
        self.0.reserve_exact(1);
        self.0.insert(at, (key, value));
    }

    fn find(&self, key: &K) -> Result<usize, usize> {
        // Rules mostly arrive in order.
        match self.0.last() {
            Some((last, _)) if last < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(held, _)| held.cmp(key)),
        }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    /// # Panics
    /// If the key has no value.
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("the key has a value")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = thin_vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
