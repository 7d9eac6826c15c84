//! One file per subcommand.

mod bench;
mod config;
mod demo;
mod experiment;
mod plan;
mod run;
#[cfg(feature = "p4runtime")]
mod switch_model;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs the subcommand.
pub(crate) fn run(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Config { command } => config::run(command),
        Command::Demo(args) => demo::run(args),
        Command::Bench(args) => bench::run(&args),
        Command::Experiment(args) => experiment::run(&args),
        Command::Plan(args) => plan::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::SwitchModel(args) => switch_model::run(&args),
    }
}
