//! SMF sets and session sets.

use std::net::{Ipv4Addr, SocketAddr};

use causeway_dataplane::{DownlinkData, Event};
use causeway_n4::{Config, Heartbeat, Limits, Notice, PathFailure, Retransmission};
use causeway_pfcp::*;
use causeway_types::{FSeid, NtpSeconds, PdrId, Seid, Span};

use crate::fixture::{Smf, TestN4, bundle, config, encode, establishment};

const CSID: FqCsid<'static> = FqCsid {
    address: CsidAddress::Ip(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10))),
    csids: &[[0, 7]],
    node: Some(CsidNode::PgwC),
};

fn alternative(last: u8, preferred: bool) -> AlternativeSmfIpAddress {
    AlternativeSmfIpAddress { addr: Ipv4Addr::new(192, 0, 2, last).into(), preferred }
}

/// One association for an SMF set: the SMF at .10, with others at .12 and, preferred, .13.
fn one_for_all() -> (TestN4, Smf) {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let setup = AssociationSetupRequest {
        cp_function_features: Some(CpFeatures::SSET),
        alternative_smf_ip_addresses: [alternative(12, false), alternative(13, true)].into(),
        ..smf.setup()
    };
    n4.ask(&mut smf, None, setup);
    (n4, smf)
}

fn member(smf: &Smf) -> AssociationSetupRequest<'static> {
    AssociationSetupRequest {
        cp_function_features: Some(CpFeatures::MPAS),
        smf_set_id: Some(SmfSetId(Fqdn::new("set1.example"))),
        ..smf.setup()
    }
}

/// Two SMFs of one set, at .10 and .11, each with an association.
pub(crate) fn each_its_own(config: Config) -> (TestN4, Smf, Smf) {
    let (mut n4, mut one, mut two) = (TestN4::with(config), Smf::new(10), Smf::new(11));
    for smf in [&mut one, &mut two] {
        let setup = member(smf);
        assert_eq!(n4.ask(smf, None, setup).cause(), Cause::RequestAccepted);
    }
    (n4, one, two)
}

/// Heartbeats every 5 s with one retransmission; sessions of unreachable SMFs are purged.
fn purging() -> Config {
    let policy = Retransmission {
        first_wait: Span::from_secs(1),
        retries: 1,
        backoff: 1,
        longest_wait: Span::from_secs(1),
    };
    let heartbeat = Heartbeat { interval: Span::from_secs(5), retransmission: policy };
    Config { heartbeat, on_path_failure: PathFailure::Purge, ..config() }
}

fn at(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 8805))
}

// Input:  a report without a response of the SMF or the preferred other one.
// Output: after N1 retransmissions it is sent to the preferred one, with SEID 0 and the old F-SEID; then to the next;
// its response contains its F-SEID, and further reports are sent there.
#[test]
fn a_report_goes_to_another_smf_of_the_set() {
    let (mut n4, mut smf) = one_for_all();
    let seid = n4.establish(&mut smf);
    n4.uses(seid, 1000);
    n4.pass(Span::from_secs(15));
    while n4.try_next(smf.addr).is_some() {}
    let first = n4.next(at(13));
    let Message::SessionReportRequest(request) = first.message() else { panic!("{:?}", first.kind()) };
    let old = FSeid { seid: Seid(1), addr: smf.ip().into() };
    assert_eq!((first.header.seid, request.old_cp_f_seid), (Some(Seid(0)), Some(old)));
    assert_eq!(first.usage()[0].2, 1000);
    n4.pass(Span::from_secs(15));
    let second = n4.next(at(12));
    assert_eq!(second.header.sequence, first.header.sequence);
    let new = FSeid { seid: Seid(500), addr: Ipv4Addr::new(192, 0, 2, 12).into() };
    let answer =
        SessionReportResponse { cp_f_seid: Some(new), ..SessionReportResponse::new(Cause::RequestAccepted) };
    n4.deliver(at(12), &Smf::answer(&second, Some(seid), answer));
    n4.uses(seid, 5);
    let third = loop {
        let received = n4.next(at(12));
        if received.header.sequence != second.header.sequence {
            break received;
        }
    };
    assert_eq!((third.header.seid, third.usage()[0].2), (Some(Seid(500)), 5));
}

