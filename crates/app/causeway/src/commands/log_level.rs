//! `causeway log-level`: sets the level of the logs of a running UPF.

use std::process::ExitCode;

use causeway_upf::management::views::LogLevelView;
use clap::Args;
use hyper::Method;

use crate::management::{ManagementArgs, ask};

/// The options of `causeway log-level`.
#[derive(Args)]
pub(crate) struct LogLevelArgs {
    /// The least severe level that is logged, until the next start or reload
    #[arg(value_parser = ["error", "warn", "info", "debug", "trace"])]
    level: String,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &LogLevelArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let wanted = LogLevelView { level: args.level.clone() };
        let set: LogLevelView = client.call(Method::PUT, "/api/v1/log-level", Some(&wanted))?;
        if output.is_json() {
            return Ok(output.json(&set)?);
        }
        Ok(output.line(format_args!("log level is {}", set.level))?)
    })
}
