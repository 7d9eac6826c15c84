//! Reasons of events, and log levels.

use causeway_pfcp::Cause;
use thiserror::Error;

use crate::labels::cause_words;

/// Why an association ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum DownReason {
    /// The peer released it.
    #[error("released by the peer")]
    Released,
    /// The peer does not respond to heartbeats, and the configuration is `purge`.
    #[error("heartbeats go unanswered")]
    PathFailure,
    /// All usage was reported, and the peer did not release the association in time.
    #[error("all usage was reported, and the peer did not release it in time")]
    GracefulRelease,
    /// The operator ended it.
    #[error("ended by the operator")]
    Operator,
    /// It had no sessions, and the limit of associations was reached.
    #[error("evicted: it has no sessions")]
    Evicted,
    /// The UPF is shutting down, and the peer did not release it in time.
    #[error("not released in time while shutting down")]
    Shutdown,
}

/// Why the UPF ends a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum ReleaseReason {
    /// A new session of the same SMF has its UE address.
    #[error("a new session has its UE address")]
    AddressTaken,
    /// Its association is being released.
    #[error("its association is being released")]
    AssociationReleased,
}

/// Why a report is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum LossReason {
    /// The queue of its session is full.
    #[error("too many are queued for the SMF")]
    QueueFull,
    /// Its URR was removed.
    #[error("its URR was removed")]
    UrrRemoved,
}

/// Why an association could not be set up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum SetupFailure {
    /// The peer did not respond.
    #[error("no response")]
    NoAnswer,
    /// The peer rejected it.
    #[error("refused with cause {}", cause_words(*.0))]
    Refused(Cause),
    /// The response cannot be decoded.
    #[error("the response is malformed")]
    Malformed,
    /// The limit of associations is reached.
    #[error("there are {0} associations already")]
    TooMany(usize),
}

/// The log level of a notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Useful for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Should be investigated at some time.
    Warn,
    /// Should be investigated immediately.
    Error,
}
