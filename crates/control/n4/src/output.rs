//! Actions that the state machine requests.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use causeway_dataplane::ApplyError;
use causeway_model::{Applications, Plan};
use causeway_pfcp::MessageType;
use causeway_types::{Seid, Transfer};

use crate::transaction::RequestKey;
use crate::{Counters, LossReason, MessageResult, Notice, RefusalReason};

/// One action. Actions are ordered: a later one may depend on an earlier one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Send a datagram from the N4 address.
    Send {
        /// The destination.
        to: SocketAddr,
        /// One PFCP message.
        bytes: Vec<u8>,
    },
    /// Have the data plane apply a plan, and pass the result to [`crate::N4::applied`]. Plans may be applied in any
    /// order: there is never more than one of the same session.
    Apply {
        /// Returned with the result.
        id: ApplyId,
        /// The plan to apply.
        plan: Plan,
    },
    /// Have the data plane detect these applications from now on, and no others. Later plans may refer to them.
    Applications(Arc<Applications>),
    /// A notice for the operator.
    Notice(Notice),
}

/// Identifies a plan in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ApplyId(u64);

/// Bits of the number of a part in an [`ApplyId`].
const PART_BITS: u32 = 8;

impl ApplyId {
    /// The id of a plan with this sequence number, modulo 2^24, for the session of a part, below 2^8, with this index.
    pub(crate) const fn new(number: u32, part: usize, index: u32) -> Self {
        Self((number as u64) << (32 + PART_BITS) | (part as u64) << 32 | index as u64)
    }

    /// The number of the part of N4 that has the session, from 0.
    pub const fn part(self) -> usize {
        (self.0 >> 32) as usize & ((1 << PART_BITS) - 1)
    }

    /// The index of the session in its part: the same as long as the session exists.
    pub const fn session_index(self) -> u32 {
        self.0 as u32
    }

    /// The first plan of the session with this index, for tests.
    #[doc(hidden)]
    pub const fn of_session(index: u32) -> Self {
        Self::new(0, 0, index)
    }
}

impl fmt::Display for ApplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The actions that inputs have caused, in order, and the counts of messages.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    queue: VecDeque<Output>,
    counters: Counters,
    /// Cached responses for another member of a chain; `None`: there is none.
    kept: Option<VecDeque<Vec<u8>>>,
}

/// The response to a request, as another member of a chain caches it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeptResponse {
    pub(crate) key: RequestKey,
    pub(crate) octets: Vec<u8>,
}

impl Outputs {
    /// The next action.
    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Takes the actions of another part, behind those that are here.
    #[inline]
    pub(crate) fn append(&mut self, others: &mut Self) {
        if !others.queue.is_empty() {
            self.queue.append(&mut others.queue);
        }
    }

    /// The counters since the start.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Keeps each response that is cached for [`Outputs::next_kept`].
    pub(crate) fn keep_responses(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// The next cached response.
    pub(crate) fn next_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.as_mut()?.pop_front()
    }

    /// A response is cached.
    #[inline]
    pub(crate) fn cached(&mut self, key: &RequestKey, octets: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.push_back(KeptResponse { key: *key, octets: octets.to_vec() }.to_octets());
        }
    }

    pub(crate) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    pub(crate) fn notice(&mut self, notice: Notice) {
        self.push(Output::Notice(notice));
    }

    /// Counts a message that is sent, and sends it.
    #[inline]
    pub(crate) fn send(
        &mut self,
        to: SocketAddr,
        message: MessageType,
        result: MessageResult,
        bytes: Vec<u8>,
    ) {
        self.counters.sent(message, result);
        self.push(Output::Send { to, bytes });
    }

    /// Counts a request that got no response to its last retransmission.
    pub(crate) fn unanswered(&mut self, request: MessageType) {
        self.counters.sent(request, MessageResult::Unanswered);
    }

    /// Counts a received message; `None`: it cannot be decoded, or its type is unknown.
    pub(crate) fn received(&mut self, message: Option<MessageType>, result: MessageResult) {
        self.counters.received(message, result);
    }

    /// An event came after the end of its session.
    pub(crate) const fn late_event(&mut self) {
        self.counters.late_events += 1;
    }

    /// A report cannot be queued or sent.
    pub(crate) fn lost_report(&mut self, session: Seid, reason: LossReason) {
        self.counters.lost_reports += 1;
        self.notice(Notice::ReportLost { session, reason });
    }

    /// The data plane failed to apply a plan.
    pub(crate) fn failed_plan(&mut self, session: Seid, error: ApplyError) {
        self.counters.failed_plans += 1;
        self.notice(Notice::ApplyFailed { session, error });
    }

    /// Counts what is refused for lack of memory.
    pub(crate) const fn refusal(&mut self, reason: &RefusalReason) {
        if matches!(reason, RefusalReason::ShortOfMemory | RefusalReason::MemoryLimit) {
            self.counters.memory_refusals += 1;
        }
    }
}
