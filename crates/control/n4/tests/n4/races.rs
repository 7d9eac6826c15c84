//! Things that happen while the data plane is busy.

use causeway_dataplane::ApplyError;
use causeway_n4::{Config, Limits};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span, UrrId};

use crate::world::{Pace, Smf, World, activation, config, establishment, query};

// Input:  two modifications and a deletion of a session, one after the other, and a slow data plane.
// Output: one plan at a time, in order; the answers in the same order.
#[test]
fn requests_of_one_session_wait_for_each_other() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(seid), activation(1));
    world.send(&mut smf, Some(seid), query());
    world.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let first = smf.sequence - 2;
    for step in 0..3 {
        assert_eq!(world.plane.held.len(), 1);
        world.is_quiet();
        world.apply_next();
        assert_eq!(world.next(smf.addr).header.sequence, first + step);
    }
    assert_eq!(world.rest(), Default::default());
}

// Input:  a slow plan of one session, and a request for another.
// Output: the other does not wait.
#[test]
fn sessions_do_not_wait_for_each_other() {
    let (mut world, mut smf) = World::associated();
    let (one, two) = (world.establish(&mut smf), world.establish(&mut smf));
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(one), activation(1));
    world.send(&mut smf, Some(two), activation(2));
    let held = world.plane.held.remove(1).unwrap();
    world.plane.held.push_front(held);
    world.apply_next();
    assert_eq!(world.next(smf.addr).header.sequence, smf.sequence);
}

// Input:  requests that wait behind a deletion that succeeds.
// Output: they are told that there is no such session.
#[test]
fn what_waits_behind_a_deletion_is_not_found() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    world.send(&mut smf, Some(seid), activation(1));
    world.apply_next();
    assert_eq!(world.next(smf.addr).cause(), Cause::RequestAccepted);
    let got = world.next(smf.addr);
    assert_eq!((got.cause(), got.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
    assert!(world.plane.held.is_empty());
}

// Input:  a modification waits behind one that fails in the data plane.
// Output: it is carried out on the rules as they were.
#[test]
fn what_waits_behind_a_failure_goes_on() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(seid), activation(1));
    world.send(&mut smf, Some(seid), activation(2));
    world.fail_next(ApplyError::Backend("timed out".into()));
    assert_eq!(world.next(smf.addr).cause(), Cause::SystemFailure);
    world.apply_next();
    assert_eq!(world.next(smf.addr).cause(), Cause::RequestAccepted);
}

// Input:  more requests for one session than may wait.
// Output: the last is refused with "PFCP entity in congestion", at once.
#[test]
fn waiting_requests_are_bounded() {
    let limits = Limits { waiting_per_session: 1, ..Limits::default() };
    let (mut world, mut smf) = World::associated_with(Config { limits, ..config() });
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    for teid in 1..=3 {
        world.send(&mut smf, Some(seid), activation(teid));
    }
    let got = world.next(smf.addr);
    assert_eq!((got.cause(), got.header.sequence), (Cause::EntityInCongestion, smf.sequence));
    world.apply_next();
    world.apply_next();
    assert_eq!((world.sent.len(), world.rest().waiting_requests), (2, 0));
}

// Input:  the SMF restarts while an establishment, a modification with one waiting, and a deletion are under way.
// Output: none is answered; each session is removed as soon as the data plane is free; nothing is left.
#[test]
fn a_restart_while_plans_are_under_way() {
    let (mut world, mut smf) = World::associated();
    let (modified, deleted) = (world.establish(&mut smf), world.establish(&mut smf));
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    world.send(&mut smf, Some(modified), activation(1));
    world.send(&mut smf, Some(modified), activation(2));
    world.send(&mut smf, Some(deleted), SessionDeletionRequest::default());
    smf.recovery = NtpSeconds(9999);
    world.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    world.shows_its_restart(&smf);
    assert_eq!((world.n4.sessions().count(), world.plane.held.len()), (0, 3));
    while !world.plane.held.is_empty() {
        world.apply_next();
    }
    world.is_quiet();
    assert_eq!((world.plane.sessions(), world.rest()), (0, Default::default()));
    world.plane.pace = Pace::AtOnce;
    world.establish(&mut smf);
}

// Input:  the same, and the establishment and the deletion fail in the data plane.
// Output: nothing is left either.
#[test]
fn a_restart_while_plans_fail() {
    let (mut world, mut smf) = World::associated();
    let deleted = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    world.send(&mut smf, Some(deleted), SessionDeletionRequest::default());
    smf.recovery = NtpSeconds(9999);
    world.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    world.shows_its_restart(&smf);
    world.fail_next(ApplyError::Backend("timed out".into()));
    world.fail_next(ApplyError::Backend("timed out".into()));
    assert_eq!(world.plane.held.len(), 1, "the session that was not deleted is removed");
    world.apply_next();
    assert_eq!((world.plane.sessions(), world.rest()), (0, Default::default()));
}

