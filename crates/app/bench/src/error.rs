//! Errors of benchmarks.

use causeway_dataplane::ApplyError;
use causeway_fastpath::index::ArenaError;
use causeway_packet::BuildError;
use causeway_rules::Rejection;
use thiserror::Error;

use crate::kit::Count;

/// Why a benchmark could not be run.
#[derive(Debug, Error)]
pub enum BenchError {
    /// A file or device: what was done with it, and how it went wrong.
    #[error("{what}: {source}")]
    Io {
        /// What was done, for example `write result.json`.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A report could not be written as JSON.
    #[error("report as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The control plane refused a session of the benchmark.
    #[error("session {number} was refused: {rejection:?}")]
    Refused {
        /// Which, from 0.
        number: u32,
        /// Why.
        rejection: Rejection,
    },
    /// The tables of the fast path found no space.
    #[error("tables of the fast path: {0}")]
    Tables(#[from] ArenaError),
    /// The data plane refused a plan.
    #[error("the data plane refused a plan: {0}")]
    Apply(#[from] ApplyError),
    /// There is not enough memory, and why this is clear.
    #[error("not enough memory: {0}")]
    TooLarge(String),
    /// A packet of the benchmark could not be built.
    #[error("packet: {0}")]
    Packet(#[from] BuildError),
    /// Packets did not take the way that is measured.
    #[error("of {sent} packets {forwarded} were forwarded, so the benchmark has no result")]
    NotForwarded {
        /// Packets that went in.
        sent: u64,
        /// Packets that came out.
        forwarded: u64,
    },
    /// Requests were not accepted, so nothing was measured.
    #[error("{accepted} of {of} requests to {what} were accepted")]
    NotAccepted {
        /// What they asked for.
        what: String,
        /// How many of a chunk were accepted.
        accepted: usize,
        /// Of how many.
        of: usize,
    },
    /// Lookups did not find what is there, so nothing was measured.
    #[error("{found} of {of} lookups found their flow entry")]
    NotFound {
        /// How many did.
        found: u64,
        /// Of how many.
        of: u64,
    },
    /// The filters of the benchmark found no room.
    #[error("filter sets: {0}")]
    Filters(#[from] causeway_fastpath::filters::FilterSetError),
    /// The table of the benchmark found no room.
    #[error("lookup table: {0}")]
    Table(#[from] causeway_fastpath::index::Full),
    /// The benchmark needs something that this process or this machine lacks.
    #[error("{0}")]
    Needs(String),
    /// The network of the benchmark could not be made.
    #[cfg(feature = "upf")]
    #[error(transparent)]
    Lab(#[from] causeway_lab::LabError),
    /// A packet port could not be opened, or is of no use any more.
    #[error(transparent)]
    Port(#[from] causeway_ports::PortError),
    /// Our daemon could not be started.
    #[cfg(feature = "upf")]
    #[error("the UPF cannot start: {0}")]
    Daemon(#[from] causeway_upf::StartError),
    /// A file is no model of application classes.
    #[error("--class-model: {0}")]
    ClassModel(#[from] causeway_class_model::ModelFileError),
    /// The tree of such a model has no tables.
    #[error("--class-model: {0}")]
    ClassTables(#[from] causeway_traffic::classes::TableError),
    /// Nothing of what is measured has these words in its name.
    #[error("--kinds: no kind of packets has {0:?} in its name; without --kinds all are measured and listed")]
    NoSuchKind(String),
    /// A number of the command line is out of range.
    #[error("{option} is {value}: from {least} to {most}")]
    OutOfRange {
        /// Which option.
        option: &'static str,
        /// Its value.
        value: Count,
        /// The least that it may be.
        least: Count,
        /// The most.
        most: Count,
    },
}

impl BenchError {
    /// Turns an error of the system into one that says what was done.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
