//! Authorization of SMFs: forged messages, Node IDs of others, invented ones, changing recovery time stamps.

use std::net::{Ipv4Addr, SocketAddr};

use causeway_n4::{Config, DownReason, KnownSmf, Limits, Notice};
use causeway_pfcp::*;
use causeway_types::{DualIp, FSeid, NodeId as Node, NtpSeconds, Seid, Span};

use crate::fixture::{Got, Pace, Smf, TestN4, activation, config, establishment};

const NAME: &str = "smf.example";

/// An SMF at this address whose Node ID is a name.
fn named(last: u8) -> (Smf, AssociationSetupRequest<'static>) {
    let smf = Smf::new(last);
    (
        smf.clone(),
        AssociationSetupRequest::new(NodeId::Fqdn(Fqdn::new(NAME)), RecoveryTimeStamp(smf.recovery)),
    )
}

fn session(n4: &mut TestN4, smf: &mut Smf, node: NodeId<'static>) -> Seid {
    let request = establishment(node, smf.f_seid());
    n4.ask(smf, Some(Seid(0)), request).up_seid()
}

fn fqdn() -> NodeId<'static> {
    NodeId::Fqdn(Fqdn::new(NAME))
}

/// A fixture with an SMF whose Node ID is a name, with a session.
fn with_name(config: Config) -> (TestN4, Smf, Seid) {
    let mut n4 = TestN4::with(config);
    let (mut smf, setup) = named(10);
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    let seid = session(&mut n4, &mut smf, fqdn());
    (n4, smf, seid)
}

// Input:  a heartbeat, an establishment and a setup with a later time stamp, forged with the address of an SMF that has
// a session; a setup with its own time stamp, and one without sessions of its own but an address of the forger's.
// Output: each gets a response; the SMF is sent a heartbeat, does not confirm a restart, and the session stays and can
// be used. A notice reports it.
#[test]
fn forged_restarts_remove_nothing() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let mut forger = Smf { recovery: NtpSeconds(5000), sequence: 900, next_seid: 70, ..smf.clone() };
    for kind in 0..3 {
        n4.notices.clear();
        let recovery = RecoveryTimeStamp(forger.recovery);
        let message: Message<'_> = match kind {
            0 => HeartbeatRequest::new(recovery).into(),
            1 => forger.setup().into(),
            _ => {
                let request = establishment(forger.node_id(), forger.f_seid());
                SessionEstablishmentRequest { recovery_time_stamp: Some(recovery), ..request }.into()
            }
        };
        n4.send(&mut forger, (kind == 2).then_some(Seid(0)), message);
        assert!(n4.plane.has(seid));
        n4.hearts(&smf);
        assert!(!n4.sent.is_empty(), "the forged message is answered, to the SMF");
        n4.sent.clear();
        assert!(n4.has_notice(|it| matches!(it, Notice::RestartNotConfirmed { .. })), "{kind}");
        n4.pass(Span::from_secs(60));
        assert!(n4.plane.has(seid) && n4.n4.session(seid).is_some(), "{kind}");
        assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::RequestAccepted);
    }
    let same = smf.setup();
    let mut replayed = Smf { sequence: 950, ..smf.clone() };
    assert_eq!(n4.ask(&mut replayed, None, same).cause(), Cause::RequestAccepted);
    assert!(n4.plane.has(seid));
    assert_eq!(n4.n4.associations().next().unwrap().recovery, smf.recovery);
}

// Input:  an SMF restarts: its setup, then immediately new sessions, one with an F-SEID of its last epoch, before the
// check.
// Output: the setup and the establishments get immediate responses; after the SMF has responded to a heartbeat the old
// sessions are removed and the new ones stay. A real restart causes no delay.
#[test]
fn a_real_restart_is_served_at_once() {
    let (mut n4, mut smf) = TestN4::associated();
    let old: Vec<_> = (0..3).map(|_| n4.establish(&mut smf)).collect();
    let mut second = Smf { recovery: NtpSeconds(2000), sequence: 0, next_seid: 2, ..smf.clone() };
    n4.associate(&mut second);
    let new = [n4.establish(&mut second), n4.establish(&mut second)];
    assert!(n4.plane.has(old[0]) && n4.plane.has(new[1]));
    n4.hearts(&second);
    assert!(old.iter().all(|seid| !n4.plane.has(*seid)));
    assert!(new.iter().all(|seid| n4.n4.session(*seid).is_some()));
    assert_eq!(n4.n4.associations().next().unwrap().recovery, second.recovery);
    assert_eq!(n4.n4.occupancy().sessions, 2);
    n4.pass(Span::from_secs(60));
    n4.is_quiet();
}