// Input:  the data plane does not remove a session whose association was released.
// Output: it is asked again after 5 s, until it does.
#[test]
fn a_removal_is_tried_again() {
    let (mut world, mut smf) = World::associated();
    world.establish(&mut smf);
    world.plane.failures.push_back(ApplyError::Backend("timed out".into()));
    world.plane.failures.push_back(ApplyError::Backend("timed out".into()));
    let node = smf.node_id();
    world.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert_eq!((world.plane.sessions(), world.n4.occupancy().tunnels), (1, 1));
    world.pass(Span::from_secs(9));
    assert_eq!(world.plane.sessions(), 1);
    world.pass(Span::from_secs(1));
    assert_eq!((world.plane.sessions(), world.rest()), (0, Default::default()));
}

// Input:  a usage event between the plan of a deletion and its outcome.
// Output: it is in the deletion response, before the final usage and with the lower number.
#[test]
fn usage_during_a_deletion_is_not_lost() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    world.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    world.uses(seid, 1000);
    world.is_quiet();
    world.apply_next();
    let expected = [(1, 0, 1000, UsageReportTrigger::VOLTH), (1, 1, 30, UsageReportTrigger::TERMR)];
    assert_eq!(world.next(smf.addr).usage(), expected);
    world.is_quiet();
}

// Input:  a usage event while the removal of its URR is under way.
// Output: it is in the modification response, before the last usage of the URR.
#[test]
fn usage_during_the_removal_of_its_urr_is_not_lost() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    let remove_urrs = [RemoveUrr::new(UrrId(1))].into();
    world.send(&mut smf, Some(seid), SessionModificationRequest { remove_urrs, ..Default::default() });
    world.uses(seid, 1000);
    world.apply_next();
    let expected = [(1, 0, 1000, UsageReportTrigger::VOLTH), (1, 1, 20, UsageReportTrigger::TERMR)];
    assert_eq!(world.next(smf.addr).usage(), expected);
    world.is_quiet();
}

// Input:  a usage event before the outcome of the establishment, from a data plane that is quick.
// Output: the response goes first, then the report.
#[test]
fn usage_before_the_establishment_is_answered() {
    let (mut world, mut smf) = World::associated();
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    let seid = world.plane.held[0].1.session;
    world.uses(seid, 1000);
    world.is_quiet();
    assert!(world.n4.session(seid).is_none());
    world.apply_next();
    assert_eq!(world.next(smf.addr).kind(), MessageType::SessionEstablishmentResponse);
    assert_eq!(world.next(smf.addr).usage(), [(1, 0, 1000, UsageReportTrigger::VOLTH)]);
}

// Input:  somebody guesses the SEID of a session that is being established.
// Output: the request waits, and is refused when the establishment fails.
#[test]
fn a_request_for_a_session_that_does_not_come_to_be() {
    let (mut world, mut smf) = World::associated();
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    let seid = world.plane.held[0].1.session;
    world.send(&mut smf, Some(seid), activation(1));
    world.fail_next(ApplyError::Full { table: "sessions", capacity: 1 });
    assert_eq!(world.next(smf.addr).cause(), Cause::NoResourcesAvailable);
    assert_eq!(world.next(smf.addr).cause(), Cause::SessionContextNotFound);
    assert_eq!(world.rest(), Default::default());
}

// Input:  an outcome that nobody waits for.
// Output: nothing happens.
#[test]
fn an_outcome_comes_twice() {
    let (mut world, mut smf) = World::associated();
    world.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    let id = world.plane.held[0].0;
    world.apply_next();
    world.next(smf.addr);
    world.n4.applied(world.now, id, Err(ApplyError::Backend("again".into())));
    world.drain();
    world.is_quiet();
    assert_eq!(world.n4.sessions().count(), 1);
}

// Input:  an association released and set up again while its sessions are still being removed.
// Output: new sessions are established beside the old ones, which go.
#[test]
fn old_sessions_go_while_new_ones_come() {
    let (mut world, mut smf) = World::associated();
    let old = world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    let node = smf.node_id();
    world.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    world.associate(&mut smf);
    let request = establishment(smf.node_id(), Smf::new(10).f_seid());
    world.send(&mut smf, Some(Seid(0)), request);
    world.apply_next();
    world.apply_next();
    let new = world.next(smf.addr).up_seid();
    assert!(world.plane.has(new) && !world.plane.has(old));
    assert_eq!(world.n4.occupancy().sessions, 1);
}
