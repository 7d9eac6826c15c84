//! Changes of the wall clock: the times sent to SMFs before and after.

use causeway_dataplane::Event;
use causeway_model::Usage;
use causeway_pfcp::*;
use causeway_types::{NtpSeconds, Seid, Span, Time, UrrId, UsageReportTrigger, WallClock, WallTime};

use crate::fixture::{Got, RECOVERY, Smf, TestN4, query, used};

const HOUR: u64 = 3600;

/// Sets the wall clock to this offset in seconds from its start.
fn set(n4: &mut TestN4, seconds: i64) {
    let says = WallTime::from_nanos(n4.now.as_nanos());
    let by = Span::from_secs(seconds.unsigned_abs());
    let says = if seconds < 0 { says - by } else { says + by };
    n4.n4.set_wall_clock(WallClock::reading(says, n4.now));
}

/// The times in a message: start and end, and first and last packet.
fn times(received: &Got) -> Vec<[u32; 4]> {
    let reports: Vec<UsageReport<'_>> = match received.message() {
        Message::SessionModificationResponse(it) => it.usage_reports.iter().collect(),
        Message::SessionDeletionResponse(it) => it.usage_reports.iter().collect(),
        Message::SessionReportRequest(it) => it.usage_reports.iter().collect(),
        other => panic!("{:?} reports no usage", other.message_type()),
    };
    let of = |it: &UsageReport<'_>| {
        let packets = [it.time_of_first_packet?.0.0, it.time_of_last_packet?.0.0];
        Some([it.start_time?.0.0, it.end_time?.0.0, packets[0], packets[1]])
    };
    reports.iter().map(|it| of(it).expect("it has all its times")).collect()
}

/// A time as it is sent to an SMF while the wall clock has this offset in seconds.
fn told(time: Time, seconds: i64) -> u32 {
    let NtpSeconds(plain) = WallClock::default().at(time).to_ntp();
    plain.wrapping_add(seconds as u32)
}

/// The data plane reports the usage of the last minute.
fn uses_for_a_minute(n4: &mut TestN4, session: Seid) -> Time {
    let start = n4.now;
    n4.pass(Span::from_secs(60));
    let usage =
        Usage { start, first_packet: Some(start), ..used(n4.now, UrrId(1), 1000, UsageReportTrigger::VOLTH) };
    n4.event(Event::Usage { session, usage: vec![usage] });
    start
}

// Input:  usage of a minute is reported; the wall clock is set forward by two hours, back by three and forward by a
// day, and usage is reported each time: by an event, by the response to a query, and at the end of the session.
// Output: all times of a report are those of the wall clock when it is built: it ends when or after it starts, and has
// its true duration. A report that was sent before is retransmitted unchanged.
#[test]
fn times_are_told_as_the_wall_clock_says_them() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    for seconds in [0, 2 * HOUR as i64, -(HOUR as i64), 23 * HOUR as i64] {
        set(&mut n4, seconds);
        let start = uses_for_a_minute(&mut n4, seid);
        let received = n4.next(smf.addr);
        let minute = [told(start, seconds), told(start, seconds) + 60];
        assert_eq!(times(&received), [[minute[0], minute[1], minute[0], minute[1]]]);
        set(&mut n4, seconds + 5);
        n4.pass(Span::from_secs(1));
        assert_eq!(n4.next(smf.addr).bytes, received.bytes, "as it was sent first");
        n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
        let answer = n4.ask(&mut smf, Some(seid), query());
        assert_eq!(times(&answer), [[told(n4.now, seconds + 5); 4]]);
    }
    let answer = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
    assert_eq!(times(&answer), [[told(n4.now, 23 * HOUR as i64 + 5); 4]]);
}

// Input:  usage is measured, and queued behind a plan in flight; the wall clock is set back by two hours before it is
// reported.
// Output: it has the times of the wall clock when it is built: usage that ended before the step does not end in the
// future.
#[test]
fn what_waits_is_told_by_the_clock_of_its_telling() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    n4.plane.pace = crate::fixture::Pace::Held;
    n4.send(&mut smf, Some(seid), crate::fixture::activation(1));
    let start = uses_for_a_minute(&mut n4, seid);
    n4.is_quiet();
    set(&mut n4, -2 * HOUR as i64);
    n4.apply_next();
    assert_eq!(n4.next(smf.addr).cause(), Cause::RequestAccepted);
    let told = told(start, -2 * HOUR as i64);
    assert_eq!(times(&n4.next(smf.addr)), [[told, told + 60, told, told + 60]]);
}

// Input:  sessions of one message template end, with responses of one response template; the wall clock is set between
// them.
// Output: each response has the end time of the wall clock.
#[test]
fn ends_in_known_words_follow_the_wall_clock() {
    let (mut n4, mut smf) = TestN4::associated();
    let sessions: Vec<Seid> = (0..6).map(|_| n4.establish(&mut smf)).collect();
    for (seid, hours) in sessions.into_iter().zip([0, 0, 2, -3, -3, 0]) {
        let seconds = hours * HOUR as i64;
        set(&mut n4, seconds);
        let answer = n4.ask(&mut smf, Some(seid), SessionDeletionRequest::default());
        assert_eq!(times(&answer), [[told(n4.now, seconds); 4]]);
    }
}

// Input:  an SMF sends a heartbeat before and after the wall clock was set, and has set up its association before;
// minutes pass.
// Output: the Recovery Time Stamp is always that of the start: no SMF detects a restart. No timer is late or early.
#[test]
fn the_recovery_time_stamp_stays() {
    let (mut n4, mut smf) = TestN4::associated();
    let seid = n4.establish(&mut smf);
    for seconds in [2 * HOUR as i64, -(HOUR as i64)] {
        set(&mut n4, seconds);
        let heartbeat = HeartbeatRequest::new(RecoveryTimeStamp(smf.recovery));
        let answer = n4.ask(&mut smf, None, heartbeat);
        let Message::HeartbeatResponse(response) = answer.message() else { panic!("{:?}", answer.kind()) };
        assert_eq!(response.recovery_time_stamp.0, RECOVERY);
        let setup = smf.setup();
        let answer = n4.ask(&mut smf, None, setup);
        let Message::AssociationSetupResponse(response) = answer.message() else {
            panic!("{:?}", answer.kind())
        };
        assert_eq!(response.recovery_time_stamp, Some(RecoveryTimeStamp(RECOVERY)));
        n4.uses(seid, 1000);
        let received = n4.next(smf.addr);
        n4.pass(Span::from_millis(999));
        n4.is_quiet();
        n4.pass(Span::from_millis(1));
        assert_eq!(n4.next(smf.addr).bytes, received.bytes, "repeated after T1");
        n4.deliver(smf.addr, &Smf::report_response(&received, seid, Cause::RequestAccepted));
    }
}
