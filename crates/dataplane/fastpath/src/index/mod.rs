//! How packets find their lines: reserved memory, UE address pools, and tables of what is in no pool.
//!
//! All lookups come in stages, so that a batch can ask the memory for all its lines before it needs the first.

mod arena;
mod bucket;
mod cuckoo;
mod hash;
mod key;
mod machine;
mod pools;
mod ready;

pub use arena::{Arena, ArenaError, Backing, ToKernel, ask_for_huge_pages, ask_for_huge_pages_in};
pub use cuckoo::{Cuckoo, Full, Probe};
pub use key::{AddressKey, Key, PrefixKey, TunnelKey};
pub use machine::{prefetch, prefetch_at};
pub use pools::Pools;
pub use ready::{prepare, start_preparing};
