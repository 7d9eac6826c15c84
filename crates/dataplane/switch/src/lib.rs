//! A P4 switch as a data plane: the mechanisms of its controller.
//!
//! They follow HiP4-UPF (USENIX ATC 2024), and name the differences. Each is a state machine without clocks, threads or
//! I/O: it takes events, with their time, and returns actions.
//!
//! - [`backend`]: the data plane that combines them.
//! - [`driver`]: the contract of switch drivers, and a driver that injects faults.
//! - [`model`]: a switch in memory, accurate per table, with the request times of a real driver.
//! - [`pendulum`]: concurrent reads and writes of the accounting tables, and the reuse of rule numbers.
//! - [`pulling`]: the order in which counters are read, and the reports that follow.
//! - [`ranges`]: the number of each rule on the switch, chosen so that few ternary entries give all rules of a kind
//!   their action.

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
