//! The benchmarks without the daemon: a faster build, for development and for instruction counts.

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
            // A failure to write to standard error cannot be reported.
            let _ = writeln!(std::io::stderr(), "the benchmark cannot run: {error}");
            ExitCode::FAILURE
        }
    }
}
