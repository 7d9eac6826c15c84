//! Causeway, a 5G User Plane Function: the command line.

#![forbid(unsafe_code)]

mod address;
mod cli;
mod client;
mod commands;
mod exit;
mod management;
mod output;

use clap::Parser;
use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    commands::run(cli::Cli::parse())
}
