//! A set as a sorted vector.

use std::fmt;

use thin_vec::ThinVec;

/// A set of few items, in their order.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedSet<T>(ThinVec<T>);

impl<T> SortedSet<T> {
    /// An empty set, which takes no memory.
    pub const fn new() -> Self {
        Self(ThinVec::new())
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are no items.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// The least item.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// Keeps the items for which `keeps` is true.
    pub fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        self.0.retain(keeps);
    }
}

impl<T: Ord> SortedSet<T> {
    /// The set contains the item.
    pub fn contains(&self, item: &T) -> bool {
        self.0.binary_search(item).is_ok()
    }

    /// Inserts an item. `false`: it was there already.
    pub fn insert(&mut self, item: T) -> bool {
        match self.0.binary_search(&item) {
            Ok(_) => false,
            Err(at) => {
                // Most sets never grow again, so the capacity is exact.
                self.0.reserve_exact(1);
                self.0.insert(at, item);
                true
            }
        }
    }

    /// Removes an item. `false`: it was not there.
    pub fn remove(&mut self, item: &T) -> bool {
        match self.0.binary_search(item) {
            Ok(at) => {
                self.0.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    /// The items that the other set does not have, in order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.0.iter().filter(|item| !other.contains(item))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter()).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = Self::new();
        set.extend(items);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = thin_vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
