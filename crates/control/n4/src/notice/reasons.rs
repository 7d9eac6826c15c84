//! Why something happened, and how much it matters.

use causeway_pfcp::Cause;
use thiserror::Error;

use crate::labels::cause_words;

/// Why an association ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum DownReason {
    /// The peer released it.
    #[error("released by the peer")]
    Released,
    /// It answers no heartbeat, and the configuration says purge.
    #[error("heartbeats go unanswered")]
    PathFailure,
    /// Everything was reported, and the peer did not release it in time.
    #[error("all usage was reported, and the peer did not release it in time")]
    GracefulRelease,
    /// The operator ended it.
    #[error("ended by the operator")]
    Operator,
    /// It had no sessions, and its place was needed.
    #[error("evicted: it has no sessions")]
    Evicted,
    /// We are shutting down and the peer did not release it in time.
    #[error("not released in time while shutting down")]
    Shutdown,
}

/// Why we end a session ourselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum ReleaseReason {
    /// A new session of the SMF has its UE address.
    #[error("a new session has its UE address")]
    AddressTaken,
    /// Its association is being released.
    #[error("its association is being released")]
    AssociationReleased,
}

/// Why an association could not be set up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum SetupFailure {
    /// The peer did not answer.
    #[error("no answer")]
    NoAnswer,
    /// The peer refused.
    #[error("refused with cause {}", cause_words(*.0))]
    Refused(Cause),
    /// What the peer answered cannot be read.
    #[error("the answer is malformed")]
    Malformed,
    /// There are as many associations as there may be.
    #[error("there are {0} associations already")]
    TooMany(usize),
}

/// How much a notice matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Of interest when something is being looked for.
    Debug,
    /// The normal course of things.
    Info,
    /// Somebody should look some time.
    Warn,
    /// Somebody should look now.
    Error,
}
