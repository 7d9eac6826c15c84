//! Session reports: sent until acknowledged, in order, not twice.

use causeway_dataplane::{BackendError, DownlinkData, Event, Op};
use causeway_n4::Notice;
use causeway_pfcp::*;
use causeway_types::{BarId, FarId, PdrId, Qfi, Seid, Span, Teid, UrrId, UsageReportTrigger};

use crate::fixture::{Smf, TestN4, activation, used};

const VOLTH: UsageReportTrigger = UsageReportTrigger::VOLTH;

/// A fixture with one session, and the CP F-SEID that its reports are sent to.
fn with_session() -> (TestN4, Smf, Seid) {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    (n4, smf, seid)
}

fn downlink(session: Seid) -> Event {
    let data = DownlinkData { pdr: PdrId(2), qfi: Qfi::new(9), dscp: Some(0), status: None };
    Event::DownlinkData { session, data }
}

// Input:  a volume threshold is reached.
// Output: a Session Report Request to the SMF's SEID, with the usage; complete after the response.
#[test]
fn a_threshold_is_reported() {
    let (mut n4, smf, seid) = with_session();
    n4.uses(seid, 1000);
    let received = n4.next(smf.addr);
    assert_eq!((received.header.seid, received.usage()), (Some(Seid(1)), vec![(1, 0, 1000, VOLTH)]));
    let Message::SessionReportRequest(request) = received.message() else { panic!("{:?}", received.kind()) };
    assert_eq!(request.report_type, ReportType::USAR);
    n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
    n4.pass(Span::from_secs(100));
    n4.is_quiet();
}

// Input:  the SMF does not respond for a long time, then it does.
// Output: retransmitted after 1, 3 and 7 s, then after pauses, always the same octets; nothing is lost.
#[test]
fn a_report_is_repeated_until_it_is_answered() {
    let (mut n4, smf, seid) = with_session();
    n4.uses(seid, 1000);
    let received = n4.next(smf.addr);
    n4.pass(Span::from_secs(14));
    assert_eq!(n4.sent.len(), 3);
    n4.pass(Span::from_secs(1));
    assert!(n4.notices.contains(&Notice::ReportUnanswered { session: seid, to: smf.addr }));
    n4.pass(Span::from_secs(600));
    assert!(n4.sent.len() > 10);
    assert!(n4.sent.iter().all(|(_, bytes)| *bytes == received.bytes));
    let said = |notice: &&Notice| matches!(notice, Notice::ReportUnanswered { .. });
    assert_eq!(n4.notices.iter().filter(said).count(), 1, "said once");
    n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
    n4.sent.clear();
    n4.pass(Span::from_secs(600));
    n4.is_quiet();
}

// Input:  downlink data, an error indication, inactivity and usage while a modification is in flight.
// Output: one request after its response, with all of it, each type with its IE.
#[test]
fn reports_queued_during_a_plan_share_a_request() {
    let (mut n4, mut smf, seid) = with_session();
    let tunnel = causeway_types::FTeid { teid: Teid::new(5).unwrap(), addr: smf.ip().into() };
    n4.plane.pace = crate::fixture::Pace::Held;
    n4.send(&mut smf, Some(seid), activation(1));
    n4.event(downlink(seid));
    n4.event(Event::ErrorIndication { session: seid, tunnel });
    n4.event(Event::Inactivity { session: seid });
    n4.uses(seid, 1);
    n4.is_quiet();
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    let received = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = received.message() else { panic!("{:?}", received.kind()) };
    let types = ReportType::USAR | ReportType::DLDR | ReportType::ERIR | ReportType::UPIR;
    assert_eq!((request.report_type, received.usage()), (types, vec![(1, 0, 1, VOLTH)]));
    n4.is_quiet();
}

