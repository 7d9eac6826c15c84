//! Transactions in both directions (TS 29.244 clause 6.4).

mod buffers;
mod hosts;
mod inbound;
mod outbound;
mod purpose;
mod refusal;
mod response_cache;

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Cause, Message, MessageType, NodeId, OffendingIe};
use causeway_types::{Seid, Span, Time};

use crate::association::AssociationId;
use crate::config::{Config, Retransmission};
use crate::left_out::LeftOut;
use crate::load::LoadStatus;
use crate::output::Outputs;
use crate::{MessageResult, Notice, Output};

use buffers::BufferPool;
use inbound::{Bounds, Inbound};
pub(crate) use inbound::{RequestKey, RequestState};
pub(crate) use outbound::UnansweredRequest;
use outbound::{Aim, Expired, Outbound, Request};
pub(crate) use purpose::Purpose;
pub(crate) use refusal::RequestRefusal;

/// Length in octets that most responses do not exceed.
const TYPICAL_RESPONSE_LEN: usize = 256;

/// Hosts whose requests are remembered, for each association of the limit: peers have several addresses, and cached
/// responses outlive associations.
const HOSTS_PER_ASSOCIATION: usize = 4;

/// The transactions of all peers: received requests with their cached responses, and requests of the UPF with their
/// retransmission.
#[derive(Debug)]
pub(crate) struct Transactions {
    inbound: Inbound,
    outbound: Outbound<Purpose>,
    /// Free buffers for responses.
    buffers: BufferPool,
    /// The UPF's Node ID, in the responses that reject a request.
    node: causeway_types::NodeId,
    /// Retransmission of requests, and of heartbeats.
    retransmission: Retransmission,
    heartbeat: Retransmission,
    /// The pause before a retained request is repeated.
    report_retry: Span,
}

/// A response to a received request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response<'a> {
    /// The SMF's SEID, in a session related response; zero if unknown.
    pub(crate) seid: Seid,
    /// Its cause, if it has one.
    pub(crate) cause: Option<Cause>,
    /// The message.
    pub(crate) message: &'a Message<'a>,
    /// The IEs left out of it.
    pub(crate) left_out: LeftOut,
}

impl<'a> Response<'a> {
    /// The response that accepts a request about the node.
    pub(crate) const fn accepting(message: &'a Message<'a>) -> Self {
        Self { seid: Seid(0), cause: Some(Cause::RequestAccepted), message, left_out: LeftOut::NONE }
    }
}

impl Transactions {
    /// No transactions. `start` is a number that grows from one start of the UPF to the next. `part` is one of so many, each
    /// with its share of the limits.
    pub(crate) fn new(config: &Config, start: u32, (part, parts): (usize, usize)) -> Self {
        let limits = &config.limits;
        let bounds = Bounds {
            hosts: limits.associations.saturating_mul(HOSTS_PER_ASSOCIATION),
            octets_per_host: limits.answer_octets_per_peer.div_ceil(parts),
            octets: limits.answer_octets.div_ceil(parts),
            in_progress_per_host: limits.in_progress_per_peer.div_ceil(parts),
        };
        Self {
            inbound: Inbound::new(config.answer_lifetime, bounds),
            outbound: Outbound::new(start, config.secret, (part, parts)),
            buffers: BufferPool::default(),
            node: config.node.clone(),
            retransmission: config.retransmission,
            heartbeat: config.heartbeat.retransmission,
            report_retry: config.report_retry,
        }
    }

    /// Follows changed settings; requests in flight keep theirs.
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.retransmission = config.retransmission;
        self.heartbeat = config.heartbeat.retransmission;
    }

    /// When [`Transactions::expire`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.outbound.next_deadline().into_iter().chain(self.inbound.next_deadline()).min()
    }

    /// Returns the buffer of a sent response for reuse.
    pub(crate) fn recycle(&mut self, octets: Vec<u8>) {
        self.buffers.put(octets);
    }

    /// An empty buffer for a response.
    #[inline]
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.take()
    }
}

