//! Places the tables of a switch program into the stages of a Tofino pipeline, without a compiler.
//!
//! From the public architecture ([`architecture`]) and the tables of a program ([`profiles`]) it finds out how entries lie
//! in memory ([`pack`]), what fits into a stage ([`stage`]), where each table goes ([`place`]), and how many UEs there is
//! room for ([`search`]). [`compiler_comparison`] holds it to what compilers said; `docs/planner.md` describes the model.

#![forbid(unsafe_code)]

pub mod architecture;
mod cli;
pub mod compiler_comparison;
pub mod draw;
mod error;
pub mod outcomes;
pub mod pack;
pub mod pipeline;
pub mod place;
pub mod profiles;
pub mod report;
pub mod search;
pub mod stage;
pub mod table;

pub use cli::{Arguments, run};
pub use error::PlanError;
