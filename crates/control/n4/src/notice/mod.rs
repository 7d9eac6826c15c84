//! Notices for the operator, as values; the daemon turns them into log lines.

mod fields;
mod reasons;

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::ApplyError;
use causeway_pfcp::{Cause, MessageType};
use causeway_rules::Leniency;
use causeway_types::{NodeId, NtpSeconds, Seid};
use thiserror::Error;

pub use fields::NoticeFields;
pub use reasons::{DiscardReason, DownReason, Level, LossReason, RefusalReason, ReleaseReason, SetupFailure};

use crate::labels::{cause_words, message_words};

/// An event worth a log line. The `Display` text is the line.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Notice {
    /// An association was set up.
    #[error("association with {node} at {peer} is up")]
    AssociationUp {
        /// The peer.
        node: NodeId,
        /// The destination of requests to it.
        peer: SocketAddr,
    },
    /// An existing association was set up again.
    #[error("association with {node} at {peer} was set up anew: {retained} sessions kept, {purged} removed")]
    AssociationRenewed {
        /// The peer.
        node: NodeId,
        /// The destination of requests to it.
        peer: SocketAddr,
        /// Sessions that are kept.
        retained: usize,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association ended; its sessions are removed.
    #[error("association with {node} is down: {reason}; {purged} sessions removed")]
    AssociationDown {
        /// The peer.
        node: NodeId,
        /// The reason.
        reason: DownReason,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association could not be set up. A setup initiated by the UPF is retried.
    #[error("no association with {peer}: {reason}")]
    AssociationFailed {
        /// The peer.
        peer: SocketAddr,
        /// The reason.
        reason: SetupFailure,
    },
    /// A peer restarted, so its sessions are removed (TS 23.007 clause 20).
    #[error("{node} restarted (recovery time stamp {before}, now {after}): {purged} sessions removed")]
    PeerRestarted {
        /// The peer.
        node: NodeId,
        /// Its previous recovery time stamp.
        before: NtpSeconds,
        /// The new one.
        after: NtpSeconds,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association without sessions was evicted in favour of another one.
    #[error(
        "association with {node} at {peer} has no sessions and is evicted: the limit of associations is reached"
    )]
    AssociationEvicted {
        /// The peer.
        node: NodeId,
        /// Its address.
        peer: SocketAddr,
    },
    /// A peer announced an SMF set to which it is not known to belong.
    #[error(
        "{node} at {peer} announces SMF set {set}, which upf.pfcp.smf does not list for it; it is treated as a single SMF"
    )]
    SmfSetRejected {
        /// The peer.
        node: NodeId,
        /// Its address.
        peer: SocketAddr,
        /// The announced set.
        set: String,
    },
    /// A message announced a restart or move of a peer, which the peer did not confirm.
    #[error(
        "{node} at {peer} did not confirm a restart that a message announced; its sessions stay. Repeated occurrences indicate forged messages"
    )]
    RestartNotConfirmed {
        /// The peer.
        node: NodeId,
        /// The address to which the check was sent.
        peer: SocketAddr,
    },
    /// A peer's recovery time stamp changes with time.
    #[error(
        "{node} sends a different recovery time stamp each time; restarts are detected by its association setups only"
    )]
    RecoveryClockUnstable {
        /// The peer.
        node: NodeId,
    },
    /// A peer does not respond to heartbeats; its sessions are kept.
    #[error(
        "path to {node} at {peer} is down: heartbeats go unanswered; check the SMF and the network on N4"
    )]
    PathDown {
        /// The peer.
        node: NodeId,
        /// The destination of the heartbeats.
        peer: SocketAddr,
    },
    /// A message was received from a peer whose path was down.
    #[error("path to {node} at {peer} is up again")]
    PathUp {
        /// The peer.
        node: NodeId,
        /// The destination of requests to it.
        peer: SocketAddr,
    },
    /// A GTP-U peer used by sessions does not answer Echo Requests.
    #[error(
        "GTP-U peer {peer} does not answer Echo Requests; {notified} SMFs are notified. Check the peer and the way to its UDP port 2152"
    )]
    PeerDown {
        /// The peer.
        peer: IpAddr,
        /// The number of SMFs notified.
        notified: usize,
    },
    /// A GTP-U peer that was down answers again.
    #[error("GTP-U peer {peer} answers again; {notified} SMFs are notified")]
    PeerUp {
        /// The peer.
        peer: IpAddr,
        /// The number of SMFs notified.
        notified: usize,
    },
    /// A Node Report got no response to any retransmission; it is kept and retried later.
    #[error("{node} at {to} does not answer a Node Report, which is sent again later")]
    NodeReportUnanswered {
        /// The peer.
        node: NodeId,
        /// The destination.
        to: SocketAddr,
    },
    /// The SMF rejected a Node Report. It is not retried.
    #[error("{node} refused a Node Report with cause {}; it is not sent again", cause_words(*.cause))]
    NodeReportRefused {
        /// The peer.
        node: NodeId,
        /// The cause in the response.
        cause: Cause,
    },
    /// A request was refused.
    #[error("{} from {from} is refused with cause {}: {reason}", message_words(*.message), cause_words(*.cause))]
    Refused {
        /// The message type.
        message: MessageType,
        /// Its sequence number.
        sequence: u32,
        /// The sender.
        from: SocketAddr,
        /// The SMF that the sender belongs to, if it has an association.
        node: Option<NodeId>,
        /// The UPF's SEID of the session that the request is about, as far as it is known.
        session: Option<Seid>,
        /// The SMF's SEID of the session, as far as it is known.
        smf_session: Option<Seid>,
        /// The cause in the response.
        cause: Cause,
        /// The type of the offending IE in the response, if it has one.
        offending_ie: Option<u16>,
        /// Why.
        reason: RefusalReason,
    },
    /// A request deviates harmlessly from the specification, and is accepted.
    #[error("session {session}: {what}")]
    Tolerated {
        /// The UPF's SEID.
        session: Seid,
        /// The deviation.
        what: Leniency,
    },
    /// A datagram, or a part of it, contains no message that could get a response.
    #[error("discarded a datagram from {from}: {reason}")]
    Discarded {
        /// The sender.
        from: SocketAddr,
        /// Why.
        reason: DiscardReason,
    },
    /// The data plane failed to apply a plan; nothing has changed.
    #[error("session {session}: the data plane refused: {error}")]
    ApplyFailed {
        /// The UPF's SEID.
        session: Seid,
        /// The error.
        error: ApplyError,
    },
    /// A report got no response to any retransmission; it is kept and retried later.
    #[error("session {session}: {to} does not answer a report, which is kept and sent again later")]
    ReportUnanswered {
        /// The UPF's SEID.
        session: Seid,
        /// The destination.
        to: SocketAddr,
    },
    /// The SMF rejected a report. It is not retried.
    #[error("session {session}: the SMF refused a report with cause {}; it is not sent again", cause_words(*.cause))]
    ReportRefused {
        /// The UPF's SEID.
        session: Seid,
        /// The cause in the response.
        cause: Cause,
    },
    /// A report could not be queued or numbered.
    #[error("session {session}: a report is lost: {reason}")]
    ReportLost {
        /// The UPF's SEID.
        session: Seid,
        /// Why.
        reason: LossReason,
    },
    /// The SMF does not know a session, so it is removed here, too.
    #[error("session {session}: its SMF does not know it; it is removed")]
    SessionUnknownToPeer {
        /// The UPF's SEID.
        session: Seid,
    },
    /// The instructions in a report response cannot be executed.
    #[error("session {session}: instructions in a report response failed: {reason}")]
    InstructionsFailed {
        /// The UPF's SEID.
        session: Seid,
        /// Why.
        reason: RefusalReason,
    },
    /// The SMF rejects reports with a Paging Policy Indication value; the value is left out from now on.
    #[error(
        "association with {node}: the Paging Policy Indication value is left out, since the SMF refuses it"
    )]
    NoPagingPolicy {
        /// The SMF.
        node: NodeId,
    },
    /// The SMF did not respond to a report with these IEs, but to one without; they are left out from now on.
    #[error(
        "association with {node}: session messages omit these IEs, since the SMF answers reports only without them: {ies}"
    )]
    IesLeftOut {
        /// The SMF.
        node: NodeId,
        /// The names of the omitted IEs.
        ies: String,
    },
    /// The UPF ends a session itself.
    #[error("session {session} is ended: {reason}")]
    SessionReleased {
        /// The UPF's SEID.
        session: Seid,
        /// Why.
        reason: ReleaseReason,
    },
    /// The SMF assigned the F-SEID of a session to a new one, so it no longer knows the old one.
    #[error("session {session} is removed: its SMF uses its F-SEID for a new one")]
    SessionReplaced {
        /// The UPF's SEID.
        session: Seid,
    },
    /// A set of sessions was removed because it failed.
    #[error("{sessions} sessions are removed as a set by {from}")]
    SessionSetDeleted {
        /// The requesting peer.
        from: SocketAddr,
        /// The number of sessions.
        sessions: usize,
    },
    /// Reports of sessions are redirected to another SMF.
    #[error("reports of {sessions} sessions are redirected at the request of {from}")]
    SessionSetModified {
        /// The requesting peer.
        from: SocketAddr,
        /// The number of sessions.
        sessions: usize,
    },
    /// An SMF of a set failed; another SMF of the set takes over its sessions.
    #[error("{sessions} sessions of {from} are handed over to {to}")]
    SessionsHandedOver {
        /// The SMF that failed.
        from: NodeId,
        /// The SMF that takes over.
        to: NodeId,
        /// The number of sessions.
        sessions: usize,
    },
    /// A report is redirected to another SMF of the set.
    #[error("session {session}: a report to {from} is redirected to {to}")]
    ReportRedirected {
        /// The UPF's SEID.
        session: Seid,
        /// The SMF that did not respond, or requested the redirection.
        from: SocketAddr,
        /// The new receiver.
        to: SocketAddr,
    },
    /// A response exceeds the maximum message length.
    #[error("a response to {to} is not sent: its {octets} octets exceed the message size")]
    ResponseTooLong {
        /// The receiver.
        to: SocketAddr,
        /// The length in octets.
        octets: usize,
    },
    /// The shutdown is complete.
    #[error("N4 is shut down")]
    Finished,
}

