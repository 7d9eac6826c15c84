//! Our requests: numbered, repeated until answered, given up at last (TS 29.244 clause 6.4).

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;

use std::ops::Range;

use causeway_types::{Seid, Span, Time};

use crate::Retransmission;

/// Sequence numbers have 24 bits (TS 29.244 clause 7.2.2.2).
const SEQUENCE_MASK: u32 = 0x00ff_ffff;
/// A wait of zero would make [`Outbound::expire`] spin.
const SHORTEST_WAIT: Span = Span::from_millis(1);
/// Where the SEID is in a header that has one (TS 29.244 clause 7.2.2.3).
const SEID_OCTETS: Range<usize> = 4..12;

/// Requests that wait for an answer. `P` says what each was for.
///
/// One number sequence serves all peers, so a number names one request.
#[derive(Debug)]
pub(crate) struct Outbound<P> {
    last_sequence: u32,
    pending: HashMap<u32, Pending<P>>,
    deadlines: BTreeSet<(Time, u32)>,
}

#[derive(Debug)]
struct Pending<P> {
    to: SocketAddr,
    bytes: Vec<u8>,
    request: u8,
    answer: u8,
    purpose: P,
    deadline: Time,
    wait: Span,
    retries_left: u8,
    policy: Retransmission,
}

/// A request about to be sent.
pub(crate) struct Request<P> {
    /// Where it goes.
    pub(crate) to: SocketAddr,
    /// Its message type.
    pub(crate) request: u8,
    /// The message type that answers it.
    pub(crate) answer: u8,
    /// What it is for.
    pub(crate) purpose: P,
}

/// What the end of a wait means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expired<P> {
    /// Send it again.
    Repeat {
        /// Where to.
        to: SocketAddr,
        /// Its message type.
        request: u8,
        /// The same octets as before.
        bytes: Vec<u8>,
    },
    /// The last repetition went unanswered.
    GivenUp(Lost<P>),
}

/// A request that went unanswered. [`Outbound::resume`] keeps it, dropping it gives it up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost<P> {
    /// Where it went.
    pub(crate) to: SocketAddr,
    /// Its message type.
    pub(crate) request: u8,
    /// What it was for.
    pub(crate) purpose: P,
    sequence: u32,
    answer: u8,
    bytes: Vec<u8>,
}

