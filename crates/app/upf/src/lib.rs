//! The UPF daemon: configuration, runtime, metrics.

#![forbid(unsafe_code)]

pub mod clock;
pub mod config;
mod control;
mod daemon;
mod error;
pub mod logging;
mod management;
pub mod open;
pub mod service;
pub mod worker;

pub use daemon::{Daemon, Totals};
pub use error::{RunError, StartError, Transport};
