//! What the commands that ask a running UPF have in common.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use causeway_ports::PortError;
use clap::Args;
use thiserror::Error;

use crate::client::{Address, Client, ClientError, Credentials};
use crate::exit;
use crate::output::{Format, Output};

/// The UPF that is asked, and the form of the output.
#[derive(Args)]
pub(crate) struct ManagementArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,

    /// Form of the output: text for people, or json for programs
    #[arg(short, long, value_name = "FORM", value_enum, hide_possible_values = true, default_value_t = Format::Text)]
    pub(crate) output: Format,
}

/// The UPF that is asked.
#[derive(Args)]
pub(crate) struct ConnectionArgs {
    /// Where the UPF answers: HOST, HOST:PORT, https://HOST:PORT or unix:PATH (`upf.metrics.server`, `upf.management`); by
    /// default /run/causeway/management.sock, if this user may use it, or else 127.0.0.1:9098
    #[arg(short, long, value_name = "ADDRESS", env = "CAUSEWAY_MANAGEMENT")]
    management: Option<Address>,

    /// Authority of the server of an https address, in PEM
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_CA")]
    ca: Option<PathBuf>,
    /// File of the token (`upf.management.token_file`)
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Client certificate with its chain, in PEM
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_CERTIFICATE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key of the client certificate, in PEM
    #[arg(long, value_name = "FILE", env = "CAUSEWAY_KEY", requires = "certificate")]
    key: Option<PathBuf>,
}

impl ConnectionArgs {
    /// A client of the UPF.
    ///
    /// # Errors
    /// A file is not usable.
    pub(crate) fn client(&self) -> Result<Client, ClientError> {
        let credentials = Credentials {
            ca: self.ca.clone(),
            token_file: self.token_file.clone(),
            certificate: self.certificate.clone().zip(self.key.clone()),
        };
        Client::new(self.management.clone().unwrap_or_else(Address::of_this_host), &credentials)
    }
}

impl ManagementArgs {
    /// A client of the UPF.
    ///
    /// # Errors
    /// As for [`ConnectionArgs::client`].
    pub(crate) fn client(&self) -> Result<Client, ClientError> {
        self.connection.client()
    }
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
    /// A file cannot be written or read.
    #[error("{file}: {source}")]
    File {
        /// Its path.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A capture file cannot be read.
    #[error(transparent)]
    Capture(#[from] PortError),
    /// A capture file has fewer packets.
    #[error("{file}: there is no packet {packet}, but {packets}")]
    NoPacket {
        /// Its path.
        file: String,
        /// The number that was asked for.
        packet: u64,
        /// The number of its packets.
        packets: u64,
    },
    /// Octets for a program would go to a terminal.
    #[error("standard output is a terminal: name a file, or a program that reads pcapng behind a pipe")]
    Terminal,
    /// No session is meant.
    #[error("there is no session with {0}; `causeway sessions` lists them")]
    NoSession(String),
    /// The UPF has no association with that node.
    #[error("there is no association with {0}; `causeway associations` lists them")]
    NoAssociation(String),
    /// Several sessions are meant.
    #[error(
        "several sessions have the UE address {0}; name one by its SEID: `causeway sessions --ue {0}` lists them"
    )]
    SeveralSessions(String),
    /// Sessions remain at the end of the time.
    #[error("{sessions} sessions remain; the UPF still accepts no new ones: `causeway drain` waits again")]
    NotDrained { sessions: u64 },
    /// Some SMFs were not requested to release their associations.
    #[error(
        "SMFs that were not requested to release their associations: {smfs}; `causeway release NODE` requests one again"
    )]
    NotRequested { smfs: usize },
    /// Somebody else ended the draining.
    #[error("the UPF accepts new sessions again: `causeway drain --undo` was run, or it restarted")]
    DrainUndone,
}

/// A path, for a message.
pub(crate) fn file_name(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a command that asks the UPF, and says why it failed.
pub(crate) fn ask(
    args: &ManagementArgs,
    command: impl FnOnce(&Client, &mut Output) -> Result<(), CommandError>,
) -> ExitCode {
    let mut output = Output::new(args.output);
    let result = args.client().map_err(CommandError::from).and_then(|client| {
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
