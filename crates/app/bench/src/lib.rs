//! Benchmarks: each is one command that prints a table with its conditions, and optionally writes it as JSON.
//!
//! A benchmark is a folder or file here with its options (`clap`), a function from options to [`report::Report`]s, and
//! a variant of [`Benchmark`]. [`kit`] has the tools of measurement. On a host with other work the unit is CPU time of
//! the thread, in chunks, with the sides of a comparison interleaved. `docs/performance.md` has the results.
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

mod cli;
mod error;
pub mod events;
pub mod filters;
pub mod floods;
pub mod idle;
pub mod index;
pub mod kit;
pub mod memory;
pub mod namespaces;
pub mod observers;
pub mod overload;
pub mod pauses;
pub mod pfcp;
pub mod pipeline;
pub mod placement;
pub mod ports;
pub mod report;
mod separate_process;
pub mod switch;
pub mod unassociated;
pub mod upf;
pub mod workers;
mod world;

pub use cli::{Arguments, Benchmark, Common, run};
pub use error::BenchError;
pub use world::{Backend, Rules};
