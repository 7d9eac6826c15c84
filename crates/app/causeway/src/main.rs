//! Causeway, a 5G User Plane Function: the command line.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;

use clap::Parser;
use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Without its threads the allocator works as well, but gives memory back only as more is taken.
    #[cfg(feature = "jemalloc")]
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
    commands::run(cli::Cli::parse())
}
