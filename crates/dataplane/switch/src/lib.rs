//! The P4 switch as a data plane: the mechanisms that its controller is made of.
//!
//! They follow HiP4-UPF (USENIX ATC 2024), and say where they differ. Each is a state machine without clocks, threads or
//! I/O: what happens is told to it, time included, and it answers with what to do.
//!
//! - [`backend`]: the data plane that is made of them.
//! - [`driver`]: what every driver of a switch does, and one that fails.
//! - [`model`]: a switch in memory, accurate by the table, that takes its time like the driver of a real one.
//! - [`pendulum`]: who reads and who writes the accounting tables, and when a number can be used again.
//! - [`pulling`]: which counters are read first, and which reports follow.
//! - [`ranges`]: which number a rule has on the switch, so that few ternary entries give all rules of a kind their action.

#![forbid(unsafe_code)]

pub mod backend;
mod count;
pub mod driver;
mod id;
mod indexed_counters;
mod meters;
pub mod model;
pub mod pendulum;
pub mod pulling;
pub mod ranges;
mod tables;

pub use count::Count;
pub use id::SwitchPdr;
