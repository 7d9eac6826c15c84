//! Events while plans are in flight.

use causeway_dataplane::{ApplyError, BackendError};
use causeway_n4::{Config, Limits};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span, UrrId, UsageReportTrigger};

use crate::fixture::{Pace, Smf, TestN4, activation, config, establishment, query};

// Input:  two modifications and a deletion of a session, one after the other, and a slow data plane.
// Output: one plan at a time, in order; the responses in the same order.
#[test]
fn requests_of_one_session_wait_for_each_other() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), activation(1));
    n4.send(&mut smf, Some(seid), query());
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let first = smf.sequence - 2;
    for step in 0..3 {
        assert_eq!(n4.plane.held.len(), 1);
        n4.is_quiet();
        n4.apply_next();
        assert_eq!(n4.next(smf.addr).header.sequence, first + step);
    }
    assert_eq!(n4.rest(), Default::default());
}

// Input:  a slow plan of one session, and a request for another.
// Output: the other does not wait.
#[test]
fn sessions_do_not_wait_for_each_other() {
    let (mut n4, mut smf) = TestN4::associated();
    let (one, two) = (n4.establish(&mut smf), n4.establish(&mut smf));
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(one), activation(1));
    n4.send(&mut smf, Some(two), activation(2));
    let held = n4.plane.held.remove(1).unwrap();
    n4.plane.held.push_front(held);
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).header.sequence, smf.sequence);
}

// Input:  requests queued behind a deletion that succeeds.
// Output: they are rejected with Session context not found.
#[test]
fn queued_requests_after_a_deletion_get_session_context_not_found() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    n4.send(&mut smf, Some(seid), activation(1));
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    let received = n4.next(smf.addr);
    assert_eq!((received.cause(), received.header.seid), (Cause::SessionContextNotFound, Some(Seid(0))));
    assert!(n4.plane.held.is_empty());
}

// Input:  a modification queued behind one that fails in the data plane.
// Output: it is applied to the rules as they were.
#[test]
fn queued_requests_continue_after_a_failure() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), activation(1));
    n4.send(&mut smf, Some(seid), activation(2));
    n4.fail_next(BackendError::TimedOut.into());
    assert_eq!(n4.next(smf.addr).cause(), Cause::SystemFailure);
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
}

// Input:  more requests for one session than the queue holds.
// Output: the last is rejected with "PFCP entity in congestion", immediately.
#[test]
fn waiting_requests_are_bounded() {
    let limits = Limits { waiting_per_session: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    for teid in 1..=3 {
        n4.send(&mut smf, Some(seid), activation(teid));
    }
    let received = n4.next(smf.addr);
    assert_eq!((received.cause(), received.header.sequence), (Cause::EntityInCongestion, smf.sequence));
    n4.apply_next();
    n4.apply_next();
    assert_eq!((n4.sent.len(), n4.rest().waiting_requests), (2, 0));
}

// Input:  the SMF restarts while an establishment, a modification with one queued, and a deletion are in flight.
// Output: none gets a response; each session is removed after its plan; nothing is left.
#[test]
fn a_restart_while_plans_are_under_way() {
    let (mut n4, mut smf) = TestN4::associated();
    let (modified, deleted) = (n4.establish(&mut smf), n4.establish(&mut smf));
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    n4.send(&mut smf, Some(modified), activation(1));
    n4.send(&mut smf, Some(modified), activation(2));
    n4.send(&mut smf, Some(deleted), SessionDeletionRequest::default());
    smf.recovery = NtpSeconds(9999);
    n4.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    n4.shows_its_restart(&smf);
    assert_eq!((n4.n4.sessions().count(), n4.plane.held.len()), (0, 3));
    while !n4.plane.held.is_empty() {
        n4.apply_next();
    }
    n4.is_quiet();
    assert_eq!((n4.plane.sessions(), n4.rest()), (0, Default::default()));
    n4.plane.pace = Pace::AtOnce;
    n4.establish(&mut smf);
}

// Input:  the same, and the establishment and the deletion fail in the data plane.
// Output: nothing is left either.
#[test]
fn a_restart_while_plans_fail() {
    let (mut n4, mut smf) = TestN4::associated();
    let deleted = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    n4.send(&mut smf, Some(deleted), SessionDeletionRequest::default());
    smf.recovery = NtpSeconds(9999);
    n4.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    n4.shows_its_restart(&smf);
    n4.fail_next(BackendError::TimedOut.into());
    n4.fail_next(BackendError::TimedOut.into());
    assert_eq!(n4.plane.held.len(), 1, "the session that was not deleted is removed");
    n4.apply_next();
    assert_eq!((n4.plane.sessions(), n4.rest()), (0, Default::default()));
}

// Input:  the data plane fails to remove a session whose association was released.
// Output: the removal is retried after 5 s, until it succeeds.
#[test]
fn a_removal_is_tried_again() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.establish(&mut smf);
    n4.plane.failures.push_back(BackendError::TimedOut.into());
    n4.plane.failures.push_back(BackendError::TimedOut.into());
    let node = smf.node_id();
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert_eq!((n4.plane.sessions(), n4.n4.occupancy().tunnels), (1, 1));
    n4.pass(Span::from_secs(9));
    assert_eq!(n4.plane.sessions(), 1);
    n4.pass(Span::from_secs(1));
    assert_eq!((n4.plane.sessions(), n4.rest()), (0, Default::default()));
}

