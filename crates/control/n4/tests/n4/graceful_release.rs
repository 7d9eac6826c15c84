//! The enhanced release of an association: usage first (TS 29.244 clause 5.18).

use causeway_n4::{DownReason, Notice};
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span};

use crate::fixture::{Got, Smf, TestN4, config, establishment};

fn associated() -> (TestN4, Smf) {
    let (mut n4, mut smf) = (TestN4::with(config()), Smf::new(10));
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::EPFAR), ..smf.setup() };
    n4.ask(&mut smf, None, setup);
    (n4, smf)
}

fn preparation(smf: &Smf) -> AssociationUpdateRequest<'static> {
    let flags = Some(AssociationUpdateFlags::PARPS);
    AssociationUpdateRequest { flags, ..AssociationUpdateRequest::new(smf.node_id()) }
}

/// Responds to the next report, and returns its contents.
fn answer_report(n4: &mut TestN4, smf: &Smf) -> (ReportType, Option<SessionReportFlags>) {
    let received = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = received.message() else { panic!("{:?}", received.kind()) };
    n4.deliver(smf.addr, &Smf::report_response(&received, Seid(0), Cause::RequestAccepted));
    (request.report_type, request.flags)
}

fn is_all_sent(n4: &mut TestN4, smf: &Smf) -> bool {
    let received = n4.next(smf.addr);
    let Message::AssociationUpdateRequest(request) = received.message() else {
        panic!("{:?}", received.kind())
    };
    let answer = AssociationUpdateResponse::new(smf.node_id(), Cause::RequestAccepted);
    n4.deliver(smf.addr, &Smf::answer(&received, None, answer));
    request.association_release_request == Some(ReleaseRequestFlags::URSS)
}

// Input:  the SMF prepares the release of an association with two sessions, and releases it when all usage is reported.
// Output: accepted; usage and end of each session; then the announcement that all is reported, only after both
// responses; released.
#[test]
fn an_smf_prepares_the_release() {
    let (mut n4, mut smf) = associated();
    let (one, _) = (n4.establish(&mut smf), n4.establish(&mut smf));
    let request = preparation(&smf);
    assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
    assert_eq!((n4.plane.sessions(), n4.n4.sessions().count()), (0, 0));
    let deletion = SessionDeletionRequest::default();
    assert_eq!(last_answer(&mut n4, &mut smf, one, deletion), Cause::SessionContextNotFound);
    let late = establishment(smf.node_id(), smf.f_seid());
    assert_eq!(last_answer(&mut n4, &mut smf, Seid(0), late), Cause::NoResourcesAvailable);
    let expected = (ReportType::USAR, Some(SessionReportFlags::PSDBU));
    assert_eq!(answer_report(&mut n4, &smf), expected);
    assert_eq!(answer_report(&mut n4, &smf), expected);
    assert!(is_all_sent(&mut n4, &smf));
    assert_eq!(n4.n4.occupancy().sessions, 0);
    let node = smf.node_id();
    assert_eq!(n4.ask(&mut smf, None, AssociationReleaseRequest::new(node)).cause(), Cause::RequestAccepted);
    assert_eq!((n4.n4.occupancy().associations, n4.rest()), (0, causeway_n4::Occupancy::default()));
}

/// The cause of the response to a session request, whatever else was sent before.
fn last_answer<'a>(n4: &mut TestN4, smf: &mut Smf, seid: Seid, request: impl Into<Message<'a>>) -> Cause {
    n4.send(smf, Some(seid), request);
    let (_, bytes) = n4.sent.pop_back().expect("an answer");
    Got::from_bytes(&bytes).cause()
}

// Input:  a session without usage to report (its URR was removed), and the release is prepared.
// Output: a report of its end alone (UISR).
#[test]
fn a_session_without_usage_is_reported_as_ended() {
    let (mut n4, mut smf) = associated();
    let cp = smf.f_seid();
    let mut request = establishment(smf.node_id(), cp);
    let without = |pdr: CreatePdr<'static>| CreatePdr { urr_ids: Many::default(), ..pdr };
    request.create_pdrs = request.create_pdrs.iter().map(without).collect::<Vec<_>>().into();
    request.create_urrs = Many::default();
    n4.ask(&mut smf, Some(Seid(0)), request);
    let request = preparation(&smf);
    n4.ask(&mut smf, None, request);
    assert_eq!(answer_report(&mut n4, &smf), (ReportType::UISR, Some(SessionReportFlags::PSDBU)));
    assert!(is_all_sent(&mut n4, &smf));
}

