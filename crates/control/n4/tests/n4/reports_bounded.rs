//! Limits of session reports in flight and queued.

use std::collections::BTreeSet;

use causeway_dataplane::{Applied, DownlinkData, Event};
use causeway_model::{Capabilities, Usage};
use causeway_n4::{Config, Limits, LossReason, Notice};
use causeway_pfcp::*;
use causeway_types::{FSeid, PdrId, Seid, Span, UrrId, UsageReportTrigger};

use crate::fixture::{
    Got, Pace, Smf, TestN4, activation, capabilities, config, establishment, query, used, volume_urr,
};

// Input:  a limit of one outstanding report of an SMF, and reports of three sessions.
// Output: one at a time, first come first served.
#[test]
fn outstanding_reports_are_bounded() {
    // A part has its share of the limit, at least one.
    if crate::PARTS > 1 {
        return;
    }
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let sessions: Vec<_> = (0..3).map(|_| n4.establish(&mut smf)).collect();
    for (seid, octets) in sessions.iter().zip(1..) {
        n4.uses(*seid, octets);
    }
    for (seid, octets) in sessions.iter().zip(1..) {
        let received = n4.next(smf.addr);
        n4.is_quiet();
        assert_eq!(received.usage()[0].2, octets);
        n4.deliver(smf.addr, &Smf::report_response(&received, *seid, Cause::RequestAccepted));
    }
    assert_eq!(n4.rest().unanswered_requests, 0);
}

// Input:  a limit of one outstanding report, a session that uses it, and its removal by the SMF's "not found".
// Output: the next session reports.
#[test]
fn the_end_of_a_session_makes_room() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let (one, two) = (n4.establish(&mut smf), n4.establish(&mut smf));
    n4.uses(one, 1);
    n4.uses(two, 2);
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&received, Seid(0), Cause::SessionContextNotFound));
    assert_eq!(n4.next(smf.addr).usage()[0].2, 2);
}

