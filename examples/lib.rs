//! Small programs that extend Causeway or use parts of it as libraries.
//!
//! - `teid_relay.rs`: a data plane.
//! - `unix_port.rs`: a port.
//! - `n4_library.rs`: N4 without a daemon.
//!
//! `cargo run -p causeway-examples --example teid_relay` runs one.