// Input:  an SMF restarts: its setup, then immediately modifications of an earlier session, one in flight and one
// queued, before the check.
// Output: after the SMF has responded to a heartbeat the session is removed, and both are rejected: there is no such
// session.
#[test]
fn requests_after_a_restart_about_earlier_sessions_are_answered() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = n4.establish(&mut smf);
    let mut second = Smf { recovery: NtpSeconds(2000), sequence: 0, ..smf.clone() };
    n4.associate(&mut second);
    n4.plane.pace = Pace::Held;
    n4.send(&mut second, Some(old), activation(1));
    n4.send(&mut second, Some(old), activation(2));
    n4.plane.pace = Pace::AtOnce;
    n4.hearts(&second);
    let causes: Vec<_> = n4.sent.iter().map(|(_, bytes)| Got::from_bytes(bytes).cause()).collect();
    assert_eq!(causes, [Cause::SessionContextNotFound; 2]);
    n4.apply_next();
    assert!(!n4.plane.has(old));
}

// Input:  an SMF that does not respond to heartbeats sets up its association with a later time stamp.
// Output: its old session is removed after the last retransmission of a heartbeat, 12 s later; sessions established
// since stay.
#[test]
fn a_setup_of_an_smf_that_answers_no_heartbeats_is_applied() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = n4.establish(&mut smf);
    smf.recovery = NtpSeconds(2000);
    n4.associate(&mut smf);
    let new = n4.establish(&mut smf);
    n4.pass(Span::from_millis(11_999));
    assert!(n4.plane.has(old) && n4.plane.has(new));
    n4.pass(Span::from_millis(1));
    assert!(!n4.plane.has(old) && n4.plane.has(new));
}

// Input:  a setup of another host with the Node ID of an SMF that has a session and responds; then its session
// requests.
// Output: rejected, with its time stamp or another one; the association and the session are unchanged.
#[test]
fn a_node_id_stays_with_an_smf_that_is_alive() {
    for recovery in [1000, 5000] {
        let (mut n4, smf, seid) = with_name(config());
        let (mut spoofing_host, setup) = named(66);
        let setup =
            AssociationSetupRequest { recovery_time_stamp: RecoveryTimeStamp(NtpSeconds(recovery)), ..setup };
        n4.send(&mut spoofing_host, None, setup);
        assert!(n4.try_next(spoofing_host.addr).is_none(), "it waits until the SMF was asked");
        n4.hearts(&smf);
        assert_eq!(n4.next(spoofing_host.addr).cause(), Cause::RequestRejected);
        let request = establishment(fqdn(), spoofing_host.f_seid());
        assert_eq!(
            n4.ask(&mut spoofing_host, Some(Seid(0)), request).cause(),
            Cause::NoEstablishedAssociation
        );
        assert_eq!(n4.n4.associations().next().unwrap().peer, smf.addr);
        assert!(n4.n4.session(seid).is_some());
    }
}

// Input:  an SMF whose Node ID is a name restarts at another address; its old address does not respond. It repeats its
// setup.
// Output: after the heartbeats to the old address have had no response for 12 s it is accepted, its old session is
// removed, new ones can be established from there and not from the old address.
#[test]
fn an_smf_may_move_when_its_old_address_is_silent() {
    let (mut n4, mut smf, seid) = with_name(config());
    let (mut moved, setup) = named(30);
    let setup = AssociationSetupRequest { recovery_time_stamp: RecoveryTimeStamp(NtpSeconds(7000)), ..setup };
    let bytes = n4.send(&mut moved, None, setup);
    n4.pass(Span::from_secs(6));
    n4.deliver(moved.addr, &bytes);
    assert!(n4.try_next(moved.addr).is_none());
    n4.pass(Span::from_secs(6));
    assert_eq!(n4.next(moved.addr).cause(), Cause::RequestAccepted);
    assert!(!n4.plane.has(seid));
    assert_eq!(n4.n4.associations().map(|it| it.peer).collect::<Vec<_>>(), [moved.addr]);
    session(&mut n4, &mut moved, fqdn());
    n4.sent.clear();
    let request = establishment(fqdn(), smf.f_seid());
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoEstablishedAssociation);
}

