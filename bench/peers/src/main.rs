//! The same work by Causeway and by other UPFs that are installed, in one run.
//!
//! A program of its own, so that what loads a peer is no part of Causeway. Peers are neither built nor fetched here; one
//! that is not there is skipped by name.

#![forbid(unsafe_code)]

mod eupf;
mod open5gs;

use std::path::PathBuf;
use std::process::ExitCode;

use causeway_bench::kit::{Count, count, pin, within};
use causeway_bench::report::write_json;
use causeway_bench::{BenchError, Common};
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
    /// Sessions beside eUPF; each packet is of a random one
    #[arg(long, value_delimiter = ',', default_values_t = [count(10_000), count(65_000), count(1_000_000)])]
    sessions: Vec<Count>,
    /// Open5GS's UPF; the one in PATH if not given
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_OPEN5GS_UPFD")]
    open5gs_upfd: Option<PathBuf>,
    /// Sessions beside Open5GS: established, modified and deleted
    #[arg(long, value_delimiter = ',', default_values_t = [count(10_000)])]
    open5gs_sessions: Vec<Count>,
    /// PFCP requests in flight
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100])]
    window: Vec<usize>,
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
    options.check()?;
    if let Some(core) = options.common.core {
        pin(core)?;
    }
    let mut reports = vec![eupf::run(options)?];
    reports.extend(open5gs::run(options)?);
    for report in &reports {
        writeln!(std::io::stdout(), "{report}")?;
    }
    if let Some(path) = &options.common.json {
        write_json(&reports, path)?;
    }
    Ok(())
}

impl Options {
    /// A /16 has so many UEs, gateway and network left out.
    const MOST_OPEN5GS_SESSIONS: u64 = 60_000;

    fn check(&self) -> Result<(), BenchError> {
        let sessions = self.open5gs_sessions.iter().map(|sessions| sessions.0);
        within("--open5gs-sessions", sessions, 1..=Self::MOST_OPEN5GS_SESSIONS)
    }
}
