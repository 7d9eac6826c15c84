//! SMFs that are silent to reports which they cannot read: what they get instead.

use causeway_dataplane::Event;
use causeway_n4::{Config, Direction, MessageResult, Notice, Retransmission};
use causeway_pfcp::*;
use causeway_rules::Usage;
use causeway_types::{Seid, Span, UrrId};

use crate::world::{Got, Smf, World, config, query, used};

const USAGE_INFORMATION: u16 = 90;

/// Usage before and after a Monitoring Time, which says so in Usage Information.
fn uses_around_a_monitoring_time(world: &mut World, session: Seid) {
    let usage = used(world.now, UrrId(1), 500, UsageReportTrigger::VOLTH);
    let part = |part| Usage { part, ..usage.clone() };
    let usage = vec![part(UsageInformation::BEF), part(UsageInformation::AFT)];
    world.event(Event::Usage { session, usage });
}

/// The parts that the usage reports of a report say they are of.
fn parts(got: &Got) -> Vec<Option<UsageInformation>> {
    let Message::SessionReportRequest(request) = got.message() else { panic!("{:?}", got.kind()) };
    request.usage_reports.iter().map(|report| report.usage_information).collect()
}

fn all() -> Vec<Option<UsageInformation>> {
    vec![Some(UsageInformation::BEF), Some(UsageInformation::AFT)]
}

/// The SMF asks for a sign of life, and so gives one.
fn lives(world: &mut World, smf: &mut Smf) {
    let request = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
    assert_eq!(world.ask(smf, None, request).kind(), MessageType::HeartbeatResponse);
}

fn left_out(world: &World) -> Vec<Vec<u16>> {
    world.n4.associations().map(|view| view.left_out().collect()).collect()
}

/// A world in which the SMF has answered the last repetition of a report only, and its session.
fn with_a_silent_smf() -> (World, Smf, Seid) {
    let (mut world, mut smf) = World::associated();
    let seid = world.establish(&mut smf);
    uses_around_a_monitoring_time(&mut world, seid);
    let first = world.next(smf.addr);
    world.pass(Span::from_millis(2500));
    lives(&mut world, &mut smf);
    world.pass(Span::from_millis(4500));
    let sent: Vec<_> = std::iter::from_fn(|| world.try_next(smf.addr)).collect();
    assert_eq!(sent.len(), 3);
    assert!(sent[..2].iter().all(|got| got.bytes == first.bytes));
    assert_eq!((parts(&first), parts(&sent[2])), (all(), vec![None; 2]));
    assert_eq!((sent[2].header.sequence, sent[2].usage()), (first.header.sequence, first.usage()));
    world.deliver(smf.addr, &Smf::report_response(&sent[2], seid, Cause::RequestAccepted));
    (world, smf, seid)
}

// Input:  a report with Usage Information to an SMF that is silent to it and sends a heartbeat meanwhile; it answers the last repetition.
// Output: that one has the same number and usage, and no Usage Information. Later reports, and answers to the SMF, have none from the
//         first on; that is said, counted and shown. The usage reports of another SMF have it.
#[test]
fn a_silent_smf_gets_reports_that_it_can_read() {
    let (mut world, mut smf, seid) = with_a_silent_smf();
    let said = |it: &Notice| matches!(it, Notice::IesLeftOut { ies, .. } if ies == "Usage Information");
    assert_eq!(world.notices.iter().filter(|it| said(it)).count(), 1);
    let shortened = world.n4.counters().message(
        MessageType::SessionReportRequest,
        Direction::Sent,
        MessageResult::Shortened,
    );
    assert_eq!((shortened, left_out(&world)), (1, vec![vec![USAGE_INFORMATION]]));
    world.is_quiet();
    uses_around_a_monitoring_time(&mut world, seid);
    let next = world.next(smf.addr);
    assert_eq!(parts(&next), [None; 2]);
    world.deliver(smf.addr, &Smf::report_response(&next, seid, Cause::RequestAccepted));
    // What waits for four open reports goes into the answers.
    (0..5).for_each(|_| uses_around_a_monitoring_time(&mut world, seid));
    (0..4).for_each(|_| drop(world.next(smf.addr)));
    let got = world.ask(&mut smf, Some(seid), query());
    let Message::SessionModificationResponse(answer) = got.message() else { panic!("{:?}", got.kind()) };
    assert_eq!(answer.usage_reports.iter().map(|it| it.usage_information).collect::<Vec<_>>(), [None; 3]);
    uses_around_a_monitoring_time(&mut world, seid);
    let got = world.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    let Message::SessionDeletionResponse(answer) = got.message() else { panic!("{:?}", got.kind()) };
    assert_eq!(answer.usage_reports.iter().map(|it| it.usage_information).collect::<Vec<_>>(), [None; 3]);

    let mut other = Smf::new(11);
    world.associate(&mut other);
    let its = world.establish(&mut other);
    uses_around_a_monitoring_time(&mut world, its);
    assert_eq!(parts(&world.next(other.addr)), all());
    assert_eq!(world.notices.iter().filter(|it| said(it)).count(), 1);
}