// Input:  many usages without a response of the SMF, and a queue of 4 reports of a session.
// Output: nothing is lost: the octets add up.
#[test]
fn waiting_usage_is_bounded_and_not_lost() {
    let limits = Limits { queued_reports_per_session: 4, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let seid = n4.establish(&mut smf);
    for _ in 0..1000 {
        n4.uses(seid, 7);
    }
    assert_eq!(n4.n4.occupancy().waiting_reports, 4);
    let mut told: Vec<_> = (0..4).map(|_| n4.next(smf.addr)).collect();
    n4.is_quiet();
    n4.deliver(smf.addr, &Smf::report_response(&told[0], seid, Cause::RequestAccepted));
    told.push(n4.next(smf.addr));
    let usage: Vec<_> = told.iter().flat_map(|received| received.usage()).collect();
    assert_eq!(usage.iter().map(|usage| usage.2).sum::<u64>(), 7000);
    assert!(usage.iter().zip(0..).all(|(usage, number)| usage.1 == number), "{usage:?}");
}

// Input:  a limit of one outstanding report; the SMF sets up its association again and retains only the session with a
// queued report, not the one with a report in flight.
// Output: the other one's report is not retransmitted; the retained session reports.
#[test]
fn a_retained_session_reports_when_others_go() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    smf.others = vec![12];
    n4.associate(&mut smf);
    let gone = n4.establish(&mut smf);
    let successor = Smf::new(12);
    let cp = FSeid { seid: Seid(4711), addr: successor.ip().into() };
    let request = establishment(smf.node_id(), cp);
    let kept = n4.ask(&mut smf, Some(Seid(0)), request).up_seid();
    n4.uses(gone, 1);
    n4.uses(kept, 2);
    n4.next(smf.addr);
    let retention = SessionRetentionInformation {
        cp_entity_ip_addresses: [CpEntityIpAddress(cp.addr)].into(),
        ..SessionRetentionInformation::default()
    };
    let setup = AssociationSetupRequest { session_retention_information: Some(retention), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    assert_eq!(n4.next(successor.addr).usage()[0].2, 2);
    n4.pass(Span::from_secs(5));
    assert!(n4.sent.iter().all(|(to, _)| *to == successor.addr));
}

/// The number of usage reports that are to follow a deletion response.
fn to_follow(received: &Got) -> usize {
    let Message::SessionDeletionResponse(response) = received.message() else {
        panic!("{:?}", received.kind())
    };
    match response.additional_usage_reports {
        Some(AdditionalUsageReports::Count(count)) => count.into(),
        other => panic!("{other:?}"),
    }
}

/// The largest PFCP message that a UDP datagram over IPv4 holds.
const DATAGRAM: usize = 65_507;

/// A session with 2,000 URRs, as `upf.max_pdrs_per_session: 1000` permits.
fn with_many_urrs() -> (TestN4, Smf, Seid) {
    with_urrs(2000)
}

/// A session with so many URRs.
fn with_urrs(count: u32) -> (TestN4, Smf, Seid) {
    let capabilities = Capabilities { max_pdrs_per_session: 1000, ..capabilities() };
    let (mut n4, mut smf) = (TestN4::with_capabilities(config(), capabilities), Smf::new(10));
    n4.associate(&mut smf);
    let seid = n4.establish(&mut smf);
    for first in (1..=count).step_by(500) {
        let urrs: Vec<_> =
            (first.max(2)..first + 500).take_while(|id| *id <= count).map(volume_urr).collect();
        let more = SessionModificationRequest { create_urrs: urrs.into(), ..Default::default() };
        assert_eq!(n4.ask(&mut smf, Some(seid), more).cause(), Cause::RequestAccepted);
    }
    (n4, smf, seid)
}

// Input:  a session with 2,000 URRs is deleted; the SMF repeats the request; then it acknowledges each report.
// Output: a response that fits into a datagram, with the number of usage reports that follow, and the same again; these follow in
//         Session Report Requests. Each URR is reported once, nothing is too long, and nothing is left at the end.
#[test]
fn usage_that_exceeds_a_deletion_response_follows_it() {
    let (mut n4, mut smf, seid) = with_many_urrs();
    let request = n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let response = n4.next(smf.addr);
    assert_eq!(
        (response.kind(), response.cause()),
        (MessageType::SessionDeletionResponse, Cause::RequestAccepted)
    );
    assert!(response.bytes.len() <= DATAGRAM, "{} octets", response.bytes.len());
    let mut told = response.usage();
    assert!(told.len() > 300, "{} usage reports", told.len());
    assert_eq!(told.len() + to_follow(&response), 2000);
    while told.len() < 2000 {
        let report = n4.next(smf.addr);
        assert_eq!(report.kind(), MessageType::SessionReportRequest);
        told.extend(report.usage());
        n4.deliver(smf.addr, &Smf::report_response(&report, seid, Cause::RequestAccepted));
    }
    assert_eq!(told.iter().map(|usage| usage.0).collect::<BTreeSet<_>>(), (1..=2000).collect());
    assert!(told.iter().all(|usage| (usage.2, usage.3) == (30, UsageReportTrigger::TERMR)));
    assert!(!n4.has_notice(|notice| matches!(notice, Notice::ResponseTooLong { .. })));
    n4.is_quiet();
    n4.deliver(smf.addr, &request);
    assert_eq!(n4.next(smf.addr).bytes, response.bytes);
    assert_eq!((n4.rest().sessions, n4.rest().unanswered_requests), (0, 0));
}

// Input:  the same, and while its reports are in flight the SMF asks for the session again, and establishes another one with its
//         CP F-SEID.
// Output: there is no such session; the other one is established, and stays when the reports are acknowledged.
#[test]
fn a_deleted_session_with_reports_is_gone_for_its_smf() {
    let (mut n4, mut smf, seid) = with_many_urrs();
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let mut told = n4.next(smf.addr).usage().len();
    let again = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(again.cause(), Cause::SessionContextNotFound);
    smf.next_seid = 0;
    let other = n4.establish(&mut smf);
    while told < 2000 {
        let report = n4.next(smf.addr);
        told += report.usage().len();
        n4.deliver(smf.addr, &Smf::report_response(&report, seid, Cause::RequestAccepted));
    }
    assert_eq!(n4.rest().sessions, 1);
    let cause = n4.ask(&mut smf, Some(other), SessionDeletionRequest::default()).cause();
    assert_eq!((cause, n4.rest().sessions), (Cause::RequestAccepted, 0));
}

/// Acknowledges every report of the session, and returns the URRs of their usage.
fn acknowledge(n4: &mut TestN4, smf: &Smf, seid: Seid) -> Vec<u32> {
    let mut told = Vec::new();
    while let Some(report) = n4.try_next(smf.addr) {
        told.extend(report.usage().iter().map(|usage| usage.0));
        n4.deliver(smf.addr, &Smf::report_response(&report, seid, Cause::RequestAccepted));
    }
    told
}

// Input:  a session with 100 URRs; its SMF queries all of them again and again, and removes one, and acknowledges no
// report; then it forwards to a gNB, acknowledges all reports, and queries again.
// Output: the first query is accepted; the others and the removal are refused with PFCP entity in congestion, and no more
// reports wait. The change of the FAR is accepted. No usage of an accepted query is lost.
#[test]
fn usage_that_follows_modifications_is_bounded() {
    let (mut n4, mut smf, seid) = with_urrs(100);
    let first = n4.ask(&mut smf, Some(seid), query());
    assert_eq!((first.cause(), first.usage().len()), (Cause::RequestAccepted, 10));
    let waiting = n4.rest().waiting_reports;
    assert_eq!(waiting, 50);
    let gone = SessionModificationRequest {
        remove_urrs: [RemoveUrr::new(UrrId(9))].into(),
        ..SessionModificationRequest::default()
    };
    for request in [query(), query(), gone] {
        assert_eq!(n4.ask(&mut smf, Some(seid), request).cause(), Cause::EntityInCongestion);
        assert_eq!(n4.rest().waiting_reports, waiting);
    }
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(7)).cause(), Cause::RequestAccepted);
    assert_eq!(acknowledge(&mut n4, &smf, seid).len(), 90);
    assert_eq!(n4.ask(&mut smf, Some(seid), query()).cause(), Cause::RequestAccepted);
    assert_eq!(acknowledge(&mut n4, &smf, seid).len(), 90);
}

