//! User plane paths: Node Reports to those whom a failure concerns.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::Event;
use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::Span;

use crate::world::{Got, Smf, World, activation};

const GNB: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 200));
const UPF: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 100));

fn down() -> Event {
    Event::PathDown { local: UPF, peer: GNB }
}

fn up() -> Event {
    Event::PathUp { local: UPF, peer: GNB }
}

/// An SMF with a session that sends to the gNB.
fn with_tunnel(world: &mut World, last: u8) -> Smf {
    let mut smf = Smf::new(last);
    world.associate(&mut smf);
    let session = world.establish(&mut smf);
    world.ask(&mut smf, Some(session), activation(0x2001));
    smf
}

/// What the next message to the SMF reports.
fn reported(world: &mut World, smf: &Smf) -> (NodeReportType, Got) {
    let got = world.next(smf.addr);
    let Message::NodeReportRequest(report) = got.message() else { panic!("{:?}", got.kind()) };
    (report.node_report_type, got)
}

fn accept(world: &mut World, smf: &Smf, got: &Got) {
    let accepted = NodeReportResponse::new(smf.node_id(), Cause::RequestAccepted);
    world.deliver(smf.addr, &Smf::answer(got, None, accepted));
}

// Input:  a path fails that sessions of two SMFs use, and not the one of a third; it fails on; it recovers.
// Output: the two are told once of the failure and once of the recovery; the third hears nothing.
#[test]
fn those_whom_it_concerns_are_told_once() {
    let mut world = World::new();
    let (a, b) = (with_tunnel(&mut world, 10), with_tunnel(&mut world, 11));
    let mut idle = Smf::new(12);
    world.associate(&mut idle);
    world.establish(&mut idle);
    world.event(down());
    world.event(down());
    for smf in [&a, &b] {
        let (report, got) = reported(&mut world, smf);
        assert_eq!(report, NodeReportType::UPFR);
        accept(&mut world, smf, &got);
    }
    world.is_quiet();
    assert!(world.has_notice(|notice| *notice == Notice::PeerDown { peer: GNB, told: 2 }));
    world.event(up());
    for smf in [&a, &b] {
        let (report, got) = reported(&mut world, smf);
        assert_eq!(report, NodeReportType::UPRR);
        accept(&mut world, smf, &got);
    }
    world.pass(Span::from_secs(600));
    world.is_quiet();
}

// Input:  an SMF that does not answer a Node Report, and releases its association meanwhile.
// Output: the report is repeated until then, and no longer; nothing is left of it.
#[test]
fn a_report_ends_with_its_association() {
    let mut world = World::new();
    let mut smf = with_tunnel(&mut world, 10);
    world.event(down());
    world.next(smf.addr);
    world.pass(Span::from_secs(100));
    assert!(!world.sent.is_empty());
    world.sent.clear();
    let release = AssociationReleaseRequest::new(smf.node_id());
    assert_eq!(world.ask(&mut smf, None, release).cause(), Cause::RequestAccepted);
    world.sent.clear();
    world.event(up());
    world.pass(Span::from_secs(600));
    world.is_quiet();
    assert_eq!(world.n4.occupancy().unanswered_requests, 0);
}

// Input:  an SMF that was told of a failure refuses the report, restarts and sets up a session anew on the path, which is
//         still down.
// Output: the refusal is said to the operator; the new life of the SMF is told again.
#[test]
fn an_smf_that_restarted_is_told_again() {
    let mut world = World::new();
    let mut smf = with_tunnel(&mut world, 10);
    world.event(down());
    let (_, got) = reported(&mut world, &smf);
    let refused = NodeReportResponse::new(smf.node_id(), Cause::RequestRejected);
    world.deliver(smf.addr, &Smf::answer(&got, None, refused));
    assert!(world.has_notice(|notice| matches!(notice, Notice::NodeReportRefused { .. })));
    smf.recovery = causeway_types::NtpSeconds(u32::MAX / 2);
    world.associate(&mut smf);
    world.hearts(&smf);
    let session = world.establish(&mut smf);
    world.ask(&mut smf, Some(session), activation(0x2002));
    world.event(down());
    assert_eq!(reported(&mut world, &smf).0, NodeReportType::UPFR);
}