// Input:  an SMF that gets no Usage Information sets up its association anew; another one releases it and sets it up again.
// Output: both get everything again.
#[test]
fn what_is_left_out_is_forgotten_with_the_association() {
    for releases in [false, true] {
        let (mut world, mut smf, _) = with_a_silent_smf();
        if releases {
            let request = AssociationReleaseRequest::new(smf.node_id());
            assert_eq!(world.ask(&mut smf, None, request).cause(), Cause::RequestAccepted);
        }
        world.associate(&mut smf);
        assert_eq!(left_out(&world), [Vec::<u16>::new()]);
        let seid = world.establish(&mut smf);
        uses_around_a_monitoring_time(&mut world, seid);
        assert_eq!(parts(&world.next(smf.addr)), all());
    }
}

// Input:  a report with Usage Information to an SMF that nothing is heard of at all; one without it to an SMF that is silent and alive;
//         one to an SMF that is alive and answers the third time.
// Output: each time the same octets; nothing is left out afterwards.
#[test]
fn nothing_is_left_out_without_need() {
    for kind in 0..3 {
        let (mut world, mut smf) = World::associated();
        let seid = world.establish(&mut smf);
        match kind {
            1 => world.uses(seid, 1000),
            _ => uses_around_a_monitoring_time(&mut world, seid),
        }
        let first = world.next(smf.addr);
        world.pass(Span::from_secs(2));
        if kind > 0 {
            lives(&mut world, &mut smf);
        }
        let span = if kind == 2 { Span::from_secs(3) } else { Span::from_secs(12) };
        world.pass(span);
        let sent: Vec<_> = std::iter::from_fn(|| world.try_next(smf.addr)).collect();
        assert_eq!(sent.len(), if kind == 2 { 2 } else { 3 });
        assert!(sent.iter().all(|got| got.bytes == first.bytes), "{kind}");
        world.deliver(smf.addr, &Smf::report_response(&first, seid, Cause::RequestAccepted));
        assert_eq!(left_out(&world), [Vec::<u16>::new()], "{kind}");
        assert!(!world.has_notice(|it| matches!(it, Notice::IesLeftOut { .. })));
    }
}

// Input:  a report that is not repeated but by its pauses of 30 s, to an SMF that is silent for a minute and says nothing either, then
//         lives, and answers what it can read.
// Output: all of it while nothing is heard of the SMF; then without Usage Information, which it answers.
#[test]
fn a_report_that_is_kept_is_made_readable_too() {
    let policy = Retransmission { retries: 0, ..Retransmission::default() };
    let (mut world, mut smf) = World::associated_with(Config { retransmission: policy, ..config() });
    let seid = world.establish(&mut smf);
    uses_around_a_monitoring_time(&mut world, seid);
    let first = world.next(smf.addr);
    world.pass(Span::from_secs(62));
    let sent: Vec<_> = std::iter::from_fn(|| world.try_next(smf.addr)).collect();
    assert_eq!((sent.len(), sent.iter().all(|got| got.bytes == first.bytes)), (2, true));
    lives(&mut world, &mut smf);
    world.pass(Span::from_secs(30));
    let plain = world.next(smf.addr);
    assert_eq!((plain.header.sequence, parts(&plain)), (first.header.sequence, vec![None; 2]));
    world.deliver(smf.addr, &Smf::report_response(&plain, seid, Cause::RequestAccepted));
    assert_eq!(left_out(&world), [[USAGE_INFORMATION]]);
    world.pass(Span::from_secs(120));
    world.is_quiet();
}

// Input:  a report that an SMF of a set is silent to though it lives: the last repetition is without Usage Information, and not answered.
// Output: another SMF of the set gets all of it.
#[test]
fn another_smf_gets_all_of_a_report() {
    let (mut world, mut smf) = (World::new(), Smf { others: vec![12], ..Smf::new(10) });
    let setup = AssociationSetupRequest { cp_function_features: Some(CpFeatures::SSET), ..smf.setup() };
    assert_eq!(world.ask(&mut smf, None, setup).cause(), Cause::RequestAccepted);
    let seid = world.establish(&mut smf);
    uses_around_a_monitoring_time(&mut world, seid);
    world.pass(Span::from_secs(2));
    world.sent.clear();
    lives(&mut world, &mut smf);
    world.pass(Span::from_secs(13));
    let sent: Vec<_> = std::iter::from_fn(|| world.try_next(smf.addr)).collect();
    assert_eq!(sent.last().map(parts), Some(vec![None; 2]));
    assert_eq!(parts(&world.next(Smf::new(12).addr)), all());
}
