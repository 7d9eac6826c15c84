//! One queue pair as requester (IBA clauses 9.7.2 and 9.7.5 to 9.7.8).

use std::collections::VecDeque;

use causeway_packet::roce::management::Mtu;
use causeway_packet::roce::{AtomicEth, Bth, NakCode, Packet, Psn, Qpn, Repr, Reth, Syndrome, Transport};
use causeway_types::{Span, Time};

use crate::responder::packets_of;
use crate::{
    Completion, Effect, Failure, Operation, OperationError, OperationId, Outcome, QueuePair, Request,
    SubmitError,
};

/// Packet sequence numbers that may be in use: less than half of all, so that old and new ones are told apart.
const MAX_OPEN_PSNS: u32 = 1 << 22;

/// Attributes of a requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequesterConfig {
    /// The responder's queue pair.
    pub peer: Qpn,
    /// The packet sequence number of the first packet.
    pub first_psn: Psn,
    /// Payload of a packet.
    pub mtu: Mtu,
    /// Packet sequence numbers that may be sent before the oldest is acknowledged; at least 1. A longer read goes alone.
    pub window: u32,
    /// Initiator depth: reads and atomic operations that may be outstanding; at least 1, at most the responder's resources.
    pub initiator_depth: u8,
    /// Operations that are accepted before the outcome of the oldest is polled.
    pub queue: usize,
    /// The longest operation, octets.
    pub max_length: u32,
    /// Local ACK timeout: packets are sent again after so long without progress. InfiniBand encodes 4.096 us times powers of two (IBA
    /// clause 9.7.6); any span is legal here.
    pub timeout: Span,
    /// Retry count: so many time-outs in a row without progress are followed by a repetition. InfiniBand has 0 to 7 (IBA clause 9.7.6); any
    /// number is legal here.
    pub retries: u8,
}

/// What a requester did, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequesterCounters {
    /// Request packets, repetitions counted.
    pub packets: u64,
    /// Request packets that were sent again.
    pub repeated: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// NAKs for packets that the responder misses.
    pub sequence_errors: u64,
    /// Responses that are missing, since a later one came (implied NAK).
    pub lost_responses: u64,
    /// Responses that are none to an outstanding request: late and repeated ones.
    pub stray: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    id: OperationId,
    operation: Operation,
    first: Psn,
    packets: u32,
    /// The octets of a read that have come.
    received: Vec<u8>,
}

impl Entry {
    const fn end(&self) -> Psn {
        self.first.plus(self.packets)
    }
}

/// A queue pair that has each operation executed once and in order, or says why not.
///
/// Operations come by [`Requester::submit`], packets by [`Requester::receive`]. After each input, and after [`Requester::tick`] at
/// [`Requester::next_timer`], the owner sends what [`Requester::poll_transmit`] returns and takes what [`Requester::poll`] returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requester {
    config: RequesterConfig,
    queue_pair: QueuePair,
    /// Operations that are not complete, from the oldest. Their packet sequence numbers follow one another.
    entries: VecDeque<Entry>,
    completions: VecDeque<Completion>,
    next_id: u64,
    /// The oldest packet that is not acknowledged. It belongs to the first entry.
    oldest: Psn,
    /// The packet that is sent next.
    send: Psn,
    /// The end of what was sent once.
    sent: Psn,
    /// The packet sequence number of the next operation.
    next: Psn,
    deadline: Option<Time>,
    /// Time-outs since the last progress.
    timeouts: u8,
    /// Packets are sent again from the oldest one on; no progress and no time-out since.
    has_gone_back: bool,
    failed: Option<Failure>,
    counters: RequesterCounters,
}

impl Requester {
    /// A queue pair in the state ready to send. Operations are numbered from `first_id`.
    pub const fn new(config: RequesterConfig, queue_pair: QueuePair, first_id: OperationId) -> Self {
        Self {
            config,
            queue_pair,
            entries: VecDeque::new(),
            completions: VecDeque::new(),
            next_id: first_id.0,
            oldest: config.first_psn,
            send: config.first_psn,
            sent: config.first_psn,
            next: config.first_psn,
            deadline: None,
            timeouts: 0,
            has_gone_back: false,
            failed: None,
            counters: RequesterCounters {
                packets: 0,
                repeated: 0,
                timeouts: 0,
                sequence_errors: 0,
                lost_responses: 0,
                stray: 0,
            },
        }
    }

