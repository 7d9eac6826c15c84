//! The contract of the P4 programs in `p4/`: the tables and counters that a controller uses.
//!
//! [`profiles`] is generated from the P4Info that is committed beside the programs, so no name, number or width is
//! written twice. [`p4info`] reads such a file, of either target; [`render`] converts it to the generated code, and a
//! test fails when that is stale (`scripts/p4 contract` renews it).

#![forbid(unsafe_code)]

mod contract;
pub mod p4info;
pub mod profiles;
pub mod render;
pub mod text;

pub use contract::{Action, Contract, Counter, Field, Key, MatchKind, Meter, Reason, Table, Unit};
