//! Storage and lookup of flow entries: reserved memory, UE address pools, and hash tables for keys outside the pools.
//!
//! All lookups have stages, so that a batch can prefetch all its flow entries before it needs the first.

mod arch;
mod arena;
mod bucket;
mod cuckoo;
mod hash;
mod key;
mod pools;
mod prefault;

pub use arch::{prefetch, prefetch_at};
pub use arena::{Arena, ArenaError, PageKind, ToKernel, ask_for_huge_pages, ask_for_huge_pages_in};
pub use cuckoo::{Cuckoo, Full, Probe};
pub use key::{AddressKey, PrefixKey, TableKey, TunnelKey};
pub use pools::Pools;
pub use prefault::{request_prefault, start_prefault_thread};
