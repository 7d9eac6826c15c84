//! Which rule of a session a packet fits: filter sets, interned by content and compared sixteen lanes at once.
//!
//! A set is the ordered list of what the PDRs of one session and direction ask for beyond the UE address: QFIs and SDF
//! filters (TS 29.244 clause 5.2.1). It does not know the UE's address: where a filter says `assigned`, the
//! packet's key says whether that end is the UE. So thousands of sessions share one set, and what is compared
//! stays in the caches whatever the number of sessions.
//!
//! Each alternative of a rule becomes a lane, in rule order; sixteen lanes are a block. One pass of vector
//! instructions finds all lanes of a block that fit, and the lowest one names the rule.

mod block;
mod compile;
mod key;
mod lane;
mod layout;
mod portable;
mod runs;
mod scalar;
mod scan;
mod sets;
#[allow(unsafe_code, reason = "vector instructions")]
mod simd;

pub(crate) use block::Block;
pub use compile::Rule;
pub use key::{FullPacketKey, PacketKey};
pub use scalar::ScalarFilter;
pub(crate) use scan::WithComparator;
pub use sets::{FilterSetError, FilterSets, SetId};
pub use simd::Compare;

/// Rules in a set, at most.
pub const MAX_RULES: usize = 64;

/// Lanes of a set, at most. A filter takes one for each pair of a remote and a local port range, times the runs of
/// adjacent QFIs of its rule.
pub const MAX_LANES: usize = 1024;
