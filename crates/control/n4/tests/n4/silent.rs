//! SMFs that do not respond to reports that they cannot decode: what they are sent instead.

use causeway_dataplane::Event;
use causeway_model::Usage;
use causeway_n4::{Config, Direction, MessageResult, Notice, Retransmission};
use causeway_pfcp::*;
use causeway_types::{Seid, Span, UrrId, UsageInformation, UsageReportTrigger};

use crate::fixture::{Got, Smf, TestN4, config, query, used};

const USAGE_INFORMATION: u16 = 90;

/// Usage before and after a Monitoring Time, as Usage Information indicates.
fn uses_around_a_monitoring_time(n4: &mut TestN4, session: Seid) {
    let usage = used(n4.now, UrrId(1), 500, UsageReportTrigger::VOLTH);
    let part = |part| Usage { part, ..usage.clone() };
    let usage = vec![part(UsageInformation::BEF), part(UsageInformation::AFT)];
    n4.event(Event::Usage { session, usage });
}

/// The Usage Information of each usage report of a report.
fn parts(received: &Got) -> Vec<Option<UsageInformation>> {
    let Message::SessionReportRequest(request) = received.message() else { panic!("{:?}", received.kind()) };
    request.usage_reports.iter().map(|report| report.usage_information).collect()
}

fn all() -> Vec<Option<UsageInformation>> {
    vec![Some(UsageInformation::BEF), Some(UsageInformation::AFT)]
}

/// The SMF sends a heartbeat, which shows that it is alive.
fn lives(n4: &mut TestN4, smf: &mut Smf) {
    let request = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
    assert_eq!(n4.ask(smf, None, request).kind(), MessageType::HeartbeatResponse);
}

fn left_out(n4: &TestN4) -> Vec<Vec<u16>> {
    n4.n4.associations().map(|view| view.left_out().collect()).collect()
}

/// A fixture in which the SMF has responded to the last retransmission of a report only, and its session.
fn with_a_silent_smf() -> (TestN4, Smf, Seid) {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    uses_around_a_monitoring_time(&mut n4, seid);
    let first = n4.next(smf.addr);
    n4.pass(Span::from_millis(2500));
    lives(&mut n4, &mut smf);
    n4.pass(Span::from_millis(4500));
    let sent: Vec<_> = std::iter::from_fn(|| n4.try_next(smf.addr)).collect();
    assert_eq!(sent.len(), 3);
    assert!(sent[..2].iter().all(|received| received.bytes == first.bytes));
    assert_eq!((parts(&first), parts(&sent[2])), (all(), vec![None; 2]));
    assert_eq!((sent[2].header.sequence, sent[2].usage()), (first.header.sequence, first.usage()));
    n4.deliver(smf.addr, &Smf::report_response(&sent[2], seid, Cause::RequestAccepted));
    (n4, smf, seid)
}

// Input:  a report with Usage Information to an SMF that does not respond to it and sends a heartbeat meanwhile; it
// responds to the last retransmission.
// Output: that one has the same number and usage, and no Usage Information. Later reports, and responses to the SMF,
// have none from the first transmission on, with a notice, a counter and a view. The usage reports of another SMF have
// it.
#[test]
fn a_silent_smf_gets_reports_that_it_can_read() {
    let (mut n4, mut smf, seid) = with_a_silent_smf();
    let said = |it: &Notice| matches!(it, Notice::IesLeftOut { ies, .. } if ies == "Usage Information");
    assert_eq!(n4.notices.iter().filter(|it| said(it)).count(), 1);
    let shortened = n4.n4.counters().message(
        MessageType::SessionReportRequest,
        Direction::Sent,
        MessageResult::Shortened,
    );
    assert_eq!((shortened, left_out(&n4)), (1, vec![vec![USAGE_INFORMATION]]));
    n4.is_quiet();
    uses_around_a_monitoring_time(&mut n4, seid);
    let next = n4.next(smf.addr);
    assert_eq!(parts(&next), [None; 2]);
    n4.deliver(smf.addr, &Smf::report_response(&next, seid, Cause::RequestAccepted));
    // Usage queued behind four reports in flight is added to the responses.
    (0..5).for_each(|_| uses_around_a_monitoring_time(&mut n4, seid));
    (0..4).for_each(|_| drop(n4.next(smf.addr)));
    let received = n4.ask(&mut smf, Some(seid), query());
    let Message::SessionModificationResponse(answer) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(answer.usage_reports.iter().map(|it| it.usage_information).collect::<Vec<_>>(), [None; 3]);
    uses_around_a_monitoring_time(&mut n4, seid);
    let received = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    let Message::SessionDeletionResponse(answer) = received.message() else {
        panic!("{:?}", received.kind())
    };
    assert_eq!(answer.usage_reports.iter().map(|it| it.usage_information).collect::<Vec<_>>(), [None; 3]);

    let mut other = Smf::new(11);
    n4.associate(&mut other);
    let its = n4.establish(&mut other);
    uses_around_a_monitoring_time(&mut n4, its);
    assert_eq!(parts(&n4.next(other.addr)), all());
    assert_eq!(n4.notices.iter().filter(|it| said(it)).count(), 1);
}