// Input:  an SMF responds to a report with Redirection Requested, and the other one redirects it back.
// Output: the other gets the report; the redirection back is not followed.
#[test]
fn a_report_is_redirected_once() {
    let (mut n4, mut smf) = one_for_all();
    let seid = n4.establish(&mut smf);
    n4.uses(seid, 1000);
    let redirect = |last| SessionReportResponse {
        alternative_smf_ip_address: Some(alternative(last, false)),
        ..SessionReportResponse::new(Cause::RedirectionRequested)
    };
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::answer(&received, Some(seid), redirect(12)));
    let again = n4.next(at(12));
    assert_eq!((again.header.seid, again.usage()), (Some(Seid(0)), received.usage()));
    n4.deliver(at(12), &Smf::answer(&again, Some(seid), redirect(12)));
    n4.is_quiet();
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
}

// Input:  another SMF of the set modifies a session, with its Node ID and F-SEID, then deletes it; an unassociated peer
// tries both.
// Output: accepted; the session belongs to the other association. For the unassociated peer there is no session.
#[test]
fn another_smf_of_the_set_takes_over() {
    let (mut n4, mut one, mut two) = each_its_own(config());
    let mut unassociated_peer = Smf::new(20);
    n4.associate(&mut unassociated_peer);
    let seid = n4.establish(&mut one);
    let cp = FSeid { seid: Seid(700), addr: two.ip().into() };
    let takeover = SessionModificationRequest {
        cp_f_seid: Some(cp),
        node_id: Some(two.node_id()),
        ..SessionModificationRequest::default()
    };
    assert_eq!(
        n4.ask(&mut unassociated_peer, Some(seid), takeover.clone()).cause(),
        Cause::SessionContextNotFound
    );
    assert_eq!(n4.ask(&mut two, Some(seid), takeover).cause(), Cause::RequestAccepted);
    let view = n4.n4.session(seid).unwrap();
    assert_eq!((view.node, view.cp), (&two.node(), cp));
    n4.uses(seid, 1);
    assert_eq!(n4.next(two.addr).header.seid, Some(Seid(700)));
    let received = n4.ask(&mut one, Some(seid), SessionDeletionRequest::default());
    assert_eq!((received.cause(), received.header.seid), (Cause::RequestAccepted, Some(Seid(700))));
}

// Input:  a modification with the Node ID of an SMF outside the set, or one that does not belong to the sender.
// Output: rejected; nothing has changed.
#[test]
fn a_node_id_of_another_smf_is_refused() {
    let (mut n4, mut one, two) = each_its_own(config());
    let mut other = Smf::new(20);
    n4.associate(&mut other);
    let seid = n4.establish(&mut one);
    for node in [other.node_id(), two.node_id()] {
        let request =
            SessionModificationRequest { node_id: Some(node), ..SessionModificationRequest::default() };
        assert_eq!(n4.ask(&mut one, Some(seid), request).cause(), Cause::NoEstablishedAssociation);
    }
    assert_eq!(n4.n4.session(seid).unwrap().node, &one.node());
}

// Input:  heartbeats to one of two SMFs of a set get no response, and sessions of unreachable SMFs are to be purged.
// Output: its association ends; its sessions are handed over to the other one, which gets their reports.
#[test]
fn sessions_survive_an_smf_of_a_set() {
    let (mut n4, mut one, two) = each_its_own(purging());
    let seid = n4.establish(&mut one);
    for _ in 0..12 {
        n4.pass(Span::from_secs(1));
        while let Some(received) = n4.try_next(two.addr) {
            n4.deliver(two.addr, &two.heartbeat_response(&received));
        }
    }
    let nodes: Vec<_> = n4.n4.associations().map(|it| it.node.clone()).collect();
    assert_eq!(nodes, [two.node()]);
    assert!(n4.plane.has(seid));
    assert_eq!(n4.n4.session(seid).unwrap().node, &two.node());
}

