//! Sessions are admitted as long as there is memory for them.

use causeway_n4::{Config, Limits, Notice};
use causeway_pfcp::*;
use causeway_types::{Seid, UrrId};

use crate::world::{Smf, World, activation, config, establishment, query, volume_urr};

/// Octets that a session of the tests may come to need.
fn of_one() -> usize {
    let (mut world, mut smf) = World::associated();
    world.establish(&mut smf);
    world.n4.memory_needed()
}

fn with_memory(octets: usize) -> (World, Smf) {
    World::associated_with(Config { limits: Limits { memory: octets, ..Limits::default() }, ..config() })
}

fn try_establish(world: &mut World, smf: &mut Smf) -> (Cause, Option<Seid>) {
    let request = establishment(smf.node_id(), smf.f_seid());
    let got = world.ask(smf, Some(Seid(0)), request);
    let Message::SessionEstablishmentResponse(response) = got.message() else { panic!("{:?}", got.kind()) };
    (response.cause, response.up_f_seid.map(|f_seid| f_seid.seid))
}

/// With another URR.
fn more_rules(id: u32) -> SessionModificationRequest<'static> {
    SessionModificationRequest {
        create_urrs: [volume_urr(id)].into(),
        ..SessionModificationRequest::default()
    }
}

// Input:  memory for three sessions and a half; establishments in the same words, of which the first ones are accepted; then
//         modifications, one of which asks for another rule, and a deletion; then establishments again.
// Output: three are accepted, the others refused with No resources available, in the log and counted; nothing is left of them. What
//         changes or ends a session is accepted, but for more rules than there is memory for. What has ended makes room for as much.
#[test]
fn sessions_come_as_long_as_there_is_memory() {
    let (mut world, mut smf) = with_memory(of_one() * 7 / 2);
    let seids: Vec<_> = (0..3).map(|_| world.establish(&mut smf)).collect();
    let before = world.rest();
    for refused in 1..=5 {
        assert_eq!(try_establish(&mut world, &mut smf), (Cause::NoResourcesAvailable, None));
        assert_eq!(world.n4.counters().memory_refusals, refused);
    }
    assert!(world.has_notice(
        |it| matches!(it, Notice::Refused { detail, .. } if detail.contains("memory (upf.memory)"))
    ));
    assert_eq!((world.rest().tunnels, world.rest().sessions), (before.tunnels, 3));
    for seid in &seids {
        assert_eq!(world.ask(&mut smf, Some(*seid), activation(7)).cause(), Cause::RequestAccepted);
    }
    assert_eq!(world.n4.memory_needed(), 3 * of_one());
    // There is room for a few rules more, of one session or another.
    let mut accepted = 0;
    while world.ask(&mut smf, Some(seids[0]), more_rules(10 + accepted)).cause() == Cause::RequestAccepted {
        accepted += 1;
    }
    assert!((1..20).contains(&accepted), "{accepted}");
    assert_eq!(world.ask(&mut smf, Some(seids[1]), more_rules(9)).cause(), Cause::NoResourcesAvailable);
    assert_eq!(world.ask(&mut smf, Some(seids[1]), activation(9)).cause(), Cause::RequestAccepted);
    // What the rules take comes back with them, and what a session takes with it.
    let gone = (10..10 + accepted).map(|id| RemoveUrr::new(UrrId(id))).collect::<Vec<_>>();
    let fewer =
        SessionModificationRequest { remove_urrs: gone.into(), ..SessionModificationRequest::default() };
    assert_eq!(world.ask(&mut smf, Some(seids[0]), fewer).cause(), Cause::RequestAccepted);
    assert_eq!(world.n4.memory_needed(), 3 * of_one());
    for seid in seids {
        assert_eq!(
            world.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
            Cause::RequestAccepted
        );
        assert_eq!(try_establish(&mut world, &mut smf).0, Cause::RequestAccepted);
        assert_eq!(try_establish(&mut world, &mut smf).0, Cause::NoResourcesAvailable);
    }
}

// Input:  a process that has hardly any memory left, whatever its sessions need; then it has again.
// Output: no session comes meanwhile, and none gets more rules; all else is as ever.
#[test]
fn no_session_comes_while_memory_is_short() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    world.n4.set_short_of_memory(true);
    assert_eq!(try_establish(&mut world, &mut smf).0, Cause::NoResourcesAvailable);
    assert_eq!(world.ask(&mut smf, Some(seid), more_rules(9)).cause(), Cause::NoResourcesAvailable);
    assert_eq!(world.ask(&mut smf, Some(seid), activation(9)).cause(), Cause::RequestAccepted);
    world.n4.set_short_of_memory(false);
    assert_eq!(try_establish(&mut world, &mut smf).0, Cause::RequestAccepted);
    assert_eq!(world.ask(&mut smf, Some(seid), more_rules(9)).cause(), Cause::RequestAccepted);
    assert_eq!(world.ask(&mut smf, Some(seid), query()).cause(), Cause::RequestAccepted);
}
