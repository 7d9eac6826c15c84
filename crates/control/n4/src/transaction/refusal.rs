//! The rejection of a request, with a cause.

use causeway_dataplane::ApplyError;
use causeway_pfcp::{
    AssociationReleaseResponse, AssociationSetupResponse, AssociationUpdateResponse, Cause, DecodeError,
    FailedRuleId, Message, MessageType, NodeId, NodeReportResponse, OffendingIe, PfdManagementResponse,
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
    SessionReportResponse, SessionSetDeletionResponse, SessionSetModificationResponse,
};
use causeway_rules::Rejection;
use causeway_types::{self as types, Seid};

use crate::RefusalReason;
use crate::load::LoadStatus;

/// Why a request is rejected: the IEs of its response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) cause: Cause,
    pub(crate) offending_ie: Option<OffendingIe>,
    pub(crate) failed_rule: Option<FailedRuleId>,
    /// The SMF's SEID, in a session related response; zero if unknown.
    pub(crate) seid: Seid,
    /// The SMF that sent the request, for the log, if it has an association.
    pub(crate) node: Option<types::NodeId>,
    /// The UPF's SEID of the session, for the log, as far as it is known.
    pub(crate) session: Option<Seid>,
    /// For the log.
    pub(crate) reason: RefusalReason,
}

impl RequestRefusal {
    pub(crate) const fn new(cause: Cause, reason: RefusalReason) -> Self {
        Self {
            cause,
            offending_ie: None,
            failed_rule: None,
            seid: Seid(0),
            node: None,
            session: None,
            reason,
        }
    }

    /// The same about a session with this SEID of its SMF.
    #[must_use]
    pub(crate) fn about(self, seid: Seid) -> Self {
        Self { seid, ..self }
    }
}

impl From<DecodeError> for RequestRefusal {
    fn from(error: DecodeError) -> Self {
        let cause = error.cause().unwrap_or(Cause::RequestRejected);
        Self {
            offending_ie: error.offending().map(OffendingIe),
            ..Self::new(cause, RefusalReason::Decode(error))
        }
    }
}

impl From<Rejection> for RequestRefusal {
    fn from(rejection: Rejection) -> Self {
        Self {
            offending_ie: rejection.offending_ie(),
            failed_rule: rejection.failed_rule(),
            ..Self::new(rejection.cause(), RefusalReason::Rules(Box::new(rejection)))
        }
    }
}

impl From<&ApplyError> for RequestRefusal {
    /// The cause for a failure of the data plane: a lack of resources, a rule that it cannot apply, or an internal
    /// error.
    fn from(error: &ApplyError) -> Self {
        let cause = match error {
            ApplyError::Full { .. } => Cause::NoResourcesAvailable,
            ApplyError::TunnelInUse(_)
            | ApplyError::UeAddressInUse(_)
            | ApplyError::DanglingReference { .. } => Cause::RuleCreationModificationFailure,
            ApplyError::Unsupported(_) => Cause::ServiceNotSupported,
            ApplyError::UnknownSession(_) | ApplyError::SessionExists(_) | ApplyError::Backend(_) => {
                Cause::SystemFailure
            }
        };
        Self::new(cause, RefusalReason::DataPlane(error.clone()))
    }
}

impl RequestRefusal {
    /// The response that rejects a request; `None` if the message is not such a request.
    pub(super) fn response<'a>(
        &self,
        message: MessageType,
        node: NodeId<'a>,
        status: LoadStatus,
    ) -> Option<Message<'a>> {
        let LoadStatus { load: load_control_information, overload: overload_control_information } = status;
        let cause = self.cause;
        let offending_ie = self.offending_ie;
        let failed_rule_id = self.failed_rule;
        Some(match message {
            MessageType::PfdManagementRequest => {
                PfdManagementResponse { offending_ie, ..PfdManagementResponse::new(cause) }.into()
            }
            MessageType::AssociationSetupRequest => AssociationSetupResponse::new(node, cause).into(),
            MessageType::AssociationUpdateRequest => AssociationUpdateResponse::new(node, cause).into(),
            MessageType::AssociationReleaseRequest => AssociationReleaseResponse::new(node, cause).into(),
            MessageType::NodeReportRequest => {
                NodeReportResponse { offending_ie, ..NodeReportResponse::new(node, cause) }.into()
            }
            MessageType::SessionSetDeletionRequest => {
                SessionSetDeletionResponse { offending_ie, ..SessionSetDeletionResponse::new(node, cause) }
                    .into()
            }
            MessageType::SessionSetModificationRequest => {
                let response = SessionSetModificationResponse::new(node, cause);
                SessionSetModificationResponse { offending_ie, ..response }.into()
            }
            MessageType::SessionEstablishmentRequest => {
                let response = SessionEstablishmentResponse::new(node, cause);
                SessionEstablishmentResponse {
                    offending_ie,
                    failed_rule_id,
                    load_control_information,
                    overload_control_information,
                    ..response
                }
                .into()
            }
            MessageType::SessionModificationRequest => {
                let response = SessionModificationResponse::new(cause);
                SessionModificationResponse {
                    offending_ie,
                    failed_rule_id,
                    load_control_information,
                    overload_control_information,
                    ..response
                }
                .into()
            }
            MessageType::SessionDeletionRequest => {
                let response = SessionDeletionResponse::new(cause);
                SessionDeletionResponse {
                    offending_ie,
                    load_control_information,
                    overload_control_information,
                    ..response
                }
                .into()
            }
            MessageType::SessionReportRequest => {
                SessionReportResponse { offending_ie, ..SessionReportResponse::new(cause) }.into()
            }
            _ => return None,
        })
    }
}
