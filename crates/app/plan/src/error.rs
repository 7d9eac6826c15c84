//! Why something cannot be planned.

use thiserror::Error;

/// Why something cannot be planned.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Two tables have one name.
    #[error("table `{table}` is there twice")]
    Duplicate {
        /// The name.
        table: String,
    },
    /// A table depends on one that the program does not have before it.
    #[error("table `{table}` depends on `{needs}`, which does not stand before it")]
    Missing {
        /// The table.
        table: String,
        /// What it needs.
        needs: String,
    },
    /// A size was given for a table that the program does not have.
    #[error("there is no table `{table}`; there are {}", known.join(", "))]
    Unknown {
        /// The name.
        table: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// No pipeline has room for such a table, whatever its place.
    #[error("table `{table}` is not possible: {why}")]
    Illegal {
        /// The table.
        table: String,
        /// What is wrong with it.
        why: String,
    },
    /// What was asked of a profile is not something that it has.
    #[error("profile {profile}: {why}")]
    Profile {
        /// The profile.
        profile: &'static str,
        /// What it lacks.
        why: String,
    },
    /// A number of the command line is out of range.
    #[error("{what} `{given}`: {allowed}")]
    Argument {
        /// Which.
        what: &'static str,
        /// What was given.
        given: String,
        /// What is possible.
        allowed: String,
    },
    /// A file or the standard output: what was done with it, and how it went wrong.
    #[error("{what}: {source}")]
    Io {
        /// What was done, for example `write stages.svg`.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A plan could not be written as JSON.
    #[error("plan as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl PlanError {
    /// Whether the command line asked for something that there is not, rather than for too much.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Profile { .. } | Self::Argument { .. })
    }

    /// Turns an error of the system into one that says what was done.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
