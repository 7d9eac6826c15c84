//! The fields of a notice, by which a reader of the log selects lines.

use std::net::IpAddr;

use causeway_pfcp::{Cause, MessageType};
use causeway_types::{NodeId, Seid};

use super::Notice;

/// What a notice is about, as far as it says so. Its text contains the most important of them in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoticeFields<'a> {
    /// The type of the request that led to it.
    pub message: Option<MessageType>,
    /// The sequence number of that request.
    pub sequence: Option<u32>,
    /// The SMF.
    pub node: Option<&'a NodeId>,
    /// The address of the SMF or GTP-U peer.
    pub peer: Option<IpAddr>,
    /// The UPF's SEID of the session.
    pub session: Option<Seid>,
    /// The SMF's SEID of the session.
    pub smf_session: Option<Seid>,
    /// The cause in a response, of the UPF or of the SMF.
    pub cause: Option<Cause>,
    /// The type of the offending IE.
    pub offending_ie: Option<u16>,
}

impl Notice {
    /// The fields of the notice.
    pub fn fields(&self) -> NoticeFields<'_> {
        let fields = NoticeFields { peer: self.peer(), ..NoticeFields::default() };
        match self {
            Self::Refused {
                message,
                sequence,
                node,
                session,
                smf_session,
                cause,
                offending_ie,
                from: _,
                reason: _,
            } => NoticeFields {
                message: Some(*message),
                sequence: Some(*sequence),
                node: node.as_ref(),
                session: *session,
                smf_session: *smf_session,
                cause: Some(*cause),
                offending_ie: *offending_ie,
                ..fields
            },
            Self::NodeReportRefused { node, cause } => {
                NoticeFields { node: Some(node), cause: Some(*cause), ..fields }
            }
            Self::ReportRefused { session, cause } => {
                NoticeFields { session: Some(*session), cause: Some(*cause), ..fields }
            }
            Self::AssociationFailed { reason: super::SetupFailure::Refused(cause), .. } => {
                NoticeFields { cause: Some(*cause), ..fields }
            }
            Self::AssociationUp { node, .. }
            | Self::AssociationRenewed { node, .. }
            | Self::AssociationDown { node, .. }
            | Self::AssociationEvicted { node, .. }
            | Self::PeerRestarted { node, .. }
            | Self::SmfSetRejected { node, .. }
            | Self::RestartNotConfirmed { node, .. }
            | Self::RecoveryClockUnstable { node }
            | Self::PathDown { node, .. }
            | Self::PathUp { node, .. }
            | Self::NodeReportUnanswered { node, .. }
            | Self::NoPagingPolicy { node }
            | Self::IesLeftOut { node, .. }
            | Self::SessionsHandedOver { from: node, .. } => NoticeFields { node: Some(node), ..fields },
            Self::Tolerated { session, .. }
            | Self::ApplyFailed { session, .. }
            | Self::ReportUnanswered { session, .. }
            | Self::ReportLost { session, .. }
            | Self::SessionUnknownToPeer { session }
            | Self::InstructionsFailed { session, .. }
            | Self::SessionReleased { session, .. }
            | Self::SessionReplaced { session }
            | Self::ReportRedirected { session, .. } => NoticeFields { session: Some(*session), ..fields },
            Self::AssociationFailed { .. }
            | Self::PeerDown { .. }
            | Self::PeerUp { .. }
            | Self::Discarded { .. }
            | Self::SessionSetDeleted { .. }
            | Self::SessionSetModified { .. }
            | Self::ResponseTooLong { .. }
            | Self::Finished => fields,
        }
    }
}
