//! Ordered collections of few items, without spare capacity.
//!
//! A session has a handful of rules of each kind, and there are millions of sessions: a node of a B-tree has space
//! for eleven entries in any case. These have the interface of `BTreeMap` and `BTreeSet`, and are one word when
//! empty. Lookup is O(log n), a change O(n).

mod map;
mod set;

pub use map::SortedMap;
pub use set::SortedSet;

#[cfg(test)]
mod tests;
