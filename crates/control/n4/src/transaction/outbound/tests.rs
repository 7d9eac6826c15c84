use causeway_pfcp::MessageType::{AssociationSetupResponse, HeartbeatRequest, HeartbeatResponse};

use causeway_types::Seid;

use super::*;
use crate::report::set_seid;

impl Aim for &str {
    fn association(&self) -> Option<AssociationId> {
        self.strip_prefix("of ").and_then(|number| number.parse().ok()).map(AssociationId)
    }
}

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
    Request { to: peer(8805), message: HeartbeatRequest, purpose }
}

fn at(secs: u64) -> Time {
    Time::from_secs(secs)
}

// Input:  T1 of 1 s, N1 of 3, doubling up to 3 s, and no response.
// Output: retransmissions after 1, 3 and 6 s; given up after 9 s; nothing left.
#[test]
fn an_unanswered_request_backs_off_and_is_given_up() {
    let mut outbound = Outbound::new(0, None, (0, 1));
    let bytes = outbound.start(at(0), POLICY, request("x"), |sequence| Ok(vec![sequence as u8])).unwrap();
    for due in [1, 3, 6] {
        assert_eq!(outbound.next_deadline(), Some(at(due)));
        assert!(outbound.expire(at(due) - Span::from_nanos(1), |_, _| false).is_none());
        let repeat = Expired::Repeat {
            to: peer(8805),
            request: HeartbeatRequest,
            bytes: bytes.clone(),
            is_plain: false,
        };
        assert_eq!(outbound.expire(at(due), |_, _| false), Some(repeat));
        assert!(outbound.expire(at(due), |_, _| false).is_none());
    }
    let Some(Expired::GivenUp(unanswered)) = outbound.expire(at(9), |_, _| false) else {
        panic!("it is given up")
    };
    assert_eq!((unanswered.purpose, outbound.len(), outbound.next_deadline()), ("x", 0, None));
}

// Input:  a request given up and then retained, with a wait of 30 s.
// Output: it times out again after 30 s, with its octets; retained once more, a response is still accepted.
#[test]
fn a_lost_request_can_be_kept() {
    let mut outbound = Outbound::new(0, None, (0, 1));
    let policy = Retransmission { retries: 0, ..POLICY };
    outbound.start(at(0), policy, request("x"), |_| Ok(vec![7])).unwrap();
    for (now, kept) in [(1, false), (31, true), (61, true)] {
        assert!(outbound.expire(at(now) - Span::from_nanos(1), |_, _| false).is_none());
        let Some(Expired::GivenUp(unanswered)) = outbound.expire(at(now), |_, _| false) else {
            panic!("it is given up")
        };
        assert_eq!((unanswered.retained, &unanswered.bytes[..]), (kept, &[7][..]));
        outbound.keep(at(now), unanswered, Span::from_secs(30));
    }
    assert_eq!(outbound.answered(peer(8805), 1, HeartbeatResponse), Some(("x", LeftOut::NONE)));
}

// Input:  a session request in flight, and its session moves to another SMF.
// Output: the same octets with the new SEID are sent to the new address, and a response from there is accepted.
#[test]
fn a_request_follows_its_session() {
    let mut outbound = Outbound::new(0, None, (0, 1));
    outbound.start(at(0), POLICY, request("x"), |_| Ok(vec![9; 16])).unwrap();
    let to = SocketAddr::from(([192, 0, 2, 2], 8805));
    let resent = outbound.redirect(to, [1, 2].into_iter(), |bytes| set_seid(bytes, Seid(1)));
    assert_eq!(resent, [(HeartbeatRequest, vec![9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9])]);
    assert_eq!(outbound.answered(peer(8805), 1, HeartbeatResponse), None);
    assert_eq!(outbound.answered(to, 1, HeartbeatResponse), Some(("x", LeftOut::NONE)));
}

// Input:  responses with the wrong number, type and host, then the right one from another port, twice.
// Output: only the first right one is accepted.
#[test]
fn an_answer_is_matched_by_host_number_and_type() {
    let mut outbound = Outbound::new(6, None, (0, 1));
    outbound.start(at(0), POLICY, request("x"), |_| Ok(Vec::new())).unwrap();
    assert_eq!(outbound.answered(peer(8805), 8, HeartbeatResponse), None);
    assert_eq!(outbound.answered(peer(8805), 7, AssociationSetupResponse), None);
    assert_eq!(outbound.answered(SocketAddr::from(([192, 0, 2, 2], 8805)), 7, HeartbeatResponse), None);
    assert_eq!(outbound.answered(peer(9999), 7, HeartbeatResponse), Some(("x", LeftOut::NONE)));
    assert_eq!(outbound.answered(peer(9999), 7, HeartbeatResponse), None);
    assert_eq!(outbound.next_deadline(), None);
}

