//! Heartbeats in both directions, path failure and restart.

use std::net::SocketAddr;

use causeway_n4::{Config, DownReason, Heartbeat, Notice, PathFailure, Retransmission};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span};

use crate::fixture::{RECOVERY, Smf, TestN4, config, establishment};

/// Heartbeats every 10 s, repeated twice after 2 s.
fn with_heartbeats(on_path_failure: PathFailure) -> Config {
    let first_wait = Span::from_secs(2);
    let retransmission = Retransmission { first_wait, retries: 2, backoff: 1, longest_wait: first_wait };
    let heartbeat = Heartbeat { interval: Span::from_secs(10), retransmission };
    Config { heartbeat, on_path_failure, ..config() }
}

// Input:  a heartbeat of an unassociated peer.
// Output: answered with the UPF's recovery time stamp; no association, nothing stored.
#[test]
fn a_heartbeat_of_an_unassociated_peer_is_answered() {
    let (mut n4, mut unassociated_peer) = (TestN4::new(), Smf::new(20));
    let recovery = RecoveryTimeStamp(unassociated_peer.recovery);
    let received = n4.ask(&mut unassociated_peer, None, HeartbeatRequest::new(recovery));
    let Message::HeartbeatResponse(response) = received.message() else { panic!("{:?}", received.kind()) };
    assert_eq!(response.recovery_time_stamp.0, RECOVERY);
    assert_eq!(n4.n4.occupancy(), Default::default());
}

// Input:  an interval of 10 s, and an SMF that responds.
// Output: one heartbeat 10 s after each response; no notice of the path.
#[test]
fn heartbeats_go_out_at_the_interval() {
    let (mut n4, smf) = TestN4::associated_with(with_heartbeats(PathFailure::Keep));
    n4.notices.clear();
    for _ in 0..3 {
        n4.pass(Span::from_millis(9_999));
        n4.is_quiet();
        n4.pass(Span::from_millis(1));
        let received = n4.next(smf.addr);
        assert_eq!(received.kind(), MessageType::HeartbeatRequest);
        n4.deliver(smf.addr, &smf.heartbeat_response(&received));
    }
    assert_eq!(n4.notices, []);
}

// Input:  the UPF initiates an association, which the SMF accepts; the SMF responds to the heartbeat.
// Output: a heartbeat with the UPF's recovery time stamp follows immediately: an SMF that had sessions here detects the
// restart by it, which not all of them do by the setup. The next one is sent after the interval.
#[test]
fn a_heartbeat_follows_the_setup_that_we_asked_for() {
    let (mut n4, smf) = (TestN4::with(with_heartbeats(PathFailure::Keep)), Smf::new(10));
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    let asked = n4.next(smf.addr);
    n4.is_quiet();
    let response = AssociationSetupResponse {
        recovery_time_stamp: Some(RecoveryTimeStamp(smf.recovery)),
        ..AssociationSetupResponse::new(smf.node_id(), Cause::RequestAccepted)
    };
    n4.deliver(smf.addr, &Smf::answer(&asked, None, response));
    let received = n4.next(smf.addr);
    let Message::HeartbeatRequest(heartbeat) = received.message() else { panic!("{:?}", received.kind()) };
    assert_eq!(heartbeat.recovery_time_stamp.0, RECOVERY);
    n4.is_quiet();
    n4.deliver(smf.addr, &smf.heartbeat_response(&received));
    n4.pass(Span::from_millis(9_999));
    n4.is_quiet();
    n4.pass(Span::from_millis(1));
    assert_eq!(n4.next(smf.addr).kind(), MessageType::HeartbeatRequest);
}

// Input:  as above; on the heartbeat the SMF sets the association up again before it responds, as Open5GS does if it
// had sessions here.
// Output: accepted; there is one association, the heartbeat is not retransmitted, and a session can be established.
#[test]
fn an_smf_that_sees_our_restart_renews_the_association() {
    let (mut n4, mut smf) = (TestN4::with(with_heartbeats(PathFailure::Keep)), Smf::new(10));
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    let asked = n4.next(smf.addr);
    let response = AssociationSetupResponse {
        recovery_time_stamp: Some(RecoveryTimeStamp(smf.recovery)),
        ..AssociationSetupResponse::new(smf.node_id(), Cause::RequestAccepted)
    };
    n4.deliver(smf.addr, &Smf::answer(&asked, None, response));
    assert_eq!(n4.next(smf.addr).kind(), MessageType::HeartbeatRequest);
    let setup = smf.setup();
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.associations().count(), 1);
    let seid = n4.establish(&mut smf);
    n4.pass(Span::from_millis(9_999));
    n4.is_quiet();
    assert!(n4.plane.has(seid));
}

