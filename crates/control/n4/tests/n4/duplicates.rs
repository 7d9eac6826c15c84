//! Retransmissions of the SMF.

use causeway_n4::{Config, Direction, Limits, MessageResult};
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::world::{Pace, World, activation, config, establishment};

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
