//! One file per subcommand.

pub(crate) mod associations;
mod bench;
pub(crate) mod capture;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod coordinator;
mod demo;
pub(crate) mod doctor;
pub(crate) mod drain;
pub(crate) mod drops;
pub(crate) mod events;
mod experiment;
pub(crate) mod explain;
mod explain_file;
pub(crate) mod heavy;
pub(crate) mod identifiers;
pub(crate) mod interfaces;
pub(crate) mod log_level;
pub(crate) mod man;
pub(crate) mod memory_server;
pub(crate) mod peers;
pub(crate) mod placement;
mod plan;
pub(crate) mod pools;
pub(crate) mod release;
pub(crate) mod reload;
mod run;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod support_bundle;
#[cfg(feature = "p4runtime")]
mod switch_model;
pub(crate) mod top;
pub(crate) mod trace;
mod train;
pub(crate) mod workers;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs the subcommand.
pub(crate) fn run(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Config { command } => config::run(command),
        Command::Coordinator(args) => coordinator::run(&args),
        Command::Demo(args) => demo::run(args),
        Command::Bench(args) => bench::run(&args),
        Command::Experiment(args) => experiment::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Sessions(args) => sessions::run(&args),
        Command::Session(args) => session::run(&args),
        Command::Associations(args) => associations::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Pools(args) => pools::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Workers(args) => workers::run(&args),
        Command::Interfaces(args) => interfaces::run(&args),
        Command::Drops(args) => drops::run(&args),
        Command::Heavy(args) => heavy::run(&args),
        Command::Placement(args) => placement::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Drain(args) => drain::run(&args),
        Command::Release(args) => release::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Reload(args) => reload::run(&args),
        Command::SupportBundle(args) => support_bundle::run(&args),
        Command::LogLevel(args) => log_level::run(&args),
        Command::Completion(args) => completion::run(&args),
        Command::Man(args) => man::run(&args),
        Command::MemoryServer(args) => memory_server::run(&args),
        #[cfg(feature = "p4runtime")]
        Command::SwitchModel(args) => switch_model::run(&args),
    }
}
