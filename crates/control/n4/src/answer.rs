//! Responses: accepting a request, or rejecting it with a cause.

use causeway_dataplane::ApplyError;
use causeway_pfcp::{
    AssociationReleaseResponse, AssociationSetupResponse, AssociationUpdateResponse, Cause, DecodeError,
    FailedRuleId, Message, MessageType, NodeId, NodeReportResponse, OffendingIe, PfdManagementResponse,
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
    SessionReportResponse, SessionSetDeletionResponse, SessionSetModificationResponse,
};
use causeway_rules::Rejection;
use causeway_types::{Seid, Time};

use crate::load_status::LoadStatus;
use crate::transaction::RequestKey;
use crate::{MessageResult, N4, Notice, Output};

/// Length in octets that most responses do not exceed.
const TYPICAL_RESPONSE_LEN: usize = 256;

/// Why a request is rejected: the IEs of its response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) cause: Cause,
    pub(crate) offending_ie: Option<OffendingIe>,
    pub(crate) failed_rule: Option<FailedRuleId>,
    /// The log text.
    pub(crate) detail: String,
}

impl RequestRefusal {
    pub(crate) fn new(cause: Cause, detail: &str) -> Self {
        Self { cause, offending_ie: None, failed_rule: None, detail: detail.to_owned() }
    }
}

impl From<DecodeError> for RequestRefusal {
    fn from(error: DecodeError) -> Self {
        let cause = error.cause().unwrap_or(Cause::RequestRejected);
        Self { offending_ie: error.offending().map(OffendingIe), ..Self::new(cause, &error.to_string()) }
    }
}

impl From<Rejection> for RequestRefusal {
    fn from(rejection: Rejection) -> Self {
        Self {
            offending_ie: rejection.offending_ie(),
            failed_rule: rejection.failed_rule(),
            ..Self::new(rejection.cause(), &rejection.to_string())
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
        Self::new(cause, &error.to_string())
    }
}

impl N4 {
    /// Sends the response to a request in progress, and caches it for duplicates.
    ///
    /// `seid` is the SMF's SEID, in a session related response.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        key: RequestKey,
        seid: Seid,
        cause: Option<Cause>,
        response: &Message<'_>,
    ) {
        match self.answer_at_once(key, seid, cause, response) {
            Some(bytes) => self.inbound.answer(now, key, &bytes),
            None => self.inbound.forget(&key),
        }
    }

    /// The same with an encoded response that accepts the request.
    pub(crate) fn answer_with(&mut self, now: Time, key: RequestKey, message: MessageType, bytes: Vec<u8>) {
        let result = MessageResult::Cause(Cause::RequestAccepted);
        self.counters.received(Some(key.message), result);
        self.counters.sent(message, result);
        self.inbound.answer(now, key, &bytes);
        self.push(Output::Send { to: key.from, bytes });
    }

    /// Sends a response that is not cached: a duplicate of its request is handled like a new request.
    pub(crate) fn answer_at_once(
        &mut self,
        key: RequestKey,
        seid: Seid,
        cause: Option<Cause>,
        response: &Message<'_>,
    ) -> Option<Vec<u8>> {
        let result = cause.map_or(MessageResult::Ok, MessageResult::Cause);
        self.counters.received(Some(key.message), result);
        let seid = key.message.is_session_related().then_some(seid);
        let mut bytes = self.buffer_pool.take();
        bytes.reserve(TYPICAL_RESPONSE_LEN);
        if let Err(error) = response.encode(seid, key.sequence, &mut bytes) {
            self.notice(Notice::ResponseTooLong { to: key.from, octets: error.octets });
            return None;
        }
        if seid.is_some() {
            self.associations.left_out_for(key.from.ip()).take_from(&mut bytes);
        }
        self.counters.sent(response.message_type(), result);
        self.push(Output::Send { to: key.from, bytes: bytes.clone() });
        Some(bytes)
    }

    /// Rejects a request in progress. `seid` is the SMF's SEID, zero if unknown.
    pub(crate) fn refuse(&mut self, now: Time, key: RequestKey, seid: Seid, refusal: RequestRefusal) {
        let status = self.status_for_refused(now, key);
        match self.refuse_with(key, seid, refusal, status) {
            Some(bytes) => self.inbound.answer(now, key, &bytes),
            None => self.inbound.forget(&key),
        }
    }

    /// Rejects a request without caching the response.
    pub(crate) fn refuse_at_once(
        &mut self,
        key: RequestKey,
        seid: Seid,
        refusal: RequestRefusal,
    ) -> Option<Vec<u8>> {
        self.refuse_with(key, seid, refusal, LoadStatus::default())
    }

    fn refuse_with(
        &mut self,
        key: RequestKey,
        seid: Seid,
        refusal: RequestRefusal,
        status: LoadStatus,
    ) -> Option<Vec<u8>> {
        let node = self.config.node.clone();
        let response = refusing(key.message, NodeId::from(&node), &refusal, status)?;
        let bytes = self.answer_at_once(key, seid, Some(refusal.cause), &response);
        let RequestRefusal { cause, detail, .. } = refusal;
        self.notice(Notice::Refused { message: key.message, from: key.from, cause, detail });
        bytes
    }
}

/// The response that rejects a request; `None` if the message is not such a request.
fn refusing<'a>(
    message: MessageType,
    node: NodeId<'a>,
    refusal: &RequestRefusal,
    status: LoadStatus,
) -> Option<Message<'a>> {
    let LoadStatus { load: load_control_information, overload: overload_control_information } = status;
    let cause = refusal.cause;
    let offending_ie = refusal.offending_ie;
    let failed_rule_id = refusal.failed_rule;
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
            SessionSetDeletionResponse { offending_ie, ..SessionSetDeletionResponse::new(node, cause) }.into()
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
