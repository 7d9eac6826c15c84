//! Places the tables of a switch program into the stages of a Tofino pipeline, without a compiler.
//!
//! From the public architecture ([`architecture`]) and the tables of a program ([`profiles`]) it computes the memory
//! layout of entries ([`pack`]), what fits into a stage ([`stage`]), the placement of each table ([`place`]), and the
//! capacity in UEs ([`search`]). [`compiler_comparison`] compares it with compilers; `docs/planner.md` describes the
//! model.
//!
//! ```
//! use causeway_plan::architecture::Architecture;
//! use causeway_plan::place::place_within;
//! use causeway_plan::profiles::{Population, Profile, Program, Ratio};
//!
//! // 20 steps of 1,024 simple UEs, and one complex UE for each five of them.
//! let population = Population::at(Ratio::one_to(5), 20 * Population::STEP, Population::N9);
//! let pipeline = Program::of(Profile::Hip4).pipeline(&population)?;
//! assert!(place_within(&Architecture::TOFINO1, &pipeline).is_some(), "the tables fit into twelve stages");
//! # Ok::<(), causeway_plan::PlanError>(())
//! ```

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
