//! Errors of the lab.

use std::io;
use std::time::Duration;

/// A reason why the lab cannot go on, in one line that says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("`{command}` failed: {message}")]
    Command {
        /// The program and its arguments.
        command: String,
        /// What it printed, or its exit status.
        message: String,
    },
    /// A packet port says what is wrong and what to do.
    #[error("{0}")]
    Port(#[from] causeway_ports::PortError),
    /// Something did not happen in time.
    #[error("{what} did not happen within {} s", within.as_secs_f32())]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        within: Duration,
    },
    /// The machine lacks something that the lab needs.
    #[error("{0}")]
    Missing(String),
    /// The other side did something that it must not.
    #[error("{0}")]
    Peer(String),
    /// A signal asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Wraps what the system said; for `map_err`.
    pub fn io<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::Io { what: what.into(), source: source.into() }
    }
}
