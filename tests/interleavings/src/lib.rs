//! What packet threads share, in all interleavings of the threads, with every value that the memory model lets them read.
//!
//! The sources are those of the daemon, `crates/app/upf/src/worker`. Their atomics, waker and rings come from the module `sync`,
//! which is another one here: loom explores what it does. Each function of [`worker`] is a model; it panics when a run breaks what
//! its documentation says, or when all threads wait for each other.

#![forbid(unsafe_code)]

#[allow(dead_code, reason = "the daemon uses more of it")]
mod watchdog;
pub mod worker;