// Input:  an SMF of a set restarts with a report of its session in flight; the other one responds to that with an F-SEID of its own; more usage.
// Output: the session is the other one's, which gets the report in flight, with SEID 0, and then the next one; the restarted SMF, which does not know
// the session any more, gets none.
#[test]
fn reports_of_a_restarted_smf_go_to_another_one_of_the_set() {
    let (mut n4, mut one, two) = each_its_own(config());
    let seid = n4.establish(&mut one);
    n4.uses(seid, 1000);
    let first = n4.next(one.addr);
    one.recovery = NtpSeconds(one.recovery.0 + 5);
    let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(one.recovery));
    n4.ask(&mut one, None, heartbeat);
    n4.shows_its_restart(&one);
    while n4.try_next(one.addr).is_some() {}
    assert_eq!(n4.n4.session(seid).unwrap().node, &two.node());
    let again = n4.next(two.addr);
    assert_eq!((again.header.sequence, again.header.seid), (first.header.sequence, Some(Seid(0))));
    let new = FSeid { seid: Seid(500), addr: two.ip().into() };
    let answer =
        SessionReportResponse { cp_f_seid: Some(new), ..SessionReportResponse::new(Cause::RequestAccepted) };
    n4.deliver(two.addr, &Smf::answer(&again, Some(seid), answer));
    n4.uses(seid, 5);
    let next = n4.next(two.addr);
    assert_eq!((next.header.seid, next.usage()[0].2), (Some(Seid(500)), 5));
    assert!(n4.try_next(one.addr).is_none());
}

// Input:  an SMF of a set restarts, and establishes another session before it confirms that; then usage of both.
// Output: the earlier session and its report go to the other SMF; the new one and its report stay.
#[test]
fn a_restarted_smf_keeps_its_new_sessions() {
    let (mut n4, mut one, two) = each_its_own(config());
    let old = n4.establish(&mut one);
    one.recovery = NtpSeconds(one.recovery.0 + 5);
    let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(one.recovery));
    n4.ask(&mut one, None, heartbeat);
    let new = n4.establish(&mut one);
    n4.shows_its_restart(&one);
    let nodes = [old, new].map(|seid| n4.n4.session(seid).unwrap().node.clone());
    assert_eq!(nodes, [two.node(), one.node()]);
    assert!(n4.has_notice(|notice| matches!(notice, Notice::SessionsHandedOver { sessions: 1, .. })));
    n4.uses(old, 1);
    n4.uses(new, 2);
    assert_eq!((n4.next(two.addr).usage()[0].2, n4.next(one.addr).usage()[0].2), (1, 2));
}

/// A modification by which an SMF of the set takes a session over.
fn takeover(smf: &Smf, seid: u64) -> SessionModificationRequest<'static> {
    SessionModificationRequest {
        cp_f_seid: Some(FSeid { seid: Seid(seid), addr: smf.ip().into() }),
        node_id: Some(smf.node_id()),
        ..SessionModificationRequest::default()
    }
}

fn downlink(session: Seid) -> Event {
    let data = DownlinkData { pdr: PdrId(2), qfi: None, dscp: None, status: None };
    Event::DownlinkData { session, data }
}

// Input:  downlink data is reported to an SMF that does not respond; another one of the set takes the session over and
// gets the report; the first one releases its association; the second one responds, and more downlink data is received.
// Output: the response is accepted, nothing waits for another one, and the new downlink data is reported.
#[test]
fn a_report_in_flight_outlives_the_association_that_its_session_left() {
    let (mut n4, mut one, mut two) = each_its_own(config());
    let seid = n4.establish(&mut one);
    n4.event(downlink(seid));
    let report = n4.next(one.addr);
    let request = takeover(&two, 700);
    assert_eq!(n4.ask(&mut two, Some(seid), request).cause(), Cause::RequestAccepted);
    let again = n4.next(two.addr);
    assert_eq!(again.header.sequence, report.header.sequence);
    let node = one.node_id();
    n4.ask(&mut one, None, AssociationReleaseRequest::new(node));
    n4.deliver(two.addr, &Smf::report_response(&again, seid, Cause::RequestAccepted));
    assert!(!n4.has_notice(|notice| matches!(notice, Notice::Discarded { .. })), "{:?}", n4.notices);
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
    n4.event(downlink(seid));
    let next = n4.next(two.addr);
    assert_ne!(next.header.sequence, again.header.sequence);
    assert_eq!(next.kind(), MessageType::SessionReportRequest);
}

