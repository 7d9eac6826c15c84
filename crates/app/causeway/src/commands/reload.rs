//! `causeway reload`: the UPF reads its configuration file again.

use std::process::ExitCode;

use causeway_upf::management::views::ReloadedView;
use clap::Args;
use hyper::Method;

use crate::management::{ManagementArgs, ask};

/// The options of `causeway reload`.
#[derive(Args)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &ReloadArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let reloaded: ReloadedView = client.call(Method::POST, "/api/v1/reload", None::<&()>)?;
        if output.is_json() {
            return Ok(output.json(&reloaded)?);
        }
        if reloaded.applied.is_empty() && reloaded.at_restart.is_empty() {
            output.line("nothing has changed")?;
        }
        for key in &reloaded.applied {
            output.line(format_args!("{key}: in force"))?;
        }
        for key in &reloaded.at_restart {
            output.line(format_args!("{key}: takes effect at the next start"))?;
        }
        Ok(())
    })
}