impl<P> Outbound<P> {
    /// No request yet; the first gets the number after `last_sequence`.
    pub(crate) fn new(last_sequence: u32) -> Self {
        Self {
            last_sequence: last_sequence & SEQUENCE_MASK,
            pending: HashMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    /// Numbers a request, has it encoded, and keeps it until its answer. Returns the octets to send.
    pub(crate) fn start(
        &mut self,
        now: Time,
        policy: Retransmission,
        request: Request<P>,
        encode: impl FnOnce(u32) -> Vec<u8>,
    ) -> Vec<u8> {
        let sequence = self.free_sequence();
        let bytes = encode(sequence);
        let wait = policy.first_wait.max(SHORTEST_WAIT);
        let deadline = now + wait;
        let Request { to, request, answer, purpose } = request;
        let pending = Pending {
            to,
            bytes: bytes.clone(),
            request,
            answer,
            purpose,
            deadline,
            wait,
            retries_left: policy.retries,
            policy,
        };
        self.insert(sequence, pending);
        bytes
    }

    /// The purpose of the request that this answers, which is then done; `None` when nobody asked.
    ///
    /// The answer must come from the host that was asked; its port does not matter.
    pub(crate) fn answered(&mut self, from: SocketAddr, sequence: u32, message: u8) -> Option<P> {
        let pending = self.pending.get(&sequence)?;
        if pending.to.ip() != from.ip() || pending.answer != message {
            return None;
        }
        self.take(sequence).map(|pending| pending.purpose)
    }

    /// When [`Outbound::expire`] has something to say.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The next request whose wait is over; call until `None`.
    pub(crate) fn expire(&mut self, now: Time) -> Option<Expired<P>> {
        let (_, sequence) = *self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        let mut pending = self.take(sequence)?;
        let Some(retries_left) = pending.retries_left.checked_sub(1) else {
            let Pending { to, request, purpose, answer, bytes, .. } = pending;
            return Some(Expired::GivenUp(Lost { to, request, purpose, sequence, answer, bytes }));
        };
        pending.retries_left = retries_left;
        pending.wait = longer(pending.wait, &pending.policy);
        pending.deadline = now + pending.wait;
        let repeat =
            Expired::Repeat { to: pending.to, request: pending.request, bytes: pending.bytes.clone() };
        self.insert(sequence, pending);
        Some(repeat)
    }

    /// Keeps a request that went unanswered, under the same number: it is repeated once after `wait`.
    pub(crate) fn resume(&mut self, now: Time, lost: Lost<P>, wait: Span) {
        let Lost { to, request, purpose, sequence, answer, bytes } = lost;
        let wait = wait.max(SHORTEST_WAIT);
        let policy = Retransmission { first_wait: wait, retries: 1, backoff: 1, longest_wait: wait };
        let deadline = now + wait;
        let pending =
            Pending { to, bytes, request, answer, purpose, deadline, wait, retries_left: 1, policy };
        self.insert(sequence, pending);
    }

    /// Sends the session requests that `moved` picks to another address and SEID from now on, and returns
    /// what to send there at once. The octets must have a header with SEID.
    pub(crate) fn redirect(
        &mut self,
        to: SocketAddr,
        seid: Seid,
        moved: impl Fn(&P) -> bool,
    ) -> Vec<Vec<u8>> {
        let mut resent = Vec::new();
        for pending in self.pending.values_mut().filter(|pending| moved(&pending.purpose)) {
            pending.to = to;
            if let Some(field) = pending.bytes.get_mut(SEID_OCTETS) {
                field.copy_from_slice(&seid.0.to_be_bytes());
            }
            resent.push(pending.bytes.clone());
        }
        resent
    }

    /// Stops repeating the requests that `unwanted` picks; answers to them will be unexpected.
    pub(crate) fn cancel(&mut self, mut unwanted: impl FnMut(&P) -> bool) {
        let deadlines = &mut self.deadlines;
        self.pending.retain(|sequence, pending| {
            let keep = !unwanted(&pending.purpose);
            if !keep {
                deadlines.remove(&(pending.deadline, *sequence));
            }
            keep
        });
    }

    /// How many wait for an answer.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    fn insert(&mut self, sequence: u32, pending: Pending<P>) {
        self.deadlines.insert((pending.deadline, sequence));
        self.pending.insert(sequence, pending);
    }

    fn take(&mut self, sequence: u32) -> Option<Pending<P>> {
        let pending = self.pending.remove(&sequence)?;
        self.deadlines.remove(&(pending.deadline, sequence));
        Some(pending)
    }

    /// The next number that no pending request uses. There are 2^24, far more than may be pending.
    fn free_sequence(&mut self) -> u32 {
        loop {
            self.last_sequence = self.last_sequence.wrapping_add(1) & SEQUENCE_MASK;
            if !self.pending.contains_key(&self.last_sequence) {
                return self.last_sequence;
            }
        }
    }
}

fn longer(wait: Span, policy: &Retransmission) -> Span {
    let longest = policy.longest_wait.max(policy.first_wait).max(SHORTEST_WAIT);
    wait.saturating_mul(policy.backoff.max(1)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Retransmission = Retransmission {
        first_wait: Span::from_secs(1),
        retries: 3,
        backoff: 2,
        longest_wait: Span::from_secs(3),
    };

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn request(purpose: &'static str) -> Request<&'static str> {
        Request { to: peer(8805), request: 1, answer: 2, purpose }
    }

    fn at(secs: u64) -> Time {
        Time::from_secs(secs)
    }

    // Input:  T1 of 1 s, N1 of 3, doubling up to 3 s, and no answer.
    // Output: repetitions after 1, 3 and 6 s; given up after 9 s; nothing left.
    #[test]
    fn an_unanswered_request_backs_off_and_is_given_up() {
        let mut outbound = Outbound::new(0);
        let bytes = outbound.start(at(0), POLICY, request("x"), |sequence| vec![sequence as u8]);
        for due in [1, 3, 6] {
            assert_eq!(outbound.next_deadline(), Some(at(due)));
            assert!(outbound.expire(at(due) - Span::from_nanos(1)).is_none());
            let repeat = Expired::Repeat { to: peer(8805), request: 1, bytes: bytes.clone() };
            assert_eq!(outbound.expire(at(due)), Some(repeat));
            assert!(outbound.expire(at(due)).is_none());
        }
        let Some(Expired::GivenUp(lost)) = outbound.expire(at(9)) else { panic!("it is given up") };
        assert_eq!((lost.purpose, outbound.len(), outbound.next_deadline()), ("x", 0, None));
    }

    // Input:  a request given up and then kept, with a wait of 30 s.
    // Output: it is repeated after 30 s under its old number, and can still be answered.
    #[test]
    fn a_lost_request_can_be_kept() {
        let mut outbound = Outbound::new(0);
        let policy = Retransmission { retries: 0, ..POLICY };
        let bytes = outbound.start(at(0), policy, request("x"), |_| vec![7]);
        let Some(Expired::GivenUp(lost)) = outbound.expire(at(1)) else { panic!("it is given up") };
        outbound.resume(at(1), lost, Span::from_secs(30));
        assert_eq!(outbound.expire(at(31)), Some(Expired::Repeat { to: peer(8805), request: 1, bytes }));
        assert_eq!(outbound.answered(peer(8805), 1, 2), Some("x"));
    }

    // Input:  a session request on its way, and its session moves to another SMF.
    // Output: the same octets with the new SEID go to the new address, and its answer is taken from there.
    #[test]
    fn a_request_follows_its_session() {
        let mut outbound = Outbound::new(0);
        outbound.start(at(0), POLICY, request("x"), |_| vec![9; 16]);
        let to = SocketAddr::from(([192, 0, 2, 2], 8805));
        let resent = outbound.redirect(to, Seid(1), |purpose| *purpose == "x");
        assert_eq!(resent, [[9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9]]);
        assert_eq!(outbound.answered(peer(8805), 1, 2), None);
        assert_eq!(outbound.answered(to, 1, 2), Some("x"));
    }

    // Input:  answers of the wrong number, type and host, then the right one from another port, twice.
    // Output: only the first right one is taken.
    #[test]
    fn an_answer_is_matched_by_host_number_and_type() {
        let mut outbound = Outbound::new(6);
        outbound.start(at(0), POLICY, request("x"), |_| Vec::new());
        assert_eq!(outbound.answered(peer(8805), 8, 2), None);
        assert_eq!(outbound.answered(peer(8805), 7, 6), None);
        assert_eq!(outbound.answered(SocketAddr::from(([192, 0, 2, 2], 8805)), 7, 2), None);
        assert_eq!(outbound.answered(peer(9999), 7, 2), Some("x"));
        assert_eq!(outbound.answered(peer(9999), 7, 2), None);
        assert_eq!(outbound.next_deadline(), None);
    }

    // Input:  the number sequence near its end, with one number still in use.
    // Output: it wraps at 24 bits and skips the one in use.
    #[test]
    fn numbers_wrap_and_skip_those_in_use() {
        let mut outbound = Outbound::new(SEQUENCE_MASK);
        let numbers = |outbound: &mut Outbound<&str>| {
            let bytes = outbound.start(at(0), POLICY, request("x"), |s| s.to_be_bytes().to_vec());
            u32::from_be_bytes(bytes.try_into().unwrap())
        };
        assert_eq!(numbers(&mut outbound), 0);
        outbound.last_sequence = SEQUENCE_MASK - 1;
        assert_eq!(numbers(&mut outbound), SEQUENCE_MASK);
        assert_eq!(numbers(&mut outbound), 1);
    }

    #[test]
    fn a_cancelled_request_leaves_nothing() {
        let mut outbound = Outbound::new(0);
        outbound.start(at(0), POLICY, request("keep"), |_| Vec::new());
        outbound.start(at(0), POLICY, request("drop"), |_| Vec::new());
        outbound.cancel(|purpose| *purpose == "drop");
        assert_eq!((outbound.len(), outbound.deadlines.len()), (1, 1));
    }
}