// Input:  a limit of one outstanding report; sessions of one SMF with a report in flight and one that waits; another SMF
// of the set takes the first session over, and a session of its own has a report, too.
// Output: the report of the waiting session is sent to its SMF immediately; that of the other SMF's own session when the
// report that has moved is answered.
#[test]
fn a_report_in_flight_leaves_the_window_of_its_former_smf() {
    // A part has its share of the limit, at least one.
    if crate::PARTS > 1 {
        return;
    }
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut one, mut two) = each_its_own(Config { limits, ..config() });
    let [moved, waits] = [1, 2].map(|_| n4.establish(&mut one));
    let own = n4.establish(&mut two);
    n4.uses(moved, 1);
    n4.uses(waits, 2);
    assert_eq!(n4.next(one.addr).usage()[0].2, 1);
    n4.is_quiet();
    let request = takeover(&two, 700);
    n4.ask(&mut two, Some(moved), request);
    assert_eq!(n4.next(one.addr).usage()[0].2, 2);
    n4.uses(own, 3);
    let again = n4.next(two.addr);
    assert_eq!(again.usage()[0].2, 1);
    n4.is_quiet();
    n4.deliver(two.addr, &Smf::report_response(&again, moved, Cause::RequestAccepted));
    assert_eq!(n4.next(two.addr).usage()[0].2, 3);
}

// Input:  a limit of one outstanding report; an SMF has two sessions, one with a report in flight and one that waits to
// report, when its heartbeats get no response; sessions of unreachable SMFs are to be purged.
// Output: the other SMF of the set gets both reports, one after the other; nothing waits for a response.
#[test]
fn reports_survive_an_smf_of_a_set() {
    // A part has its share of the limit, at least one.
    if crate::PARTS > 1 {
        return;
    }
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut one, two) = each_its_own(Config { limits, ..purging() });
    let seids = [1, 2].map(|_| n4.establish(&mut one));
    n4.uses(seids[0], 1);
    n4.uses(seids[1], 2);
    let mut told = Vec::new();
    for _ in 0..60 {
        n4.pass(Span::from_secs(1));
        while let Some(received) = n4.try_next(two.addr) {
            let answer = match received.kind() {
                MessageType::HeartbeatRequest => two.heartbeat_response(&received),
                _ => {
                    told.extend(received.usage().iter().map(|usage| usage.2));
                    Smf::report_response(&received, Seid(0), Cause::RequestAccepted)
                }
            };
            n4.deliver(two.addr, &answer);
        }
    }
    let nodes: Vec<_> = n4.n4.associations().map(|it| it.node.clone()).collect();
    assert_eq!((nodes, told), (vec![two.node()], vec![1, 2]));
    assert_eq!(n4.n4.occupancy().waiting_reports, 0);
}

// Input:  a restart of an entity of an SMF that is not its main one, and that has the F-SEID of one of two sessions.
// Output: only that session is removed.
#[test]
fn a_restarted_entity_loses_its_own_sessions() {
    let (mut n4, mut smf) = (TestN4::new(), Smf::new(10));
    let alternatives = [alternative(12, false)].into();
    let setup = AssociationSetupRequest { alternative_smf_ip_addresses: alternatives, ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    let kept = n4.establish(&mut smf);
    let cp = FSeid { seid: Seid(50), addr: Ipv4Addr::new(192, 0, 2, 12).into() };
    let request = establishment(smf.node_id(), cp);
    let lost = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    let mut entity = Smf::new(12);
    for recovery in [100, 101] {
        entity.recovery = NtpSeconds(recovery);
        n4.ask(&mut entity, None, HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(recovery))));
        n4.hearts(&entity);
    }
    assert!(n4.plane.has(kept) && !n4.plane.has(lost));
}

