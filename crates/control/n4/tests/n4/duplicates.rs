//! Retransmissions of the SMF.

use causeway_n4::{Config, Direction, Limits, MessageResult};
use causeway_pfcp::*;
use causeway_types::{FSeid, Seid, Span};

use crate::world::{Pace, Smf, World, activation, config, establishment};

/// How many received messages of a type had this result.
fn received(world: &World, message: MessageType, result: MessageResult) -> u64 {
    world.n4.counters().message(message, Direction::Received, result)
}

// Input:  an establishment whose response was lost: the same request comes again.
// Output: the same octets; one session, one plan.
#[test]
fn a_lost_response_is_sent_again() {
    let (mut world, mut smf) = World::associated();
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = world.send(&mut smf, Some(Seid(0)), request);
    let first = world.next(smf.addr);
    world.pass(Span::from_secs(5));
    world.deliver(smf.addr, &bytes);
    assert_eq!(world.next(smf.addr).bytes, first.bytes);
    assert_eq!((world.n4.sessions().count(), world.plane.done.len()), (1, 1));
    let duplicates = received(&world, MessageType::SessionEstablishmentRequest, MessageResult::Duplicate);
    assert_eq!(duplicates, 1);
}

// Input:  a deletion whose response was lost.
// Output: the same final usage again, not "session context not found".
#[test]
fn a_lost_deletion_response_is_sent_again() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    let bytes = world.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let first = world.next(smf.addr);
    world.deliver(smf.addr, &bytes);
    let second = world.next(smf.addr);
    assert_eq!((&second.bytes, second.usage().len()), (&first.bytes, 1));
}

// Input:  a duplicate while the data plane works on the original.
// Output: dropped and counted; one response when the plan is carried out.
#[test]
fn a_duplicate_of_a_request_in_progress_is_dropped() {
    let (mut world, mut smf) = World::associated();
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = world.send(&mut smf, Some(Seid(0)), request);
    world.deliver(smf.addr, &bytes);
    world.deliver(smf.addr, &bytes);
    world.is_quiet();
    assert_eq!(world.plane.held.len(), 1);
    world.apply_next();
    assert_eq!(world.next(smf.addr).cause(), Cause::RequestAccepted);
    world.is_quiet();
    let dropped = received(&world, MessageType::SessionEstablishmentRequest, MessageResult::InProgress);
    assert_eq!(dropped, 2);
}

// Input:  a duplicate of a request that waits for another one.
// Output: dropped; both are answered once.
#[test]
fn a_duplicate_of_a_waiting_request_is_dropped() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(seid), activation(1));
    let waiting = world.send(&mut smf, Some(seid), activation(2));
    world.deliver(smf.addr, &waiting);
    world.apply_next();
    world.apply_next();
    assert_eq!(world.sent.len(), 2);
}

// Input:  a duplicate after the answer's lifetime of 30 s.
// Output: it is a new request: a modification is carried out again, and changes nothing.
#[test]
fn answers_are_kept_for_a_while() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    let bytes = world.send(&mut smf, Some(seid), activation(1));
    world.next(smf.addr);
    world.pass(Span::from_secs(30));
    world.deliver(smf.addr, &bytes);
    assert_eq!(world.next(smf.addr).cause(), Cause::RequestAccepted);
    let accepted = MessageResult::Cause(Cause::RequestAccepted);
    assert_eq!(received(&world, MessageType::SessionModificationRequest, accepted), 2);
}

// Input:  an establishment is sent again, octet by octet, from another port: while it is being worked on, and after
//         it was answered.
// Output: nothing at first, then the same answer; one session.
#[test]
fn an_establishment_repeated_from_another_port_is_the_same() {
    let (mut world, mut smf) = World::associated();
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    let bytes = world.send(&mut smf, Some(Seid(0)), request);
    let mut elsewhere = smf.addr;
    elsewhere.set_port(9000);
    world.deliver(elsewhere, &bytes);
    world.is_quiet();
    world.apply_next();
    let answer = world.next(smf.addr);
    world.deliver(elsewhere, &bytes);
    assert_eq!(world.next(elsewhere).bytes, answer.bytes);
    assert_eq!(world.n4.occupancy().sessions, 1);
}

