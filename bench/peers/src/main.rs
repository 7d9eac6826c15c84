//! The same work by Causeway and by other UPFs that are installed, in one run.
//!
//! A program of its own, so that what loads a peer is no part of Causeway. Peers are neither built nor fetched here; one
//! that is not there is skipped by name.

#![forbid(unsafe_code)]

mod eupf;

use std::path::PathBuf;
use std::process::ExitCode;

use causeway_bench::Common;
use causeway_bench::kit::{Count, count, pin};
use causeway_bench::report::write_json;
use clap::Parser;

/// The same work by Causeway and by other UPFs that are installed, in one run
#[derive(Parser, Clone, Debug)]
#[command(name = "causeway-peers", version)]
struct Options {
    /// eUPF's XDP program, compiled: n3n6_entrypoint.o
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_EUPF_OBJECT")]
    eupf_object: Option<PathBuf>,
    /// Which version that is, for the report
    #[arg(long, value_name = "TEXT", env = "CAUSEWAY_EUPF_VERSION", default_value = "unknown")]
    eupf_version: String,
    /// Sessions; each packet is of a random one
    #[arg(long, value_delimiter = ',', default_values_t = [count(10_000), count(65_000), count(1_000_000)])]
    sessions: Vec<Count>,
    /// Milliseconds of CPU time for each side of each row
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    time: u64,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "the peers cannot be measured: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write;
    if let Some(core) = options.common.core {
        pin(core)?;
    }
    let report = eupf::run(options)?;
    writeln!(std::io::stdout(), "{report}")?;
    if let Some(path) = &options.common.json {
        write_json(&[report], path)?;
    }
    Ok(())
}