// Input:  a usage event between the plan of a deletion and its result.
// Output: it is in the deletion response, before the final usage and with the lower number.
#[test]
fn usage_during_a_deletion_is_not_lost() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    n4.uses(seid, 1000);
    n4.is_quiet();
    n4.apply_next();
    let expected = [(1, 0, 1000, UsageReportTrigger::VOLTH), (1, 1, 30, UsageReportTrigger::TERMR)];
    assert_eq!(n4.next(smf.addr).usage(), expected);
    n4.is_quiet();
}

// Input:  a usage event while the removal of its URR is in flight.
// Output: it is in the modification response, before the last usage of the URR.
#[test]
fn usage_during_the_removal_of_its_urr_is_not_lost() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    let remove_urrs = [RemoveUrr::new(UrrId(1))].into();
    n4.send(&mut smf, Some(seid), SessionModificationRequest { remove_urrs, ..Default::default() });
    n4.uses(seid, 1000);
    n4.apply_next();
    let expected = [(1, 0, 1000, UsageReportTrigger::VOLTH), (1, 1, 20, UsageReportTrigger::TERMR)];
    assert_eq!(n4.next(smf.addr).usage(), expected);
    n4.is_quiet();
}

// Input:  a usage event before the result of the establishment, from a fast data plane.
// Output: the response is sent first, then the report.
#[test]
fn usage_before_the_establishment_is_answered() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    let seid = n4.plane.held[0].1.session;
    n4.uses(seid, 1000);
    n4.is_quiet();
    assert!(n4.n4.session(seid).is_none());
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).kind(), MessageType::SessionEstablishmentResponse);
    assert_eq!(n4.next(smf.addr).usage(), [(1, 0, 1000, UsageReportTrigger::VOLTH)]);
}

// Input:  a request with the guessed SEID of a session that is being established.
// Output: the request is queued, and rejected when the establishment fails.
#[test]
fn a_queued_request_of_a_session_that_fails_to_establish() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    let seid = n4.plane.held[0].1.session;
    n4.send(&mut smf, Some(seid), activation(1));
    n4.fail_next(ApplyError::Full { table: "sessions", capacity: 1 });
    assert_eq!(n4.next(smf.addr).cause(), Cause::NoResourcesAvailable);
    assert_eq!(n4.next(smf.addr).cause(), Cause::SessionContextNotFound);
    assert_eq!(n4.rest(), Default::default());
}

// Input:  a second result of the same plan.
// Output: nothing happens.
#[test]
fn a_plan_result_arrives_twice() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.plane.pace = Pace::Held;
    let request = establishment(smf.node_id(), smf.f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    let id = n4.plane.held[0].0;
    n4.apply_next();
    n4.next(smf.addr);
    n4.n4.applied(n4.now, id, Err(BackendError::TimedOut.into()));
    n4.drain();
    n4.is_quiet();
    assert_eq!(n4.n4.sessions().count(), 1);
}

// Input:  an association released and set up again while its sessions are still being removed.
// Output: new sessions are established beside the old ones, which are removed.
#[test]
fn old_sessions_are_purged_while_new_ones_establish() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    let node = smf.node_id();
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    n4.associate(&mut smf);
    let request = establishment(smf.node_id(), Smf::new(10).f_seid());
    n4.send(&mut smf, Some(Seid(0)), request);
    n4.apply_next();
    n4.apply_next();
    let new = n4.next(smf.addr).up_seid();
    assert!(n4.plane.has(new) && !n4.plane.has(old));
    assert_eq!(n4.n4.occupancy().sessions, 1);
}
