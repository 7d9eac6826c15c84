//! Dispatch of received datagrams to the handlers of their messages.

use std::net::SocketAddr;

use causeway_pfcp::template::peek_cp_f_seid;
use causeway_pfcp::{Cause, Header, HeaderError, Message, MessageType};
use causeway_types::Time;

use crate::part::cause_of;
use crate::transaction::{Purpose, RequestKey, RequestRefusal};
use crate::{DiscardReason, MessageResult, N4, Notice, RefusalReason};

/// The S flag of a header, and the offset of the sequence number with and without SEID.
const S_FLAG: u8 = 1;
const SEQUENCE_WITH_SEID: usize = 12;
const SEQUENCE_WITHOUT_SEID: usize = 4;

/// Requests about session sets in one datagram, at most: each may be one step over all sessions of its SMF, and a datagram has
/// capacity for a thousand.
const SET_REQUESTS: usize = 4;

impl N4 {
    /// Handles a datagram received at the N4 address: one message, or several bundled ones (TS 29.244 clause 6.5).
    ///
    /// What cannot be decoded is counted; it gets a response if one is defined, and changes nothing. Only the first
    /// message of a datagram from an unassociated peer is handled: the peer cannot know that the UPF supports more, and
    /// a datagram has capacity for thousands. Of requests about session sets, four are handled.
    pub fn datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.messages(now, from, bytes);
        self.settle(now);
    }

    fn messages(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.set_requests = 0;
        let mut rest = bytes;
        loop {
            match Header::decode(rest) {
                Ok((header, body, next)) => {
                    // The first message may end a session or begin an association.
                    let is_of_session = !next.is_empty() && self.is_of_session(from, &header);
                    self.message(now, from, header, body);
                    rest = next;
                    if !rest.is_empty() && !is_of_session && !self.node.associations.knows(from.ip()) {
                        return self.drop_remaining_messages(from);
                    }
                }
                Err(error) => return self.bad_header(from, rest, error),
            }
            if rest.is_empty() {
                return;
            }
            // The next message comes after what follows from this one.
            self.settle(now);
        }
    }

    /// The message is about a session for which its sender is authorized.
    fn is_of_session(&mut self, from: SocketAddr, header: &Header) -> bool {
        MessageType::from_code(header.message_type).is_some_and(|message| {
            let key = RequestKey::new(from, message, header, &[]);
            self.turn_of_seid(header.seid.unwrap_or_default()).session_of(&key, header).is_some()
        })
    }

    fn drop_remaining_messages(&mut self, from: SocketAddr) {
        self.order_outputs();
        self.first.out.received(None, MessageResult::Unexpected);
        self.first.out.notice(Notice::Discarded { from, reason: DiscardReason::Bundled });
    }

    fn message(&mut self, now: Time, from: SocketAddr, header: Header, body: &[u8]) {
        match MessageType::from_code(header.message_type) {
            None => {
                self.first.out.received(None, MessageResult::UnknownType);
                let reason = DiscardReason::UnknownType(header.message_type);
                self.first.out.notice(Notice::Discarded { from, reason });
            }
            Some(message) if message.is_request() => self.request(now, from, header, message, body),
            Some(message) => self.response(now, from, header, message, body),
        }
    }

    #[inline(always)]
    fn request(&mut self, now: Time, from: SocketAddr, header: Header, message: MessageType, body: &[u8]) {
        self.node.associations.on_message_from(now, from, &mut self.first.out);
        let key = RequestKey::new(from, message, &header, body);
        if message == MessageType::HeartbeatRequest {
            let Self { node, first, .. } = self;
            let (transactions, out) = (&mut first.transactions, &mut first.out);
            return node.associations.heartbeat_request(now, key, &header, body, transactions, out);
        }
        let part = self.part_of(message, &header, body);
        let mut turn = self.turn(part);
        turn.part.sessions.set_time(now);
        let Some(key) = turn.begin(now, key, &header, body) else { return };
        if message.is_session_related() {
            self.session_request(now, part, key, header, body);
        } else {
            self.node_request(now, key, &header, body);
        }
    }

    /// Handles a session request that is no duplicate. Of an establishment with a Recovery Time Stamp that shows a restart,
    /// the restart comes first.
    #[inline]
    pub(super) fn session_request(
        &mut self,
        now: Time,
        part: usize,
        key: RequestKey,
        header: Header,
        body: &[u8],
    ) {
        let mut turn = self.turn(part);
        turn.session_request(now, key, header, body);
        if let Some((association, stamp)) = turn.claim.take() {
            let Self { node, first, .. } = self;
            let (transactions, out) = (&mut first.transactions, &mut first.out);
            node.associations.on_recovery_time_stamp(now, association, stamp, transactions, out);
            self.follow_epochs();
            let mut turn = self.turn(part);
            turn.knows_claims = true;
            turn.session_request(now, key, header, body);
        }
    }

    /// The part that handles a request.
    #[inline]
    fn part_of(&self, message: MessageType, header: &Header, body: &[u8]) -> usize {
        if self.further.is_empty() || !message.is_session_related() {
            return 0;
        }
        if message != MessageType::SessionEstablishmentRequest {
            return self.number_of(|part| part.number.has(header.seid.unwrap_or_default()));
        }
        peek_cp_f_seid(body).map_or(0, |cp| self.first.number.part_of_cp(&cp))
    }

    /// The part that handles the first message of a datagram, if that is a request.
    pub(super) fn part_of_datagram(&self, datagram: &[u8]) -> usize {
        let Ok((header, body, _)) = Header::decode(datagram) else { return 0 };
        let message = MessageType::from_code(header.message_type);
        message.map_or(0, |message| self.part_of(message, &header, body))
    }

    fn node_request(&mut self, now: Time, key: RequestKey, header: &Header, body: &[u8]) {
        match Message::decode(header, body) {
            Ok(Message::AssociationSetupRequest(request)) => self.association_setup(now, key, &request),
            Ok(Message::AssociationUpdateRequest(request)) => self.association_update(now, key, &request),
            Ok(Message::AssociationReleaseRequest(request)) => self.association_release(now, key, &request),
            Ok(Message::PfdManagementRequest(request)) => self.pfd_management(now, key, &request),
            Ok(Message::SessionSetDeletionRequest(_) | Message::SessionSetModificationRequest(_))
                if self.set_requests >= SET_REQUESTS =>
            {
                let reason = RefusalReason::TooManySetRequests(SET_REQUESTS);
                self.turn(0).refuse(now, key, RequestRefusal::new(Cause::EntityInCongestion, reason));
            }
            Ok(Message::SessionSetDeletionRequest(request)) => {
                self.set_requests += 1;
                self.session_set_deletion(now, key, &request);
            }
            Ok(Message::SessionSetModificationRequest(request)) => {
                self.set_requests += 1;
                self.session_set_modification(now, key, &request);
            }
            // The Node Report Request, which only a UPF sends.
            Ok(_) => {
                let refusal = RequestRefusal::new(Cause::ServiceNotSupported, RefusalReason::NotSupported);
                self.turn(0).refuse(now, key, refusal);
            }
            Err(error) => self.turn(0).refuse(now, key, error.into()),
        }
    }

    fn response(&mut self, now: Time, from: SocketAddr, header: Header, message: MessageType, body: &[u8]) {
        let decoded = match Message::decode(&header, body) {
            Ok(decoded) => decoded,
            Err(error) => {
                self.first.out.received(Some(message), MessageResult::Malformed);
                let reason = DiscardReason::Decode(error);
                return self.first.out.notice(Notice::Discarded { from, reason });
            }
        };
        // Numbers are unique among the parts.
        let part = self.number_of(|part| part.transactions.purpose(from, header.sequence).is_some());
        let mut turn = self.turn(part);
        if turn.handle_redirection(now, from, &header, &decoded) {
            let result = MessageResult::Cause(Cause::RedirectionRequested);
            return turn.part.out.received(Some(message), result);
        }
        let answered = turn.part.transactions.answered(from, header.sequence, message);
        let Some((purpose, left_out)) = answered else {
            self.first.out.received(Some(message), MessageResult::Unexpected);
            let reason = DiscardReason::UnexpectedResponse;
            return self.first.out.notice(Notice::Discarded { from, reason });
        };
        self.node.associations.on_message_from(now, from, &mut self.first.out);
        let result = cause_of(&decoded).map_or(MessageResult::Ok, MessageResult::Cause);
        self.first.out.received(Some(message), result);
        match (purpose, decoded) {
            (Purpose::Heartbeat(id), Message::HeartbeatResponse(it)) => self.heartbeat_answered(now, id, &it),
            (Purpose::RecoveryCheck { association, entity }, Message::HeartbeatResponse(it)) => {
                let stamp = it.recovery_time_stamp.0;
                let confirmed = self.node.associations.recovery_check_answered(
                    now,
                    association,
                    entity,
                    stamp,
                    &mut self.first.transactions,
                    &mut self.first.out,
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
                self.node.associations.leave_out(association, left_out, &mut self.first.out);
                let report = (session, association, number);
                if self.turn(part).report_answered(now, from.ip(), report, &it) {
                    self.order_outputs();
                    self.node.associations.leave_policy_out(association, &mut self.first.out);
                    self.turn(part).send_reports(now, session);
                }
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
                    let mut turn = self.turn_of_seid(header.seid.unwrap_or_default());
                    let seid = turn.seid_of_peer(&key, &header);
                    turn.refuse_at_once(key, refusal.about(seid));
                    return;
                }
                self.first.out.received(message, MessageResult::Malformed);
            }
            HeaderError::Truncated { .. } => self.first.out.received(None, MessageResult::Malformed),
        }
        self.first.out.notice(Notice::Discarded { from, reason: DiscardReason::Header(error) });
    }

    /// Responds to a message of another version (clause 7.6.2), unless it is such a response itself.
    fn version_not_supported(&mut self, from: SocketAddr, octets: &[u8]) {
        self.first.out.received(None, MessageResult::Malformed);
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
            self.first.out.send(from, answer, MessageResult::Ok, bytes);
        }
    }
}
