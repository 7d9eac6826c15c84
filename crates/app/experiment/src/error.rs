//! Errors of experiments.

use causeway_plan::PlanError;
use causeway_switch::driver::DriverError;
use causeway_switch::pendulum::{Full, Invalid};
use causeway_switch::pulling::UnknownUrr;
use causeway_switch::ranges::{AllocateError, BootstrapError};

use crate::training::TrainingError;

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file or the standard output: the operation, and its error.
    #[error("{what}: {source}")]
    Io {
        /// The operation, for example `write hip4.html`.
        what: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Results could not be written as JSON.
    #[error("results as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number of the command line is out of range.
    #[error("{what} is {given}: {allowed}")]
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// Its value.
        given: String,
        /// The permitted values.
        allowed: &'static str,
    },
    /// `--only` selects no row.
    #[error("--only is {only}, which is a part of no row's name: {}", names.join("; "))]
    NoSuchRow {
        /// The argument.
        only: String,
        /// The names of all rows.
        names: Vec<&'static str>,
    },
    /// The rules of the workload exceed the rule numbers.
    #[error("numbers of rules: {0}")]
    Bootstrap(#[from] BootstrapError),
    /// A rule has no number.
    #[error("number of a rule: {0}")]
    Number(#[from] AllocateError),
    /// The workload exceeds an accounting table.
    #[error("accounting: {0}")]
    Full(#[from] Full),
    /// A change of rules is invalid.
    #[error("change of rules: {0}")]
    Invalid(#[from] Invalid),
    /// A rule has an unknown URR.
    #[error("usage: {0}")]
    Urr(#[from] UnknownUrr<u32>),
    /// The model refused a request.
    #[error("the modelled switch: {0}")]
    Driver(#[from] DriverError),
    /// The model sent an unexpected response.
    #[error("the modelled switch returned no counters for a read")]
    Answer,
    /// The data plane cannot answer session messages with this configuration.
    #[error("session messages in the data plane: {0}")]
    Accel(#[from] causeway_accel::NotPossible),
    /// A message was answered that should make its session the software's.
    #[error("the data plane keeps a session that falls back")]
    SessionKept,
    /// A message of the workload is for N4.
    #[error("a message of the workload is for N4: {0}")]
    NotAnswered(causeway_accel::Reason),
    /// A detector of heavy hitters cannot be made so.
    #[error("detector: {0}")]
    Detector(#[from] causeway_traffic::ConfigError),
    /// Flows or captures cannot be read, or no tree can be trained on them.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The tables of the fast path found no space.
    #[error("tables of the fast path: {0}")]
    Tables(#[from] causeway_fastpath::index::ArenaError),
    /// The fast path refused a session.
    #[error("the fast path refused a session: {0}")]
    Apply(#[from] causeway_dataplane::ApplyError),
    /// The fast path did not forward all packets.
    #[error("the fast path forwarded {forwarded} of {received} packets")]
    NotForwarded {
        /// Packets that it received.
        received: u64,
        /// Packets that it forwarded.
        forwarded: u64,
    },
    /// A packet could not be built.
    #[error("packet: {0}")]
    Packet(#[from] causeway_packet::BuildError),
    /// The capacity could not be planned.
    #[error("planning the capacity: {0}")]
    Plan(#[from] PlanError),
}

impl ExperimentError {
    /// Adds the operation to an error of the system.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whether an argument of the command line is invalid.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::OutOfRange { .. } | Self::NoSuchRow { .. })
    }
}