// Input:  an interval of zero.
// Output: no timer, no heartbeat.
#[test]
fn an_interval_of_zero_sends_none() {
    let (mut n4, _) = TestN4::associated();
    n4.pass(Span::from_secs(3600));
    n4.is_quiet();
    assert_eq!(n4.n4.next_timer(), None);
}

// Input:  an SMF that stops responding, and PathFailure::Keep; later it responds again.
// Output: three heartbeats, then the path is down, with one notice; sessions stay; the next response brings it up.
#[test]
fn an_unreachable_peer_keeps_its_sessions() {
    let (mut n4, mut smf) = TestN4::associated_with(with_heartbeats(PathFailure::Keep));
    let seid = n4.establish(&mut smf);
    n4.pass(Span::from_secs(16));
    assert_eq!(n4.sent.len(), 3);
    assert!(!n4.n4.associations().next().unwrap().path_up);
    n4.pass(Span::from_secs(16));
    let down = |notice: &&Notice| matches!(notice, Notice::PathDown { .. });
    assert_eq!(n4.notices.iter().filter(down).count(), 1);
    assert!(n4.plane.has(seid));

    n4.sent.clear();
    n4.pass(Span::from_secs(10));
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &smf.heartbeat_response(&received));
    assert!(n4.n4.associations().next().unwrap().path_up);
    assert!(n4.has_notice(|notice| matches!(notice, Notice::PathUp { .. })));
}

// Input:  an SMF that stops responding, and PathFailure::Purge.
// Output: association and sessions are removed; a session request gets cause 72.
#[test]
fn an_unreachable_peer_is_purged_if_configured() {
    let (mut n4, mut smf) = TestN4::associated_with(with_heartbeats(PathFailure::Purge));
    let seid = n4.establish(&mut smf);
    n4.pass(Span::from_secs(16));
    n4.sent.clear();
    assert!(!n4.plane.has(seid));
    assert!(n4.has_notice(|notice| matches!(
        notice,
        Notice::AssociationDown { reason: DownReason::PathFailure, purged: 1, .. }
    )));
    let request = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoEstablishedAssociation);
    n4.pass(Span::from_secs(60));
    n4.is_quiet();
}

// Input:  a path that is down, and any request of the SMF.
// Output: the path is up.
#[test]
fn any_message_brings_the_path_up() {
    let (mut n4, mut smf) = TestN4::associated_with(with_heartbeats(PathFailure::Keep));
    n4.pass(Span::from_secs(16));
    n4.sent.clear();
    n4.establish(&mut smf);
    assert!(n4.n4.associations().next().unwrap().path_up);
}

// Input:  a later recovery time stamp in the SMF's heartbeat, and in its response to the UPF's.
// Output: it is sent a heartbeat, and another 2 s later; its sessions are removed then, both times; the association
// stays.
#[test]
fn a_restart_shows_in_a_heartbeat() {
    let (mut n4, mut smf) = TestN4::associated_with(with_heartbeats(PathFailure::Keep));
    let first = n4.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 5);
    let recovery = RecoveryTimeStamp(smf.recovery);
    n4.ask(&mut smf, None, HeartbeatRequest::new(recovery));
    assert!(n4.plane.has(first));
    n4.shows_its_restart(&smf);
    assert!(!n4.plane.has(first));
    let restarted = |notice: &Notice| matches!(notice, Notice::PeerRestarted { purged: 1, .. });
    assert!(n4.has_notice(restarted));

    let second = n4.establish(&mut smf);
    smf.recovery = NtpSeconds(smf.recovery.0 + 5);
    n4.pass(Span::from_secs(10));
    n4.shows_its_restart(&smf);
    assert!(!n4.plane.has(second));
    assert_eq!(n4.n4.associations().count(), 1);
}

// Input:  an SMF restarts and establishes a session; the first heartbeat that checks it is lost, or the second one; then
// it sends the same time stamp again, and responds.
// Output: the session of before the restart is removed, and the one since the restart stays.
#[test]
fn a_lost_check_does_not_begin_the_restart_again() {
    for answered in [0, 1] {
        let (mut n4, mut smf) = TestN4::associated();
        let old = n4.establish(&mut smf);
        smf.recovery = NtpSeconds(smf.recovery.0 + 5);
        let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
        n4.ask(&mut smf, None, heartbeat.clone());
        (0..answered).for_each(|_| n4.hearts(&smf));
        let new = n4.establish(&mut smf);
        n4.pass(Span::from_secs(30));
        n4.sent.clear();
        assert!(n4.plane.has(old) && n4.plane.has(new));
        n4.ask(&mut smf, None, heartbeat);
        n4.shows_its_restart(&smf);
        assert!(!n4.plane.has(old), "{answered}");
        assert!(n4.plane.has(new), "{answered}");
    }
}