impl Notice {
    /// Sets the number of removed sessions. Until then `retained` contains the number of all sessions.
    pub(crate) fn with_purged(mut self, count: usize) -> Self {
        match &mut self {
            Self::AssociationRenewed { retained: kept, purged, .. } => {
                (*kept, *purged) = (kept.saturating_sub(count), count);
            }
            Self::AssociationDown { purged, .. } | Self::PeerRestarted { purged, .. } => *purged = count,
            Self::SessionSetDeleted { sessions, .. } => *sessions = count,
            _ => {}
        }
        self
    }

    /// The log level.
    pub const fn level(&self) -> Level {
        match self {
            Self::AssociationUp { .. }
            | Self::AssociationRenewed { .. }
            | Self::AssociationDown { reason: DownReason::Released, .. }
            | Self::PathUp { .. }
            | Self::PeerUp { .. }
            | Self::SessionReleased { reason: ReleaseReason::AssociationReleased, .. }
            | Self::SessionsHandedOver { .. }
            | Self::SessionSetModified { .. }
            | Self::Finished => Level::Info,
            Self::Discarded { .. } => Level::Debug,
            Self::ApplyFailed { .. } | Self::ResponseTooLong { .. } => Level::Error,
            _ => Level::Warn,
        }
    }
}

impl Notice {
    /// The category of the notice. The log limits the rate of notices of one category from one peer.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::AssociationUp { .. }
            | Self::AssociationRenewed { .. }
            | Self::AssociationDown { .. }
            | Self::AssociationFailed { .. }
            | Self::AssociationEvicted { .. }
            | Self::SmfSetRejected { .. } => "associations",
            Self::PeerRestarted { .. }
            | Self::RestartNotConfirmed { .. }
            | Self::RecoveryClockUnstable { .. } => "restarts of SMFs",
            Self::PathDown { .. } | Self::PathUp { .. } => "paths to SMFs",
            Self::PeerDown { .. } | Self::PeerUp { .. } => "paths to GTP-U peers",
            Self::NodeReportUnanswered { .. } | Self::NodeReportRefused { .. } => "node reports",
            Self::Refused { .. } => "refused requests",
            Self::Tolerated { .. } => "accepted deviations",
            Self::Discarded { .. } => "discarded datagrams",
            Self::ApplyFailed { .. } => "plan failures",
            Self::ReportUnanswered { .. }
            | Self::ReportRefused { .. }
            | Self::ReportLost { .. }
            | Self::ReportRedirected { .. }
            | Self::InstructionsFailed { .. }
            | Self::NoPagingPolicy { .. }
            | Self::IesLeftOut { .. } => "session reports",
            Self::SessionUnknownToPeer { .. }
            | Self::SessionReleased { .. }
            | Self::SessionReplaced { .. }
            | Self::SessionSetDeleted { .. }
            | Self::SessionSetModified { .. }
            | Self::SessionsHandedOver { .. } => "ends of sessions",
            Self::ResponseTooLong { .. } => "oversized responses",
            Self::Finished => "shutdown",
        }
    }

    /// The IP address of the peer that the notice comes from or concerns, if it has one.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::AssociationUp { peer, .. }
            | Self::AssociationRenewed { peer, .. }
            | Self::AssociationFailed { peer, .. }
            | Self::AssociationEvicted { peer, .. }
            | Self::RestartNotConfirmed { peer, .. }
            | Self::SmfSetRejected { peer, .. }
            | Self::PathDown { peer, .. }
            | Self::PathUp { peer, .. } => Some(peer.ip()),
            Self::PeerDown { peer, .. } | Self::PeerUp { peer, .. } => Some(*peer),
            Self::NodeReportUnanswered { to, .. }
            | Self::ReportUnanswered { to, .. }
            | Self::ResponseTooLong { to, .. } => Some(to.ip()),
            Self::Refused { from, .. }
            | Self::Discarded { from, .. }
            | Self::SessionSetDeleted { from, .. }
            | Self::SessionSetModified { from, .. }
            | Self::ReportRedirected { from, .. } => Some(from.ip()),
            Self::AssociationDown { node, .. }
            | Self::PeerRestarted { node, .. }
            | Self::RecoveryClockUnstable { node }
            | Self::NodeReportRefused { node, .. }
            | Self::NoPagingPolicy { node }
            | Self::IesLeftOut { node, .. }
            | Self::SessionsHandedOver { from: node, .. } => match node {
                NodeId::Ip(ip) => Some(*ip),
                NodeId::Fqdn(_) => None,
            },
            Self::ApplyFailed { .. }
            | Self::Tolerated { .. }
            | Self::ReportRefused { .. }
            | Self::ReportLost { .. }
            | Self::SessionUnknownToPeer { .. }
            | Self::InstructionsFailed { .. }
            | Self::SessionReleased { .. }
            | Self::SessionReplaced { .. }
            | Self::Finished => None,
        }
    }
}
