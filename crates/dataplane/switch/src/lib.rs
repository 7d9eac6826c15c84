//! The P4 switch as a data plane: the mechanisms that its controller is made of.
//!
//! They follow HiP4-UPF (USENIX ATC 2024), and say where they differ. Each is a state machine without clocks, threads or
//! I/O: what happens is told to it, time included, and it answers with what to do.
//!
//! - [`pendulum`]: who reads and who writes the accounting tables, and when a number can be used again.
//! - [`pulling`]: which counters are read first, and which reports follow.
//! - [`ranges`]: which number a rule has on the switch, so that few ternary entries give all rules of a kind their action.

#![forbid(unsafe_code)]

mod count;
mod id;
pub mod pendulum;
pub mod pulling;
pub mod ranges;

pub use count::Count;
pub use id::SwitchPdr;