// Input:  three sessions of which two are in an FQ-CSID; its deletion by their SMF, by another one, and without any.
// Output: the two are removed without reports; none for the other SMF; Conditional IE missing.
#[test]
fn a_set_of_sessions_is_deleted() {
    let (mut n4, mut smf) = TestN4::associated();
    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let kept = n4.establish(&mut smf);
    for _ in 0..2 {
        let request = establishment(smf.node_id(), smf.f_seid());
        let request = SessionEstablishmentRequest { fq_csids: [CSID].into(), ..request };
        n4.ask(&mut smf, Some(Seid(0)), request);
    }
    let deletion = |smf: &Smf| SessionSetDeletionRequest {
        fq_csids: [CSID].into(),
        ..SessionSetDeletionRequest::new(smf.node_id())
    };
    let request = deletion(&other);
    assert_eq!(n4.ask(&mut other, None, request).cause(), Cause::RequestAccepted);
    assert_eq!(n4.plane.sessions(), 3);
    let request = deletion(&smf);
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    assert!(n4.plane.sessions() == 1 && n4.plane.has(kept));
    n4.is_quiet();
    let node = smf.node_id();
    let received = n4.ask(&mut smf, None, SessionSetDeletionRequest::new(node));
    let Message::SessionSetDeletionResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!((response.cause, response.offending_ie), (Cause::ConditionalIeMissing, Some(OffendingIe(65))));
}

// Input:  a datagram with ten requests about session sets, by turns a modification and a deletion; then one of each with
//         datagrams of their own.
// Output: the first four are handled; the others are refused, since each may be a step over all sessions. Those with datagrams of
//         their own are handled.
#[test]
fn a_datagram_holds_few_requests_about_session_sets() {
    let (mut n4, smf) = one_for_all();
    let request = |sequence: u32| {
        let info =
            SessionChangeInfo { fq_csids: [CSID].into(), ..SessionChangeInfo::new(alternative(12, false)) };
        if sequence.is_multiple_of(2) {
            encode(None, sequence, SessionSetModificationRequest::new(smf.node_id(), [info]))
        } else {
            let deletion = SessionSetDeletionRequest::new(smf.node_id());
            encode(None, sequence, SessionSetDeletionRequest { fq_csids: [CSID].into(), ..deletion })
        }
    };
    let mut datagrams = vec![bundle(&(70..80).map(request).collect::<Vec<_>>())];
    datagrams.extend([80, 81].map(request));
    let mut causes = Vec::new();
    for datagram in datagrams {
        n4.deliver(smf.addr, &datagram);
        causes.extend(std::iter::from_fn(|| n4.try_next(smf.addr)).map(|received| received.cause()));
    }
    let accepted = |count| std::iter::repeat_n(Cause::RequestAccepted, count);
    let refused = std::iter::repeat_n(Cause::EntityInCongestion, 6);
    assert_eq!(causes, accepted(4).chain(refused).chain(accepted(2)).collect::<Vec<_>>());
}

