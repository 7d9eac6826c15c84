//! Tables by what peers choose.

use foldhash::fast::RandomState;

/// A hash table seeded anew each time one is made: peers choose the keys, and could make many of them collide.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