// Input:  usage four times, then usage, downlink data, an error indication and inactivity before any response.
// Output: four requests of usage; downlink data and the error indication are sent immediately, the others after a
// response, together; numbers increase.
#[test]
fn only_ordinary_reports_wait_for_answers() {
    let (mut n4, smf, seid) = with_session();
    let tunnel = causeway_types::FTeid { teid: Teid::new(5).unwrap(), addr: smf.ip().into() };
    (1..6).for_each(|octets| n4.uses(seid, octets));
    n4.event(Event::Inactivity { session: seid });
    let first = n4.next(smf.addr);
    assert_eq!(first.usage(), [(1, 0, 1, VOLTH)]);
    for number in 1..4 {
        assert_eq!(n4.next(smf.addr).usage(), [(1, number, u64::from(number) + 1, VOLTH)]);
    }
    n4.is_quiet();
    n4.event(downlink(seid));
    let paging = n4.next(smf.addr);
    n4.event(Event::ErrorIndication { session: seid, tunnel });
    let error = n4.next(smf.addr);
    n4.is_quiet();
    n4.deliver(smf.addr, &Smf::report_response(&first, seid, Cause::RequestAccepted));
    n4.is_quiet();
    n4.deliver(smf.addr, &Smf::report_response(&paging, seid, Cause::RequestAccepted));
    n4.is_quiet();
    n4.deliver(smf.addr, &Smf::report_response(&error, seid, Cause::RequestAccepted));
    let last = n4.next(smf.addr);
    assert_eq!(last.usage(), [(1, 4, 5, VOLTH)]);
    let types = |received: &crate::fixture::Got| {
        let Message::SessionReportRequest(request) = received.message() else {
            panic!("{:?}", received.kind())
        };
        request.report_type
    };
    assert_eq!(types(&last), ReportType::USAR | ReportType::UPIR);
    assert_eq!((types(&paging), types(&error)), (ReportType::DLDR, ReportType::ERIR));
    let Message::SessionReportRequest(request) = paging.message() else { panic!("{:?}", paging.kind()) };
    let report = request.downlink_data_report.unwrap();
    assert_eq!(report.pdr_ids.iter().collect::<Vec<_>>(), [PdrId(2)]);
    let service = report.downlink_data_service_informations.first().unwrap();
    assert_eq!((service.qfi, service.paging_policy), (Qfi::new(9), Some(0)));
    let Message::SessionReportRequest(request) = error.message() else { panic!("{:?}", error.kind()) };
    assert_eq!(request.error_indication_report.unwrap().remote_f_teids.first(), Some(FTeid::from(tunnel)));
    n4.deliver(smf.addr, &Smf::report_response(&last, seid, Cause::RequestAccepted));
    n4.is_quiet();
}

// Input:  a usage report that gets no response; 3.5 s later downlink data is received for an idle UE.
// Output: the downlink data is reported immediately, and the usage no more than N1 times again until then.
#[test]
fn paging_does_not_wait_for_a_lost_usage_report() {
    let (mut n4, smf, seid) = with_session();
    n4.uses(seid, 1000);
    let usage = n4.next(smf.addr);
    n4.pass(Span::from_millis(3500));
    assert_eq!(n4.sent.len(), 2);
    assert!(n4.sent.drain(..).all(|(_, bytes)| bytes == usage.bytes));
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    let Message::SessionReportRequest(request) = received.message() else { panic!("{:?}", received.kind()) };
    assert_eq!(request.report_type, ReportType::DLDR);
}

// Input:  four usage reports without a response, more usage of the same URR, and the end of its quota.
// Output: the end of the quota is reported immediately, with the usage before it, in the order of their numbers.
#[test]
fn quota_exhaustion_is_reported_at_once() {
    let (mut n4, smf, seid) = with_session();
    (1..6).for_each(|octets| n4.uses(seid, octets));
    for _ in 0..4 {
        n4.next(smf.addr);
    }
    n4.is_quiet();
    let usage = used(n4.now, UrrId(1), 6, UsageReportTrigger::VOLQU);
    n4.event(Event::Usage { session: seid, usage: vec![usage] });
    let received = n4.next(smf.addr);
    assert_eq!(received.usage(), [(1, 4, 5, VOLTH), (1, 5, 6, UsageReportTrigger::VOLQU)]);
}

