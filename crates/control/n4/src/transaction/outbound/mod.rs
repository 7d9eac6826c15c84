//! Requests of the UPF: numbered, retransmitted until answered or given up (TS 29.244 clause 6.4).

use std::collections::BTreeSet;
use std::net::SocketAddr;

use causeway_collections::PartitionedMap;
use causeway_pfcp::{MessageType, TooLong};
use causeway_types::{IdCipher, Span, Time};

use crate::Retransmission;
use crate::association::AssociationId;
use crate::left_out::LeftOut;

/// Sequence numbers have 24 bits (TS 29.244 clause 7.2.2.2).
const SEQUENCE_MASK: u32 = 0x00ff_ffff;
/// Half of the bits of a sequence number.
const HALF_BITS: u32 = 12;
const HALF: u32 = 0xfff;
/// Rounds of the Feistel network that permutes sequence numbers, and the constant that separates them.
const ROUNDS: u64 = 6;
const ROUNDS_APART: u64 = 0x9e37_79b9_7f4a_7c15;
/// A wait of zero would make [`Outbound::expire`] loop forever.
const SHORTEST_WAIT: Span = Span::from_millis(1);

/// The purpose of a request.
pub(crate) trait Aim {
    /// The association that it concerns, if there is one.
    fn association(&self) -> Option<AssociationId>;
}

/// Requests that wait for a response. `P` is the type of their purpose.
///
/// One number sequence serves all peers, so a number identifies one request.
#[derive(Debug)]
pub(crate) struct Outbound<P> {
    /// The numbers of this part: so many from the first one on, before they are permuted.
    first_number: u32,
    numbers: u32,
    /// The last one, counted from the first.
    last_number: u32,
    /// Makes sequence numbers unpredictable.
    secret: Option<IdCipher>,
    pending: PartitionedMap<u32, Pending<P>>,
    deadlines: BTreeSet<(Time, u32)>,
    /// The numbers of the requests that concern an association.
    of_associations: BTreeSet<(AssociationId, u32)>,
}

#[derive(Debug)]
struct Pending<P> {
    to: SocketAddr,
    bytes: Vec<u8>,
    request: MessageType,
    purpose: P,
    deadline: Time,
    wait: Span,
    retries_left: u8,
    policy: Retransmission,
    retained: bool,
    /// When it was first sent; for a retained one, when its full form was last sent.
    since: Time,
    /// The octets sent instead of `bytes`, and the IEs left out of them.
    plain: Option<(Vec<u8>, LeftOut)>,
}

/// A request about to be sent.
pub(crate) struct Request<P> {
    /// The destination.
    pub(crate) to: SocketAddr,
    /// Its message type.
    pub(crate) message: MessageType,
    /// The purpose.
    pub(crate) purpose: P,
}

impl<P> Pending<P> {
    /// A request that is sent for the first time.
    fn new(now: Time, policy: Retransmission, request: Request<P>, bytes: Vec<u8>) -> Self {
        let Request { to, message, purpose } = request;
        let wait = policy.first_wait.max(SHORTEST_WAIT);
        Self {
            to,
            bytes,
            request: message,
            purpose,
            deadline: now + wait,
            wait,
            retries_left: policy.retries,
            policy,
            retained: false,
            since: now,
            plain: None,
        }
    }
}

/// The result of a timeout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expired<P> {
    /// Retransmit it.
    Repeat {
        /// The destination.
        to: SocketAddr,
        /// Its message type.
        request: MessageType,
        /// The same octets as before, or those without IEs that some SMFs cannot decode.
        bytes: Vec<u8>,
        /// IEs were left out.
        is_plain: bool,
    },
    /// The last retransmission got no response.
    GivenUp(UnansweredRequest<P>),
}

/// A request without a response. [`Outbound::keep`] retains it, dropping it gives it up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnansweredRequest<P> {
    /// The destination.
    pub(crate) to: SocketAddr,
    /// Its message type.
    pub(crate) request: MessageType,
    /// The purpose.
    pub(crate) purpose: P,
    /// Its octets.
    pub(crate) bytes: Vec<u8>,
    /// It was unanswered before, and retained.
    pub(crate) retained: bool,
    /// When its full form was sent.
    pub(crate) since: Time,
    plain: Option<(Vec<u8>, LeftOut)>,
    sequence: u32,
}

impl<P> UnansweredRequest<P> {
    /// The octets to send, and whether IEs are left out of them.
    pub(crate) fn to_send(&self) -> (Vec<u8>, bool) {
        match &self.plain {
            Some((bytes, _)) => (bytes.clone(), true),
            None => (self.bytes.clone(), false),
        }
    }