/// Received requests.
impl Transactions {
    /// The state of this request.
    pub(crate) fn look_up(&self, key: &RequestKey) -> RequestState<'_> {
        self.inbound.look_up(key)
    }

    /// Begins a request that is [`RequestState::New`]. It ends with [`Transactions::answer`] or
    /// [`Transactions::forget`]. False: too many are in progress.
    #[must_use]
    #[inline]
    pub(crate) fn begin(&mut self, key: &mut RequestKey) -> bool {
        self.inbound.begin(key)
    }

    /// Ends a request without a response: a duplicate will be new.
    pub(crate) fn forget(&mut self, key: &RequestKey) {
        self.inbound.forget(key);
    }

    /// Sends the cached response to a duplicate, and drops a duplicate of a request in progress. False: the request is
    /// new.
    #[inline]
    pub(crate) fn handle_duplicate(&self, key: &RequestKey, out: &mut Outputs) -> bool {
        match self.inbound.look_up(key) {
            RequestState::New => return false,
            RequestState::InProgress => out.received(Some(key.message), MessageResult::InProgress),
            RequestState::Answered(bytes) => {
                out.received(Some(key.message), MessageResult::Duplicate);
                let bytes = bytes.to_vec();
                match key.message.response() {
                    Some(response) => out.send(key.from, response, MessageResult::Duplicate, bytes),
                    None => out.push(Output::Send { to: key.from, bytes }),
                }
            }
        }
        true
    }

    /// Sends the response to a request in progress, and caches it for duplicates.
    pub(crate) fn answer(&mut self, now: Time, key: RequestKey, response: Response<'_>, out: &mut Outputs) {
        let sent = self.answer_uncached(key, response, out);
        self.remember(now, key, sent, out);
    }

    /// The same with an encoded response that accepts the request.
    #[inline]
    pub(crate) fn answer_encoded(
        &mut self,
        now: Time,
        key: RequestKey,
        message: MessageType,
        bytes: Vec<u8>,
        out: &mut Outputs,
    ) {
        let result = MessageResult::Cause(Cause::RequestAccepted);
        out.received(Some(key.message), result);
        self.inbound.answer(now, key, &bytes);
        out.cached(&key, &bytes);
        out.send(key.from, message, result, bytes);
    }

    /// Sends a response that is not cached: a duplicate of its request is handled like a new request.
    pub(crate) fn answer_uncached(
        &mut self,
        key: RequestKey,
        response: Response<'_>,
        out: &mut Outputs,
    ) -> Option<Vec<u8>> {
        let Response { seid, cause, message, left_out } = response;
        let result = cause.map_or(MessageResult::Ok, MessageResult::Cause);
        out.received(Some(key.message), result);
        let seid = key.message.is_session_related().then_some(seid);
        let mut bytes = self.buffers.take();
        bytes.reserve(TYPICAL_RESPONSE_LEN);
        if let Err(error) = message.encode(seid, key.sequence, &mut bytes) {
            out.notice(Notice::ResponseTooLong { to: key.from, octets: error.octets });
            return None;
        }
        left_out.take_from(&mut bytes);
        out.send(key.from, message.message_type(), result, bytes.clone());
        Some(bytes)
    }

    /// Rejects a request in progress about the node, not about a session.
    pub(crate) fn refuse_node(
        &mut self,
        now: Time,
        key: RequestKey,
        refusal: RequestRefusal,
        out: &mut Outputs,
    ) {
        self.refuse(now, key, refusal, LoadStatus::default(), LeftOut::NONE, out);
    }

    /// Rejects a request in progress, with the load of the UPF.
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        key: RequestKey,
        refusal: RequestRefusal,
        status: LoadStatus,
        left_out: LeftOut,
        out: &mut Outputs,
    ) {
        let sent = self.refuse_uncached(key, refusal, status, left_out, out);
        self.remember(now, key, sent, out);
    }

    /// Rejects a request without caching the response.
    pub(crate) fn refuse_uncached(
        &mut self,
        key: RequestKey,
        refusal: RequestRefusal,
        status: LoadStatus,
        left_out: LeftOut,
        out: &mut Outputs,
    ) -> Option<Vec<u8>> {
        let node = self.node.clone();
        out.refusal(&refusal.reason);
        let message = refusal.response(key.message, NodeId::from(&node), status)?;
        let RequestRefusal { cause, seid, offending_ie, node, session, reason, .. } = refusal;
        let response = Response { seid, cause: Some(cause), message: &message, left_out };
        let bytes = self.answer_uncached(key, response, out);
        out.notice(Notice::Refused {
            message: key.message,
            sequence: key.sequence,
            from: key.from,
            node,
            session,
            smf_session: (seid != Seid(0)).then_some(seid),
            cause,
            offending_ie: offending_ie.map(|OffendingIe(ie)| ie),
            reason,
        });
        bytes
    }

    /// Caches a response that was sent; without one, the request ends.
    fn remember(&mut self, now: Time, key: RequestKey, sent: Option<Vec<u8>>, out: &mut Outputs) {
        match sent {
            Some(bytes) => {
                self.inbound.answer(now, key, &bytes);
                out.cached(&key, &bytes);
            }
            None => self.inbound.forget(&key),
        }
    }

    /// Caches a response that another member of a chain has sent.
    pub(crate) fn restore(&mut self, now: Time, mut key: RequestKey, octets: &[u8]) {
        if self.inbound.look_up(&key) == RequestState::New && self.inbound.begin(&mut key) {
            self.inbound.answer(now, key, octets);
        }
    }

    /// Repeats the response to a request whose repetition came from another port or address. The repetition ends.
    pub(crate) fn repeat_answer(&mut self, key: RequestKey, original: &RequestKey, out: &mut Outputs) {
        let bytes = match self.inbound.look_up(original) {
            RequestState::Answered(bytes) => Some(bytes.to_vec()),
            RequestState::New | RequestState::InProgress => None,
        };
        let result = if bytes.is_some() { MessageResult::Duplicate } else { MessageResult::InProgress };
        out.received(Some(key.message), result);
        self.inbound.forget(&key);
        if let Some(bytes) = bytes {
            out.push(Output::Send { to: key.from, bytes });
        }
    }

    /// Makes the cached responses to a host void.
    pub(crate) fn forget_answers(&mut self, ip: IpAddr) {
        self.inbound.forget_answers(ip);
    }

    /// The restart epoch of a host.
    #[inline]
    pub(crate) fn epoch(&self, ip: IpAddr) -> u32 {
        self.inbound.epoch(ip)
    }

    /// Begins a new restart epoch of these hosts. Returns its number, which is higher than all before.
    pub(crate) fn begin_epoch(&mut self, hosts: &[IpAddr]) -> u32 {
        self.inbound.begin_epoch(hosts)
    }

    /// Cancels the last epoch of these hosts: no restart was confirmed.
    pub(crate) fn cancel_epoch(&mut self, hosts: &[IpAddr]) {
        self.inbound.cancel_epoch(hosts);
    }

    /// The restart epochs of all hosts are those that another part has.
    pub(crate) fn follow_epochs(&mut self, other: &Self) {
        self.inbound.follow_epochs(&other.inbound);
    }

    /// Removes the epochs of these hosts: no peer uses them any more.
    pub(crate) fn forget_epochs(&mut self, hosts: &[IpAddr]) {
        self.inbound.forget_epochs(hosts);
    }

    /// Discards expired responses, a few of each host at a time.
    pub(crate) fn expire_answers(&mut self, now: Time) {
        self.inbound.expire(now);
    }

    /// The highest number of requests in progress of one host. O(hosts).
    pub(crate) fn most_in_progress(&self) -> usize {
        self.inbound.most_in_progress()
    }

    /// The number of hosts with a restart epoch.
    pub(crate) fn restarted_hosts(&self) -> usize {
        self.inbound.restarted_hosts()
    }

    /// The number of received requests, including those in progress.
    pub(crate) fn received(&self) -> usize {
        self.inbound.len()
    }
}