// Input:  an SMF without Usage Information sets up its association again; another one releases it and sets it up again.
// Output: both get everything again.
#[test]
fn what_is_left_out_is_forgotten_with_the_association() {
    for releases in [false, true] {
        let (mut n4, mut smf, _) = with_a_silent_smf();
        if releases {
            let request = AssociationReleaseRequest::new(smf.node_id());
            assert_eq!(n4.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
        }
        n4.associate(&mut smf);
        assert_eq!(left_out(&n4), [Vec::<u16>::new()]);
        let seid = n4.establish(&mut smf);
        uses_around_a_monitoring_time(&mut n4, seid);
        assert_eq!(parts(&n4.next(smf.addr)), all());
    }
}

// Input:  a report with Usage Information to an SMF that sends nothing at all; one without it to an SMF that is alive
// but does not respond; one to an SMF that is alive and responds the third time.
// Output: each time the same octets; no IE is left out afterwards.
#[test]
fn nothing_is_left_out_without_need() {
    for kind in 0..3 {
        let (mut n4, mut smf) = TestN4::associated();
        let seid = n4.establish(&mut smf);
        match kind {
            1 => n4.uses(seid, 1000),
            _ => uses_around_a_monitoring_time(&mut n4, seid),
        }
        let first = n4.next(smf.addr);
        n4.pass(Span::from_secs(2));
        if kind > 0 {
            lives(&mut n4, &mut smf);
        }
        let span = if kind == 2 { Span::from_secs(3) } else { Span::from_secs(12) };
        n4.pass(span);
        let sent: Vec<_> = std::iter::from_fn(|| n4.try_next(smf.addr)).collect();
        assert_eq!(sent.len(), if kind == 2 { 2 } else { 3 });
        assert!(sent.iter().all(|received| received.bytes == first.bytes), "{kind}");
        n4.deliver(smf.addr, &Smf::report_response(&first, seid, Cause::RequestAccepted));
        assert_eq!(left_out(&n4), [Vec::<u16>::new()], "{kind}");
        assert!(!n4.has_notice(|it| matches!(it, Notice::IesLeftOut { .. })));
    }
}

// Input:  a report that is repeated only after pauses of 30 s, to an SMF that sends nothing for a minute, then is
// alive, and responds to what it can decode.
// Output: the full report while nothing is received from the SMF; then without Usage Information, which gets a
// response.
#[test]
fn a_report_that_is_kept_is_made_readable_too() {
    let policy = Retransmission { retries: 0, ..Retransmission::default() };
    let (mut n4, mut smf) = TestN4::associated_with(Config { retransmission: policy, ..config() });
    let seid = n4.establish(&mut smf);
    uses_around_a_monitoring_time(&mut n4, seid);
    let first = n4.next(smf.addr);
    n4.pass(Span::from_secs(62));
    let sent: Vec<_> = std::iter::from_fn(|| n4.try_next(smf.addr)).collect();
    assert_eq!((sent.len(), sent.iter().all(|received| received.bytes == first.bytes)), (2, true));
    lives(&mut n4, &mut smf);
    n4.pass(Span::from_secs(30));
    let plain = n4.next(smf.addr);
    assert_eq!((plain.header.sequence, parts(&plain)), (first.header.sequence, vec![None; 2]));
    n4.deliver(smf.addr, &Smf::report_response(&plain, seid, Cause::RequestAccepted));
    assert_eq!(left_out(&n4), [[USAGE_INFORMATION]]);
    n4.pass(Span::from_secs(120));
    n4.is_quiet();
}

// Input:  a report without a response of an SMF of a set that is alive: the last retransmission is without Usage
// Information, and gets none either.
// Output: another SMF of the set is sent the full report.
#[test]
fn another_smf_gets_all_of_a_report() {
    let (mut n4, mut smf) = (TestN4::new(), Smf { others: vec![12], ..Smf::new(10) });
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::SSET), ..smf.setup() };
    assert_eq!(n4.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    let seid = n4.establish(&mut smf);
    uses_around_a_monitoring_time(&mut n4, seid);
    n4.pass(Span::from_secs(2));
    n4.sent.clear();
    lives(&mut n4, &mut smf);
    n4.pass(Span::from_secs(13));
    let sent: Vec<_> = std::iter::from_fn(|| n4.try_next(smf.addr)).collect();
    assert_eq!(sent.last().map(parts), Some(vec![None; 2]));
    assert_eq!(parts(&n4.next(Smf::new(12).addr)), all());
}
