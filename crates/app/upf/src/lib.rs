//! The UPF daemon: configuration, runtime, metrics.

#![forbid(unsafe_code)]

pub mod clock;
pub mod config;
mod error;
pub mod logging;
mod management;
pub mod open;
pub mod worker;

pub use error::{RunError, StartError, Transport};
