//! Messages about sessions: requests, and responses to reports.

use std::collections::VecDeque;
use std::net::SocketAddr;

use causeway_pfcp::template::peek_cp_f_seid;
use causeway_pfcp::{Cause, Header, Message, MessageType};
use causeway_types::{Seid, Time};

use super::{Part, Turn};
use crate::node::Node;
use crate::session::{QueuedRequest, Session};
use crate::transaction::{Purpose, RequestKey, RequestRefusal, RequestState};
use crate::{MessageResult, RefusalReason};

/// Requests that a part cannot decide alone, in order.
pub(crate) type Undecided = VecDeque<QueuedRequest>;

impl Part {
    /// Handles the messages of a datagram that this part can handle alone, in order. Returns the octets from the first other
    /// one on, which are for [`N4::datagram`](crate::N4::datagram): node messages, those about sessions of other parts, and what cannot be
    /// decoded.
    ///
    /// A request that only all parts together can decide, such as one that conflicts with another session, is
    /// kept for them: while [`Part::is_undecided`], no other datagram may come.
    pub fn datagram<'a>(&mut self, node: &Node, now: Time, from: SocketAddr, datagram: &'a [u8]) -> &'a [u8] {
        let mut rest = datagram;
        while !rest.is_empty() && !self.is_undecided() {
            let Ok((header, body, next)) = Header::decode(rest) else { break };
            // Of an unassociated peer only the first message is handled.
            let are_bundled = next.len() < rest.len() && !next.is_empty();
            if are_bundled && !node.is_smf(from.ip()) || !self.alone(node).message(now, from, header, body) {
                break;
            }
            rest = next;
            // A datagram may establish more sessions than the other parts suppose between two publications.
            if are_bundled {
                self.publish(node);
            }
        }
        rest
    }

    /// The number of the part that the first message of these octets is for, if it is about a session.
    pub fn part_of(&self, datagram: &[u8]) -> Option<usize> {
        let (header, body, _) = Header::decode(datagram).ok()?;
        let message = MessageType::from_code(header.message_type)?;
        match (message, header.seid) {
            (MessageType::SessionEstablishmentRequest, _) => {
                Some(self.number.part_of_cp(&peek_cp_f_seid(body)?))
            }
            (_, Some(seid)) if seid != Seid(0) => Some(self.number.part_of(seid)),
            _ => None,
        }
    }

    /// A request waits for the one that has all parts.
    pub fn is_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// One for this session does. The SEID of an establishment, if it has one, is that of no session.
    pub(super) fn has_undecided(&self, session: Seid) -> bool {
        self.undecided.iter().any(|QueuedRequest { key, header, .. }| {
            key.message != MessageType::SessionEstablishmentRequest && header.seid == Some(session)
        })
    }
}