// Input:  all usage is reported, and the SMF does not release the association.
// Output: after the configured time it ends without it.
#[test]
fn an_association_ends_in_time_without_its_smf() {
    let (mut n4, mut smf) = associated();
    let request = preparation(&smf);
    n4.ask(&mut smf, None, request);
    assert!(is_all_sent(&mut n4, &smf));
    n4.pass(Span::from_millis(4999));
    assert_eq!(n4.n4.occupancy().associations, 1);
    n4.pass(Span::from_millis(1));
    assert_eq!(n4.n4.occupancy().associations, 0);
    assert!(n4.has_notice(|it| matches!(it, Notice::AssociationDown { .. })));
}

// Input:  a shutdown with an SMF that supports the enhanced release.
// Output: it is announced; the session is reported and ended; all is announced as reported; the SMF releases; finished.
#[test]
fn a_shutdown_reports_usage_first() {
    let (mut n4, mut smf) = associated();
    n4.establish(&mut smf);
    n4.n4.shutdown(n4.now);
    n4.drain();
    let received = n4.next(smf.addr);
    let Message::AssociationUpdateRequest(request) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(
        (request.flags, request.association_release_request),
        (Some(AssociationUpdateFlags::PARPS), None)
    );
    assert_eq!(n4.plane.sessions(), 1);
    let node = smf.node_id();
    let answer = AssociationUpdateResponse::new(node, Cause::RequestAccepted);
    n4.deliver(smf.addr, &Smf::answer(&received, None, answer));
    assert_eq!(answer_report(&mut n4, &smf).1, Some(SessionReportFlags::PSDBU));
    assert!(is_all_sent(&mut n4, &smf));
    n4.ask(&mut smf, None, AssociationReleaseRequest::new(node));
    assert!(n4.n4.is_finished());
}

// Input:  the last reports get no response while the SMF releases the association.
// Output: nothing is left.
#[test]
fn a_release_does_not_wait_for_responses() {
    let (mut n4, mut smf) = associated();
    n4.establish(&mut smf);
    let request = preparation(&smf);
    n4.ask(&mut smf, None, request);
    n4.pass(Span::from_secs(2));
    let node = smf.node_id();
    n4.send(&mut smf, None, AssociationReleaseRequest::new(node));
    assert_eq!(n4.rest(), causeway_n4::Occupancy::default());
}

// Input:  the operator releases an association with a session; the SMF accepts that its usage is reported first, but
// never responds to the report.
// Output: the association ends after the configured time, and nothing is left.
#[test]
fn a_release_by_the_operator_does_not_wait_for_report_responses() {
    let (mut n4, mut smf) = associated();
    n4.establish(&mut smf);
    assert!(n4.n4.release(n4.now, &smf.node()));
    n4.drain();
    let announcement = n4.next(smf.addr);
    let answer = AssociationUpdateResponse::new(smf.node_id(), Cause::RequestAccepted);
    n4.deliver(smf.addr, &Smf::answer(&announcement, None, answer));
    assert_eq!(n4.next(smf.addr).kind(), MessageType::SessionReportRequest);
    n4.pass(Span::from_millis(4999));
    assert_eq!(n4.n4.occupancy().associations, 1);
    n4.pass(Span::from_millis(1));
    assert_eq!((n4.n4.occupancy().associations, n4.rest()), (0, causeway_n4::Occupancy::default()));
    let by_operator =
        |it: &Notice| matches!(it, Notice::AssociationDown { reason: DownReason::Operator, .. });
    assert!(n4.has_notice(by_operator), "{:?}", n4.notices);
}

// Input:  the SMF prepares the release of an association with a session, and never responds to its report; then the
// operator releases the association, too, before the report is given up, or does not.
// Output: the association ends after the configured time if the operator has released it; otherwise the report is lost
// after N1 retransmissions, and the SMF is told that all is reported.
#[test]
fn a_release_by_the_smf_waits_for_report_responses_in_bounds() {
    for by_operator in [true, false] {
        let (mut n4, mut smf) = associated();
        n4.establish(&mut smf);
        let request = preparation(&smf);
        n4.ask(&mut smf, None, request);
        if by_operator {
            assert!(n4.n4.release(n4.now, &smf.node()));
            n4.pass(Span::from_secs(5));
            assert_eq!((n4.n4.occupancy().associations, n4.rest()), (0, causeway_n4::Occupancy::default()));
            continue;
        }
        n4.pass(Span::from_millis(14_999));
        assert_eq!((n4.n4.occupancy().sessions, n4.sent.len()), (1, 4));
        n4.sent.clear();
        n4.pass(Span::from_millis(1));
        assert_eq!((n4.n4.occupancy().sessions, n4.n4.counters().lost_reports), (0, 1));
        assert!(is_all_sent(&mut n4, &smf));
        n4.pass(Span::from_secs(5));
        assert_eq!(n4.n4.occupancy().associations, 0);
    }
}

