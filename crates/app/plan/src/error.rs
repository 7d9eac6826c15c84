//! Errors of the planner.

use thiserror::Error;

/// Why a plan cannot be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Two tables have the same name.
    #[error("table `{table}` is a duplicate")]
    Duplicate {
        /// The name.
        table: String,
    },
    /// A table depends on one that does not precede it in the program.
    #[error("table `{table}` depends on `{needs}`, which does not precede it")]
    Missing {
        /// The table.
        table: String,
        /// What it needs.
        needs: String,
    },
    /// A size was given for an unknown table.
    #[error("there is no table `{table}`; there are {}", known.join(", "))]
    Unknown {
        /// The name.
        table: String,
        /// The known names.
        known: Vec<String>,
    },
    /// No pipeline supports such a table, in any place.
    #[error("table `{table}` is not possible: {why}")]
    Illegal {
        /// The table.
        table: String,
        /// The reason.
        why: String,
    },
    /// A profile does not support an option.
    #[error("profile {profile}: {why}")]
    Profile {
        /// The profile.
        profile: &'static str,
        /// The unsupported option.
        why: String,
    },
    /// A number of the command line is out of range.
    #[error("{what} `{given}`: {allowed}")]
    Argument {
        /// The argument.
        what: &'static str,
        /// The given value.
        given: String,
        /// The permitted values.
        allowed: String,
    },
    /// A file or the standard output: the operation, and its error.
    #[error("{what}: {source}")]
    Io {
        /// The operation, for example `write stages.svg`.
        what: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A plan could not be written as JSON.
    #[error("plan as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl PlanError {
    /// Whether an argument of the command line is invalid, rather than too large.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Profile { .. } | Self::Argument { .. })
    }

    /// Adds the operation to an error of the system.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
