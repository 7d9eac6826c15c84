//! Errors of training.

use std::path::{Path, PathBuf};

use causeway_class_model::ModelFileError;
use causeway_file::FileError;
use causeway_traffic::classes::{ModelError, TableError, TrainError};

/// Why no model can be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A file cannot be read.
    #[error("{}: {source}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: FileError,
    },
    /// A file cannot be written.
    #[error("write {}: {source}", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The standard output cannot be written.
    #[error("write to standard output: {0}")]
    Output(#[source] std::io::Error),
    /// A table is wrong at a place.
    #[error("{}: line {line}, column {column}: {problem}", .file.display())]
    Cell {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, by name or number.
        column: String,
        /// What is wrong.
        problem: String,
    },
    /// A line of a table is wrong.
    #[error("{}: line {line}: {problem}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A capture is wrong at a packet.
    #[error("{}: packet {packet}: {problem}", .file.display())]
    Packet {
        /// The file.
        file: PathBuf,
        /// The number of the packet, from 1.
        packet: u64,
        /// What is wrong.
        problem: String,
    },
    /// A file is neither a known table nor a capture.
    #[error("{}: {problem}", .file.display())]
    Form {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The arguments permit no training.
    #[error("{0}")]
    Argument(String),
    /// The samples permit no tree.
    #[error("training: {0}")]
    Train(#[from] TrainError),
    /// The tree does not fit into tables.
    #[error("the trained tree: {0}")]
    Table(#[from] TableError),
    /// The model cannot be written.
    #[error("model: {0}")]
    Model(#[from] ModelError),
    /// The file of the model cannot be written or read.
    #[error("model: {0}")]
    ModelFile(#[from] ModelFileError),
    /// The report cannot be written as JSON.
    #[error("report as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl TrainingError {
    /// Whether an argument of the command line is invalid.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Argument(_))
    }

    /// A tree of this program that is none, which does not occur.
    pub(crate) fn tree(error: causeway_traffic::classes::TreeError) -> Self {
        Self::Train(error.into())
    }

    pub(crate) fn form(file: &Path, problem: impl Into<String>) -> Self {
        Self::Form { file: file.into(), problem: problem.into() }
    }

    pub(crate) fn line(file: &Path, line: usize, problem: impl Into<String>) -> Self {
        Self::Line { file: file.into(), line, problem: problem.into() }
    }
}
