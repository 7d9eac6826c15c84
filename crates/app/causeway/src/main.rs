//! Causeway, a 5G User Plane Function: the command line.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(cli::Cli::parse())
}
