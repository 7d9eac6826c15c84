//! The UPF daemon: configuration, runtime, metrics.

#![forbid(unsafe_code)]

pub mod config;