// Input:  another address of an SMF sends its time stamp, and does not respond to the check; then the SMF restarts.
// Output: its session is removed once it has confirmed the restart.
#[test]
fn an_address_that_does_not_respond_hides_no_restart() {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![12], ..Smf::new(10) });
    n4.associate(&mut smf);
    let old = n4.establish(&mut smf);
    let mut entity = Smf { recovery: NtpSeconds(77), ..Smf::new(12) };
    n4.ask(&mut entity, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(77))));
    n4.pass(Span::from_secs(30));
    n4.sent.clear();
    smf.recovery = NtpSeconds(smf.recovery.0 + 5);
    let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
    n4.ask(&mut smf, None, heartbeat);
    n4.shows_its_restart(&smf);
    assert!(!n4.plane.has(old));
}

// Input:  a restart of one of two SMFs.
// Output: the other's sessions stay.
#[test]
fn a_restart_concerns_one_smf() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let (gone, kept) = (n4.establish(&mut smf), n4.establish(&mut other));
    smf.recovery = NtpSeconds(9999);
    n4.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    n4.shows_its_restart(&smf);
    assert!(!n4.plane.has(gone) && n4.plane.has(kept));
}

// Input:  an earlier recovery time stamp, as in a reordered heartbeat.
// Output: nothing happens.
#[test]
fn an_earlier_time_stamp_is_no_restart() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let earlier = NtpSeconds(smf.recovery.0 - 1);
    n4.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(earlier)));
    assert!(n4.plane.has(seid));
}

// Input:  an SMF with an association that the UPF initiated restarts.
// Output: the UPF sends a setup as soon as the restart is confirmed, since the SMF waits for it.
#[test]
fn association_setup_is_sent_again_to_a_restarted_smf() {
    let (mut n4, mut smf) = TestN4::associated();
    n4.n4.associate(n4.now, smf.addr);
    n4.drain();
    n4.is_quiet();
    smf.recovery = NtpSeconds(9999);
    n4.ask(&mut smf, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(9999))));
    n4.shows_its_restart(&smf);
    let received = n4.next(smf.addr);
    assert_eq!(received.kind(), MessageType::AssociationSetupRequest);
    let response = AssociationSetupResponse {
        recovery_time_stamp: Some(RecoveryTimeStamp(NtpSeconds(9999))),
        ..AssociationSetupResponse::new(smf.node_id(), Cause::RequestAccepted)
    };
    n4.deliver(smf.addr, &Smf::answer(&received, None, response));
    n4.pass(Span::from_secs(60));
    n4.is_quiet();
    assert_eq!(n4.n4.associations().count(), 1);
}

/// A heartbeat of a restarted SMF with this Source IP Address.
fn restarted_at(smf: &Smf) -> HeartbeatRequest<'static> {
    let source_ip_address = Some(SourceIpAddress { addr: smf.ip().into(), prefix_len: None });
    let recovery = RecoveryTimeStamp(NtpSeconds(smf.recovery.0 + 1));
    HeartbeatRequest { source_ip_address, ..HeartbeatRequest::new(recovery) }
}

// Input:  two SMFs behind one address translator, at two ports of it; a heartbeat of the first one with its Source IP
// Address, from a third port.
// Output: it counts as that of the SMF with this address: the restart is detected, and the other's session stays.
#[test]
fn a_heartbeat_behind_address_translation() {
    let mut n4 = TestN4::new();
    let behind = |last: u8, port: u16| {
        let inside = Smf::new(last);
        let addr = SocketAddr::from(([192, 0, 2, 99], port));
        (inside.node_id(), Smf { addr, next_seid: port.into(), ..inside })
    };
    let seids = [(10, 1000), (11, 2000)].map(|(last, port)| {
        let (node, mut smf) = behind(last, port);
        let setup = AssociationSetupRequest::new(node, RecoveryTimeStamp(smf.recovery));
        assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
        let request = establishment(node, smf.f_seid());
        n4.ask(&mut smf, Some(Seid(0)), request).up_seid()
    });
    let (_, mut translator) = behind(10, 3000);
    n4.ask(&mut translator, None, restarted_at(&Smf::new(10)));
    let outside = SocketAddr::from(([192, 0, 2, 99], 8805));
    n4.shows_its_restart(&Smf { addr: outside, recovery: NtpSeconds(1001), ..Smf::new(10) });
    assert!(!n4.plane.has(seids[0]) && n4.plane.has(seids[1]));
}

// Input:  a heartbeat with the Source IP Address of an SMF and a later time stamp, from an unassociated peer, and from
// another SMF.
// Output: both get a response without effect: the sessions stay.
#[test]
fn no_peer_can_announce_the_restart_of_another() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    for from in [&mut Smf::new(99), &mut other] {
        n4.ask(from, None, restarted_at(&smf));
        assert!(n4.plane.has(seid), "{from:?}");
    }
}
