//! Dispatch of received datagrams to the handlers of their messages.

use std::net::SocketAddr;

use causeway_pfcp::template::peek_cp_f_seid;
use causeway_pfcp::{Cause, Header, HeaderError, Message, MessageType};
use causeway_types::{Seid, Time};

use crate::session::Session;
use crate::transaction::Purpose;
use crate::transaction::RequestRefusal;
use crate::transaction::{RequestKey, RequestState};
use crate::{DiscardReason, MessageResult, N4, Notice, RefusalReason};

/// The S flag of a header, and the offset of the sequence number with and without SEID.
const S_FLAG: u8 = 1;
const SEQUENCE_WITH_SEID: usize = 12;
const SEQUENCE_WITHOUT_SEID: usize = 4;

impl N4 {
    /// Handles a datagram received at the N4 address: one message, or several bundled ones (TS 29.244 clause 6.5).
    ///
    /// What cannot be decoded is counted; it gets a response if one is defined, and changes nothing. Only the first
    /// message of a datagram from an unassociated peer is handled: the peer cannot know that the UPF supports more, and
    /// a datagram has capacity for thousands.
    pub fn datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.sessions.set_time(now);
        let mut rest = bytes;
        loop {
            match Header::decode(rest) {
                Ok((header, body, next)) => {
                    // The first message may end a session or begin an association.
                    let is_of_session = !next.is_empty() && self.is_of_session(from, &header);
                    self.message(now, from, header, body);
                    rest = next;
                    if !rest.is_empty() && !is_of_session && !self.associations.knows(from.ip()) {
                        return self.drop_remaining_messages(from);
                    }
                }
                Err(error) => return self.bad_header(from, rest, error),
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    /// The message is about a session for which its sender is authorized.
    fn is_of_session(&self, from: SocketAddr, header: &Header) -> bool {
        MessageType::from_code(header.message_type).is_some_and(|message| {
            let key = RequestKey::new(from, message, header, &[]);
            self.session_of(&key, header).is_some()
        })
    }

    fn drop_remaining_messages(&mut self, from: SocketAddr) {
        self.out.received(None, MessageResult::Unexpected);
        self.out.notice(Notice::Discarded { from, reason: DiscardReason::Bundled });
    }

    fn message(&mut self, now: Time, from: SocketAddr, header: Header, body: &[u8]) {
        match MessageType::from_code(header.message_type) {
            None => {
                self.out.received(None, MessageResult::UnknownType);
                let reason = DiscardReason::UnknownType(header.message_type);
                self.out.notice(Notice::Discarded { from, reason });
            }
            Some(message) if message.is_request() => self.request(now, from, header, message, body),
            Some(message) => self.response(now, from, header, message, body),
        }
    }

    #[inline(always)]
    fn request(&mut self, now: Time, from: SocketAddr, header: Header, message: MessageType, body: &[u8]) {
        self.associations.on_message_from(now, from, &mut self.out);
        let mut key = RequestKey::new(from, message, &header, body);
        if message == MessageType::HeartbeatRequest {
            return self.associations.heartbeat_request(
                now,
                key,
                &header,
                body,
                &mut self.transactions,
                &mut self.out,
            );
        }
        key.epoch = self.transactions.epoch(from.ip());
        self.close_if_purged(now, &key, &header, body);
        if self.transactions.handle_duplicate(&key, &mut self.out) {
            return;
        }
        if message != MessageType::AssociationSetupRequest && !self.is_authorized(&key, &header) {
            let refusal = RequestRefusal::new(Cause::NoEstablishedAssociation, RefusalReason::NoAssociation);
            self.refuse_at_once(key, refusal);
            return;
        }
        if message == MessageType::AssociationSetupRequest
            && let Some(refusal) = self.associations.setup_refusal_when_full(&key, &header, body)
        {
            self.refuse_at_once(key, refusal);
            return;
        }
        if !self.transactions.begin(&mut key) {
            self.out.received(Some(message), MessageResult::Overload);
            return;
        }
        if message.is_session_related() {
            self.session_request(now, key, header, body);
        } else {
            self.node_request(now, key, &header, body);
        }
    }

    /// If a request in progress belongs to a session in a purge, ends that session first: the message is then a new
    /// request.
    fn close_if_purged(&mut self, now: Time, key: &RequestKey, header: &Header, body: &[u8]) {
        if !self.sessions.has_purges() || self.transactions.look_up(key) != RequestState::InProgress {
            return;
        }
        let seid = match key.message {
            MessageType::SessionEstablishmentRequest => {
                peek_cp_f_seid(body).and_then(|cp| self.sessions.by_cp_f_seid(&cp))
            }
            _ => header.seid,
        };
        if let Some(seid) = seid.filter(|seid| self.sessions.is_seid_in_purge(*seid)) {
            self.remove_before_purge(now, seid);
        }
    }

    /// The host belongs to an association, or has the CP F-SEID of the session that the message is about.
    fn is_authorized(&self, key: &RequestKey, header: &Header) -> bool {
        self.associations.knows(key.from.ip()) || self.session_of(key, header).is_some()
    }

    /// The session that a message is about, if it exists and the sender is authorized for it.
    pub(crate) fn session_of(&self, key: &RequestKey, header: &Header) -> Option<&Session> {
        let ip = key.from.ip();
        let session = header.seid.filter(|_| key.message.is_session_related());
        let session = self.sessions.get(session?).filter(|session| !self.sessions.is_ending(session))?;
        let is_known =
            self.associations.is_authorized_for(session.association(), ip) || session.cp().addr.contains(ip);
        is_known.then_some(session)
    }

    /// The SMF's SEID of the session that its message is about; zero if unknown.
    pub(crate) fn seid_of_peer(&self, key: &RequestKey, header: &Header) -> Seid {
        self.session_of(key, header).map_or(Seid(0), |session| session.cp().seid)
    }

    fn node_request(&mut self, now: Time, key: RequestKey, header: &Header, body: &[u8]) {
        match Message::decode(header, body) {
            Ok(Message::AssociationSetupRequest(request)) => self.association_setup(now, key, &request),
            Ok(Message::AssociationUpdateRequest(request)) => self.association_update(now, key, &request),
            Ok(Message::AssociationReleaseRequest(request)) => self.association_release(now, key, &request),
            Ok(Message::PfdManagementRequest(request)) => self.pfd_management(now, key, &request),
            Ok(Message::SessionSetDeletionRequest(request)) => self.session_set_deletion(now, key, &request),
            Ok(Message::SessionSetModificationRequest(request)) => {
                self.session_set_modification(now, key, &request);
            }
            // The Node Report Request, which only a UPF sends.
            Ok(_) => {
                let refusal = RequestRefusal::new(Cause::ServiceNotSupported, RefusalReason::NotSupported);
                self.refuse(now, key, refusal);
            }
            Err(error) => self.refuse(now, key, error.into()),
        }
    }

    fn response(&mut self, now: Time, from: SocketAddr, header: Header, message: MessageType, body: &[u8]) {
        let decoded = match Message::decode(&header, body) {
            Ok(decoded) => decoded,
            Err(error) => {
                self.out.received(Some(message), MessageResult::Malformed);
                return self.out.notice(Notice::Discarded { from, reason: DiscardReason::Decode(error) });
            }
        };
        if self.handle_redirection(now, from, &header, &decoded) {
            return self.out.received(Some(message), MessageResult::Cause(Cause::RedirectionRequested));
        }
        let Some((purpose, left_out)) = self.transactions.answered(from, header.sequence, message) else {
            self.out.received(Some(message), MessageResult::Unexpected);
            return self.out.notice(Notice::Discarded { from, reason: DiscardReason::UnexpectedResponse });
        };
        self.associations.on_message_from(now, from, &mut self.out);
        let result = cause_of(&decoded).map_or(MessageResult::Ok, MessageResult::Cause);
        self.out.received(Some(message), result);
        match (purpose, decoded) {
            (Purpose::Heartbeat(id), Message::HeartbeatResponse(it)) => self.heartbeat_answered(now, id, &it),
            (Purpose::RecoveryCheck { association, entity }, Message::HeartbeatResponse(it)) => {
                let stamp = it.recovery_time_stamp.0;
                let confirmed = self.associations.recovery_check_answered(
                    now,
                    association,
                    entity,
                    stamp,
                    &mut self.transactions,
                    &mut self.out,
                );
                self.confirmed(now, association, confirmed);
            }
            (Purpose::Setup(peer), Message::AssociationSetupResponse(it)) => {
                self.setup_answered(now, peer, from, &it);
            }
            (Purpose::Announcement(id), Message::AssociationUpdateResponse(it)) => {
                self.announcement_answered(now, id, it.cause);
            }
            (Purpose::Release(id), Message::AssociationUpdateResponse(it)) => {
                self.release_answered(now, id, it.cause);
            }
            (Purpose::Report { session, association, number }, Message::SessionReportResponse(it)) => {
                self.associations.leave_out(association, left_out, &mut self.out);
                self.report_answered(now, from.ip(), (session, association, number), &it);
            }
            (Purpose::PathReport { association, .. }, Message::NodeReportResponse(it)) => {
                self.path_report_answered(association, it.cause);
            }
            // The message type was already compared with that of the request.
            _ => {}
        }
    }

    fn bad_header(&mut self, from: SocketAddr, octets: &[u8], error: HeaderError) {
        match error {
            HeaderError::Version { .. } => self.version_not_supported(from, octets),
            HeaderError::Length { header, .. } => {
                let message = MessageType::from_code(header.message_type);
                if let Some(message) = message.filter(|message| message.is_request()) {
                    let key = RequestKey::new(from, message, &header, &[]);
                    let refusal = RequestRefusal::new(Cause::InvalidLength, RefusalReason::Header(error));
                    let seid = self.seid_of_peer(&key, &header);
                    self.refuse_at_once(key, refusal.about(seid));
                    return;
                }
                self.out.received(message, MessageResult::Malformed);
            }
            HeaderError::Truncated { .. } => self.out.received(None, MessageResult::Malformed),
        }
        self.out.notice(Notice::Discarded { from, reason: DiscardReason::Header(error) });
    }

    /// Responds to a message of another version (clause 7.6.2), unless it is such a response itself.
    fn version_not_supported(&mut self, from: SocketAddr, octets: &[u8]) {
        self.out.received(None, MessageResult::Malformed);
        let answer = MessageType::VersionNotSupportedResponse;
        let &[flags, message, ..] = octets else { return };
        let at = if flags & S_FLAG == 0 { SEQUENCE_WITHOUT_SEID } else { SEQUENCE_WITH_SEID };
        let Some(&[high, middle, low]) = octets.get(at..at + 3) else { return };
        if message == answer.code() {
            return;
        }
        let sequence = u32::from_be_bytes([0, high, middle, low]);
        let mut bytes = Vec::new();
        let response = causeway_pfcp::VersionNotSupportedResponse::default();
        if Message::from(response).encode(None, sequence, &mut bytes).is_ok() {
            self.out.send(from, answer, MessageResult::Ok, bytes);
        }
    }
}

/// The cause of a response, if it has one.
fn cause_of(response: &Message<'_>) -> Option<Cause> {
    match response {
        Message::AssociationSetupResponse(it) => Some(it.cause),
        Message::AssociationUpdateResponse(it) => Some(it.cause),
        Message::SessionReportResponse(it) => Some(it.cause),
        Message::NodeReportResponse(it) => Some(it.cause),
        _ => None,
    }
}
