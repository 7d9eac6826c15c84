//! User plane paths: Node Reports to the SMFs that a failure concerns.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::Event;
use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::Span;

use crate::fixture::{Got, Smf, TestN4, activation};

const GNB: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 200));
const UPF: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 100));

fn down() -> Event {
    Event::PathDown { local: UPF, peer: GNB }
}

fn up() -> Event {
    Event::PathUp { local: UPF, peer: GNB }
}

/// An SMF with a session that sends to the gNB.
fn with_tunnel(n4: &mut TestN4, last: u8) -> Smf {
    let mut smf = Smf::new(last);
    n4.associate(&mut smf);
    let session = n4.establish(&mut smf);
    n4.ask(&mut smf, Some(session), activation(0x2001));
    smf
}

/// The contents of the next report to the SMF.
fn reported(n4: &mut TestN4, smf: &Smf) -> (NodeReportType, Got) {
    let received = n4.next(smf.addr);
    let Message::NodeReportRequest(report) = received.message() else { panic!("{:?}", received.kind()) };
    (report.node_report_type, received)
}

fn accept(n4: &mut TestN4, smf: &Smf, received: &Got) {
    let accepted = NodeReportResponse::new(smf.node_id(), Cause::RequestAccepted);
    n4.deliver(smf.addr, &Smf::answer(received, None, accepted));
}

// Input:  a path fails that sessions of two SMFs use, and not the one of a third; the failure lasts; it recovers.
// Output: the two are notified once of the failure and once of the recovery; the third is not.
#[test]
fn affected_smfs_are_notified_once() {
    let mut n4 = TestN4::new();
    let (a, b) = (with_tunnel(&mut n4, 10), with_tunnel(&mut n4, 11));
    let mut idle = Smf::new(12);
    n4.associate(&mut idle);
    n4.establish(&mut idle);
    n4.event(down());
    n4.event(down());
    for smf in [&a, &b] {
        let (report, received) = reported(&mut n4, smf);
        assert_eq!(report, NodeReportType::UPFR);
        accept(&mut n4, smf, &received);
    }
    n4.is_quiet();
    assert!(n4.has_notice(|notice| *notice == Notice::PeerDown { peer: GNB, notified: 2 }));
    n4.event(up());
    for smf in [&a, &b] {
        let (report, received) = reported(&mut n4, smf);
        assert_eq!(report, NodeReportType::UPRR);
        accept(&mut n4, smf, &received);
    }
    n4.pass(Span::from_secs(600));
    n4.is_quiet();
}

// Input:  an SMF that does not respond to a Node Report, and releases its association meanwhile.
// Output: the report is retransmitted until then, and no longer; nothing is left of it.
#[test]
fn a_report_ends_with_its_association() {
    let mut n4 = TestN4::new();
    let mut smf = with_tunnel(&mut n4, 10);
    n4.event(down());
    n4.next(smf.addr);
    n4.pass(Span::from_secs(100));
    assert!(!n4.sent.is_empty());
    n4.sent.clear();
    let release = AssociationReleaseRequest::new(smf.node_id());
    assert_eq!(n4.ask(&mut smf, None, release).cause(), Cause::RequestAccepted);
    n4.sent.clear();
    n4.event(up());
    n4.pass(Span::from_secs(600));
    n4.is_quiet();
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
}

// Input:  an SMF that was notified of a failure rejects the report, restarts and establishes a session on the path,
// which is still down.
// Output: a notice of the rejection; the restarted SMF is notified again.
#[test]
fn a_restarted_smf_is_notified_again() {
    let mut n4 = TestN4::new();
    let mut smf = with_tunnel(&mut n4, 10);
    n4.event(down());
    let (_, received) = reported(&mut n4, &smf);
    let refused = NodeReportResponse::new(smf.node_id(), Cause::RequestRejected);
    n4.deliver(smf.addr, &Smf::answer(&received, None, refused));
    assert!(n4.has_notice(|notice| matches!(notice, Notice::NodeReportRefused { .. })));
    smf.recovery = causeway_types::NtpSeconds(u32::MAX / 2);
    n4.associate(&mut smf);
    n4.hearts(&smf);
    let session = n4.establish(&mut smf);
    n4.ask(&mut smf, Some(session), activation(0x2002));
    n4.event(down());
    assert_eq!(reported(&mut n4, &smf).0, NodeReportType::UPFR);
}

// Input:  300 sessions send to one gNB; its path and those of 39 other peers fail at once; before the users of these paths
//         are all known, the SMF establishes another session.
// Output: each turn of the timers examines at most 128 sessions, for all forty peers: after the first turn at the event,
//         two for the first peer and three for the other 39. The establishment is answered before the first report.
#[test]
fn many_paths_fail_without_holding_up_the_control_plane() {
    let mut n4 = TestN4::new();
    let mut smf = Smf::new(10);
    n4.associate(&mut smf);
    for teid in 0..300 {
        let session = n4.establish(&mut smf);
        n4.ask(&mut smf, Some(session), activation(0x2001 + teid));
    }
    n4.is_quiet();
    n4.event(down());
    for last in 1..40 {
        n4.event(Event::PathDown { local: UPF, peer: Ipv4Addr::new(198, 51, 100, last).into() });
    }
    n4.is_quiet();
    n4.establish(&mut smf);
    n4.is_quiet();
    let mut turns = 0;
    while n4.n4.next_timer() == Some(causeway_types::Time::default()) {
        turns += 1;
        n4.n4.timer(n4.now);
        n4.drain();
    }
    assert_eq!(turns, 5);
    let (report, received) = reported(&mut n4, &smf);
    assert_eq!(report, NodeReportType::UPFR);
    accept(&mut n4, &smf, &received);
    n4.is_quiet();
    assert!(n4.has_notice(|notice| *notice == Notice::PeerDown { peer: GNB, notified: 1 }));
}