    /// Leaves out the IEs that some SMFs cannot decode.
    pub(crate) fn make_plain(&mut self) {
        if self.plain.is_none() {
            self.plain = without(&self.bytes);
        }
    }
}

/// A request without the IEs that some SMFs cannot decode; `None` if it has none of them.
fn without(bytes: &[u8]) -> Option<(Vec<u8>, LeftOut)> {
    let mut plain = bytes.to_vec();
    let taken = LeftOut::ALL.take_from(&mut plain);
    (!taken.is_empty()).then_some((plain, taken))
}

impl<P: Aim> Outbound<P> {
    /// An empty table. Without a secret the first request gets the number after `last`; with one the order of the
    /// numbers is secret: a response authenticates its sender, so hosts that did not receive the request must not be
    /// able to forge it.
    /// `part` is one of so many, which send to the same peers.
    pub(crate) fn new(last: u32, secret: Option<IdCipher>, (part, parts): (usize, usize)) -> Self {
        let numbers = (SEQUENCE_MASK + 1) / u32::try_from(parts).unwrap_or(1).max(1);
        Self {
            first_number: numbers * part as u32,
            numbers,
            last_number: last % numbers,
            secret,
            pending: PartitionedMap::default(),
            deadlines: BTreeSet::new(),
            of_associations: BTreeSet::new(),
        }
    }

    /// Numbers a request, has it encoded, and stores it until its response. Returns the octets to send.
    ///
    /// # Errors
    /// The error of `encode`; nothing is stored then.
    pub(crate) fn start(
        &mut self,
        now: Time,
        policy: Retransmission,
        request: Request<P>,
        encode: impl FnOnce(u32) -> Result<Vec<u8>, TooLong>,
    ) -> Result<Vec<u8>, TooLong> {
        let sequence = self.free_sequence();
        let bytes = encode(sequence)?;
        self.insert(sequence, Pending::new(now, policy, request, bytes.clone()));
        Ok(bytes)
    }

    /// IEs are left out of the request with this number, as it was sent last.
    pub(crate) fn is_plain(&self, sequence: u32) -> bool {
        self.pending.get(&sequence).is_some_and(|pending| pending.plain.is_some())
    }

    /// Stores a request that another member of a chain has sent, or was about to send, under the same number: as if it were sent now for the first time.
    /// `false`: another one has the number.
    pub(crate) fn resume(
        &mut self,
        now: Time,
        policy: Retransmission,
        request: Request<P>,
        (sequence, bytes): (u32, Vec<u8>),
    ) -> bool {
        let is_free = sequence <= SEQUENCE_MASK && !self.pending.contains_key(&sequence);
        if is_free {
            self.insert(sequence, Pending::new(now, policy, request, bytes));
        }
        is_free
    }

    /// The destination and the octets of the request with this number.
    pub(crate) fn request(&self, sequence: u32) -> Option<(SocketAddr, &[u8])> {
        let pending = self.pending.get(&sequence)?;
        Some((pending.to, &pending.bytes))
    }

    /// Ends the request that this response answers. Returns its purpose and the IEs left out of it; `None` if there is
    /// no such request.
    ///
    /// The response must come from the host that received the request; its port does not matter.
    pub(crate) fn answered(
        &mut self,
        from: SocketAddr,
        sequence: u32,
        message: MessageType,
    ) -> Option<(P, LeftOut)> {
        let pending = self.pending.get(&sequence)?;
        if pending.to.ip() != from.ip() || pending.request.response() != Some(message) {
            return None;
        }
        let Pending { purpose, plain, .. } = self.take(sequence)?;
        Some((purpose, plain.map_or(LeftOut::NONE, |(_, left_out)| left_out)))
    }

