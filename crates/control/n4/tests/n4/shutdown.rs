//! Stopping gracefully.

use causeway_dataplane::ApplyError;
use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{Seid, Span};

use crate::world::{Pace, Smf, World, establishment};

fn stop(world: &mut World) {
    world.n4.shutdown(world.now);
    world.drain();
}

// Input:  a shutdown without any association.
// Output: finished at once.
#[test]
fn nothing_to_release() {
    let mut world = World::new();
    stop(&mut world);
    assert!(world.n4.is_finished() && world.notices.contains(&Notice::Finished));
}

// Input:  a shutdown; the SMF agrees, deletes its session and releases the association.
// Output: an Association Update Request that asks for the release; the deletion still works; finished.
#[test]
fn an_smf_releases_in_time() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    stop(&mut world);
    let got = world.next(smf.addr);
    let Message::AssociationUpdateRequest(request) = got.message() else { panic!("{:?}", got.kind()) };
    assert_eq!(request.association_release_request, Some(ReleaseRequestFlags::SARR));
    assert!(request.graceful_release_period.is_some());
    let node = smf.node_id();
    world.deliver(
        smf.addr,
        &Smf::answer(&got, None, AssociationUpdateResponse::new(node, Cause::RequestAccepted)),
    );
    assert!(!world.n4.is_finished());
    let got = world.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(got.usage().len(), 1);
    world.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert!(world.n4.is_finished());
}

// Input:  new associations and sessions during a shutdown.
// Output: refused.
#[test]
fn nothing_new_begins() {
    let (mut world, mut smf) = World::associated();
    stop(&mut world);
    world.sent.clear();
    let request = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(world.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoResourcesAvailable);
    let mut other = Smf::new(11);
    let setup = other.setup();
    assert_eq!(world.ask(&mut other, None, setup).cause(), Cause::RequestRejected);
    world.n4.associate(world.now, other.addr);
    world.drain();
    world.is_quiet();
}

// Input:  an SMF that says nothing, and a data plane that does not remove its session.
// Output: after 5 s everything is removed, and the node is finished all the same.
#[test]
fn a_silent_smf_does_not_hold_up_the_end() {
    let (mut world, mut smf) = World::associated();
    world.establish(&mut smf);
    world.plane.failures.push_back(ApplyError::Backend("gone".into()));
    stop(&mut world);
    world.pass(Span::from_secs(5));
    assert!(world.n4.is_finished());
    assert_eq!(world.n4.occupancy().unanswered_requests, 0);
}

// Input:  an SMF that refuses to release.
// Output: its association ends at once.
#[test]
fn an_smf_refuses_to_release() {
    let (mut world, smf) = World::associated();
    stop(&mut world);
    let got = world.next(smf.addr);
    let refusal = AssociationUpdateResponse::new(smf.node_id(), Cause::RequestRejected);
    world.deliver(smf.addr, &Smf::answer(&got, None, refusal));
    assert!(world.n4.is_finished());
}

// Input:  a plan under way when the time is over.
// Output: finished only when the data plane has removed the session.
#[test]
fn the_end_waits_for_the_data_plane() {
    let (mut world, mut smf) = World::associated();
    world.establish(&mut smf);
    world.plane.pace = Pace::Held;
    stop(&mut world);
    world.pass(Span::from_secs(5));
    assert!(!world.n4.is_finished());
    world.apply_next();
    assert!(world.n4.is_finished());
    assert_eq!(world.plane.sessions(), 0);
}
