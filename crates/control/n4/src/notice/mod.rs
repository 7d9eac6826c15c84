//! What an operator may want to read, as values; the daemon turns them into log lines.

mod reasons;

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::ApplyError;
use causeway_pfcp::{Cause, MessageType};
use causeway_rules::Leniency;
use causeway_types::{NodeId, NtpSeconds, Seid};
use thiserror::Error;

pub use reasons::{DownReason, Level, ReleaseReason, SetupFailure};

use crate::labels::{cause_words, message_words};

/// Something worth a log line. The `Display` text is the line.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Notice {
    /// An association was set up.
    #[error("association with {node} at {peer} is up")]
    AssociationUp {
        /// Who it is.
        node: NodeId,
        /// Where our requests go.
        peer: SocketAddr,
    },
    /// An association that existed was set up anew.
    #[error("association with {node} at {peer} was set up anew: {retained} sessions kept, {purged} removed")]
    AssociationRenewed {
        /// Who it is.
        node: NodeId,
        /// Where our requests go.
        peer: SocketAddr,
        /// Sessions that stay.
        retained: usize,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association ended, and its sessions with it.
    #[error("association with {node} is down: {reason}; {purged} sessions removed")]
    AssociationDown {
        /// Who it was.
        node: NodeId,
        /// Why.
        reason: DownReason,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association could not be set up; from our side it will be asked for again.
    #[error("no association with {peer}: {reason}")]
    AssociationFailed {
        /// Who was asked, or who asked.
        peer: SocketAddr,
        /// Why.
        reason: SetupFailure,
    },
    /// A peer started anew, so its sessions are removed (TS 23.007 clause 20).
    #[error("{node} restarted (recovery time stamp {before}, now {after}): {purged} sessions removed")]
    PeerRestarted {
        /// Who it is.
        node: NodeId,
        /// Its recovery time stamp so far.
        before: NtpSeconds,
        /// The new one.
        after: NtpSeconds,
        /// Sessions that are removed.
        purged: usize,
    },
    /// An association without sessions made room for another one.
    #[error(
        "association with {node} at {peer} has no sessions and is evicted: the limit of associations is reached"
    )]
    AssociationEvicted {
        /// Who it was.
        node: NodeId,
        /// Where it was.
        peer: SocketAddr,
    },
    /// A peer says that it belongs to a set of SMFs, and is not known to.
    #[error(
        "{node} at {peer} announces SMF set {set}, which upf.pfcp.smf does not list for it; it is treated as a single SMF"
    )]
    SmfSetRejected {
        /// Who it is.
        node: NodeId,
        /// Where it is.
        peer: SocketAddr,
        /// The set.
        set: String,
    },
    /// Somebody said that a peer started anew or is elsewhere, and it denies that.
    #[error(
        "{node} at {peer} did not confirm a restart that a message announced; its sessions stay. Repeated occurrences indicate forged messages"
    )]
    RestartNotConfirmed {
        /// Who it is.
        node: NodeId,
        /// Where it was asked.
        peer: SocketAddr,
    },
    /// A peer's recovery time stamps move on.
    #[error(
        "{node} sends a different recovery time stamp each time; restarts are detected by its association setups only"
    )]
    RecoveryClockUnstable {
        /// Who it is.
        node: NodeId,
    },
    /// A peer answers no heartbeat; its sessions stay.
    #[error("path to {node} at {peer} is down: heartbeats go unanswered")]
    PathDown {
        /// Who it is.
        node: NodeId,
        /// Where the heartbeats went.
        peer: SocketAddr,
    },
    /// A peer that did not answer is heard again.
    #[error("path to {node} at {peer} is up again")]
    PathUp {
        /// Who it is.
        node: NodeId,
        /// Where our requests go.
        peer: SocketAddr,
    },
    /// A GTP-U peer that sessions send to answers no Echo Request.
    #[error("GTP-U peer {peer} does not answer Echo Requests; {notified} SMFs are notified")]
    PeerDown {
        /// The peer.
        peer: IpAddr,
        /// How many SMFs are told.
        notified: usize,
    },
    /// A GTP-U peer that was down answers again.
    #[error("GTP-U peer {peer} answers again; {notified} SMFs are notified")]
    PeerUp {
        /// The peer.
        peer: IpAddr,
        /// How many SMFs are told.
        notified: usize,
    },
    /// A Node Report went unanswered through all retransmissions; it is kept and sent again later.
    #[error("{node} at {to} does not answer a Node Report")]
    NodeReportUnanswered {
        /// Who it is.
        node: NodeId,
        /// Where it went.
        to: SocketAddr,
    },
    /// The SMF refused a Node Report. It is not sent again.
    #[error("{node} refused a Node Report with cause {}", cause_words(*.cause))]
    NodeReportRefused {
        /// Who it is.
        node: NodeId,
        /// What it said.
        cause: Cause,
    },
    /// A request was refused.
    #[error("{} from {from} is refused with cause {}: {detail}", message_words(*.message), cause_words(*.cause))]
    Refused {
        /// What it was.
        message: MessageType,
        /// Who sent it.
        from: SocketAddr,
        /// What it was answered.
        cause: Cause,
        /// Why.
        detail: String,
    },
    /// A request is not as it should be in something that does no harm, and is carried out.
    #[error("session {session}: {what}")]
    Tolerated {
        /// Our SEID.
        session: Seid,
        /// What it is.
        what: Leniency,
    },
    /// A datagram or a part of it is no message that can be answered.
    #[error("discarded a datagram from {from}: {detail}")]
    Discarded {
        /// Who sent it.
        from: SocketAddr,
        /// Why.
        detail: String,
    },
    /// The data plane did not carry out a plan; nothing has changed.
    #[error("session {session}: the data plane refused: {error}")]
    ApplyFailed {
        /// Our SEID.
        session: Seid,
        /// What it said.
        error: ApplyError,
    },
    /// A report went unanswered through all retransmissions; it is kept and sent again later.
    #[error("session {session}: {to} does not answer a report")]
    ReportUnanswered {
        /// Our SEID.
        session: Seid,
        /// Where it went.
        to: SocketAddr,
    },
    /// The SMF refused a report. It is not sent again.
    #[error("session {session}: the SMF refused a report with cause {}", cause_words(*.cause))]
    ReportRefused {
        /// Our SEID.
        session: Seid,
        /// What it said.
        cause: Cause,
    },
    /// A report could not be queued or numbered.
    #[error("session {session}: a report is lost: {detail}")]
    ReportLost {
        /// Our SEID.
        session: Seid,
        /// Why.
        detail: &'static str,
    },
    /// The SMF said that it does not know a session, so it is removed here too.
    #[error("session {session}: its SMF does not know it; it is removed")]
    SessionUnknownToPeer {
        /// Our SEID.
        session: Seid,
    },
    /// What an answer to a report asks for cannot be done.
    #[error("session {session}: instructions in a report response failed: {detail}")]
    InstructionsFailed {
        /// Our SEID.
        session: Seid,
        /// Why.
        detail: String,
    },
    /// The SMF refuses reports with a Paging Policy Indication value; it gets them without.
    #[error(
        "association with {node}: the Paging Policy Indication value is left out, since the SMF refuses it"
    )]
    NoPagingPolicy {
        /// Who refuses.
        node: NodeId,
    },
    /// The SMF was silent to a report and answered it without these IEs; it gets no more of them.
    #[error(
        "association with {node}: messages about sessions go without these IEs, since the SMF answers reports only so: {ies}"
    )]
    IesLeftOut {
        /// Who was silent.
        node: NodeId,
        /// The names of the IEs.
        ies: String,
    },
    /// We end a session ourselves.
    #[error("session {session} is ended: {reason}")]
    SessionReleased {
        /// Our SEID.
        session: Seid,
        /// Why.
        reason: ReleaseReason,
    },
    /// The SMF gave the F-SEID of a session to a new one, so it does not know the old one any more.
    #[error("session {session} is removed: its SMF uses its F-SEID for a new one")]
    SessionReplaced {
        /// Our SEID.
        session: Seid,
    },
    /// Sessions were removed because their set failed.
    #[error("{sessions} sessions are removed as a set by {from}")]
    SessionSetDeleted {
        /// Who asked.
        from: SocketAddr,
        /// How many.
        sessions: usize,
    },
    /// Reports of sessions go to another SMF.
    #[error("reports of {sessions} sessions are redirected at the request of {from}")]
    SessionSetModified {
        /// Who asked.
        from: SocketAddr,
        /// How many.
        sessions: usize,
    },
    /// An SMF of a set failed; another one has its sessions now.
    #[error("{sessions} sessions of {from} are handed over to {to}")]
    SessionsHandedOver {
        /// Who failed.
        from: NodeId,
        /// Who goes on.
        to: NodeId,
        /// How many.
        sessions: usize,
    },
    /// A report goes to another SMF of the set.
    #[error("session {session}: a report to {from} is redirected to {to}")]
    ReportRedirected {
        /// Our SEID.
        session: Seid,
        /// Who did not answer, or asked for it.
        from: SocketAddr,
        /// Who gets it.
        to: SocketAddr,
    },
    /// The answer that was to be sent does not fit into a message.
    #[error("a response to {to} exceeds the message size: {octets} octets")]
    ResponseTooLong {
        /// Who was to get it.
        to: SocketAddr,
        /// How long it would have been.
        octets: usize,
    },
    /// The shutdown is complete.
    #[error("N4 is shut down")]
    Finished,
}

impl Notice {
    /// The same, once it is known how many sessions are removed. What `retained` says so far is how many there were.
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

    /// How much it matters.
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
    /// What notices of this kind are about. Notices of one kind from one peer have a limit in the log together.
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
            Self::ResponseTooLong { .. } => "answers that are too long",
            Self::Finished => "shutdown",
        }
    }

    /// The peer that it comes from or concerns, where it names one by its address.
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