// Input:  a usage report without a response, and modifications that repeat the CP F-SEID.
// Output: the report is retransmitted N1 times by its timer, and never for a modification.
#[test]
fn a_modification_repeats_no_report() {
    let (mut n4, mut smf, seid) = with_session();
    n4.uses(seid, 1000);
    let report = n4.next(smf.addr);
    let cp = n4.n4.session(seid).unwrap().cp;
    for step in 0..14 {
        let request = SessionModificationRequest { cp_f_seid: Some(cp), ..activation(1) };
        let bytes = n4.send(&mut smf, Some(seid), request);
        assert!(!bytes.is_empty());
        let answers = n4.sent.iter().filter(|(_, bytes)| *bytes != report.bytes).count();
        assert_eq!(answers, step + 1);
        n4.pass(Span::from_secs(1));
    }
    assert_eq!(n4.sent.iter().filter(|(_, bytes)| *bytes == report.bytes).count(), 3);
}

// Input:  a packet of DSCP 46; the SMF responds with Service not supported.
// Output: the same report without a Paging Policy Indication value, immediately; no later report has one.
#[test]
fn an_smf_without_paging_policies_gets_reports_without() {
    let (mut n4, smf, seid) = with_session();
    let data = DownlinkData { pdr: PdrId(2), qfi: Qfi::new(9), dscp: Some(46), status: None };
    let policy = |received: &crate::fixture::Got| {
        let Message::SessionReportRequest(request) = received.message() else {
            panic!("{:?}", received.kind())
        };
        request
            .downlink_data_report
            .unwrap()
            .downlink_data_service_informations
            .first()
            .unwrap()
            .paging_policy
    };
    n4.event(Event::DownlinkData { session: seid, data });
    let first = n4.next(smf.addr);
    assert_eq!(policy(&first), Some(46));
    n4.deliver(smf.addr, &Smf::report_response(&first, seid, Cause::ServiceNotSupported));
    assert!(n4.has_notice(|notice| matches!(notice, Notice::NoPagingPolicy { .. })));
    let again = n4.next(smf.addr);
    assert_eq!(policy(&again), None);
    n4.deliver(smf.addr, &Smf::report_response(&again, seid, Cause::RequestAccepted));
    n4.event(Event::DownlinkData { session: seid, data });
    assert_eq!(policy(&n4.next(smf.addr)), None);
}

// Input:  downlink data of the same PDR while its report is in flight.
// Output: one report.
#[test]
fn downlink_data_is_reported_once() {
    let (mut n4, smf, seid) = with_session();
    n4.event(downlink(seid));
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
    n4.is_quiet();
}

/// The downlink is buffered for an idle UE again, with notification.
fn release_of_access() -> SessionModificationRequest<'static> {
    let action = Some(ApplyAction::BUFF | ApplyAction::NOCP);
    let far = UpdateFar { apply_action: action, ..UpdateFar::new(FarId(2)) };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
}

// Input:  downlink data is reported without a response; the downlink is forwarded and then buffered again, or its
// buffering is provisioned anew, or the data plane fails to apply that; downlink data is received twice again.
// Output: it is reported once more, at once, in a request of its own; not after the failure.
#[test]
fn downlink_data_of_a_new_buffering_period_is_reported() {
    for (requests, is_applied) in [
        (&[activation(1), release_of_access()][..], true),
        (&[release_of_access()][..], true),
        (&[release_of_access()][..], false),
    ] {
        let (mut n4, mut smf, seid) = with_session();
        n4.event(downlink(seid));
        let first = n4.next(smf.addr);
        for request in requests {
            if !is_applied {
                n4.plane.failures.push_back(BackendError::TimedOut.into());
            }
            let received = n4.ask(&mut smf, Some(seid), request.clone());
            assert_eq!(received.cause() == Cause::RequestAccepted, is_applied);
        }
        n4.event(downlink(seid));
        n4.event(downlink(seid));
        if is_applied {
            let second = n4.next(smf.addr);
            let Message::SessionReportRequest(request) = second.message() else {
                panic!("{:?}", second.kind())
            };
            assert_eq!(request.report_type, ReportType::DLDR);
            assert_ne!(second.header.sequence, first.header.sequence);
        }
        n4.is_quiet();
    }
}