// Input:  room for 2 open requests of a peer, a slow data plane, and 3 establishments.
// Output: the third is dropped and counted; repeated later, it is carried out.
#[test]
fn open_requests_are_bounded() {
    let limits = Limits { in_progress_per_peer: 2, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    world.plane.pace = Pace::Held;
    for _ in 0..2 {
        let request = establishment(smf.node_id(), smf.f_seid());
        world.send(&mut smf, Some(Seid(0)), request);
    }
    let request = establishment(smf.node_id(), smf.f_seid());
    let third = world.send(&mut smf, Some(Seid(0)), request);
    assert_eq!(world.plane.held.len(), 2);
    assert_eq!(received(&world, MessageType::SessionEstablishmentRequest, MessageResult::Overload), 1);
    world.apply_next();
    world.deliver(smf.addr, &third);
    world.apply_next();
    world.apply_next();
    assert_eq!((world.sent.len(), world.n4.sessions().count()), (3, 3));
}

// Input:  room for 600 octets of answers, and many sessions.
// Output: only the last few answers are kept.
#[test]
fn kept_answers_are_bounded() {
    let limits = Limits { answer_octets_per_peer: 600, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    for _ in 0..100 {
        world.establish(&mut smf);
    }
    assert!((1..10).contains(&world.n4.occupancy().remembered_requests));
}

/// Two establishments that the UPF answers in different ways: the same as others before it, and one of which it chooses a tunnel for a
/// traffic endpoint.
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

// Input:  an establishment, repeated octet by octet when its answer is kept no more: its 30 s are over, or later answers took its
//         place; from the same port, and from another one. The UE has become active meanwhile.
// Output: each time the same answer as at first, octet by octet; one session.
#[test]
fn an_establishment_is_answered_for_as_long_as_its_session_lasts() {
    let limits = Limits { answer_octets_per_peer: 600, ..Limits::default() };
    for (evicted, port) in [(false, 8805), (false, 9000), (true, 8805), (true, 9000)] {
        let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
        let mut first = Vec::new();
        for request in establishments(&mut smf) {
            let bytes = world.send(&mut smf, Some(Seid(0)), request);
            first.push((bytes, world.next(smf.addr)));
        }
        assert_eq!(
            world.ask(&mut smf, Some(first[0].1.up_seid()), activation(1)).cause(),
            Cause::RequestAccepted
        );
        match evicted {
            true => (0..20).for_each(|_| assert!(world.establish(&mut smf) != Seid(0))),
            false => world.pass(Span::from_secs(33)),
        }
        let sessions = world.n4.occupancy().sessions;
        let mut elsewhere = smf.addr;
        elsewhere.set_port(port);
        for (bytes, answer) in &first {
            world.deliver(elsewhere, bytes);
            assert_eq!(world.next(elsewhere).bytes, answer.bytes, "evicted: {evicted}, from port {port}");
        }
        assert_eq!(world.n4.occupancy().sessions, sessions);
    }
}

// Input:  a deletion, repeated while the data plane works on it, soon after its answer, and when the answer is kept no more.
// Output: one answer when it is done, the same again, then Session context not found.
#[test]
fn a_repeated_deletion_is_answered() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    let bytes = world.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    world.deliver(smf.addr, &bytes);
    world.is_quiet();
    world.apply_next();
    let answer = world.next(smf.addr);
    world.deliver(smf.addr, &bytes);
    assert_eq!(world.next(smf.addr).bytes, answer.bytes);
    world.pass(Span::from_secs(33));
    world.deliver(smf.addr, &bytes);
    let late = world.next(smf.addr);
    assert_eq!((late.cause(), late.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
    world.is_quiet();
}

// Input:  an establishment, a modification with one waiting and a deletion are under way of one session each when their SMF gives the
//         F-SEIDs of these sessions to new ones; each is repeated.
// Output: the establishment and the modifications are refused at once, the deletion is accepted with its usage when it is carried out,
//         and repetitions are answered the same; the new sessions stay.
#[test]
fn what_is_under_way_is_answered_when_its_f_seid_is_used_again() {
    let (mut world, mut smf) = World::associated();
    let (modified, deleted) = (world.establish(&mut smf), world.establish(&mut smf));
    world.plane.pace = Pace::Held;
    let cp = smf.f_seid();
    let request = establishment(smf.node_id(), cp);
    let requests = [
        world.send(&mut smf, Some(Seid(0)), request),
        world.send(&mut smf, Some(modified), activation(1)),
        world.send(&mut smf, Some(modified), activation(2)),
        world.send(&mut smf, Some(deleted), SessionDeletionRequest::default()),
    ];
    let again = |seid| FSeid { seid: Seid(seid), ..cp };
    for seid in [cp.seid.0, 1, 2] {
        let ue = FSeid { seid: Seid(700 + seid), ..cp };
        let request =
            SessionEstablishmentRequest { cp_f_seid: again(seid), ..establishment(smf.node_id(), ue) };
        world.send(&mut smf, Some(Seid(0)), request);
    }
    while !world.plane.held.is_empty() {
        world.apply_next();
    }
    let mut answers = Vec::new();
    while let Some(got) = world.try_next(smf.addr) {
        answers.push(got);
    }
    let answer = |sequence| answers.iter().find(|got| got.header.sequence == sequence).expect("an answer");
    let first = smf.sequence - 6;
    let causes: Vec<_> = (0..7).map(|number| answer(first + number).cause().code()).collect();
    assert_eq!(causes, [64, 65, 65, 1, 1, 1, 1]);
    assert_eq!(answer(first + 3).usage().len(), 1);
    for (request, sequence) in requests.iter().zip(first..) {
        world.deliver(smf.addr, request);
        assert_eq!(world.next(smf.addr).bytes, answer(sequence).bytes);
    }
    assert_eq!((world.n4.occupancy().sessions, world.plane.sessions()), (3, 3));
}