    /// When [`Outbound::expire`] has a result.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The request whose wait ended first; `None`: no wait has ended.
    ///
    /// The last retransmission of a request omits the IEs that some SMFs cannot decode, if it has some and `is_silent`
    /// returns true for its purpose: a message was received from the SMF after the request was first sent, so it may be
    /// unable to decode the request.
    ///
    /// TS 29.244 clause 6.4 requires the same contents in a retransmission. The number stays the same: an SMF that has
    /// decoded the request before and whose response was lost treats it as a retransmission, and counts no usage twice;
    /// an SMF that could not decode it has seen no request with that number. An SMF that responds only after all other
    /// retransmissions is treated as one that could not decode the request.
    pub(crate) fn expire(&mut self, now: Time, is_silent: impl Fn(&P, Time) -> bool) -> Option<Expired<P>> {
        let (_, sequence) = *self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        let mut pending = self.take(sequence)?;
        let Some(retries_left) = pending.retries_left.checked_sub(1) else {
            let Pending { to, request, purpose, bytes, retained: kept, since, plain, .. } = pending;
            return Some(Expired::GivenUp(UnansweredRequest {
                to,
                request,
                purpose,
                bytes,
                retained: kept,
                since,
                plain,
                sequence,
            }));
        };
        pending.retries_left = retries_left;
        pending.wait = longer(pending.wait, &pending.policy);
        pending.deadline = now + pending.wait;
        if retries_left == 0 && is_silent(&pending.purpose, pending.since) {
            pending.plain = without(&pending.bytes);
        }
        let bytes = pending.plain.as_ref().map_or(&pending.bytes, |(bytes, _)| bytes).clone();
        let is_plain = pending.plain.is_some();
        let repeat = Expired::Repeat { to: pending.to, request: pending.request, bytes, is_plain };
        self.insert(sequence, pending);
        Some(repeat)
    }

    /// Retains a request that got no response, under the same number. Its next timeout is after `wait`; until then a
    /// response is accepted.
    pub(crate) fn keep(&mut self, now: Time, unanswered: UnansweredRequest<P>, wait: Span) {
        let UnansweredRequest { to, request, purpose, bytes, sequence, since, plain, .. } = unanswered;
        let wait = wait.max(SHORTEST_WAIT);
        let policy = Retransmission { first_wait: wait, retries: 0, backoff: 1, longest_wait: wait };
        let deadline = now + wait;
        let pending = Pending {
            to,
            bytes,
            request,
            purpose,
            deadline,
            wait,
            retries_left: 0,
            policy,
            retained: true,
            since,
            plain,
        };
        self.insert(sequence, pending);
    }

    /// Changes the destination of the requests with these numbers, with their octets rewritten, and returns the messages
    /// to send there immediately, in a deterministic order. O(numbers).
    pub(crate) fn redirect(
        &mut self,
        to: SocketAddr,
        numbers: impl Iterator<Item = u32>,
        rewrite: impl Fn(&mut Vec<u8>),
    ) -> Vec<(MessageType, Vec<u8>)> {
        let mut resent = Vec::new();
        for sequence in numbers {
            let Some(pending) = self.pending.get_mut(&sequence) else { continue };
            // Another receiver gets the full form.
            (pending.to, pending.plain) = (to, None);
            rewrite(&mut pending.bytes);
            resent.push((pending.deadline, pending.request, pending.bytes.clone()));
        }
        // Requests of the same age are ordered by their octets, which contain the number.
        resent.sort_by(|(one, _, bytes), (other, _, others)| (one, bytes).cmp(&(other, others)));
        resent.into_iter().map(|(_, request, bytes)| (request, bytes)).collect()
    }

    /// Sends a request that got no response to another address, under the same number and with its octets rewritten.
    /// Returns the octets to send.
    pub(crate) fn restart(
        &mut self,
        now: Time,
        policy: Retransmission,
        unanswered: UnansweredRequest<P>,
        to: SocketAddr,
        rewrite: impl Fn(&mut Vec<u8>),
    ) -> Vec<u8> {
        let UnansweredRequest { request, purpose, mut bytes, sequence, .. } = unanswered;
        rewrite(&mut bytes);
        let request = Request { to, message: request, purpose };
        self.insert(sequence, Pending::new(now, policy, request, bytes.clone()));
        bytes
    }

    /// The purpose of the request with this number to this host.
    pub(crate) fn purpose(&self, to: SocketAddr, sequence: u32) -> Option<&P> {
        self.pending
            .get(&sequence)
            .filter(|pending| pending.to.ip() == to.ip())
            .map(|pending| &pending.purpose)
    }

    /// [`Outbound::restart`] for a request that waits for its response. `None` if there is no such request.
    pub(crate) fn redirect_one(
        &mut self,
        now: Time,
        policy: Retransmission,
        sequence: u32,
        to: SocketAddr,
        rewrite: impl Fn(&mut Vec<u8>),
    ) -> Option<(MessageType, Vec<u8>)> {
        let Pending { to: before, bytes, request, purpose, retained: kept, since, plain, .. } =
            self.take(sequence)?;
        let unanswered =
            UnansweredRequest { to: before, request, purpose, bytes, retained: kept, since, plain, sequence };
        Some((request, self.restart(now, policy, unanswered, to, rewrite)))
    }

