//! A switch in memory that is accurate by the table, and takes its time like the driver of a real one.
//!
//! [`Model`] is a [`SwitchDriver`](crate::driver::SwitchDriver) over [`State`]: exact, ternary and longest-prefix tables, counters of
//! entries and by index, trTCM meters, ports with queues, and a CPU port. A table is read or written, not both at once, and each entry
//! costs its time: [`Timing`] says how much, and where its figures are from. All of that is model time: it passes by what is
//! told to the model, and says nothing about how fast this computer is.
//!
//! What packets go through is a [`Pipeline`]; [`upf`] has that of the UPF.

mod driver;
mod groups;
mod key;
mod meter;
mod operation;
mod queue;
mod state;
mod table;
mod timing;
pub mod upf;

#[cfg(test)]
mod tests;

pub use driver::{Access, Config, Model, Pipeline, QueuedPacket};
pub use meter::Colour;
pub use queue::QUEUES;
pub use state::State;
pub use timing::Timing;