// Input:  the configuration lists the hosts of an SMF; a setup with its Node ID from elsewhere while there is no
// association, and from one of its addresses while there is one at the other.
// Output: the first is rejected, the second accepted immediately.
#[test]
fn the_configuration_says_where_a_node_id_is() {
    let addresses = ["192.0.2.10/32", "192.0.2.30/32"].map(|net| net.parse().unwrap()).to_vec();
    let known = KnownSmf { node: Node::Fqdn("SMF.example".into()), addresses, set: None };
    let config = Config { smfs: vec![known], ..config() };
    let mut n4 = TestN4::with(config.clone());
    let (mut spoofing_host, setup) = named(66);
    assert_eq!(n4.ask(&mut spoofing_host, None, setup).cause(), Cause::RequestRejected);
    assert_eq!(n4.n4.associations().count(), 0);
    let (mut n4, _, _) = with_name(config);
    let (mut other, setup) = named(30);
    assert_eq!(n4.ask(&mut other, None, setup).cause(), Cause::RequestAccepted);
}

// Input:  only one SMF may announce an SMF set; another one announces it, too, in a setup and in an update, and tries
// to take over a session of the first.
// Output: it has an association of its own; for it the session does not exist, and a notice reports it.
#[test]
fn a_set_of_smfs_has_the_members_that_are_configured() {
    let set = || Some(SmfSetId(Fqdn::new("set1.example")));
    let known = KnownSmf {
        node: Smf::new(10).node(),
        addresses: vec!["192.0.2.10/32".parse().unwrap()],
        set: Some("SET1.example".into()),
    };
    let mut n4 = TestN4::with(Config { smfs: vec![known], any_set: false, ..config() });
    let (mut smf, mut other) = (Smf::new(10), Smf::new(11));
    for smf in [&mut smf, &mut other] {
        let setup = AssociationSetupRequest { smf_set_id: set(), ..smf.setup() };
        assert_eq!(n4.ask(smf, None, setup).cause(), Cause::RequestAccepted);
    }
    let update =
        AssociationUpdateRequest { smf_set_id: set(), ..AssociationUpdateRequest::new(other.node_id()) };
    assert_eq!(n4.ask(&mut other, None, update).cause(), Cause::RequestAccepted);
    assert_eq!(n4.notices.iter().filter(|it| matches!(it, Notice::SmfSetRejected { .. })).count(), 2);
    let seid = n4.establish(&mut smf);
    let takeover = SessionModificationRequest {
        node_id: Some(other.node_id()),
        ..SessionModificationRequest::default()
    };
    assert_eq!(n4.ask(&mut other, Some(seid), takeover).cause(), Cause::SessionContextNotFound);
}

