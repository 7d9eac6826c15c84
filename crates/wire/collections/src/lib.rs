//! Collections for millions of sessions.
//!
//! - [`HashIndex`] and [`PartitionedMap`] grow in small steps: a table of a million entries that moves all of them at
//!   once stops its thread for a tenth of a second.
//! - [`SortedMap`], [`SortedSet`] and [`SmallList`] hold the few items of one session and are small when empty.
//! - [`Prefaulter`] and [`Tail`] take memory from the system before its first use, and return it after the last.
//!
//! ```
//! use causeway_collections::{PartitionedMap, SortedMap};
//!
//! let mut sessions: PartitionedMap<u64, SortedMap<u16, &str>> = PartitionedMap::default();
//! let mut rules = SortedMap::new();
//! rules.insert(1, "uplink");
//! sessions.insert(7, rules);
//! assert_eq!(sessions.get(&7).and_then(|rules| rules.get(&1)), Some(&"uplink"));
//! ```

#![forbid(unsafe_code)]

mod hash_index;
mod partitioned_map;
mod prefault;
mod small_list;
mod sorted;

pub use hash_index::{HashIndex, PrefaultFn, Probe};
pub use partitioned_map::PartitionedMap;
pub use prefault::{Prefaulter, Release, ReleaseOf, Tail, fit};
pub use small_list::SmallList;
pub use sorted::{SortedMap, SortedSet};
