//! Why a connection to a switch ends.

use std::fmt::{Display, Formatter};

use tonic::Status;

/// Why the switch is unreachable, or what it does not do as P4Runtime says.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// No connection.
    #[error("{}", causes(.0))]
    Connect(tonic::transport::Error),
    /// It does not open the stream of messages in time.
    #[error("it opens no stream")]
    NoStream,
    /// It refuses the stream of messages.
    #[error("it opens no stream: {}", text(.0))]
    StreamRefused(Status),
    /// It has ended the stream; with an error, if there is one.
    #[error("it ended the stream{}", Suffix(.0.as_ref()))]
    StreamEnded(Option<Status>),
    /// It does not say in time which controller is primary.
    #[error("it does not report the primary controller")]
    NoArbitration,
    /// It does not say which program it runs.
    #[error("it does not report its program: {}", text(.0))]
    NoProgram(Status),
    /// It does not take the program.
    #[error("it refuses the program: {}", text(.0))]
    ProgramRefused(Status),
    /// It refuses what the program needs before any rule.
    #[error("it refuses {what}: {}", text(.status))]
    SetUpRefused {
        /// The part of its configuration.
        what: &'static str,
        /// Why.
        status: Status,
    },
    /// A call has ended without a result.
    #[error("a call ended early: {0}")]
    Call(#[from] tokio::task::JoinError),
}

fn text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

/// What follows in a line, if there is a status.
struct Suffix<'a>(Option<&'a Status>);

impl Display for Suffix<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |status| write!(f, ": {}", text(status)))
    }
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
