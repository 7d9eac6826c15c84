//! What was received, sent and refused since the start.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use causeway_pfcp::{Cause, MessageType};
use foldhash::fast::FixedState;

use crate::labels::{cause_label, message_label};

/// Counters since the start. For metrics, `pfcp_messages_total{message_type,direction,result}`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    messages: HashMap<MessageKey, u64, FixedState>,
    /// Requests that were accepted and the answers that say so, by message type, which nearly all are: beside the others.
    accepted: AcceptedCounters,
    /// Session events of the data plane that came after the end of their session.
    pub late_events: u64,
    /// Reports that were dropped because too many wait, or because their rule is gone.
    pub lost_reports: u64,
    /// Plans that the data plane did not carry out.
    pub failed_plans: u64,
    /// Requests that were refused for want of memory.
    pub memory_refusals: u64,
}

/// How many message types are counted there: those of sessions are among them.
const TYPES: usize = 64;

/// Received and sent, by the code of the message.
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

    /// Those that there were.
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

/// What messages are counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MessageKey {
    /// The message type; `None` for one that is unknown or cannot be read.
    pub message: Option<MessageType>,
    /// Whether it was received or sent.
    pub direction: Direction,
    /// What became of it.
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

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MessageResult {
    /// Nothing to remark: a request sent for the first time, or a message without a cause.
    Ok,
    /// Received request: the cause of its answer. Response: the cause in it.
    Cause(Cause),
    /// Received: a duplicate that was answered as before. Sent: that answer.
    Duplicate,
    /// Received: a duplicate of a request that is being worked on; dropped.
    InProgress,
    /// Received: dropped because too many requests of that peer are being worked on.
    Overload,
    /// Received: it cannot be read, and was not answered.
    Malformed,
    /// Received: a type that nobody knows; dropped.
    UnknownType,
    /// Received: an unexpected response, or all but the first message of a datagram from an unassociated peer; dropped.
    Unexpected,
    /// Sent: a request repeated because its answer did not come.
    Repeated,
    /// Sent: the same without IEs that not every SMF can read.
    Shortened,
    /// Sent: a request given up after its last repetition.
    Unanswered,
}

impl Counters {
    /// Message counters, ordered.
    pub fn messages(&self) -> impl Iterator<Item = (MessageKey, u64)> + '_ {
        let others = self.messages.iter().map(|(key, count)| (*key, *count));
        let mut all: Vec<_> = others.chain(self.accepted.iter()).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// How many such messages there were; zero if none.
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

/// How much there is of everything that comes and goes. All zero when nothing is going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Associations.
    pub associations: usize,
    /// Sessions, those being set up and removed included.
    pub sessions: usize,
    /// Plans that the data plane is working on.
    pub plans: usize,
    /// Requests that wait for a plan of their session.
    pub waiting_requests: usize,
    /// Requests remembered for the sake of duplicates, those being worked on included.
    pub remembered_requests: usize,
    /// Our requests that wait for an answer.
    pub unanswered_requests: usize,
    /// Reports that wait to be sent.
    pub waiting_reports: usize,
    /// GTP-U tunnels that end here.
    pub tunnels: usize,
    /// UE addresses and prefixes that sessions have.
    pub addresses: usize,
    /// Framed routes that sessions have.
    pub routes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  messages of every type, accepted and refused, received and sent, some of them more than once.
    // Output: each is counted by itself, wherever that is; all are listed once, in order; only refusals are refused.
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