/// Two SMFs of one set, each with an association.
fn set_of_two() -> (TestN4, Smf, Smf) {
    let (mut n4, mut one, mut two) = (TestN4::with(config()), Smf::new(10), Smf::new(11));
    for smf in [&mut one, &mut two] {
        let setup = AssociationSetupRequest {
            cp_function_features: Some(CpFeatures::EPFAR | CpFeatures::MPAS),
            smf_set_id: Some(SmfSetId(Fqdn::new("set1.example"))),
            ..smf.setup()
        };
        n4.ask(smf, None, setup);
    }
    (n4, one, two)
}

// Input:  two SMFs of one set; one prepares the release of its association, and responds to the report of the end of its
// only session with the Node ID of the other one.
// Output: all usage is announced as reported to the first.
#[test]
fn a_session_that_ends_at_another_smf_does_not_hold_up_the_release() {
    let (mut n4, mut one, two) = set_of_two();
    n4.establish(&mut one);
    let request = preparation(&one);
    n4.ask(&mut one, None, request);
    let report = n4.next(one.addr);
    let accepted = SessionReportResponse::new(Cause::RequestAccepted);
    let answer = SessionReportResponse { node_id: Some(two.node_id()), ..accepted };
    n4.deliver(one.addr, &Smf::answer(&report, Some(Seid(0)), answer));
    assert_eq!(n4.n4.occupancy().sessions, 0);
    assert!(is_all_sent(&mut n4, &one));
}

// Input:  the SMF prepares the release of an association with a session in an FQ-CSID; it does not respond to the report of
// its end, and deletes the sessions of the FQ-CSID.
// Output: all usage is announced as reported.
#[test]
fn a_deleted_set_of_sessions_does_not_hold_up_the_release() {
    let (mut n4, mut smf) = associated();
    let csid = FqCsid { address: CsidAddress::Ip(smf.ip()), csids: &[[0, 7]], node: Some(CsidNode::PgwC) };
    let request = establishment(smf.node_id(), smf.f_seid());
    let request = SessionEstablishmentRequest { fq_csids: [csid].into(), ..request };
    assert_eq!(n4.ask(&mut smf, Some(Seid(0)), request).cause(), Cause::RequestAccepted);
    let request = preparation(&smf);
    n4.ask(&mut smf, None, request);
    assert_eq!(n4.next(smf.addr).kind(), MessageType::SessionReportRequest);
    let deletion = SessionSetDeletionRequest {
        fq_csids: [csid].into(),
        ..SessionSetDeletionRequest::new(smf.node_id())
    };
    assert_eq!(n4.ask(&mut smf, None, deletion).cause(), Cause::RequestAccepted);
    assert_eq!(n4.n4.occupancy().sessions, 0);
    assert!(is_all_sent(&mut n4, &smf));
}

// Input:  two SMFs of one set; one prepares the release of its association, does not respond to the report of the end of its
// only session, and restarts.
// Output: the report goes to the other one; all usage is announced as reported to the first.
#[test]
fn a_session_that_is_handed_over_does_not_hold_up_the_release() {
    let (mut n4, mut one, two) = set_of_two();
    n4.establish(&mut one);
    let request = preparation(&one);
    n4.ask(&mut one, None, request);
    assert_eq!(n4.next(one.addr).kind(), MessageType::SessionReportRequest);
    one.recovery = NtpSeconds(one.recovery.0 + 5);
    let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(one.recovery));
    n4.ask(&mut one, None, heartbeat);
    n4.shows_its_restart(&one);
    assert_eq!(n4.next(two.addr).kind(), MessageType::SessionReportRequest);
    n4.sent.retain(|(_, bytes)| Got::from_bytes(bytes).kind() != MessageType::SessionReportRequest);
    assert!(is_all_sent(&mut n4, &one));
}

// Input:  the SMF prepares the release, does not respond to the report of the end of its session, and releases the
// association.
// Output: accepted, without an announcement before.
#[test]
fn a_released_association_announces_nothing() {
    let (mut n4, mut smf) = associated();
    n4.establish(&mut smf);
    let request = preparation(&smf);
    n4.ask(&mut smf, None, request);
    n4.sent.clear();
    let release = AssociationReleaseRequest::new(smf.node_id());
    assert_eq!(n4.ask(&mut smf, None, release).cause(), Cause::RequestAccepted);
    n4.is_quiet();
}
