//! Renewed associations and restarted SMFs: which sessions stay.

use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{DualIp, NtpSeconds, Seid};

use crate::fixture::{Smf, TestN4, establishment};

/// The setup of an SMF that requests the retention of its sessions, of these entities only if there are any.
fn retaining(smf: &Smf, entities: &[DualIp]) -> AssociationSetupRequest<'static> {
    let entities: Vec<_> = entities.iter().map(|ip| CpEntityIpAddress(*ip)).collect();
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: entities.into(),
        ..SessionRetentionInformation::default()
    };
    AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() }
}

// Input:  a second setup by the same node, with a later time stamp and without a request for retention, then unchanged with one.
// Output: the sessions are removed the first time, once the restart is confirmed, and kept the second time (flag
// PSREI).
#[test]
fn a_second_setup_keeps_sessions_only_if_asked_to() {
    let (mut n4, mut smf) = TestN4::associated();
    let lost = n4.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    let setup = smf.setup();
    n4.ask(&mut smf, None, setup);
    n4.hearts(&smf);
    assert!(!n4.plane.has(lost));
    assert_eq!(n4.n4.sessions().count(), 0);

    let kept = n4.establish(&mut smf);
    let setup = retaining(&smf, &[]);
    let received = n4.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(response.flags, Some(AssociationSetupResponseFlags::PSREI));
    assert!(n4.plane.has(kept) && n4.n4.session(kept).is_some());
    assert!(
        n4.has_notice(|notice| matches!(notice, Notice::AssociationRenewed { retained: 1, purged: 0, .. }))
    );
}

// Input:  retention requested with a new recovery time stamp: the SMF restarted and still knows its sessions.
// Output: they stay (TS 29.244 table 7.4.4.1-1, note: the time stamp is ignored).
#[test]
fn a_restarted_smf_may_keep_its_sessions() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 1);
    let setup = retaining(&smf, &[]);
    let received = n4.ask(&mut smf, None, setup);
    let Message::AssociationSetupResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    let flags = Some(AssociationSetupResponseFlags::PSREI);
    assert_eq!((response.cause, response.flags), (Cause::RequestAccepted, flags));
    n4.hearts(&smf);
    assert!(n4.plane.has(seid));
    assert_eq!(n4.n4.associations().next().unwrap().recovery, smf.recovery);
}

// Input:  two sessions with F-SEIDs at different addresses, and retention for one of these addresses.
// Output: only that session stays.
#[test]
fn retention_can_name_cp_entities() {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![11], ..Smf::new(10) });
    n4.associate(&mut smf);
    let here = n4.establish(&mut smf);
    let mut elsewhere = smf.f_seid();
    elsewhere.addr = std::net::Ipv4Addr::new(192, 0, 2, 11).into();
    let request = establishment(smf.node_id(), elsewhere);
    let there = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    let setup = retaining(&smf, &[elsewhere.addr]);
    n4.ask(&mut smf, None, setup);
    assert!(!n4.plane.has(here) && n4.plane.has(there));
}

// Input:  an SMF restarts and immediately reuses the sequence numbers of its last epoch, also for an identical request.
// Output: no cached response is sent: the setup is new, and so is the session.
#[test]
fn a_restarted_smf_may_reuse_its_numbers() {
    let (mut n4, mut first_epoch) = TestN4::associated();
    let mut second_epoch = first_epoch.clone();
    (second_epoch.sequence, second_epoch.recovery) = (0, NtpSeconds(2000));
    let old = n4.establish(&mut first_epoch);
    n4.associate(&mut second_epoch);
    n4.hearts(&second_epoch);
    let new = n4.establish(&mut second_epoch);
    assert_ne!(old, new);
    assert!(n4.plane.has(new) && !n4.plane.has(old));
}

// Input:  the same, detected by a heartbeat; and after a release, with the same recovery time stamp.
// Output: the same.
#[test]
fn a_new_epoch_begins_with_a_heartbeat_or_after_a_release() {
    for released in [false, true] {
        let (mut n4, mut first_epoch) = TestN4::associated();
        let mut second_epoch = first_epoch.clone();
        second_epoch.sequence = 0;
        let old = n4.establish(&mut first_epoch);
        if released {
            let node = first_epoch.node_id();
            n4.ask(&mut first_epoch, None, AssociationReleaseRequest::new(node));
            n4.associate(&mut second_epoch);
        } else {
            second_epoch.recovery = NtpSeconds(2000);
            let recovery = RecoveryTimeStamp(second_epoch.recovery);
            n4.ask(&mut second_epoch, None, HeartbeatRequest::new(recovery));
            n4.shows_its_restart(&second_epoch);
        }
        let new = n4.establish(&mut second_epoch);
        assert!(n4.plane.has(new) && !n4.plane.has(old));
    }
}
