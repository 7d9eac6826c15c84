//! The P4 switch as a data plane: the mechanisms that its controller is made of.
//!
//! They follow HiP4-UPF (USENIX ATC 2024), and say where they differ. Each is a state machine without clocks, threads or
//! I/O: what happens is told to it, time included, and it answers with what to do.
//!
//! - [`ranges`]: which number a rule has on the switch, so that few ternary entries give all rules of a kind their action.

#![forbid(unsafe_code)]

mod id;
pub mod ranges;

pub use id::SwitchPdr;
