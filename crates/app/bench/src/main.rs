//! The benchmarks without the daemon: built in a fraction of the time, for the daily loop and for counting instructions.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use causeway_bench::Arguments;
use clap::Parser;

/// Benchmarks of Causeway, as `causeway bench`
#[derive(Parser)]
#[command(name = "causeway-bench", version)]
struct Cli {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() -> ExitCode {
    match causeway_bench::run(&Cli::parse().arguments, &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell that it cannot be told.
            let _ = writeln!(std::io::stderr(), "the benchmark cannot run: {error}");
            ExitCode::FAILURE
        }
    }
}
