//! A switch in memory that is accurate per table, with the request times of a real driver.
//!
//! [`Model`] is a [`SwitchDriver`](crate::driver::SwitchDriver) over [`State`]: exact, ternary and longest-prefix
//! tables, counters of entries and by index, trTCM meters, [registers](register), ports with queues, and a CPU port. A table is read or
//! written, not both at the same time, and each entry has a cost in time: [`Timing`] has the figures and their source.
//! All of that is model time: it advances with the time given to the model, and is independent of the speed of this
//! host.
//!
//! The packet path is a [`Pipeline`]; [`upf`] has that of the UPF. A packet can pass it again, be mirrored, or send a digest,
//! within the [`Bounds`] that the program states.

mod driver;
mod groups;
mod key;
mod meter;
mod operation;
mod passes;
mod queue;
pub mod register;
mod state;
mod table;
mod timing;
pub mod upf;

#[cfg(test)]
mod tests;

pub use driver::{Access, Config, Model, Pipeline, QueuedPacket};
pub use meter::Colour;
pub use passes::{Bounds, DIGEST_OCTETS, Digest, Output, Pass, PassCounters, Recirculation, Refused};
pub use queue::QUEUES;
pub use state::State;
pub use timing::Timing;
