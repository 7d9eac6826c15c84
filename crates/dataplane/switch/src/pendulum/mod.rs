//! Concurrent reads and writes of the accounting tables (HiP4-UPF section 5.1).
//!
//! The driver of a switch reads or writes one table at a time. So each accounting table (ingress, before QoS
//! enforcement, and egress, after it) has two partitions: one is read while the other takes new entries; they swap
//! roles when a pass of the reader ends. [`TableAccess`] decides which access is allowed, and when a number can be
//! reused:
//!
//! - A modification gives a rule a new number, so that its packets are counted anew from one moment on; the count of
//!   the old number is read later.
//! - An expired number is retired by a pass that started afterwards and read it; a pass that read only others does not
//!   retire it. The paper's released code retires it then, and loses usage.
//! - A number can be given to another rule once both sides have retired it.
//! - An insertion that does not fit into the partition for writes waits for the next swap if the other partition has
//!   space; it is refused only when neither has.
//!
//! The alternatives that the paper compares with are implemented too, as [`Mode`]. [`FinalUsage`] detects when all
//! numbers of a session or a URR have retired, in any order.

mod command;
mod final_usage;
mod mode;
mod pass;
mod readers;
mod side;
mod table_access;

#[cfg(test)]
mod tests;

pub use command::{Batch, Command, Full, Insertion, Invalid, Token, WriterTurn};
pub use final_usage::FinalUsage;
pub use mode::Mode;
pub use pass::{Pass, Reading, RoundRobin, Sample, everything};
pub use side::{Partition, Side, Statistics};
pub use table_access::{Config, PartitionUse, TableAccess};