// Input:  the SMF does not know the session of a report.
// Output: it is removed here too, with its other reports in flight.
#[test]
fn a_session_that_the_smf_does_not_know_is_removed() {
    let (mut n4, smf, seid) = with_session();
    n4.uses(seid, 1);
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&received, Seid(0), Cause::SessionContextNotFound));
    assert!(n4.notices.contains(&Notice::SessionUnknownToPeer { session: seid }));
    assert_eq!((n4.plane.sessions(), n4.rest()), (0, Default::default()));
    n4.is_quiet();
}

// Input:  the SMF rejects a report for another reason.
// Output: a notice, and no retransmission; the next report is sent.
#[test]
fn a_refused_report_is_not_repeated() {
    let (mut n4, smf, seid) = with_session();
    n4.uses(seid, 1);
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestRejected));
    let refused = Notice::ReportRefused { session: seid, cause: Cause::RequestRejected };
    assert!(n4.notices.contains(&refused));
    let received = n4.next(smf.addr);
    let Message::SessionReportRequest(next) = received.message() else { panic!("{:?}", received.kind()) };
    assert_eq!(next.report_type, ReportType::DLDR);
    n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
    n4.pass(Span::from_secs(600));
    n4.is_quiet();
}

// Input:  a deletion while four reports are in flight and another is queued.
// Output: the queued one is in the deletion response, with its number; the others are retransmitted N1 times and then
// given up, since their session has ended.
#[test]
fn a_deletion_takes_waiting_usage_with_it() {
    let (mut n4, mut smf, seid) = with_session();
    (1..6).for_each(|octets| n4.uses(seid, 1000 * octets));
    let reports: Vec<_> = (0..4).map(|_| n4.next(smf.addr)).collect();
    let usage: Vec<_> = reports.iter().flat_map(|report| report.usage()).collect();
    let expected = [(1, 0, 1000, VOLTH), (1, 1, 2000, VOLTH), (1, 2, 3000, VOLTH), (1, 3, 4000, VOLTH)];
    assert_eq!(usage, expected);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(received.usage(), [(1, 4, 5000, VOLTH), (1, 5, 30, UsageReportTrigger::TERMR)]);
    n4.pass(Span::from_secs(120));
    assert_eq!(n4.sent.len(), 4 * 3);
    for report in reports {
        assert_eq!(n4.sent.iter().filter(|(_, bytes)| *bytes == report.bytes).count(), 3);
    }
    assert_eq!(n4.n4.occupancy().unanswered_requests, 0);
}

// Input:  a session gets the UE address of another one, which ends with usage and a report in flight; the SMF responds to
// none of its reports.
// Output: they are retransmitted N1 times and count as lost; nothing of the session is left, and the new one stays.
#[test]
fn reports_of_a_session_that_has_ended_are_given_up() {
    let (mut n4, mut smf, seid) = with_session();
    n4.uses(seid, 1000);
    smf.next_seid = 0x1_0000;
    let successor = n4.establish(&mut smf);
    let told: Vec<_> =
        std::iter::from_fn(|| n4.try_next(smf.addr)).flat_map(|report| report.usage()).collect();
    assert_eq!(told, [(1, 0, 1000, VOLTH), (1, 1, 30, UsageReportTrigger::TEBUR)]);
    assert_eq!(n4.n4.occupancy().sessions, 2);
    n4.pass(Span::from_secs(15));
    assert_eq!((n4.sent.len(), n4.n4.counters().lost_reports), (2 * 3, 2));
    let left = n4.n4.occupancy();
    assert_eq!((left.sessions, left.unanswered_requests, left.waiting_reports), (1, 0, 0));
    assert!(n4.n4.session(successor).is_some());
}