    /// What it did.
    pub const fn counters(&self) -> &RequesterCounters {
        &self.counters
    }

    /// The number of the next operation.
    pub const fn next_id(&self) -> OperationId {
        OperationId(self.next_id)
    }

    /// Why it is in the error state.
    pub const fn failure(&self) -> Option<Failure> {
        self.failed
    }

    /// Operations without an outcome.
    pub fn outstanding(&self) -> usize {
        self.entries.len()
    }

    /// Accepts an operation.
    ///
    /// # Errors
    /// It is not accepted, and will have no completion.
    pub fn submit(&mut self, operation: Operation) -> Result<OperationId, SubmitError> {
        if let Some(failure) = self.failed {
            return Err(SubmitError::Failed(failure));
        }
        let length = operation.request.length();
        if length == 0 {
            return Err(SubmitError::Empty);
        }
        if u32::try_from(length).map_or(true, |length| length > self.config.max_length) {
            return Err(SubmitError::TooLong { length, limit: self.config.max_length });
        }
        if !self.has_place(&operation) {
            return Err(SubmitError::QueueFull);
        }
        let packets = self.packets_of(&operation);
        let id = OperationId(self.next_id);
        self.next_id += 1;
        self.entries.push_back(Entry { id, operation, first: self.next, packets, received: Vec::new() });
        self.next = self.next.plus(packets);
        Ok(id)
    }

    /// The next operation that has ended, in the order of submission.
    pub fn poll(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// When [`Requester::tick`] is due.
    pub const fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    /// Whether the queue has a place for an operation.
    pub fn has_place(&self, operation: &Operation) -> bool {
        // Lengths that are refused take no place.
        self.entries.len() + self.completions.len() < self.config.queue
            && self.next.since(self.oldest) + self.packets_of(operation) <= MAX_OPEN_PSNS
    }

    fn packets_of(&self, operation: &Operation) -> u32 {
        match operation.request {
            Request::FetchAdd { .. } => 1,
            _ => packets_of(operation.request.length(), self.config.mtu),
        }
    }

    /// Lets time pass: after a time-out packets are sent again, or the queue pair fails with [`Failure::RetryExceeded`]. The owner then
    /// ends the operations by [`Requester::flush`], when it knows more.
    pub fn tick(&mut self, now: Time) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        self.deadline = None;
        if self.timeouts >= self.config.retries {
            self.failed = Some(Failure::RetryExceeded);
            return;
        }
        self.timeouts += 1;
        self.send = self.oldest;
        self.has_gone_back = false;
    }

    /// Ends all operations with this failure, and the queue pair with it.
    pub fn flush(&mut self, failure: Failure) {
        self.failed = Some(failure);
        self.deadline = None;
        while let Some(entry) = self.entries.pop_front() {
            let was_sent = entry.first.is_before(self.sent);
            let may_be_done = was_sent && entry.operation.request.has_effect();
            let effect = if may_be_done { Effect::Unknown } else { Effect::None };
            self.complete(entry.id, Err(OperationError { failure, effect }));
        }
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Repr<'_>> {
        if self.failed.is_some() || self.send == self.next {
            return None;
        }
        let offset = self.send.since(self.oldest);
        let index = self.entries.partition_point(|entry| entry.end().since(self.oldest) <= offset);
        let entry = self.entries.get(index)?;
        let returns_data = entry.operation.request.returns_data();
        let packets = if returns_data { entry.end().since(self.send) } else { 1 };
        if offset > 0 && offset + packets > self.config.window.max(1) {
            return None;
        }
        if self.send == entry.first && (returns_data || entry.operation.fence) {
            let waiting =
                self.entries.iter().take(index).filter(|entry| entry.operation.request.returns_data());
            let waiting = waiting.count();
            let is_fenced = entry.operation.fence && waiting > 0;
            if is_fenced || returns_data && waiting >= usize::from(self.config.initiator_depth.max(1)) {
                return None;
            }
        }
        let psn = self.send;
        self.send = psn.plus(packets);
        self.counters.packets += 1;
        if self.sent.is_before(self.send) {
            self.sent = self.send;
        } else {
            self.counters.repeated += 1;
        }
        if self.deadline.is_none() {
            self.deadline = Some(now + self.config.timeout);
        }
        let is_last_in_window = offset + 1 >= self.config.window;
        self.entries.get(index).map(|entry| self.packet(entry, psn, is_last_in_window))
    }