/// Requests of the UPF.
impl Transactions {
    /// The policy of a request for this purpose.
    const fn policy(&self, purpose: &Purpose) -> Retransmission {
        match purpose {
            Purpose::Heartbeat(_) | Purpose::RecoveryCheck { .. } => self.heartbeat,
            _ => self.retransmission,
        }
    }

    /// Sends a request about the node, and keeps it until its response or its last timeout.
    pub(crate) fn request(
        &mut self,
        now: Time,
        to: SocketAddr,
        message: &Message<'_>,
        purpose: Purpose,
        out: &mut Outputs,
    ) {
        let _ = self.start(now, to, None, message, purpose, LeftOut::NONE, out);
    }

    /// The same for a request about the session with this SEID of the SMF. Returns its number.
    ///
    /// No request is near the maximum message length; one that exceeded it would cause a notice and not be sent.
    #[expect(clippy::too_many_arguments, reason = "the parts of a message")]
    pub(crate) fn start(
        &mut self,
        now: Time,
        to: SocketAddr,
        seid: Option<Seid>,
        message: &Message<'_>,
        purpose: Purpose,
        left_out: LeftOut,
        out: &mut Outputs,
    ) -> Option<u32> {
        let policy = self.policy(&purpose);
        let request = Request { to, message: message.message_type(), purpose };
        let mut number = None;
        let started = self.outbound.start(now, policy, request, |sequence| {
            number = Some(sequence);
            let mut bytes = Vec::new();
            message.encode(seid, sequence, &mut bytes)?;
            left_out.take_from(&mut bytes);
            Ok(bytes)
        });
        match started {
            Ok(bytes) => out.send(to, message.message_type(), MessageResult::Ok, bytes),
            Err(error) => {
                out.notice(Notice::ResponseTooLong { to, octets: error.octets });
                return None;
            }
        }
        number
    }

