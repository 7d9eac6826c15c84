//! An association that is set up anew, and an SMF that starts anew: which sessions stay.

use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{DualIp, NtpSeconds, Seid};

use crate::world::{Smf, World, establishment};

/// The setup of an SMF that asks for its sessions to be retained, of these entities only if there are any.
fn retaining(smf: &Smf, entities: &[DualIp]) -> AssociationSetupRequest<'static> {
    let entities: Vec<_> = entities.iter().map(|ip| CpEntityIpAddress(*ip)).collect();
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: entities.into(),
        ..SessionRetentionInformation::default()
    };
    AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() }
}

// Input:  a second setup by the same node, with a later time stamp and without a request for retention, then unchanged with one.
// Output: the sessions are removed the first time, once the SMF shows that it restarted, and kept the second time (flag PSREI).
#[test]
fn a_second_setup_keeps_sessions_only_if_asked_to() {
    let (mut world, mut smf) = World::associated();
    let lost = world.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    let setup = smf.setup();
    world.ask(&mut smf, None, setup);
    world.hearts(&smf);
    assert!(!world.plane.has(lost));
    assert_eq!(world.n4.sessions().count(), 0);

    let kept = world.establish(&mut smf);
    let setup = retaining(&smf, &[]);
    let got = world.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = got.message() else { panic!("{:?}", got.kind()) };
    assert_eq!(response.flags, Some(AssociationSetupResponseFlags::PSREI));
    assert!(world.plane.has(kept) && world.n4.session(kept).is_some());
    assert!(
        world.has_notice(|notice| matches!(notice, Notice::AssociationRenewed { kept: 1, purged: 0, .. }))
    );
}

// Input:  retention asked for, with a new recovery time stamp: the SMF restarted and still knows its sessions.
// Output: they stay (TS 29.244 table 7.4.4.1-1, note: the time stamp is ignored).
#[test]
fn a_restarted_smf_may_keep_its_sessions() {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    let setup = retaining(&smf, &[]);
    let got = world.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = got.message() else { panic!("{:?}", got.kind()) };
    let flags = Some(AssociationSetupResponseFlags::PSREI);
    assert_eq!((response.cause, response.flags), (Cause::RequestAccepted, flags));
    world.hearts(&smf);
    assert!(world.plane.has(seid));
    assert_eq!(world.n4.associations().next().unwrap().recovery, smf.recovery);
}

// Input:  two sessions with ends at different addresses, and retention for one of these addresses.
// Output: only that session stays.
#[test]
fn retention_can_name_cp_entities() {
    let (mut world, mut smf) = (World::new(), Smf { others: vec![11], ..Smf::new(10) });
    world.associate(&mut smf);
    let here = world.establish(&mut smf);
    let mut elsewhere = smf.f_seid();
    elsewhere.addr = std::net::Ipv4Addr::new(192, 0, 2, 11).into();
    let request = establishment(smf.node_id(), elsewhere);
    let there = world.ask(&mut smf, Some(Seid(0)), request).up_seid();
    let setup = retaining(&smf, &[elsewhere.addr]);
    world.ask(&mut smf, None, setup);
    assert!(!world.plane.has(here) && world.plane.has(there));
}

// Input:  an SMF restarts at once and uses the numbers of its last life, also for an identical request.
// Output: nothing is answered from memory: the setup is new, and so is the session.
#[test]
fn a_restarted_smf_may_reuse_its_numbers() {
    let (mut world, mut first_life) = World::associated();
    let mut second_life = first_life.clone();
    (second_life.sequence, second_life.recovery) = (0, NtpSeconds(2000));
    let old = world.establish(&mut first_life);
    world.associate(&mut second_life);
    world.hearts(&second_life);
    let new = world.establish(&mut second_life);
    assert_ne!(old, new);
    assert!(world.plane.has(new) && !world.plane.has(old));
}

// Input:  the same, seen first in a heartbeat; and after a release, with the same recovery time stamp.
// Output: the same.
#[test]
fn a_new_life_begins_with_a_heartbeat_or_after_a_release() {
    for released in [false, true] {
        let (mut world, mut first_life) = World::associated();
        let mut second_life = first_life.clone();
        second_life.sequence = 0;
        let old = world.establish(&mut first_life);
        if released {
            let node = first_life.node_id();
            world.ask(&mut first_life, None, AssociationReleaseRequest::new(node));
            world.associate(&mut second_life);
        } else {
            second_life.recovery = NtpSeconds(2000);
            let stamp = RecoveryTimeStamp(second_life.recovery);
            world.ask(&mut second_life, None, HeartbeatRequest::new(stamp));
            world.shows_its_restart(&second_life);
        }
        let new = world.establish(&mut second_life);
        assert!(world.plane.has(new) && !world.plane.has(old));
    }
}
