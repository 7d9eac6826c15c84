//! How packets find their lines: reserved memory, UE address pools, and tables of what is in no pool.
//!
//! All lookups come in stages, so that a batch can ask the memory for all its lines before it needs the first.

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
pub use prefault::{prepare, start_prefault_thread};