    fn packet<'a>(&self, entry: &'a Entry, psn: Psn, is_last_in_window: bool) -> Repr<'a> {
        let mtu = self.config.mtu.octets();
        let position = psn.since(entry.first);
        let is_last = position + 1 == entry.packets;
        let offset = position as usize * mtu;
        let transport = match &entry.operation.request {
            Request::Write { to, data } => {
                let rest = data.get(offset..).unwrap_or_default();
                let octets = rest.get(..mtu).unwrap_or(rest);
                let reth = Reth { address: to.address, rkey: to.rkey, length: data.len() as u32 };
                match (position == 0, is_last) {
                    (true, true) => Transport::WriteOnly(reth, octets),
                    (true, false) => Transport::WriteFirst(reth, octets),
                    (false, false) => Transport::WriteMiddle(octets),
                    (false, true) => Transport::WriteLast(octets),
                }
            }
            // What has come of a read is not asked for again (IBA clause 9.7.5, repeated reads).
            Request::Read { from, length } => Transport::ReadRequest(Reth {
                address: from.address.wrapping_add(offset as u64),
                rkey: from.rkey,
                length: length.saturating_sub(offset as u32),
            }),
            Request::FetchAdd { at, add } => Transport::FetchAdd(AtomicEth {
                address: at.address,
                rkey: at.rkey,
                swap_or_add: *add,
                compare: 0,
            }),
        };
        let ack_request = is_last || is_last_in_window || entry.operation.request.returns_data();
        Repr { bth: Bth { ack_request, ..Bth::new(self.config.peer, psn) }, transport }
    }

    /// A packet for this queue pair whose CRC is right.
    pub fn receive(&mut self, now: Time, packet: &Packet<'_>) {
        let psn = packet.bth.psn;
        // Responses concern what was sent and is not acknowledged. A NAK names the packet that comes next.
        let open = self.sent.since(self.oldest);
        if self.failed.is_some() || psn.since(self.oldest) >= open {
            self.counters.stray += 1;
            return;
        }
        match packet.transport {
            Transport::Acknowledge(aeth) => match aeth.syndrome {
                Syndrome::Ack(_) => {
                    self.acknowledge_writes(now, psn.plus(1));
                }
                Syndrome::Nak(code) => self.nak(now, psn, code),
                // The responder asks for a pause: packets are sent again after the time-out, which is longer.
                Syndrome::ReceiverNotReady(_) => {
                    self.acknowledge_writes(now, psn);
                }
            },
            Transport::AtomicAcknowledge(_, original) => {
                if self.acknowledge_writes(now, psn) {
                    self.added(now, psn, original);
                }
            }
            Transport::ReadResponseFirst(_, octets) | Transport::ReadResponseMiddle(octets) => {
                if self.acknowledge_writes(now, psn) {
                    self.read(now, psn, octets, false);
                }
            }
            Transport::ReadResponseLast(_, octets) | Transport::ReadResponseOnly(_, octets) => {
                if self.acknowledge_writes(now, psn) {
                    self.read(now, psn, octets, true);
                }
            }
            _ => self.counters.stray += 1,
        }
    }

    /// The responder has executed all packets before `end`: writes among them are complete. A read or an atomic operation among them
    /// has lost its response, and everything from there is sent again (implied NAK); the result is then `false`.
    fn acknowledge_writes(&mut self, now: Time, end: Psn) -> bool {
        while self.oldest.is_before(end) {
            let Some(entry) = self.entries.front() else { return true };
            if entry.operation.request.returns_data() {
                if !self.has_gone_back {
                    self.counters.lost_responses += 1;
                }
                self.go_back(now);
                return false;
            }
            if end.is_before(entry.end()) {
                self.advance(now, end);
                return true;
            }
            let (id, to) = (entry.id, entry.end());
            self.advance(now, to);
            self.entries.pop_front();
            self.complete(id, Ok(Outcome::Written));
        }
        true
    }

    /// Progress: all before `to` is complete.
    fn advance(&mut self, now: Time, to: Psn) {
        self.oldest = to;
        if self.send.is_before(to) {
            self.send = to;
        }
        self.timeouts = 0;
        self.has_gone_back = false;
        let is_waiting = self.oldest != self.sent;
        self.deadline = is_waiting.then(|| now + self.config.timeout);
    }

    /// Sends again from the oldest packet on, once for each progress or time-out.
    fn go_back(&mut self, now: Time) {
        if !std::mem::replace(&mut self.has_gone_back, true) {
            self.send = self.oldest;
            self.deadline = Some(now + self.config.timeout);
        }
    }

    fn added(&mut self, now: Time, psn: Psn, original: u64) {
        let is_that = |entry: &Entry| matches!(entry.operation.request, Request::FetchAdd { .. });
        match self.entries.front() {
            Some(entry) if entry.first == psn && is_that(entry) => {
                let (id, to) = (entry.id, entry.end());
                self.advance(now, to);
                self.entries.pop_front();
                self.complete(id, Ok(Outcome::Added(original)));
            }
            _ => self.counters.stray += 1,
        }
    }

    fn read(&mut self, now: Time, psn: Psn, octets: &[u8], is_end: bool) {
        let mtu = self.config.mtu.octets();
        let Some(entry) = self.entries.front_mut() else { return };
        let Request::Read { length, .. } = entry.operation.request else {
            self.counters.stray += 1;
            return;
        };
        let rest = (length as usize).saturating_sub(entry.received.len());
        if octets.len() != rest.min(mtu) || is_end != (rest <= mtu) {
            self.counters.stray += 1;
            return;
        }
        if entry.received.is_empty() {
            entry.received.reserve_exact(length as usize);
        }
        entry.received.extend_from_slice(octets);
        let (id, to) = (entry.id, psn.plus(1));
        let read = is_end.then(|| std::mem::take(&mut entry.received));
        self.advance(now, to);
        if let Some(read) = read {
            self.entries.pop_front();
            self.complete(id, Ok(Outcome::Read(read)));
        }
    }

    fn nak(&mut self, now: Time, psn: Psn, code: NakCode) {
        if !self.acknowledge_writes(now, psn) || self.oldest != psn {
            return;
        }
        let failure = match code {
            NakCode::PsnSequenceError => {
                self.counters.sequence_errors += 1;
                return self.go_back(now);
            }
            NakCode::InvalidRequest | NakCode::InvalidRdRequest => Failure::RemoteInvalidRequest,
            NakCode::RemoteAccessError => Failure::RemoteAccess,
            NakCode::RemoteOperationalError => Failure::RemoteOperation,
        };
        if let Some(entry) = self.entries.pop_front() {
            // The first packet of a write is refused before anything is written.
            let has_begun = entry.first != psn && entry.operation.request.has_effect();
            let effect = if has_begun { Effect::Unknown } else { Effect::None };
            self.complete(entry.id, Err(OperationError { failure, effect }));
        }
        // The responder executes nothing after a request that it refuses.
        self.sent = psn;
        self.flush(Failure::Flushed);
        self.failed = Some(failure);
    }

    fn complete(&mut self, id: OperationId, result: Result<Outcome, OperationError>) {
        self.completions.push_back(Completion { id, queue_pair: self.queue_pair, result });
    }
}
