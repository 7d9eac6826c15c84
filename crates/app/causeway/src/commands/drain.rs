//! `causeway drain`: no new sessions, until the last one has ended.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use causeway_upf::management::views::{Associations, DrainRequest, DrainView, StatusView};
use clap::Args;
use hyper::Method;

use super::release;
use crate::client::{Client, ClientError};
use crate::exit;
use crate::management::{CommandError, ManagementArgs, ask};
use crate::output::Output;

/// The interval of questions for the number of sessions.
const INTERVAL: Duration = Duration::from_millis(500);

/// The interval of remarks on the number of sessions.
const REMARKS: Duration = Duration::from_secs(5);

/// The options of `causeway drain`.
#[derive(Args)]
pub(crate) struct DrainArgs {
    /// Accept new sessions again
    #[arg(long, conflicts_with_all = ["no_wait", "release", "within"])]
    undo: bool,
    /// Do not wait for the end of the present sessions
    #[arg(long)]
    no_wait: bool,
    /// Request each SMF to release its association, which ends its sessions
    #[arg(long)]
    release: bool,
    /// Wait so many seconds at most, and exit with 1 if sessions remain
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    within: Option<u64>,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &DrainArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        let wanted = DrainRequest { draining: !args.undo };
        let mut state: DrainView = client.call(Method::PUT, "/api/v1/drain", Some(&wanted))?;
        let failed = if args.release { release_all(client)? } else { 0 };
        if !args.undo && !args.no_wait {
            exit::note("no new sessions are accepted; `causeway drain --undo` ends this");
            state = wait(client, state, args.within.map(Duration::from_secs))?;
        }
        show(output, &state)?;
        if failed > 0 { Err(CommandError::NotRequested { smfs: failed }) } else { Ok(()) }
    })
}

/// Requests each SMF to release its association. Returns the number of those that could not be requested, after a remark on each.
fn release_all(client: &Client) -> Result<usize, CommandError> {
    let list: Associations = client.get("/api/v1/associations", &[])?;
    let mut failed = 0;
    for association in &list.associations {
        match release::request(client, &association.node_id) {
            // It has ended since.
            Ok(_) | Err(ClientError::Refused { status: 404, .. }) => {}
            Err(error) => {
                failed += 1;
                exit::note(format_args!("the release of {} was not requested: {error}", association.node_id));
            }
        }
    }
    Ok(failed)
}

/// Waits for the end of the last session.
fn wait(client: &Client, mut state: DrainView, within: Option<Duration>) -> Result<DrainView, CommandError> {
    let started = Instant::now();
    let mut noted = started;
    while state.sessions > 0 {
        if within.is_some_and(|within| started.elapsed() >= within) {
            return Err(CommandError::NotDrained { sessions: state.sessions });
        }
        thread::sleep(INTERVAL);
        let status: StatusView = client.get("/api/v1/status", &[])?;
        if !status.draining {
            return Err(CommandError::DrainUndone);
        }
        state.sessions = status.sessions;
        if noted.elapsed() >= REMARKS {
            noted = Instant::now();
            exit::note(format_args!("{} sessions remain", state.sessions));
        }
    }
    Ok(state)
}

fn show(output: &mut Output, state: &DrainView) -> Result<(), CommandError> {
    if output.is_json() {
        return Ok(output.json(state)?);
    }
    let accepts = if state.draining { "no new sessions are accepted" } else { "new sessions are accepted" };
    Ok(output.line(format_args!("{accepts}; sessions: {}", state.sessions))?)
}
