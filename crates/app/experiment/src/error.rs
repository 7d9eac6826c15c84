//! Why an experiment could not be carried out.

use causeway_plan::PlanError;
use causeway_switch::driver::DriverError;
use causeway_switch::pendulum::{Full, Invalid};
use causeway_switch::pulling::UnknownUrr;
use causeway_switch::ranges::{AllocateError, BootstrapError};

/// Why an experiment could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file or the standard output: what was done with it, and how it went wrong.
    #[error("{what}: {source}")]
    Io {
        /// What was done, for example `write hip4.html`.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Results could not be written as JSON.
    #[error("results as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number of the command line is out of range.
    #[error("{what} is {given}: {allowed}")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// Its value.
        given: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// The rules of the workload have no room among the numbers.
    #[error("numbers of rules: {0}")]
    Bootstrap(#[from] BootstrapError),
    /// A rule has no number.
    #[error("number of a rule: {0}")]
    Number(#[from] AllocateError),
    /// An accounting table has no room for the workload.
    #[error("accounting: {0}")]
    Full(#[from] Full),
    /// A change of rules makes no sense.
    #[error("change of rules: {0}")]
    Invalid(#[from] Invalid),
    /// A rule has a URR that is not there.
    #[error("usage: {0}")]
    Urr(#[from] UnknownUrr<u32>),
    /// The model did not do what it was asked for.
    #[error("the modelled switch: {0}")]
    Driver(#[from] DriverError),
    /// The model answered something else than it was asked for.
    #[error("the modelled switch gave no counters where some were read")]
    Answer,
    /// The capacity could not be planned.
    #[error("planning the capacity: {0}")]
    Plan(#[from] PlanError),
}

impl ExperimentError {
    /// Turns an error of the system into one that says what was done.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whether the command line asked for something that there is not.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::OutOfRange { .. })
    }
}
