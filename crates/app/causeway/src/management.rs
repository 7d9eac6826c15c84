//! What the commands that ask a running UPF have in common.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::Args;
use thiserror::Error;

use crate::client::{Address, Client, ClientError};
use crate::exit;
use crate::output::{Format, Output};

/// The UPF that is asked, and the form of the output.
#[derive(Args)]
pub(crate) struct ManagementArgs {
    /// Where the UPF answers (`upf.metrics.server`): HOST[:PORT] or unix:PATH
    #[arg(
        short,
        long,
        value_name = "ADDRESS",
        env = "CAUSEWAY_MANAGEMENT",
        default_value = "127.0.0.1:9098"
    )]
    pub(crate) management: Address,

    /// Form of the output: text for people, or json for programs
    #[arg(short, long, value_name = "FORM", value_enum, hide_possible_values = true, default_value_t = Format::Text)]
    pub(crate) output: Format,
}

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The UPF does not answer, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system, or the end of the output.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// No session is meant.
    #[error("there is no session with {0}; `causeway sessions` lists them")]
    NoSession(String),
}

/// Runs a command that asks the UPF, and says why it failed.
pub(crate) fn ask(
    args: &ManagementArgs,
    command: impl FnOnce(&Client, &mut Output) -> Result<(), CommandError>,
) -> ExitCode {
    let mut output = Output::new(args.output);
    let result = Client::new(args.management.clone()).map_err(CommandError::from).and_then(|client| {
        command(&client, &mut output)?;
        Ok(output.flush()?)
    });
    match result {
        // A reader that has seen enough is no failure.
        Err(CommandError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(exit::OK),
        Err(error) => exit::end(exit::FAILED, error),
        Ok(()) => ExitCode::from(exit::OK),
    }
}