// Input:  a limit of four associations: an SMF with a session, one that responds to heartbeats, and a host that invents
// a hundred Node IDs, and as many hosts with one each; then a new SMF.
// Output: the two stay, the new one is accepted, and there are never more than four.
#[test]
fn invented_node_ids_evict_no_smf() {
    let limits = Limits { associations: 4, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let seid = n4.establish(&mut smf);
    let mut idle = Smf::new(11);
    n4.associate(&mut idle);
    n4.pass(Span::ZERO);
    n4.hearts(&idle);
    for number in 0..100_u32 {
        let host = SocketAddr::from(([198, 51, 100, if number % 2 == 0 { 1 } else { number as u8 }], 8805));
        let mut inventor = Smf { addr: host, sequence: number, ..Smf::new(1) };
        let name: &'static str = String::leak(format!("invented{number}.example"));
        let setup =
            AssociationSetupRequest::new(NodeId::Fqdn(Fqdn::new(name)), RecoveryTimeStamp(NtpSeconds(1)));
        n4.send(&mut inventor, None, setup);
        assert!(n4.n4.associations().count() <= 4);
    }
    n4.sent.clear();
    let mut new = Smf::new(12);
    n4.associate(&mut new);
    let nodes: Vec<_> = n4.n4.associations().map(|it| it.node.clone()).collect();
    assert!([&smf, &idle, &new].iter().all(|it| nodes.contains(&it.node())), "{nodes:?}");
    assert!(n4.n4.session(seid).is_some());
}

// Input:  an SMF whose heartbeats, every 5 s, contain the current time, and that does not respond to the UPF's, as
// pfcpsim; one that has the current time in its responses, too.
// Output: the sessions stay, with one notice.
#[test]
fn a_recovery_time_stamp_that_keeps_changing_is_ignored() {
    for answers in [false, true] {
        let (mut n4, mut smf) = TestN4::associated();
        let seid = n4.establish(&mut smf);
        for _ in 0..20 {
            n4.pass(Span::from_secs(5));
            smf.recovery = NtpSeconds(smf.recovery.0 + 5);
            let recovery = RecoveryTimeStamp(smf.recovery);
            n4.send(&mut smf, None, HeartbeatRequest::new(recovery));
            for _ in 0..2 {
                match answers {
                    true => n4.hearts(&smf),
                    false => n4.sent.clear(),
                }
                n4.pass(Span::from_secs(2));
                smf.recovery = NtpSeconds(smf.recovery.0 + 2);
            }
        }
        assert!(n4.n4.session(seid).is_some(), "{answers}");
        let clocks =
            n4.notices.iter().filter(|it| matches!(it, Notice::RecoveryClockUnstable { .. })).count();
        assert_eq!(clocks, 1, "{answers}: {:?}", n4.notices);
        n4.sent.clear();
        assert_eq!(
            n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default()).cause(),
            Cause::RequestAccepted
        );
    }
}

// Input:  the operator ends an association immediately, and requests the release of another one, whose SMF responds and
// releases it, or does nothing; and of a node that has none.
// Output: the sessions of the first are removed; the second accepts no new sessions, and ends by its SMF or after 5 s.
#[test]
fn the_operator_ends_associations() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    assert_eq!(n4.n4.end(n4.now, &Smf::new(99).node()), None);
    assert_eq!(n4.n4.end(n4.now, &smf.node()), Some(1));
    n4.drain();
    assert!(!n4.plane.has(seid) && n4.n4.associations().count() == 0);
    assert!(n4.has_notice(|it| matches!(it, Notice::AssociationDown { reason: DownReason::Operator, .. })));
    for releases in [true, false] {
        n4.associate(&mut smf);
        let seid = n4.establish(&mut smf);
        assert!(n4.n4.release(n4.now, &smf.node()) && !n4.n4.release(n4.now, &Smf::new(99).node()));
        n4.drain();
        let received = n4.next(smf.addr);
        assert_eq!(received.kind(), MessageType::AssociationUpdateRequest);
        let answer = AssociationUpdateResponse::new(smf.node_id(), Cause::RequestAccepted);
        n4.deliver(smf.addr, &Smf::answer(&received, None, answer));
        let request = establishment(smf.node_id(), smf.f_seid());
        assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::NoResourcesAvailable);
        assert!(n4.plane.has(seid));
        if releases {
            let node = smf.node_id();
            n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
        } else {
            n4.pass(Span::from_secs(5));
        }
        assert!(!n4.plane.has(seid) && n4.n4.associations().count() == 0, "{releases}");
    }
}

// Input:  an establishment is in flight when its SMF sets up its association again, with the same time stamp, and with
// a later one that it confirms; the establishment is repeated.
// Output: the first gets its response when it is applied, and the repetition the same. The second belongs to a past
// epoch: it ends, and its repetition is a new session.
#[test]
fn an_establishment_in_flight_when_its_smf_renews_the_association() {
    for restarts in [false, true] {
        let (mut n4, mut smf) = TestN4::associated();
        n4.plane.pace = Pace::Held;
        let request = establishment(smf.node_id(), smf.f_seid());
        let bytes = n4.send(&mut smf, Some(Seid(0)), request);
        smf.recovery = NtpSeconds(smf.recovery.0 + u32::from(restarts));
        n4.associate(&mut smf);
        n4.hearts(&smf);
        if restarts {
            n4.deliver(smf.addr, &bytes);
        }
        while !n4.plane.held.is_empty() {
            n4.apply_next();
        }
        let first = n4.next(smf.addr);
        assert_eq!(first.cause(), Cause::RequestAccepted);
        n4.deliver(smf.addr, &bytes);
        assert_eq!(n4.next(smf.addr).bytes, first.bytes);
        assert_eq!((n4.n4.occupancy().sessions, n4.plane.sessions()), (1, 1));
        n4.is_quiet();
    }
}

