//! Counters of messages received, sent and refused since the start.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use causeway_pfcp::{Cause, MessageType};
use foldhash::fast::FixedState;

use crate::labels::{cause_label, message_label};

/// Counters since the start. For metrics, `pfcp_messages_total{message_type,direction,result}`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    messages: HashMap<MessageKey, u64, FixedState>,
    /// Accepted requests and their responses by message type, apart from the others: nearly all messages are among
    /// them.
    accepted: AcceptedCounters,
    /// Session events of the data plane received after the end of their session.
    pub late_events: u64,
    /// Reports dropped because the queue is full, or because their rule was removed.
    pub lost_reports: u64,
    /// Plans that the data plane failed to apply.
    pub failed_plans: u64,
    /// Requests refused for lack of memory.
    pub memory_refusals: u64,
}

/// Number of message types counted there, including those of sessions.
const TYPES: usize = 64;

/// Received and sent messages, by message type code.
#[derive(Clone, PartialEq, Eq, Debug)]
struct AcceptedCounters([[u64; 2]; TYPES]);

impl Default for AcceptedCounters {
    fn default() -> Self {
        Self([[0; 2]; TYPES])
    }
}

impl AcceptedCounters {
    fn of(&self, key: &MessageKey) -> Option<&u64> {
        let is_accepted = key.result == MessageResult::Cause(Cause::RequestAccepted);
        let code = key.message.filter(|_| is_accepted)?.code();
        self.0.get(usize::from(code))?.get(key.direction as usize)
    }

    fn of_mut(&mut self, key: &MessageKey) -> Option<&mut u64> {
        let is_accepted = key.result == MessageResult::Cause(Cause::RequestAccepted);
        let code = key.message.filter(|_| is_accepted)?.code();
        self.0.get_mut(usize::from(code))?.get_mut(key.direction as usize)
    }

    /// The counters that are not zero.
    fn iter(&self) -> impl Iterator<Item = (MessageKey, u64)> {
        let types = self.0.iter().zip(0_u8..).filter_map(|(counts, code)| {
            let message = MessageType::from_code(code)?;
            let directions = [Direction::Received, Direction::Sent].into_iter().zip(counts);
            Some(directions.map(move |(direction, count)| {
                let result = MessageResult::Cause(Cause::RequestAccepted);
                (MessageKey { message: Some(message), direction, result }, *count)
            }))
        });
        types.flatten().filter(|(_, count)| *count > 0)
    }
}

/// The key of a message counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MessageKey {
    /// The message type; `None` if it is unknown or cannot be decoded.
    pub message: Option<MessageType>,
    /// Whether it was received or sent.
    pub direction: Direction,
    /// The result.
    pub result: MessageResult,
}

/// Whether a message was received or sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From a peer.
    Received,
    /// To a peer.
    Sent,
}

/// The result of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MessageResult {
    /// No particular result: a request sent for the first time, or a message without a cause.
    Ok,
    /// Received request: the cause of its response. Response: its cause.
    Cause(Cause),
    /// Received: a duplicate, to which the cached response was sent. Sent: that response.
    Duplicate,
    /// Received: a duplicate of a request in progress; dropped.
    InProgress,
    /// Received: dropped because too many requests of that peer are in progress.
    Overload,
    /// Received: cannot be decoded, and got no response.
    Malformed,
    /// Received: an unknown message type; dropped.
    UnknownType,
    /// Received: an unexpected response, or all but the first message of a datagram from an unassociated peer; dropped.
    Unexpected,
    /// Sent: a retransmitted request.
    Repeated,
    /// Sent: a retransmitted request without IEs that some SMFs cannot decode.
    Shortened,
    /// Sent: a request that got no response to its last retransmission.
    Unanswered,
}

impl Counters {
    /// Those of others, too.
    #[must_use]
    pub(crate) fn and(mut self, others: &Self) -> Self {
        for (key, count) in others.messages() {
            match self.accepted.of_mut(&key) {
                Some(held) => *held += count,
                None => *self.messages.entry(key).or_default() += count,
            }
        }
        self.late_events += others.late_events;
        self.lost_reports += others.lost_reports;
        self.failed_plans += others.failed_plans;
        self.memory_refusals += others.memory_refusals;
        self
    }

