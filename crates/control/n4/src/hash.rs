//! Hash tables with keys that peers choose.

use foldhash::fast::RandomState;

/// A hash table with a random seed of its own: peers choose the keys, and could otherwise make many of them collide.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
