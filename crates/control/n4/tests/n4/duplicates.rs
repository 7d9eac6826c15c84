//! Retransmissions of the SMF.

use causeway_n4::{Config, Direction, Limits, MessageResult};
use causeway_pfcp::*;
use causeway_types::{FSeid, Seid, Span};

use crate::fixture::{Pace, Smf, TestN4, activation, config, establishment};

/// The number of received messages of a type with this result.
fn received(n4: &TestN4, message: MessageType, result: MessageResult) -> u64 {
    n4.n4.counters().message(message, Direction::Received, result)
}

// Input:  an establishment whose response was lost: the same request is received again.
// Output: the same octets; one session, one plan.
#[test]
fn a_lost_response_is_sent_again() {
    let (mut n4, mut smf) = TestN4::associated();
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = n4.send(&mut smf, Some(Seid(0)), request);
    let first = n4.next(smf.addr);
    n4.pass(Span::from_secs(5));
    n4.deliver(smf.addr, &bytes);
    assert_eq!(n4.next(smf.addr).bytes, first.bytes);
    assert_eq!((n4.n4.sessions().count(), n4.plane.done.len()), (1, 1));
    let duplicates = received(&n4, MessageType::SessionEstablishmentRequest, MessageResult::Duplicate);
    assert_eq!(duplicates, 1);
}

// Input:  a deletion whose response was lost.
// Output: the same final usage again, not "session context not found".
#[test]
fn a_lost_deletion_response_is_sent_again() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let bytes = n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let first = n4.next(smf.addr);
    n4.deliver(smf.addr, &bytes);
    let second = n4.next(smf.addr);
    assert_eq!((&second.bytes, second.usage().len()), (&first.bytes, 1));
}

// Input:  a duplicate while the data plane applies the original.
// Output: dropped and counted; one response when the plan is applied.
#[test]
fn a_duplicate_of_a_request_in_progress_is_dropped() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = n4.send(&mut smf, Some(Seid(0)), request);
    n4.deliver(smf.addr, &bytes);
    n4.deliver(smf.addr, &bytes);
    n4.is_quiet();
    assert_eq!(n4.plane.held.len(), 1);
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    n4.is_quiet();
    let dropped = received(&n4, MessageType::SessionEstablishmentRequest, MessageResult::InProgress);
    assert_eq!(dropped, 2);
}

// Input:  a duplicate of a request that waits for another one.
// Output: dropped; both get one response.
#[test]
fn a_duplicate_of_a_waiting_request_is_dropped() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), activation(1));
    let waiting = n4.send(&mut smf, Some(seid), activation(2));
    n4.deliver(smf.addr, &waiting);
    n4.apply_next();
    n4.apply_next();
    assert_eq!(n4.sent.len(), 2);
}

// Input:  a duplicate after the response lifetime of 30 s.
// Output: it is a new request: a modification is applied again, and changes nothing.
#[test]
fn answers_are_kept_for_a_while() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let bytes = n4.send(&mut smf, Some(seid), activation(1));
    n4.next(smf.addr);
    n4.pass(Span::from_secs(30));
    n4.deliver(smf.addr, &bytes);
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    let accepted = MessageResult::Cause(Cause::RequestAccepted);
    assert_eq!(received(&n4, MessageType::SessionModificationRequest, accepted), 2);
}

// Input:  an establishment is received again, octet by octet, from another port: while it is in progress, and after its
// response.
// Output: nothing at first, then the same response; one session.
#[test]
fn an_establishment_repeated_from_another_port_is_the_same() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = n4.send(&mut smf, Some(Seid(0)), request);
    let mut elsewhere = smf.addr;
    elsewhere.set_port(9000);
    n4.deliver(elsewhere, &bytes);
    n4.is_quiet();
    n4.apply_next();
    let answer = n4.next(smf.addr);
    n4.deliver(elsewhere, &bytes);
    assert_eq!(n4.next(elsewhere).bytes, answer.bytes);
    assert_eq!(n4.n4.occupancy().sessions, 1);
}