fn end(seid: u64, addr: DualIp) -> FSeid {
    FSeid { seid: Seid(seid), addr }
}

fn v4(last: u8) -> DualIp {
    Ipv4Addr::new(192, 0, 2, last).into()
}

/// The address of this host, and an IPv6 address of no known peer.
fn both(last: u8) -> DualIp {
    DualIp { v6: Some("2001:db8::66".parse().unwrap()), ..v4(last) }
}

// Input:  establishments of an SMF with an F-SEID at an unknown host, at another SMF, at itself and at another SMF;
// with new and with known message templates; modifications of a session of its own with the same; then a report.
// Output: each is rejected with cause 69 and the F-SEID as offending IE, and changes nothing: the report is sent to the
// SMF.
#[test]
fn no_third_party_gets_the_reports_of_a_session() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let v6_of_other = DualIp { v4: None, v6: Some("2001:db8::11".parse().unwrap()) };
    let alternative = AlternativeSmfIpAddress { addr: v6_of_other, preferred: false };
    let setup =
        AssociationSetupRequest { alternative_smf_ip_addresses: [alternative].into(), ..other.setup() };
    assert_eq!(n4.ask(&mut other, None, setup).cause(), Cause::RequestAccepted);
    let wrong = [v4(66), v4(11), DualIp { v6: v6_of_other.v6, ..v4(10) }];
    let refused = (Cause::MandatoryIeIncorrect, Some(57));
    let mut seids = Vec::new();
    for round in 0..3 {
        for (addr, number) in wrong.iter().zip(100..) {
            let request = establishment(smf.node_id(), end(number, *addr));
            assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).refusal(), refused, "{round}: {addr:?}");
        }
        assert_eq!(n4.n4.occupancy().sessions, round);
        seids.push(n4.establish(&mut smf));
    }
    for (addr, number) in wrong.iter().zip(200..) {
        let request = SessionModificationRequest { cp_f_seid: Some(end(number, *addr)), ..activation(1) };
        assert_eq!(n4.ask(&mut smf, Some(seids[0]), request).refusal(), refused, "{addr:?}");
    }
    n4.uses(seids[0], 1000);
    assert_eq!(n4.next(smf.addr).header.seid, Some(Seid(1)));
    n4.is_quiet();
}

// Input:  F-SEIDs at another address of the setup, at one that the configuration lists for the SMF, and at another SMF
// of its set; one at the SMF and at an IPv6 address of no known peer, which modifications repeat.
// Output: accepted, and reports are sent there; those of the last one to the SMF, and a modification repeats none.
#[test]
fn reports_go_to_all_addresses_of_an_smf_and_its_set() {
    let set = || Some(SmfSetId(Fqdn::new("set1.example")));
    let known = |last: u8, more: &[&str]| KnownSmf {
        node: Smf::new(last).node(),
        addresses: more.iter().map(|net| net.parse().unwrap()).collect(),
        set: Some("set1.example".into()),
    };
    let smfs = vec![known(10, &["192.0.2.10/32", "192.0.2.13/32"]), known(11, &["192.0.2.11/32"])];
    let mut n4 = TestN4::with(Config { smfs, any_set: false, ..config() });
    let mut smf = Smf { others: vec![12], ..Smf::new(10) };
    let setup = AssociationSetupRequest { smf_set_id: set(), ..smf.setup() };
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    for (last, number) in [12, 13, 11].into_iter().zip(300..) {
        let request = establishment(smf.node_id(), end(number, v4(last)));
        let seid = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
        n4.uses(seid, 1);
        assert_eq!(n4.next(Smf::new(last).addr).header.seid, Some(Seid(number)));
    }
    let request = establishment(smf.node_id(), end(400, both(10)));
    let seid = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    n4.uses(seid, 1);
    assert_eq!(n4.next(smf.addr).header.seid, Some(Seid(400)));
    let again = SessionModificationRequest { cp_f_seid: Some(end(400, both(10))), ..activation(1) };
    assert_eq!(n4.ask(&mut smf, Some(seid), again).cause(), Cause::RequestAccepted);
    n4.is_quiet();
}

