//! Graceful shutdown.

use causeway_dataplane::BackendError;
use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::fixture::{Pace, Smf, TestN4, activation, establishment};

fn stop(n4: &mut TestN4) {
    n4.n4.shutdown(n4.now);
    n4.drain();
}

// Input:  a shutdown without any association.
// Output: finished immediately.
#[test]
fn nothing_to_release() {
    let mut n4 = TestN4::new();
    stop(&mut n4);
    assert!(n4.n4.is_finished() && n4.notices.contains(&Notice::Finished));
}

// Input:  a shutdown; the SMF agrees, deletes its session and releases the association.
// Output: an Association Update Request with the release request; the deletion still works; finished.
#[test]
fn an_smf_releases_in_time() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    stop(&mut n4);
    let received = n4.next(smf.addr);
    let Message::AssociationUpdateRequest(request) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(request.association_release_request, Some(ReleaseRequestFlags::SARR));
    assert!(request.graceful_release_period.is_some());
    let node = smf.node_id();
    n4.deliver(
        smf.addr,
        &Smf::answer(&received, None, AssociationUpdateResponse::new(node, Cause::RequestAccepted)),
    );
    assert!(!n4.n4.is_finished());
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.usage().len(), 1);
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert!(n4.n4.is_finished());
}

// Input:  new associations and sessions during a shutdown.
// Output: rejected.
#[test]
fn no_new_session_during_release() {
    let (mut n4, mut smf) = TestN4::associated();
    stop(&mut n4);
    n4.sent.clear();
    let request = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoResourcesAvailable);
    let mut other = Smf::new(11);
    let setup = other.setup();
    assert_eq!(n4.ask(&mut other, None, setup).cause(), Cause::RequestRejected);
    n4.n4.associate(n4.now, other.addr);
    n4.drain();
    n4.is_quiet();
}

// Input:  an SMF that does not respond, and a data plane that does not remove its session.
// Output: after 5 s everything is removed, and the shutdown completes all the same.
#[test]
fn an_unresponsive_smf_does_not_delay_the_shutdown() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.establish(&mut smf);
    n4.plane.failures.push_back(BackendError::TimedOut.into());
    stop(&mut n4);
    n4.pass(Span::from_secs(5));
    assert!(n4.n4.is_finished());
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
}

// Input:  an SMF that rejects the release.
// Output: its association ends immediately.
#[test]
fn an_smf_refuses_to_release() {
    let (mut n4, smf) = TestN4::associated();
    stop(&mut n4);
    let received = n4.next(smf.addr);
    let refusal = AssociationUpdateResponse::new(smf.node_id(), Cause::RequestRejected);
    n4.deliver(smf.addr, &Smf::answer(&received, None, refusal));
    assert!(n4.n4.is_finished());
}

// Input:  a plan in flight at the deadline.
// Output: finished only when the data plane has removed the session.
#[test]
fn the_end_waits_for_the_data_plane() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    stop(&mut n4);
    n4.pass(Span::from_secs(5));
    assert!(!n4.n4.is_finished());
    n4.apply_next();
    assert!(n4.n4.is_finished());
    assert_eq!(n4.plane.sessions(), 0);
}

// Input:  draining begins; a new session, a modification, a deletion; draining ends; a new session.
// Output: only the first is rejected, with cause 75; an SMF with load control is notified of a load of 100 %, then of 0 %.
#[test]
fn a_drained_upf_rejects_new_sessions_only() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::LOAD), ..smf.setup() };
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    let load = |response: &Message<'_>| match response {
        Message::SessionEstablishmentResponse(it) => {
            it.load_control_information.as_ref().map(|it| it.metric.0)
        }
        Message::SessionModificationResponse(it) => {
            it.load_control_information.as_ref().map(|it| it.metric.0)
        }
        _ => panic!("{response:?}"),
    };
    let seid = n4.establish(&mut smf);
    n4.n4.set_draining(true);
    assert!(n4.n4.is_draining());
    let request = establishment(smf.node_id(), smf.f_seid());
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!((received.cause(), load(&received.message())), (Cause::NoResourcesAvailable, Some(100)));
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
    assert_eq!(
        n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
        Cause::RequestAccepted
    );
    n4.n4.set_draining(false);
    let request = establishment(smf.node_id(), smf.f_seid());
    let received = n4.ask(&mut smf, Some(Seid(0)), request);
    assert_eq!((received.cause(), load(&received.message())), (Cause::RequestAccepted, Some(0)));
}