    /// Message counters, in order.
    pub fn messages(&self) -> impl Iterator<Item = (MessageKey, u64)> + '_ {
        let others = self.messages.iter().map(|(key, count)| (*key, *count));
        let mut all: Vec<_> = others.chain(self.accepted.iter()).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The number of such messages.
    pub fn message(&self, message: MessageType, direction: Direction, result: MessageResult) -> u64 {
        let key = MessageKey { message: Some(message), direction, result };
        self.accepted.of(&key).or_else(|| self.messages.get(&key)).copied().unwrap_or_default()
    }

    /// Received requests that were refused, by cause.
    pub fn refused(&self) -> BTreeMap<Cause, u64> {
        let mut refused = BTreeMap::new();
        for (key, count) in &self.messages {
            if let (Direction::Received, MessageResult::Cause(cause)) = (key.direction, key.result)
                && key.message.is_some_and(MessageType::is_request)
                && !cause.is_accepted()
            {
                *refused.entry(cause).or_default() += count;
            }
        }
        refused
    }

    pub(crate) fn received(&mut self, message: Option<MessageType>, result: MessageResult) {
        self.count(message, Direction::Received, result);
    }

    pub(crate) fn sent(&mut self, message: MessageType, result: MessageResult) {
        self.count(Some(message), Direction::Sent, result);
    }

    fn count(&mut self, message: Option<MessageType>, direction: Direction, result: MessageResult) {
        let key = MessageKey { message, direction, result };
        match self.accepted.of_mut(&key) {
            Some(count) => *count += 1,
            None => *self.messages.entry(key).or_default() += 1,
        }
    }
}

impl MessageKey {
    /// The label `message_type`, for example `session_establishment_request`.
    pub fn message_label(&self) -> String {
        message_label(self.message)
    }
}

impl Direction {
    /// The label `direction`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Sent => "sent",
        }
    }
}

impl fmt::Display for MessageResult {
    /// The label `result`, for example `session_context_not_found`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Cause(cause) => return f.write_str(&cause_label(*cause)),
            Self::Duplicate => "duplicate",
            Self::InProgress => "in_progress",
            Self::Overload => "overload",
            Self::Malformed => "malformed",
            Self::UnknownType => "unknown_type",
            Self::Unexpected => "unexpected",
            Self::Repeated => "repeated",
            Self::Shortened => "shortened",
            Self::Unanswered => "unanswered",
        })
    }
}

/// Sizes of all tables and queues. All zero when idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Associations.
    pub associations: usize,
    /// Sessions, including those being established or removed.
    pub sessions: usize,
    /// Plans in flight.
    pub plans: usize,
    /// Requests that wait for a plan in flight of their session.
    pub waiting_requests: usize,
    /// Requests in the inbound transaction table, including those in progress.
    pub remembered_requests: usize,
    /// Requests sent by the UPF that wait for a response.
    pub unanswered_requests: usize,
    /// Hosts of SMFs that have restarted, or that were said to have.
    pub restarted_hosts: usize,
    /// Reports that are queued.
    pub waiting_reports: usize,
    /// Local GTP-U tunnels.
    pub tunnels: usize,
    /// UE addresses and prefixes of sessions.
    pub addresses: usize,
    /// Framed routes of sessions.
    pub routes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  messages of every type, accepted and refused, received and sent, some of them more than once.
    // Output: each has its own count, in whichever table; all are listed once, in order; only refusals count as
    // refused.
    #[test]
    fn every_message_is_counted_by_itself() {
        let mut counters = Counters::default();
        let types: Vec<_> = (0..=u8::MAX).filter_map(MessageType::from_code).collect();
        let causes = [Cause::RequestAccepted, Cause::RequestRejected].map(MessageResult::Cause);
        let results = [causes[0], causes[1], MessageResult::Ok];
        let mut expected = BTreeMap::new();
        for (number, message) in types.iter().copied().enumerate() {
            for (more, result) in results.into_iter().enumerate() {
                for _ in 0..=number % 3 + more {
                    counters.received(Some(message), result);
                    counters.sent(message, result);
                }
                for direction in [Direction::Received, Direction::Sent] {
                    let key = MessageKey { message: Some(message), direction, result };
                    expected.insert(key, (number % 3 + more + 1) as u64);
                    assert_eq!(counters.message(message, direction, result), expected[&key]);
                }
            }
        }
        counters.received(None, MessageResult::Malformed);
        let key =
            MessageKey { message: None, direction: Direction::Received, result: MessageResult::Malformed };
        expected.insert(key, 1);
        assert!(counters.messages().eq(expected));
        let refused = counters.refused();
        assert!(refused.keys().eq([&Cause::RequestRejected]));
    }
}
