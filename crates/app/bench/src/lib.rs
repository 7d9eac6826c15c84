//! Benchmarks: each is one command that prints a table with its conditions, and optionally writes it as JSON.
//!
//! A benchmark is a folder or file here with its options (`clap`), a function from options to [`report::Report`]s, and
//! a variant of [`Benchmark`]. [`kit`] has the tools of measurement. On a host with other work the unit is CPU time of
//! the thread, in chunks, with the sides of a comparison interleaved. `docs/performance.md` has the results.
//!
//! Without the feature `upf` only benchmarks of the fast path, the slow path and N4 in memory are there: a fraction of
//! the build, in which `scripts/instructions` counts.
//!
//! ```
//! use causeway_bench::{Arguments, run};
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Command {
//!     #[command(flatten)]
//!     arguments: Arguments,
//! }
//!
//! // Without the name of a benchmark, they are listed.
//! let command = Command::try_parse_from(["bench"])?;
//! let mut text = Vec::new();
//! run(&command.arguments, &mut text)?;
//! assert!(String::from_utf8(text)?.contains("pipeline"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
// What only benchmarks with that feature use.
#![cfg_attr(not(feature = "upf"), allow(dead_code, unused_imports, unused_variables))]

mod cli;
mod error;
#[cfg(feature = "upf")]
pub mod events;
pub mod filters;
pub mod floods;
#[cfg(feature = "upf")]
pub mod idle;
pub mod index;
pub mod kit;
pub mod memory;
#[cfg(feature = "upf")]
pub mod namespaces;
#[cfg(feature = "upf")]
pub mod observers;
#[cfg(feature = "upf")]
pub mod overload;
#[cfg(feature = "upf")]
pub mod pauses;
pub mod pfcp;
pub mod pipeline;
#[cfg(feature = "upf")]
pub mod placement;
#[cfg(feature = "upf")]
pub mod ports;
pub mod report;
mod separate_process;
#[cfg(feature = "upf")]
pub mod switch;
pub mod unassociated;
#[cfg(feature = "upf")]
pub mod upf;
pub mod workers;
mod world;

#[cfg(feature = "upf")]
pub use cli::WithUpf;
pub use cli::{Arguments, Benchmark, Common, run};
pub use error::BenchError;
pub use world::{Backend, Rules};
