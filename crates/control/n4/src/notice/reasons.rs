//! Reasons of events, and log levels.

use std::net::IpAddr;

use causeway_dataplane::ApplyError;
use causeway_pfcp::{Cause, DecodeError, HeaderError};
use causeway_rules::Rejection;
use causeway_types::Seid;
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

/// Why a request is rejected.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RefusalReason {
    /// The length in its header is wrong.
    #[error(transparent)]
    Header(HeaderError),
    /// It cannot be decoded.
    #[error(transparent)]
    Decode(DecodeError),
    /// Its rules are rejected.
    #[error(transparent)]
    Rules(Box<Rejection>),
    /// The data plane cannot apply it.
    #[error(transparent)]
    DataPlane(ApplyError),
    /// The sender has no association.
    #[error("there is no association")]
    NoAssociation,
    /// The node in it has no association from this host.
    #[error("the Node ID has no association from this host")]
    NodeNotAssociated,
    /// The configuration does not allow the host.
    #[error("this host may not set up an association: it is not in upf.pfcp.allow")]
    HostNotAllowed,
    /// The configuration lists other hosts for the node.
    #[error("upf.pfcp.smf lists other addresses for this Node ID")]
    NodeElsewhere,
    /// The association is being released.
    #[error("the association is being released")]
    AssociationReleased,
    /// The limit of associations is reached.
    #[error("there are too many associations")]
    TooManyAssociations,
    /// An SMF with this Node ID is alive at this address.
    #[error("the Node ID is that of the SMF at {0}, which is alive")]
    NodeIdInUse(IpAddr),
    /// The CP F-SEID has an address that is not known to be the SMF's.
    #[error("{0} in the CP F-SEID is not known as an address of the SMF; it can be listed in upf.pfcp.smf")]
    UnknownFSeidAddress(IpAddr),
    /// Reports are to be redirected to a host that is not known as an SMF of the set.
    #[error("{0} is not known as an SMF of the set; it can be listed in upf.pfcp.smf")]
    UnknownSmf(IpAddr),
    /// The node in it is no SMF that may control the session.
    #[error("the Node ID is not that of an SMF that may control the session")]
    NotInControl,
    /// This UPF does not support the request.
    #[error("this UPF does not support it")]
    NotSupported,
    /// Only a UPF sends such a request.
    #[error("only a UPF sends this")]
    SentByUpf,
    /// The data plane detects no applications.
    #[error("this data plane detects no applications")]
    NoApplicationDetection,
    /// A Session Set Deletion Request names no session set.
    #[error("no FQ-CSID identifies the sessions")]
    NoFqCsid,
    /// A Session Set Modification Request names no sessions.
    #[error("no IE identifies the sessions")]
    NoSessionIds,
    /// The UPF is shutting down.
    #[error("this UPF is shutting down")]
    ShuttingDown,
    /// The operator drains the UPF.
    #[error("this UPF is being drained and accepts no new sessions")]
    Draining,
    /// The session does not exist, or does not belong to the sender.
    #[error("there is no session {0} for this sender")]
    UnknownSession(Seid),
    /// The header has no SEID.
    #[error("the header names no session")]
    NoSession,
    /// The session ends before it is established.
    #[error("the session ends before it is established")]
    EndsBeforeEstablishment,
    /// The session ended while the request was handled.
    #[error("the session has ended")]
    SessionEnded,
    /// The limit of sessions is reached.
    #[error("there are {0} sessions already")]
    TooManySessions(usize),
    /// The limit of queued requests is reached.
    #[error("too many requests wait for the data plane")]
    TooManyQueued,
    /// The limit of requests about session sets in one datagram is reached.
    #[error("there are more than {0} requests about session sets in the datagram")]
    TooManySetRequests(usize),
    /// The limit of usage reports that did not fit into responses and are not acknowledged is reached.
    #[error("{0} usage reports of earlier modifications of the session wait for the SMF")]
    TooManyReports(usize),
    /// The Group ID of a session is too long.
    #[error("the Group ID has more than {0} octets")]
    GroupTooLong(usize),
    /// The process is short of memory.
    #[error("this process is short of memory")]
    ShortOfMemory,
    /// The limit of estimated memory is reached.
    #[error("the existing sessions and PFDs may need all of the memory (upf.memory)")]
    MemoryLimit,
}

/// Why a datagram, or a part of it, is discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DiscardReason {
    /// Its header cannot be used.
    #[error(transparent)]
    Header(HeaderError),
    /// A message that gets no response cannot be decoded.
    #[error(transparent)]
    Decode(DecodeError),
    /// The message type is unknown.
    #[error("a message of unknown type {0}")]
    UnknownType(u8),
    /// No request waits for this response.
    #[error("an unexpected response")]
    UnexpectedResponse,
    /// It bundles messages of a peer without an association.
    #[error("more than one message in a datagram from an unassociated peer")]
    Bundled,
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
    /// The SMF did not respond, and the session has ended.
    #[error("the SMF did not respond, and the session has ended")]
    NoAnswer,
    /// It does not fit into a message.
    #[error("it does not fit into a message")]
    TooLong,
}

/// Why an association could not be set up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum SetupFailure {
    /// The peer did not respond.
    #[error("no response; check that the SMF runs, and UDP port 8805 both ways")]
    NoAnswer,
    /// The peer rejected it.
    #[error("refused with cause {}", cause_words(*.0))]
    Refused(Cause),
    /// The response cannot be decoded.
    #[error("the response is malformed")]
    Malformed,
    /// The limit of associations is reached.
    #[error("there are {0} associations already (upf.pfcp.max_associations)")]
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