// Input:  report responses with an F-SEID at a third party, or a redirection there; a change of the SMF of all sessions
// to it.
// Output: the responses are not followed, with a notice; the change is rejected with cause 69 and the address as
// offending IE. Reports continue to be sent to the SMF.
#[test]
fn no_answer_leads_reports_to_a_third_party() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    let foreign = AlternativeSmfIpAddress { addr: v4(66), preferred: true };
    let redirected = SessionReportResponse {
        alternative_smf_ip_address: Some(foreign),
        ..SessionReportResponse::new(Cause::RedirectionRequested)
    };
    let moved = SessionReportResponse {
        cp_f_seid: Some(end(500, v4(66))),
        ..SessionReportResponse::new(Cause::RequestAccepted)
    };
    for (answer, said) in [(redirected, "refused a report"), (moved, "192.0.2.66")] {
        n4.notices.clear();
        n4.uses(seid, 1);
        let report = n4.next(smf.addr);
        n4.deliver(smf.addr, &Smf::answer(&report, Some(seid), answer));
        assert!(n4.has_notice(|it| it.to_string().contains(said)), "{:?}", n4.notices);
        n4.is_quiet();
    }
    let info = SessionChangeInfo {
        cp_ip_addresses: [CpIpAddress(v4(10))].into(),
        ..SessionChangeInfo::new(foreign)
    };
    let request = SessionSetModificationRequest::new(smf.node_id(), [info]);
    let received = n4.ask(&mut smf, None, request);
    let Message::SessionSetModificationResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(
        (response.cause, response.offending_ie),
        (Cause::MandatoryIeIncorrect, Some(OffendingIe(178)))
    );
    n4.uses(seid, 1);
    assert_eq!(n4.next(smf.addr).header.seid, Some(Seid(1)));
}

// Input:  an SMF sets its association up twelve times, each time with another time stamp and 16 other addresses; then it
// updates its addresses, and releases the association.
// Output: no more hosts are remembered as restarted than it has addresses, after the update only that which it still has,
// and none after the release.
#[test]
fn a_host_is_remembered_as_restarted_as_long_as_an_smf_has_it() {
    let (mut n4, mut smf) = TestN4::associated();
    for round in 1..=12 {
        smf.recovery = NtpSeconds(1000 + round % 2);
        smf.others = (0..16).map(|at| (round * 16 + at) as u8).collect();
        n4.associate(&mut smf);
        assert!((1..=17).contains(&n4.n4.occupancy().restarted_hosts), "{:?}", n4.n4.occupancy());
    }
    let address = AlternativeSmfIpAddress { addr: Ipv4Addr::new(192, 0, 2, 255).into(), preferred: false };
    let update = AssociationUpdateRequest {
        alternative_smf_ip_addresses: [address].into(),
        ..AssociationUpdateRequest::new(smf.node_id())
    };
    assert_eq!(n4.ask(&mut smf, None, update).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.occupancy().restarted_hosts, 1);
    let release = AssociationReleaseRequest::new(smf.node_id());
    n4.ask(&mut smf, None, release);
    assert_eq!((n4.n4.occupancy().restarted_hosts, n4.rest()), (0, causeway_n4::Occupancy::default()));
}

// Input:  two SMFs at one host; the first restarts; before it confirms that, the second releases its association, and
// the first establishes a session.
// Output: the earlier session of the first is removed, and the new one stays.
#[test]
fn the_end_of_an_association_leaves_the_restart_of_another_at_its_host() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = n4.establish(&mut smf);
    let mut second = Smf { addr: SocketAddr::new(smf.ip(), 9000), ..Smf::new(10) };
    let setup = AssociationSetupRequest::new(fqdn(), RecoveryTimeStamp(second.recovery));
    assert_eq!(n4.ask(&mut second, None, setup).cause(), Cause::RequestAccepted);
    smf.recovery = NtpSeconds(2000);
    let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
    n4.ask(&mut smf, None, heartbeat);
    let release = AssociationReleaseRequest::new(fqdn());
    assert_eq!(n4.ask(&mut second, None, release).cause(), Cause::RequestAccepted);
    let new = n4.establish(&mut smf);
    n4.shows_its_restart(&smf);
    assert!(!n4.plane.has(old) && n4.plane.has(new));
}
