//! N4 associations, transactions, sessions and reports as state machines without sockets or clocks.

#![forbid(unsafe_code)]
#![allow(dead_code)]

mod association;
mod config;
mod seid;
mod transaction;

pub use config::{Config, Heartbeat, Limits, PFCP_PORT, PathFailure, RequestPort, Retransmission};
