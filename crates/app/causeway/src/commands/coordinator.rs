//! `causeway coordinator`: decides which of two daemons is the primary of their chain.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use causeway_upf::chain::coordinate;
use causeway_upf::config::{COORDINATOR_PORT, Logger};
use causeway_upf::logging;
use clap::Args;
use tracing::error;

use crate::address::with_port;
use crate::exit;

/// The coordinator of a chain.
#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// TCP address, and port if not 8807, of this process: upf.chain.coordinator of both daemons
    #[arg(long, value_name = "ADDRESS", value_parser = endpoint)]
    listen: SocketAddr,
    /// File that keeps who is in the chain; it is created
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Milliseconds of silence after which a member counts as failed: as upf.chain.timeout of both daemons
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    timeout: u64,
}

fn endpoint(text: &str) -> Result<SocketAddr, String> {
    with_port(text, COORDINATOR_PORT)
}

pub(super) fn run(args: &CoordinatorArgs) -> ExitCode {
    let logs = match logging::init(&Logger::default()) {
        Ok(logs) => logs,
        Err(error) => return exit::end(exit::FAILED, error),
    };
    let result = coordinate(args.listen, &args.file, Duration::from_millis(args.timeout));
    if let Err(failure) = &result {
        error!("{failure}");
    }
    logs.flush();
    ExitCode::from(exit::FAILED)
}
