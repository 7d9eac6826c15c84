//! Errors of [`Dataplane::submit`](crate::Dataplane::submit).

use causeway_model::RuleId;
use causeway_types::{FTeid, IpNet, Seid};
use thiserror::Error;

/// Why a plan could not be applied. No state has changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ApplyError {
    /// The plan refers to a session that does not exist.
    #[error("session {0} does not exist in the data plane")]
    UnknownSession(Seid),
    /// The plan creates a session that exists already.
    #[error("session {0} exists already in the data plane")]
    SessionExists(Seid),
    /// The plan refers to a rule that is neither in the session nor in the plan.
    #[error("the plan of session {session} refers to {rule}, which does not exist")]
    DanglingReference {
        /// The session.
        session: Seid,
        /// The rule that does not exist.
        rule: RuleId,
    },
    /// Another session uses this tunnel endpoint.
    #[error("the tunnel {} at {} belongs to another session", .0.teid, .0.addr)]
    TunnelInUse(FTeid),
    /// A session of another packet thread has this UE address, or an address that overlaps the prefix.
    #[error("the UE address {0} belongs to a session of another packet thread")]
    UeAddressInUse(IpNet),
    /// A table is full.
    #[error("{table} is full: {capacity} entries")]
    Full {
        /// The name of the table.
        table: &'static str,
        /// Its capacity, in entries.
        capacity: u64,
    },
    /// The backend does not support this.
    #[error("this data plane cannot do it: {0}")]
    Unsupported(&'static str),
    /// The backend itself failed or timed out.
    #[error("the data plane failed: {0}")]
    Backend(#[from] BackendError),
}

/// Why a backend failed, whatever the plan is.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BackendError {
    /// The switch is unreachable.
    #[error("the switch is unreachable")]
    Unreachable,
    /// Another controller has the switch.
    #[error("another controller has the switch")]
    Superseded,
    /// No result in the time that it may take.
    #[error("the switch did not respond in time")]
    TimedOut,
    /// The plan remains in flight, and no deadline is known at which that would end.
    #[error("the plan remains in flight")]
    InFlight,
    /// The state of the session is in cold storage, which cannot be read now.
    #[error("the state of the session cannot be read from cold storage")]
    ColdStorage,
    /// The switch, or the kernel, refuses what the plan needs.
    #[error("{reason}")]
    Refused {
        /// Its message.
        reason: String,
    },
}