impl Turn<'_> {
    /// Handles a message, unless it concerns more than this part. `false`: nothing has happened.
    fn message(&mut self, now: Time, from: SocketAddr, header: Header, body: &[u8]) -> bool {
        let number = &self.part.number;
        match MessageType::from_code(header.message_type) {
            Some(message @ MessageType::SessionEstablishmentRequest) => {
                peek_cp_f_seid(body).is_some_and(|cp| number.has_cp(&cp))
                    && self.request(now, from, header, message, body)
            }
            Some(
                message @ (MessageType::SessionModificationRequest | MessageType::SessionDeletionRequest),
            ) => {
                header.seid.is_some_and(|seid| number.has(seid))
                    && self.request(now, from, header, message, body)
            }
            Some(MessageType::SessionReportResponse) => self.report_response(now, from, header, body),
            _ => false,
        }
    }

    fn request(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: Header,
        message: MessageType,
        body: &[u8],
    ) -> bool {
        let is_heard = self.node.associations.hear(now, from, self.part.number.part());
        if is_heard {
            self.part.sessions.set_time(now);
            let key = RequestKey::new(from, message, &header, body);
            if let Some(key) = self.begin(now, key, &header, body) {
                self.session_request(now, key, header, body);
            }
        }
        is_heard
    }

    /// Handles the response to a report if the SMF accepts it.
    fn report_response(&mut self, now: Time, from: SocketAddr, header: Header, body: &[u8]) -> bool {
        let Ok(Message::SessionReportResponse(response)) = Message::decode(&header, body) else {
            return false;
        };
        let sequence = header.sequence;
        let is_report =
            matches!(self.part.transactions.purpose(from, sequence), Some(Purpose::Report { .. }));
        // Session sets need memory.
        let names_sets = response.fq_csid.is_some() || response.group_id.is_some();
        if response.cause != Cause::RequestAccepted
            || !is_report
            || names_sets
            || self.part.transactions.leaves_out(sequence)
            || !self.node.associations.hear(now, from, self.part.number.part())
        {
            return false;
        }
        let answered = self.part.transactions.answered(from, sequence, MessageType::SessionReportResponse);
        let Some((Purpose::Report { session, association, number }, _)) = answered else { return false };
        let result = MessageResult::Cause(response.cause);
        self.part.out.received(Some(MessageType::SessionReportResponse), result);
        // An accepted report refuses no paging policy.
        let _ = self.report_answered(now, from.ip(), (session, association, number), &response);
        true
    }

    /// Begins a request that is no duplicate, and whose sender may send it. `None`: it is handled.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        now: Time,
        mut key: RequestKey,
        header: &Header,
        body: &[u8],
    ) -> Option<RequestKey> {
        key.epoch = self.part.transactions.epoch(key.from.ip());
        self.close_if_purged(now, &key, header, body);
        if self.part.transactions.handle_duplicate(&key, &mut self.part.out) {
            return None;
        }
        let is_setup = key.message == MessageType::AssociationSetupRequest;
        if !is_setup && !self.is_authorized(&key, header) {
            let refusal = RequestRefusal::new(Cause::NoEstablishedAssociation, RefusalReason::NoAssociation);
            self.refuse_at_once(key, refusal);
            return None;
        }
        if is_setup && let Some(refusal) = self.node.associations.setup_refusal_when_full(&key, header, body)
        {
            self.refuse_at_once(key, refusal);
            return None;
        }
        let has_begun = self.part.transactions.begin(&mut key);
        if !has_begun {
            self.part.out.received(Some(key.message), MessageResult::Overload);
        }
        has_begun.then_some(key)
    }

    /// Keeps a request in progress for the one that has all parts. `false`: they are here.
    pub(crate) fn leave(&mut self, key: RequestKey, header: &Header, body: &[u8]) -> bool {
        let is_left = self.others.are_elsewhere();
        if is_left {
            self.part.undecided.push_back(QueuedRequest { key, header: *header, body: body.to_vec() });
        }
        is_left
    }

    /// If a request in progress belongs to a session in a purge, ends that session first: the message is then a new
    /// request.
    fn close_if_purged(&mut self, now: Time, key: &RequestKey, header: &Header, body: &[u8]) {
        if !self.part.sessions.has_purges() || self.part.transactions.look_up(key) != RequestState::InProgress
        {
            return;
        }
        let seid = match key.message {
            MessageType::SessionEstablishmentRequest => {
                peek_cp_f_seid(body).and_then(|cp| self.part.sessions.by_cp_f_seid(&cp))
            }
            _ => header.seid,
        };
        if let Some(seid) = seid.filter(|seid| self.part.sessions.is_seid_in_purge(*seid)) {
            self.remove_before_purge(now, seid);
        }
    }

    /// The host belongs to an association, or has the CP F-SEID of the session that the message is about.
    fn is_authorized(&self, key: &RequestKey, header: &Header) -> bool {
        self.node.associations.knows(key.from.ip()) || self.session_of(key, header).is_some()
    }

    /// The session that a message is about, if it exists and the sender is authorized for it.
    pub(crate) fn session_of(&self, key: &RequestKey, header: &Header) -> Option<&Session> {
        let ip = key.from.ip();
        let sessions = &self.part.sessions;
        let session = header.seid.filter(|_| key.message.is_session_related());
        let session = sessions.get(session?).filter(|session| !sessions.is_ending(session))?;
        let is_known = self.node.associations.is_authorized_for(session.association(), ip)
            || session.cp().addr.contains(ip);
        is_known.then_some(session)
    }

    /// The SMF's SEID of the session that its message is about; zero if unknown.
    pub(crate) fn seid_of_peer(&self, key: &RequestKey, header: &Header) -> Seid {
        self.session_of(key, header).map_or(Seid(0), |session| session.cp().seid)
    }
}

/// The cause of a response, if it has one.
pub(crate) fn cause_of(response: &Message<'_>) -> Option<Cause> {
    match response {
        Message::AssociationSetupResponse(it) => Some(it.cause),
        Message::AssociationUpdateResponse(it) => Some(it.cause),
        Message::SessionReportResponse(it) => Some(it.cause),
        Message::NodeReportResponse(it) => Some(it.cause),
        _ => None,
    }
}
