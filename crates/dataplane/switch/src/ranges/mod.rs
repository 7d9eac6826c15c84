//! PDR_ID ranges: rules with the same action have numbers with a common prefix (HiP4-UPF section 4.3).
//!
//! The common properties of many rules (flags, peer, QFI) are stored once per [`Template`], in a small ternary table
//! that is matched on the rule's number. [`Ranges`] divides the numbers into aligned blocks of a power of two, gives
//! each to a template, and returns the entries to write when that changes. [`cover()`] finds the division with the
//! fewest entries for the minima of a configuration.
//!
//! Differences from the paper:
//!
//! - The bootstrap is exact. The paper's greedy decomposition, which does not terminate as printed, needs more entries
//!   in some cases.
//! - A split considers which numbers are in use, not how many, and never takes numbers that a template's minimum needs.
//! - Neighbouring blocks of one template become one entry, even while they are in use.
//! - Writes are ordered so that each number in use has its own action after every single one.

mod allocator;
mod block;
mod bootstrap;
mod change;
mod cover;
mod entry;
mod error;
mod live;
mod owners;
mod registry;
mod tree;

#[cfg(test)]
mod tests;

pub use block::Block;
pub use cover::{Cover, cover};
pub use entry::{Entry, Write};
pub use error::{AllocateError, BootstrapError, NotInUse};
pub use registry::{Allocation, Minimum, Ranges, Template};