    /// Goes on with a report of a session that another member of a chain has sent, or was about to send. `false`: another request has its number.
    pub(crate) fn resume_report(
        &mut self,
        now: Time,
        to: SocketAddr,
        purpose: Purpose,
        (sequence, octets): (u32, Vec<u8>),
    ) -> bool {
        let policy = self.policy(&purpose);
        let request = Request { to, message: MessageType::SessionReportRequest, purpose };
        self.outbound.resume(now, policy, request, (sequence, octets))
    }

    /// The destination and the octets of the request with this number.
    pub(crate) fn sent_request(&self, sequence: u32) -> Option<(SocketAddr, &[u8])> {
        self.outbound.request(sequence)
    }

    /// Ends the request that this response answers. Returns its purpose and the IEs left out of it; `None` if there is
    /// no such request.
    pub(crate) fn answered(
        &mut self,
        from: SocketAddr,
        sequence: u32,
        message: MessageType,
    ) -> Option<(Purpose, LeftOut)> {
        self.outbound.answered(from, sequence, message)
    }

    /// IEs are left out of the request with this number, as it was sent last.
    pub(crate) fn leaves_out(&self, sequence: u32) -> bool {
        self.outbound.is_plain(sequence)
    }

    /// The purpose of the request with this number to this host.
    pub(crate) fn purpose(&self, to: SocketAddr, sequence: u32) -> Option<&Purpose> {
        self.outbound.purpose(to, sequence)
    }

    /// When the wait for the next response ends.
    pub(crate) fn next_unanswered(&self) -> Option<Time> {
        self.outbound.next_deadline()
    }

    /// Retransmits the request whose wait ended first, or returns it if it got no response to its last retransmission.
    /// For `is_silent` see [`Outbound::expire`].
    pub(crate) fn expire(
        &mut self,
        now: Time,
        is_silent: impl Fn(&Purpose, Time) -> bool,
        out: &mut Outputs,
    ) -> Option<UnansweredRequest<Purpose>> {
        match self.outbound.expire(now, is_silent)? {
            Expired::Repeat { to, request, bytes, is_plain } => {
                let result = if is_plain { MessageResult::Shortened } else { MessageResult::Repeated };
                out.send(to, request, result, bytes);
                None
            }
            Expired::GivenUp(unanswered) => {
                if !unanswered.retained {
                    out.unanswered(unanswered.request);
                }
                Some(unanswered)
            }
        }
    }