    /// Cancels the requests that `unwanted` selects, and returns their number; responses to them will be unexpected.
    /// O(pending).
    pub(crate) fn cancel(&mut self, unwanted: impl Fn(&P) -> bool) -> usize {
        let all: Vec<u32> = self.pending.iter().map(|(sequence, _)| *sequence).collect();
        self.cancel_among(all, unwanted)
    }

    /// The same among those that concern an association. O(those).
    pub(crate) fn cancel_of(&mut self, association: AssociationId, unwanted: impl Fn(&P) -> bool) -> usize {
        let of_it: Vec<u32> = self.numbers_of(association).collect();
        self.cancel_among(of_it, unwanted)
    }

    /// Cancels the requests with these numbers, and returns how many of them waited for a response.
    pub(crate) fn cancel_requests(&mut self, numbers: impl Iterator<Item = u32>) -> usize {
        numbers.filter(|sequence| self.take(*sequence).is_some()).count()
    }

    /// Changes the purpose of a request that waits for its response. Returns the association that it concerned; `None`
    /// if there is no such request, or it concerned none.
    pub(crate) fn aim(&mut self, sequence: u32, change: impl FnOnce(&mut P)) -> Option<AssociationId> {
        let Self { pending, of_associations, .. } = self;
        let purpose = &mut pending.get_mut(&sequence)?.purpose;
        let before = purpose.association();
        if let Some(id) = before {
            of_associations.remove(&(id, sequence));
        }
        change(purpose);
        of_associations.extend(purpose.association().map(|id| (id, sequence)));
        before
    }

    fn cancel_among(&mut self, numbers: Vec<u32>, unwanted: impl Fn(&P) -> bool) -> usize {
        let is_unwanted = |sequence: &u32| self.pending.get(sequence).is_some_and(|it| unwanted(&it.purpose));
        let unwanted: Vec<u32> = numbers.into_iter().filter(is_unwanted).collect();
        unwanted.into_iter().filter(|sequence| self.take(*sequence).is_some()).count()
    }

    /// A request for this purpose, which concerns an association, waits for its response. O(those of the association).
    pub(crate) fn is_asked(&self, purpose: &P) -> bool
    where
        P: PartialEq,
    {
        let mut of_it = purpose.association().into_iter().flat_map(|id| self.numbers_of(id));
        of_it.any(|sequence| self.pending.get(&sequence).is_some_and(|pending| pending.purpose == *purpose))
    }

    fn numbers_of(&self, association: AssociationId) -> impl Iterator<Item = u32> + use<'_, P> {
        let range = (association, 0)..=(association, u32::MAX);
        self.of_associations.range(range).map(|(_, sequence)| *sequence)
    }

    /// The number of requests that wait for a response.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    fn insert(&mut self, sequence: u32, pending: Pending<P>) {
        self.deadlines.insert((pending.deadline, sequence));
        self.of_associations.extend(pending.purpose.association().map(|id| (id, sequence)));
        self.pending.insert(sequence, pending);
    }

    fn take(&mut self, sequence: u32) -> Option<Pending<P>> {
        let pending = self.pending.remove(&sequence)?;
        self.deadlines.remove(&(pending.deadline, sequence));
        if let Some(association) = pending.purpose.association() {
            self.of_associations.remove(&(association, sequence));
        }
        Some(pending)
    }

    /// The next number that no pending request uses. There are 2^24, far more than can be pending.
    fn free_sequence(&mut self) -> u32 {
        loop {
            self.last_number = (self.last_number + 1) % self.numbers;
            let number = self.first_number + self.last_number;
            let sequence = self.secret.map_or(number, |secret| shuffle(number, secret));
            if !self.pending.contains_key(&sequence) {
                return sequence;
            }
        }
    }
}

/// A permutation of 24 bits: a Feistel network, whose rounds are the cipher of SEIDs.
fn shuffle(number: u32, secret: IdCipher) -> u32 {
    let round = |(left, right): (u32, u32), round: u64| {
        let mixed = secret.encrypt64(ROUNDS_APART.wrapping_mul(round + 1) ^ u64::from(right)) as u32;
        (right, left ^ mixed & HALF)
    };
    let (left, right) = (0..ROUNDS).fold((number >> HALF_BITS & HALF, number & HALF), round);
    left << HALF_BITS | right
}

fn longer(wait: Span, policy: &Retransmission) -> Span {
    let longest = policy.longest_wait.max(policy.first_wait).max(SHORTEST_WAIT);
    wait.saturating_mul(policy.backoff.max(1)).min(longest)
}

#[cfg(test)]
mod tests;
