//! Ordered collections of few items, which take no more room than the items do.
//!
//! A session has a handful of rules of each kind, and there are millions of sessions: a node of a B-tree has room for
//! eleven entries whether they are there or not. These look and iterate like `BTreeMap` and `BTreeSet`, and are one word
//! when empty. Finding is O(log n), changing O(n).

mod map;
mod set;

pub use map::SortedMap;
pub use set::SortedSet;

#[cfg(test)]
mod tests;