    /// Repeats a retained request that got no response, and keeps it until a response or the next pause is over.
    /// `is_silent`: the SMF responds to other messages meanwhile.
    pub(crate) fn repeat_retained(
        &mut self,
        now: Time,
        mut unanswered: UnansweredRequest<Purpose>,
        is_silent: bool,
        out: &mut Outputs,
    ) {
        if is_silent {
            unanswered.make_plain();
        }
        let (bytes, is_plain) = unanswered.to_send();
        if !is_plain {
            unanswered.since = now;
        }
        let result = if is_plain { MessageResult::Shortened } else { MessageResult::Repeated };
        out.send(unanswered.to, unanswered.request, result, bytes);
        self.retain(now, unanswered);
    }

    /// Keeps a request that got no response, to repeat it after a pause.
    pub(crate) fn retain(&mut self, now: Time, unanswered: UnansweredRequest<Purpose>) {
        self.outbound.keep(now, unanswered, self.report_retry);
    }

    /// Sends a request that got no response to another address, under the same number and with its octets rewritten.
    pub(crate) fn resend(
        &mut self,
        now: Time,
        unanswered: UnansweredRequest<Purpose>,
        to: SocketAddr,
        rewrite: impl Fn(&mut Vec<u8>),
        out: &mut Outputs,
    ) {
        let request = unanswered.request;
        let bytes = self.outbound.restart(now, self.retransmission, unanswered, to, rewrite);
        out.send(to, request, MessageResult::Repeated, bytes);
    }

    /// Takes the octets of [`Transactions::resend`] for a request that waits for its response, without sending them.
    /// `None` if there is no such request.
    pub(crate) fn redirect_one(
        &mut self,
        now: Time,
        sequence: u32,
        to: SocketAddr,
        rewrite: impl Fn(&mut Vec<u8>),
    ) -> Option<(MessageType, Vec<u8>)> {
        self.outbound.redirect_one(now, self.retransmission, sequence, to, rewrite)
    }

    /// Sends the requests with these numbers to another destination, with their octets rewritten.
    pub(crate) fn redirect(
        &mut self,
        to: SocketAddr,
        numbers: impl Iterator<Item = u32>,
        rewrite: impl Fn(&mut Vec<u8>),
        out: &mut Outputs,
    ) {
        for (message, bytes) in self.outbound.redirect(to, numbers, rewrite) {
            out.send(to, message, MessageResult::Repeated, bytes);
        }
    }

    /// Cancels the requests that `unwanted` selects, and returns their number. O(pending).
    pub(crate) fn cancel(&mut self, unwanted: impl Fn(&Purpose) -> bool) -> usize {
        self.outbound.cancel(unwanted)
    }

    /// The same among those that concern an association. O(those).
    pub(crate) fn cancel_of(
        &mut self,
        association: AssociationId,
        unwanted: impl Fn(&Purpose) -> bool,
    ) -> usize {
        self.outbound.cancel_of(association, unwanted)
    }

    /// Cancels the requests with these numbers, and returns how many of them waited for a response.
    pub(crate) fn cancel_requests(&mut self, numbers: impl Iterator<Item = u32>) -> usize {
        self.outbound.cancel_requests(numbers)
    }

    /// The report with this number concerns another association. Returns the previous one; `None`: there is no such
    /// request.
    pub(crate) fn aim_report(&mut self, sequence: u32, to: AssociationId) -> Option<AssociationId> {
        self.outbound.aim(sequence, |purpose| {
            if let Purpose::Report { association, .. } = purpose {
                *association = to;
            }
        })
    }

    /// A request for this purpose waits for its response.
    pub(crate) fn is_asked(&self, purpose: &Purpose) -> bool {
        self.outbound.is_asked(purpose)
    }

    /// The number of requests that wait for a response.
    pub(crate) fn unanswered(&self) -> usize {
        self.outbound.len()
    }
}
