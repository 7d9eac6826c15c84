//! `causeway release`: ends the association with an SMF.

use std::process::ExitCode;

use causeway_upf::management::views::{EndedAssociation, RequestedRelease};
use clap::Args;
use hyper::Method;

use crate::client::{Client, ClientError, segment};
use crate::management::{CommandError, ManagementArgs, ask};

/// The options of `causeway release`.
#[derive(Args)]
pub(crate) struct ReleaseArgs {
    /// The Node ID of the SMF, as `causeway associations` shows it
    node: String,
    /// End the association at once, without the SMF: its sessions are removed, and no usage is reported
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    management: ManagementArgs,
}

pub(super) fn run(args: &ReleaseArgs) -> ExitCode {
    ask(&args.management, |client, output| {
        if args.now {
            let path = path(&args.node);
            let ended: Result<EndedAssociation, _> = client.call(Method::DELETE, &path, None::<&()>);
            let ended = ended.map_err(|error| failure(error, &args.node))?;
            if output.is_json() {
                return Ok(output.json(&ended)?);
            }
            return Ok(output.line(format_args!(
                "the association with {} has ended; sessions removed: {}",
                args.node, ended.sessions
            ))?);
        }
        let requested = request(client, &args.node).map_err(|error| failure(error, &args.node))?;
        if output.is_json() {
            return Ok(output.json(&requested)?);
        }
        Ok(output.line(format_args!("{} was requested to release its association", args.node))?)
    })
}

/// An unknown node is named, with the command that lists the known ones.
fn failure(error: ClientError, node: &str) -> CommandError {
    match error {
        ClientError::Refused { status: 404, .. } => CommandError::NoAssociation(node.to_owned()),
        error => error.into(),
    }
}

/// Requests an SMF to release its association.
pub(super) fn request(client: &Client, node: &str) -> Result<RequestedRelease, ClientError> {
    client.call(Method::POST, &format!("{}/release", path(node)), None::<&()>)
}

/// The path of an association.
fn path(node: &str) -> String {
    format!("/api/v1/associations/{}", segment(node))
}