// Input:  an event of a session that was deleted.
// Output: dropped and counted.
#[test]
fn an_event_after_the_end_is_dropped() {
    let (mut n4, mut smf, seid) = with_session();
    n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    n4.uses(seid, 1000);
    n4.is_quiet();
    assert_eq!(n4.n4.counters().late_events, 1);
}

// Input:  a usage report is in flight; meanwhile the CP F-SEID of the session moves to another address.
// Output: it is sent there immediately, under its number and to the new SEID, and a response from there is accepted.
#[test]
fn a_report_follows_its_session() {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![12], ..Smf::new(10) });
    n4.associate(&mut smf);
    let seid = n4.establish(&mut smf);
    n4.uses(seid, 1000);
    let before = n4.next(smf.addr);
    let successor = Smf::new(12);
    let cp = causeway_types::FSeid { seid: Seid(4711), addr: successor.ip().into() };
    let request = SessionModificationRequest { cp_f_seid: Some(cp), ..activation(1) };
    n4.ask(&mut smf, Some(seid), request);
    let after = n4.next(successor.addr);
    assert_eq!((after.header.sequence, after.header.seid), (before.header.sequence, Some(cp.seid)));
    n4.deliver(successor.addr, &Smf::report_response(&after, seid, Cause::RequestAccepted));
    n4.pass(Span::from_secs(100));
    n4.is_quiet();
}

/// A response that instructs the UPF to drop buffered packets and to change BAR 1.
fn instructing(received: &crate::fixture::Got, seid: Seid) -> Vec<u8> {
    let update_bar = UpdateBar {
        dl_buffering_suggested_packet_count: Some(DlBufferingSuggestedPacketCount(7)),
        ..UpdateBar::new(BarId(1))
    };
    let answer = SessionReportResponse {
        flags: Some(SessionReportResponseFlags::DROBU),
        update_bar: Some(update_bar),
        ..SessionReportResponse::new(Cause::RequestAccepted)
    };
    Smf::answer(received, Some(seid), answer)
}

// Input:  a response with instructions to drop buffered packets and to change an unknown BAR; then an existing one.
// Output: the first causes a notice and has no effect, since it cannot be rejected; the second is applied after the
// modification in flight, and before the later one.
#[test]
fn instructions_in_report_responses_are_queued() {
    let (mut n4, mut smf, seid) = with_session();
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    n4.deliver(smf.addr, &instructing(&received, seid));
    assert!(n4.has_notice(|notice| matches!(notice, Notice::InstructionsFailed { .. })));
    assert_eq!((n4.plane.done.len(), n4.n4.occupancy().unanswered_requests), (1, 0));

    let create_bar = Some(CreateBar::new(BarId(1)));
    n4.event(downlink(seid));
    let received = n4.next(smf.addr);
    n4.plane.pace = crate::fixture::Pace::Held;
    n4.send(&mut smf, Some(seid), SessionModificationRequest { create_bar, ..Default::default() });
    n4.deliver(smf.addr, &instructing(&received, seid));
    n4.send(&mut smf, Some(seid), activation(1));
    for _ in 0..3 {
        n4.apply_next();
    }
    let done: Vec<_> = n4.plane.done.iter().skip(1).map(|plan| plan.ops().clone()).collect();
    assert!(matches!(done[0][..], [Op::PutBar(_)]), "{done:?}");
    assert!(matches!(done[1][..], [Op::DropBuffered, Op::ExtendBuffering(_)]), "{done:?}");
    assert!(matches!(done[2][..], [Op::PutFar(_)]), "{done:?}");
    assert_eq!(n4.n4.occupancy().plans, 0);
}

// Input:  a usage event and a modification that fails, in either order.
// Output: the report is sent; its number is the next.
#[test]
fn a_failed_modification_does_not_disturb_reports() {
    let (mut n4, mut smf, seid) = with_session();
    n4.plane.failures.push_back(BackendError::TimedOut.into());
    assert_eq!(n4.ask(&mut smf, Some(seid), activation(1)).cause(), Cause::SystemFailure);
    n4.uses(seid, 5);
    assert_eq!(n4.next(smf.addr).usage(), [(1, 0, 5, VOLTH)]);
}