// Input:  the number sequence near its end, with one number still in use.
// Output: it wraps at 24 bits and skips the one in use.
#[test]
fn numbers_wrap_and_skip_those_in_use() {
    let mut outbound = Outbound::new(SEQUENCE_MASK, None, (0, 1));
    let numbers = |outbound: &mut Outbound<&str>| {
        let bytes = outbound.start(at(0), POLICY, request("x"), |s| Ok(s.to_be_bytes().to_vec())).unwrap();
        u32::from_be_bytes(bytes.try_into().unwrap())
    };
    assert_eq!(numbers(&mut outbound), 0);
    outbound.last_number = SEQUENCE_MASK - 1;
    assert_eq!(numbers(&mut outbound), SEQUENCE_MASK);
    assert_eq!(numbers(&mut outbound), 1);
}

#[test]
fn a_cancelled_request_leaves_nothing() {
    let mut outbound = Outbound::new(0, None, (0, 1));
    outbound.start(at(0), POLICY, request("keep"), |_| Ok(Vec::new())).unwrap();
    outbound.start(at(0), POLICY, request("drop"), |_| Ok(Vec::new())).unwrap();
    assert_eq!(outbound.cancel(|purpose| *purpose == "drop"), 1);
    assert_eq!((outbound.len(), outbound.deadlines.len()), (1, 1));
}

// Input:  requests that concern two associations and none, one of them retained; those of one are cancelled, twice.
// Output: the others stay, and are found; nothing is left of the cancelled ones.
#[test]
fn requests_about_an_association_are_cancelled_together() {
    let mut outbound = Outbound::new(0, None, (0, 1));
    let policy = Retransmission { retries: 0, ..POLICY };
    for purpose in ["of 1", "of 2", "x", "of 1"] {
        outbound.start(at(0), policy, request(purpose), |_| Ok(Vec::new())).unwrap();
    }
    let Some(Expired::GivenUp(unanswered)) = outbound.expire(at(1), |_, _| false) else {
        panic!("it is given up")
    };
    assert_eq!((unanswered.purpose, outbound.is_asked(&"of 1")), ("of 1", true));
    outbound.keep(at(1), unanswered, Span::from_secs(30));
    assert_eq!(outbound.cancel_of(AssociationId(1), |_| false), 0);
    assert_eq!(outbound.cancel_of(AssociationId(1), |_| true), 2);
    assert_eq!(outbound.cancel_of(AssociationId(1), |_| true), 0);
    assert!(!outbound.is_asked(&"of 1") && outbound.is_asked(&"of 2"));
    assert_eq!((outbound.len(), outbound.deadlines.len(), outbound.of_associations.len()), (2, 2, 1));
}

/// The number that led to a sequence number.
fn unshuffle(sequence: u32, secret: IdCipher) -> u32 {
    let round = |(left, right): (u32, u32), round: u64| {
        let mixed = secret.encrypt64(ROUNDS_APART.wrapping_mul(round + 1) ^ u64::from(left)) as u32;
        (right ^ mixed & HALF, left)
    };
    let (left, right) = (0..ROUNDS).rev().fold((sequence >> HALF_BITS & HALF, sequence & HALF), round);
    left << HALF_BITS | right
}

// Input:  consecutive numbers at both ends, numbers of all upper and of all lower halves, and some thousands of all
// numbers, with three secrets.
// Output: each sequence number of 24 bits maps back to its number, so that no two are the same; consecutive numbers do
// not yield consecutive sequence numbers.
#[test]
fn shuffled_numbers_are_all_different() {
    for secret in [[1, 2, 3], [0, 0, 0], [u64::MAX; 3]].map(IdCipher::new) {
        let in_a_row = (0..4096).chain(SEQUENCE_MASK - 4095..=SEQUENCE_MASK);
        let halves =
            (0..=HALF).flat_map(|half| [half << HALF_BITS, half << HALF_BITS | HALF, half | 5 << HALF_BITS]);
        let all_over = (0..8192_u32).map(|at| at.wrapping_mul(0x9e37_79b9) & SEQUENCE_MASK);
        let numbers: BTreeSet<_> = in_a_row.chain(halves).chain(all_over).collect();
        let mut seen = BTreeSet::new();
        for number in numbers {
            let sequence = shuffle(number, secret);
            assert!(sequence <= SEQUENCE_MASK && seen.insert(sequence), "{number} maps to {sequence}");
            assert_eq!(unshuffle(sequence, secret), number);
        }
        let steps: BTreeSet<_> = (0..1000)
            .map(|at| shuffle(at + 1, secret).wrapping_sub(shuffle(at, secret)) & SEQUENCE_MASK)
            .collect();
        assert!(steps.len() > 990, "{}", steps.len());
    }
}
