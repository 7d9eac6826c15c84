//! Experiments of papers beside the papers' figures: on a modelled switch in model time, and with detectors on
//! generated traces.
//!
//! [`simulation`] has UEs, an SMF and the mechanisms of the switch backend over a model of a switch; [`variant`] has
//! the modes of access to the accounting tables; each file of [`hip4`] is one figure or table of HiP4-UPF. [`heavy`]
//! has the traces, the detectors of others, and a file for each figure on heavy hitters. [`xplane`] has the memory path
//! of X-PLANE over the model of external memory, and its figures. [`accel`] has the figures of AccelUPF. [`hybrid`] passes
//! traces through a switch in front of software. [`ue_table`] plans the UE table of a stateless UPF. [`gaming`] has the figures on cloud gaming, and [`training`] makes
//! models of application classes. [`hardware`] has the parameters of what cannot be measured here, with their sources, [`events`] the queue
//! of events of the simulations, and [`resources`] what the compiler says that programs take. [`run`] is the command line. `docs/experiments.md`, `docs/heavy-hitters.md` and
//! `docs/application-classes.md` describe all of it.
//!
//! ```
//! use causeway_experiment::{Arguments, run};
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Command {
//!     #[command(flatten)]
//!     arguments: Arguments,
//! }
//!
//! // Without the name of an experiment, they are listed.
//! let command = Command::try_parse_from(["experiment"])?;
//! let mut text = Vec::new();
//! run(&command.arguments, &mut text)?;
//! assert!(String::from_utf8(text)?.contains("hip4-fig12"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod accel;
mod cli;
mod error;
pub mod events;
pub mod gaming;
pub mod hardware;
pub mod heavy;
pub mod hip4;
pub mod hybrid;
pub mod measure;
pub mod outcome;
mod page;
pub mod resources;
mod row_writer;
pub mod samples;
pub mod simulation;
pub mod smf;
mod spread;
pub mod training;
pub mod ue_table;
pub mod variant;
pub mod xplane;

pub use cli::{Arguments, Common, Experiment, run};
pub use error::ExperimentError;
pub use row_writer::Rows;
