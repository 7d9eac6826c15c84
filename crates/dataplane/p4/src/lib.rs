//! The contract of the P4 programs in `p4/`: the tables and counters that a controller uses.
//!
//! - [`Contract`] describes one profile of the pipeline: tables with their keys and sizes, actions, counters, meters,
//!   registers and drop reasons.
//! - [`names`] has a constant for each name of a table, key, action, parameter, counter or meter. Code that uses a
//!   name which no program has any more does not compile.
//! - [`profiles`] has the contract of each profile. It is generated from the P4Info that is committed beside the
//!   programs, so no name, number or width is written twice.
//! - [`stages()`] says in which stages of Tofino 1 the tables of a profile are.
//! - [`p4info`] reads such a file, of either target; [`render`] converts it to the generated code. A test fails when
//!   that is stale (`scripts/p4 contract` renews it).
//!
//! ```
//! use causeway_p4::profiles::HIP4;
//!
//! let table = HIP4.tables.iter().find(|table| table.name == "dl_from_n6_simple").ok_or("no such table")?;
//! assert_eq!(table.keys.len(), 1);
//! assert_eq!(table.keys[0].width, 32, "the IPv4 address of the UE");
//! # Ok::<(), &str>(())
//! ```

#![forbid(unsafe_code)]

mod contract;
pub mod names;
pub mod p4info;
pub mod profiles;
pub mod render;
mod stages;
pub mod text;

pub use contract::{Action, Contract, Counter, Field, Key, MatchKind, Meter, Reason, Register, Table, Unit};
pub use stages::{TableStage, stages};
