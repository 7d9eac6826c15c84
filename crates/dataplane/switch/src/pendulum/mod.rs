//! Reading and writing the accounting tables without one holding up the other (HiP4-UPF section 5.1).
//!
//! The driver of a switch reads or writes one table at a time. So each accounting table (ingress, before QoS enforcement, and egress, after
//! it) has two partitions: one is read while the other takes new entries; they change roles when a pass of the reader ends.
//! [`TableAccess`] says who may do what, and knows when a number can be used again:
//!
//! - A modification gives a rule a new number, so that its packets are counted anew from one moment on; what was counted
//!   under the old number is read later.
//! - A number that has expired is retired by a pass that started after that and really read it; a pass that only read others
//!   says nothing about it. The paper's released code retires it then, and loses usage.
//! - A number can be given to another rule once both sides have retired it.
//! - What the partition for writes has no room for waits for the next change of roles if the other one has; it is refused only
//!   when neither has.
//!
//! What the paper compares with is there too, as [`Mode`]. [`FinalUsage`] tells when all numbers of a session or a URR have retired, in
//! whatever order that happens.

mod check;
mod command;
mod final_usage;
mod mode;
mod pass;
mod readers;
mod restart;
mod side;
mod table_access;

#[cfg(test)]
mod tests;

pub use command::{Batch, Command, Full, Insertion, Invalid, Token, WriterTurn};
pub use final_usage::FinalUsage;
pub use mode::Mode;
pub use pass::{Pass, Reading, RoundRobin, Sample, everything};
pub use side::{Partition, Side, Statistics};
pub use table_access::{Config, TableAccess};
