//! Classification of the packets of a session: filter sets, interned by content and compared sixteen lanes together.
//!
//! A set is the ordered list of the match fields of the PDRs of one session and direction except the UE address: QFIs
//! and SDF filters (TS 29.244 clause 5.2.1). It does not contain the UE's address: where a filter has `assigned`, the
//! packet's key contains whether that end is the UE. So thousands of sessions share one set, and the compared data
//! stays in the caches whatever the number of sessions.
//!
//! Each alternative of a rule becomes a lane, in rule order; sixteen lanes are a block. One pass of vector instructions
//! finds all lanes of a block that match; the lowest one determines the rule.

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

/// The maximum of rules in a set.
pub const MAX_RULES: usize = 64;

/// The maximum of lanes of a set. A filter takes one for each pair of a remote and a local port range, times the runs
/// of adjacent QFIs of its rule.
pub const MAX_LANES: usize = 1024;