// Input:  sessions by FQ-CSID, by group and by the address of their F-SEID; each is moved to another SMF; one has a
// report in flight.
// Output: reports are sent there from now on, including the one in flight, with SEID 0 and the old F-SEID; F-SEID and
// group in the response apply from then on.
#[test]
fn reports_of_session_sets_are_redirected() {
    for by in ["FQ-CSID", "group", "address"] {
        let (mut n4, mut smf) = one_for_all();
        let request = establishment(smf.node_id(), smf.f_seid());
        let request = SessionEstablishmentRequest {
            fq_csids: [CSID].into(),
            group_id: Some(GroupId(b"g1")),
            ..request
        };
        let seid = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
        n4.uses(seid, 1000);
        let lost = n4.next(smf.addr);
        let mut info = SessionChangeInfo::new(alternative(12, false));
        match by {
            "FQ-CSID" => info.fq_csids = [CSID].into(),
            "group" => info.group_ids = [GroupId(b"g1")].into(),
            _ => info.cp_ip_addresses = [CpIpAddress(smf.ip().into())].into(),
        }
        let node = smf.node_id();
        let received = n4.ask(&mut smf, None, SessionSetModificationRequest::new(node, [info]));
        assert_eq!(received.cause(), Cause::RequestAccepted);
        let moved = n4.next(at(12));
        assert_eq!((moved.header.seid, moved.usage()), (Some(Seid(0)), lost.usage()), "{by}");
        let cp = FSeid { seid: Seid(600), addr: Ipv4Addr::new(192, 0, 2, 12).into() };
        let answer = SessionReportResponse {
            cp_f_seid: Some(cp),
            group_id: Some(GroupId(b"g2")),
            ..SessionReportResponse::new(Cause::RequestAccepted)
        };
        n4.deliver(at(12), &Smf::answer(&moved, Some(seid), answer));
        n4.uses(seid, 5);
        assert_eq!(n4.next(at(12)).header.seid, Some(Seid(600)));
    }
}

// Input:  three sessions, each with a report in flight; one message moves all of them to one SMF of the set and another
// in turn, 500 times, and last to the first.
// Output: each session is moved once: its report is sent once, to the last receiver.
#[test]
fn many_changes_of_a_session_move_it_once() {
    let (mut n4, mut smf) = one_for_all();
    let seids = [1, 2, 3].map(|_| n4.establish(&mut smf));
    for seid in seids {
        n4.uses(seid, 1000);
        n4.next(smf.addr);
    }
    let to = |last| {
        let mut info = SessionChangeInfo::new(alternative(last, false));
        info.cp_ip_addresses = [CpIpAddress(smf.ip().into())].into();
        info
    };
    let changes: Vec<_> = (0..1001).map(|number| to(if number % 2 == 0 { 12 } else { 13 })).collect();
    let request = SessionSetModificationRequest::new(smf.node_id(), changes);
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    let moved = |it: &Notice| matches!(it, Notice::SessionSetModified { sessions: 3, .. });
    assert!(n4.has_notice(moved), "{:?}", n4.notices);
    for _ in seids {
        assert_eq!(n4.next(at(12)).header.seid, Some(Seid(0)));
    }
    n4.is_quiet();
}

// Input:  a change without an IE that identifies sessions; one by an unassociated peer.
// Output: Conditional IE missing with the FQ-CSID as offending IE; no association.
#[test]
fn a_change_of_no_sessions_is_refused() {
    let (mut n4, mut smf) = one_for_all();
    let request = |smf: &Smf| {
        SessionSetModificationRequest::new(smf.node_id(), [SessionChangeInfo::new(alternative(12, true))])
    };
    let (mine, mut unassociated_peer) = (request(&smf), Smf::new(20));
    assert_eq!(n4.ask(&mut smf, None, mine).cause(), Cause::ConditionalIeMissing);
    let theirs = request(&unassociated_peer);
    assert_eq!(n4.ask(&mut unassociated_peer, None, theirs).cause(), Cause::NoEstablishedAssociation);
}

// Input:  an establishment with a later recovery time stamp than the association's.
// Output: the sessions of the earlier epoch are removed, the new one exists.
#[test]
fn an_establishment_shows_a_restart() {
    let (mut n4, mut smf) = TestN4::associated();
    let old = n4.establish(&mut smf);
    let recovery = Some(RecoveryTimeStamp(NtpSeconds(smf.recovery.0 + 5)));
    let request = establishment(smf.node_id(), smf.f_seid());
    let request = SessionEstablishmentRequest { recovery_time_stamp: recovery, ..request };
    n4.send(&mut smf, Some(Seid(0)), request);
    smf.recovery = NtpSeconds(smf.recovery.0 + 5);
    n4.shows_its_restart(&smf);
    let new = n4.next(smf.addr).up_seid();
    assert!(!n4.plane.has(old) && n4.plane.has(new));
}
