//! Errors of a case.

use std::path::PathBuf;

/// What is wrong with a case, or with what it saw. Says where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a case.
    #[error("{}: {source}", .path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// Where in it, and why.
        source: serde_yaml_ng::Error,
    },
    /// A literal cannot be understood.
    #[error("`{literal}`: {reason}")]
    Literal {
        /// The literal.
        literal: String,
        /// Why.
        reason: String,
    },
    /// A name that stands for nothing.
    #[error("there is no {what} named `{name}`")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An edit that finds nothing to change.
    #[error("the path `{0}` leads nowhere")]
    Path(String),
    /// An expectation of the case does not hold.
    #[error("step {step}: expected `{expected}`, but the UPF sent:\n{seen}")]
    ExpectationFailed {
        /// The step, counted from 1.
        step: usize,
        /// What was expected.
        expected: String,
        /// What was seen in that step.
        seen: String,
    },
}