// Input:  a limit of 2 requests in progress of a peer, a slow data plane, and 3 establishments.
// Output: the third is dropped and counted; repeated later, it is applied.
#[test]
fn open_requests_are_bounded() {
    let limits = Limits { in_progress_per_peer: 2, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    n4.plane.pace = Pace::Held;
    for _ in 0..2 {
        let request = establishment(smf.node_id(), smf.f_seid());
        n4.send(&mut smf, Some(Seid(0)), request);
    }
    let request = establishment(smf.node_id(), smf.f_seid());
    let third = n4.send(&mut smf, Some(Seid(0)), request);
    assert_eq!(n4.plane.held.len(), 2);
    assert_eq!(received(&n4, MessageType::SessionEstablishmentRequest, MessageResult::Overload), 1);
    n4.apply_next();
    n4.deliver(smf.addr, &third);
    n4.apply_next();
    n4.apply_next();
    assert_eq!((n4.sent.len(), n4.n4.sessions().count()), (3, 3));
}

// Input:  capacity for 600 octets of responses, and many sessions.
// Output: only the last few responses are cached.
#[test]
fn kept_answers_are_bounded() {
    let limits = Limits { answer_octets_per_peer: 600, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    for _ in 0..100 {
        n4.establish(&mut smf);
    }
    assert!((1..10).contains(&n4.n4.occupancy().remembered_requests));
}

/// Two establishments whose responses are built differently: one of a known profile, and one with a tunnel that the UPF
/// chooses for a traffic endpoint.
fn establishments(smf: &mut Smf) -> [SessionEstablishmentRequest<'static>; 2] {
    let plain = establishment(smf.node_id(), smf.f_seid());
    let with_endpoint = SessionEstablishmentRequest {
        create_traffic_endpoints: [CreateTrafficEndpoint {
            local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
            ..CreateTrafficEndpoint::new(TrafficEndpointId(3))
        }]
        .into(),
        ..establishment(smf.node_id(), smf.f_seid())
    };
    [plain, with_endpoint]
}

// Input:  an establishment, repeated octet by octet when its response is no longer cached: its 30 s are over, or later
// responses evicted it; from the same port, and from another one. The UE has become active meanwhile.
// Output: each time the first response, octet by octet; one session.
#[test]
fn an_establishment_is_answered_for_as_long_as_its_session_lasts() {
    let limits = Limits { answer_octets_per_peer: 600, ..Limits::default() };
    for (evicted, port) in [(false, 8805), (false, 9000), (true, 8805), (true, 9000)] {
        let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
        let mut first = Vec::new();
        for request in establishments(&mut smf) {
            let bytes = n4.send(&mut smf, Some(Seid(0)), request);
            first.push((bytes, n4.next(smf.addr)));
        }
        assert_eq!(
            n4.ask(&mut smf, Some(first[0].1.up_seid()), activation(1)).cause(),
            Cause::RequestAccepted
        );
        match evicted {
            true => (0..20).for_each(|_| assert!(n4.establish(&mut smf) != Seid(0))),
            false => n4.pass(Span::from_secs(33)),
        }
        let sessions = n4.n4.occupancy().sessions;
        let mut elsewhere = smf.addr;
        elsewhere.set_port(port);
        for (bytes, answer) in &first {
            n4.deliver(elsewhere, bytes);
            assert_eq!(n4.next(elsewhere).bytes, answer.bytes, "evicted: {evicted}, from port {port}");
        }
        assert_eq!(n4.n4.occupancy().sessions, sessions);
    }
}

// Input:  a deletion, repeated while the data plane applies it, soon after its response, and when that is no longer
// cached.
// Output: one response when it is done, the same again, then Session context not found.
#[test]
fn a_repeated_deletion_is_answered() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    let bytes = n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    n4.deliver(smf.addr, &bytes);
    n4.is_quiet();
    n4.apply_next();
    let answer = n4.next(smf.addr);
    n4.deliver(smf.addr, &bytes);
    assert_eq!(n4.next(smf.addr).bytes, answer.bytes);
    n4.pass(Span::from_secs(33));
    n4.deliver(smf.addr, &bytes);
    let late = n4.next(smf.addr);
    assert_eq!((late.cause(), late.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
    n4.is_quiet();
}

// Input:  an establishment, a modification with one queued and a deletion are in flight, of one session each, when
// their SMF assigns the F-SEIDs of these sessions to new ones; each is repeated.
// Output: the establishment and the modifications are rejected immediately, the deletion is accepted with its usage
// when it is applied, and repetitions get the same response; the new sessions stay.
#[test]
fn in_flight_requests_are_answered_when_their_f_seid_is_reused() {
    let (mut n4, mut smf) = TestN4::associated();
    let (modified, deleted) = (n4.establish(&mut smf), n4.establish(&mut smf));
    n4.plane.pace = Pace::Held;
    let cp = smf.f_seid();
    let request = establishment(smf.node_id(), cp);
    let requests = [
        n4.send(&mut smf, Some(Seid(0)), request),
        n4.send(&mut smf, Some(modified), activation(1)),
        n4.send(&mut smf, Some(modified), activation(2)),
        n4.send(&mut smf, Some(deleted), SessionDeletionRequest::default()),
    ];
    let again = |seid| FSeid { seid: Seid(seid), ..cp };
    for seid in [cp.seid.0, 1, 2] {
        let ue = FSeid { seid: Seid(700 + seid), ..cp };
        let request =
            SessionEstablishmentRequest { cp_f_seid: again(seid), ..establishment(smf.node_id(), ue) };
        n4.send(&mut smf, Some(Seid(0)), request);
    }
    while !n4.plane.held.is_empty() {
        n4.apply_next();
    }
    let mut answers = Vec::new();
    while let Some(received) = n4.try_next(smf.addr) {
        answers.push(received);
    }
    let answer =
        |sequence| answers.iter().find(|received| received.header.sequence == sequence).expect("an answer");
    let first = smf.sequence - 6;
    let causes: Vec<_> = (0..7).map(|number| answer(first + number).cause().code()).collect();
    assert_eq!(causes, [64, 65, 65, 1, 1, 1, 1]);
    assert_eq!(answer(first + 3).usage().len(), 1);
    for (request, sequence) in requests.iter().zip(first..) {
        n4.deliver(smf.addr, request);
        assert_eq!(n4.next(smf.addr).bytes, answer(sequence).bytes);
    }
    assert_eq!((n4.n4.occupancy().sessions, n4.plane.sessions()), (3, 3));
}