// Input:  a session with 100 URRs, all of which are queried, so that 50 usage reports wait; then downlink data for its UE.
// Output: the downlink data is reported at once, and nothing is lost.
#[test]
fn usage_that_follows_a_modification_does_not_hold_up_paging() {
    let (mut n4, mut smf, seid) = with_urrs(100);
    n4.ask(&mut smf, Some(seid), query());
    let data = DownlinkData { pdr: PdrId(2), qfi: None, dscp: None, status: None };
    n4.sent.clear();
    n4.event(Event::DownlinkData { session: seid, data });
    let report = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = report.message() else { panic!("{:?}", report.kind()) };
    assert!(request.report_type.contains(ReportType::DLDR));
    assert_eq!(n4.n4.counters().lost_reports, 0);
}

/// Usage with so many event times that no message holds it.
fn too_long(n4: &TestN4) -> Usage {
    let usage = used(n4.now, UrrId(1), 5, UsageReportTrigger::VOLTH);
    Usage { events: vec![n4.now; 9000], ..usage }
}

// Input:  a limit of one outstanding report of an SMF; five reports that no message holds, then another one.
// Output: the five are lost, with notices; the other one is sent.
#[test]
fn a_report_that_is_too_long_holds_up_no_other() {
    let limits = Limits { outstanding_reports: 1, ..Limits::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { limits, ..config() });
    let session = n4.establish(&mut smf);
    for _ in 0..5 {
        let usage = vec![too_long(&n4)];
        n4.event(Event::Usage { session, usage });
    }
    assert_eq!((n4.n4.counters().lost_reports, n4.rest().unanswered_requests), (5, 0));
    assert!(n4.has_notice(|it| matches!(it, Notice::ReportLost { reason: LossReason::TooLong, .. })));
    n4.uses(session, 7);
    assert_eq!(n4.next(smf.addr).usage()[0].2, 7);
}

// Input:  a deletion that yields usage that no message holds.
// Output: accepted; the usage is lost, with a notice, and nothing is left of the session.
#[test]
fn a_deletion_with_a_report_that_is_too_long_is_answered() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let (id, _) = n4.plane.held.pop_front().unwrap();
    let applied = Applied { usage: vec![too_long(&n4)], ..Applied::default() };
    n4.n4.applied(n4.now, id, Ok(applied));
    n4.drain();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    assert_eq!((n4.rest().sessions, n4.n4.counters().lost_reports), (0, 1));
}

// Input:  the deletion of a session with 2,000 URRs is in flight when its SMF establishes another one with its UE address.
// Output: the usage that exceeds the response to the deletion follows it, as without the other session.
#[test]
fn usage_follows_a_deletion_whatever_replaces_the_session() {
    let (mut n4, mut smf, seid) = with_many_urrs();
    n4.plane.pace = Pace::Held;
    n4.send(&mut smf, Some(seid), SessionDeletionRequest::default());
    let first = FSeid { seid: Seid(1), addr: smf.ip().into() };
    let cp_f_seid = smf.f_seid();
    let request = SessionEstablishmentRequest { cp_f_seid, ..establishment(smf.node_id(), first) };
    n4.send(&mut smf, Some(Seid(0)), request);
    n4.apply_next();
    let response = n4.next(smf.addr);
    let told = response.usage().len();
    assert_eq!(told + to_follow(&response), 2000);
    assert_eq!(told + acknowledge(&mut n4, &smf, seid).len(), 2000);
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    assert_eq!(n4.rest().sessions, 1);
}
