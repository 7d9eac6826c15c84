use causeway_dataplane::DataStatus;
use causeway_types::{PdrId, Teid, Time, UrrId, UsageInformation, UsageReportTrigger, Volume};

use super::*;

fn usage(urr: u32, uplink: u64, start: u64, end: u64) -> Usage {
    let (start, end) = (Time::from_secs(start), Time::from_secs(end));
    Usage {
        volume: Some(Volume { uplink, ..Volume::ZERO }),
        last_packet: Some(end),
        ..Usage::new(UrrId(urr), UsageReportTrigger::VOLTH, start, end)
    }
}

fn report(urr: u32, uplink: u64, start: u64, end: u64) -> Report {
    Report::Usage(vec![usage(urr, uplink, start, end)])
}

fn downlink(pdr: u16) -> Report {
    Report::DownlinkData(DownlinkData { pdr: PdrId(pdr), qfi: None, dscp: Some(0), status: None })
}

fn with(pdr: u16, dscp: u8, status: DataStatus) -> Report {
    let data = DownlinkData { pdr: PdrId(pdr), qfi: None, dscp: Some(dscp), status: Some(status) };
    Report::DownlinkData(data)
}

/// The contents of consecutive requests, each of which gets a response.
fn requests(reports: &[Report]) -> Vec<Vec<Report>> {
    let mut queue = Queue::default();
    assert!(reports.iter().all(|report| queue.push(report.clone(), 99)));
    let next = || {
        let (number, request) = queue.next_request()?;
        queue.done(number);
        Some(request)
    };
    std::iter::from_fn(next).collect()
}

// Input:  usage, downlink data, a tunnel, inactivity and usage together.
// Output: one request with all of it.
#[test]
fn reports_of_every_type_share_a_request() {
    let tunnel = FTeid { teid: Teid::new(5).unwrap(), addr: std::net::Ipv4Addr::LOCALHOST.into() };
    let all = [
        report(1, 5, 0, 1),
        downlink(1),
        Report::ErrorIndication(tunnel),
        Report::Inactivity,
        downlink(2),
        report(1, 7, 1, 2),
    ];
    assert_eq!(requests(&all), [all.to_vec()]);
}

fn next(queue: &mut Queue) -> Vec<Report> {
    queue.next_request().map(|(_, request)| request).unwrap_or_default()
}

// Input:  five usages and no response, then downlink data, a tunnel, inactivity, and the end of a quota.
// Output: four requests; the fifth usage and inactivity wait, the others do not, together with the earlier usage of the
// quota's URR; no more than eight requests.
#[test]
fn urgent_reports_do_not_wait() {
    let mut queue = Queue::default();
    for urr in 1..5 {
        assert!(queue.push(report(urr, 1, 0, 1), 99));
        assert_eq!(next(&mut queue), [report(urr, 1, 0, 1)]);
    }
    assert!(queue.push(report(5, 1, 0, 1), 99) && queue.push(report(6, 1, 0, 1), 99));
    assert!(queue.push(Report::Inactivity, 99) && !queue.is_ready());
    assert_eq!(next(&mut queue), []);
    assert!(queue.push(downlink(1), 99) && queue.is_ready());
    assert_eq!(next(&mut queue), [downlink(1)]);
    let quota = Usage { triggers: UsageReportTrigger::VOLQU, ..usage(6, 1, 1, 2) };
    let quota = Report::Usage(vec![quota]);
    assert!(queue.push(quota.clone(), 99));
    assert_eq!(next(&mut queue), [report(6, 1, 0, 1), quota]);
    assert!(queue.push(downlink(2), 99) && next(&mut queue) == [downlink(2)]);
    assert!(queue.push(downlink(3), 99) && next(&mut queue) == [downlink(3)]);
    assert!(queue.push(downlink(4), 99) && !queue.is_ready());
    assert_eq!(next(&mut queue), []);
    assert_eq!(queue.waiting(), 3);
    (1..6).for_each(|number| queue.done(number));
    assert_eq!(next(&mut queue), [report(5, 1, 0, 1), Report::Inactivity, downlink(4)]);
}

// Input:  the end of the session while a request is in flight.
// Output: it waits for the response.
#[test]
fn the_session_end_is_reported_last() {
    let mut queue = Queue::default();
    assert!(queue.push(report(1, 1, 0, 1), 9) && next(&mut queue).len() == 1);
    assert!(queue.push(Report::Ended, 9) && !queue.is_ready());
    queue.done(1);
    assert_eq!(next(&mut queue), [Report::Ended]);
}

// Input:  buffered and discarded packets; one PDR with two QoS flows; a packet with a paging policy.
// Output: one request has one status, contains a PDR once, and a policy only beside other downlink data.
#[test]
fn reports_that_cannot_share_a_request_are_split() {
    let (buffered, discarded) = (DataStatus::Buffered, DataStatus::Discarded);
    let status = [with(1, 0, buffered), with(2, 0, buffered), with(1, 0, discarded)];
    assert_eq!(requests(&status), [status[..2].to_vec(), status[2..].to_vec()]);
    let policy = [report(1, 5, 0, 1), with(1, 46, buffered), with(2, 0, buffered), Report::Inactivity];
    assert_eq!(requests(&policy), [policy[..1].to_vec(), policy[1..3].to_vec(), policy[3..].to_vec()]);
}

// Input:  a request with a paging policy is rejected for it; another without one is rejected.
// Output: the first is repeated without the policy, before all others; the second is not.
#[test]
fn a_refused_policy_is_left_out() {
    let mut queue = Queue::default();
    assert!(queue.push(with(1, 46, DataStatus::Buffered), 9) && next(&mut queue).len() == 1);
    assert!(queue.push(Report::Inactivity, 9));
    assert!(queue.again_without_policy(1));
    queue.done(1);
    let data = DownlinkData { pdr: PdrId(1), qfi: None, dscp: None, status: Some(DataStatus::Buffered) };
    assert_eq!(next(&mut queue), [Report::DownlinkData(data), Report::Inactivity]);
    assert!(!queue.again_without_policy(1) && !queue.again_without_policy(2));
}

// Input:  downlink data of one PDR while its report is queued, in flight, and acknowledged.
// Output: reported once; reported again only after the response.
#[test]
fn downlink_data_is_not_reported_twice() {
    let mut queue = Queue::default();
    assert!(queue.push(downlink(1), 9) && queue.push(downlink(1), 9));
    assert_eq!(next(&mut queue), [downlink(1)]);
    assert!(queue.push(downlink(1), 9));
    queue.done(1);
    assert!(!queue.is_ready());
    assert!(queue.push(downlink(1), 9) && queue.is_ready());
}

// Input:  a full queue of two, then usage of a queued URR and of another one.
// Output: the first is added up with its times, the second is queued too; an error indication is rejected.
#[test]
fn usage_above_the_limit_is_added_up() {
    let mut queue = Queue::default();
    assert!(queue.push(report(1, 5, 0, 1), 2) && queue.push(downlink(1), 2));
    assert!(queue.push(report(1, 7, 1, 3), 2));
    assert!(queue.push(report(2, 9, 0, 3), 2));
    assert!(!queue.push(downlink(2), 2));
    assert_eq!(queue.take_unsent_usage(), [usage(1, 12, 0, 3), usage(2, 9, 0, 3)]);
}

#[test]
fn one_request_carries_a_bounded_number_of_usages() {
    let mut queue = Queue::default();
    for urr in 0..15 {
        assert!(queue.push(report(urr, 1, 0, 1), 99));
    }
    assert_eq!(next(&mut queue).len(), crate::report::USAGES);
    assert_eq!(next(&mut queue).len(), 5);
}

// Input:  nine usages, then one in two parts, then one more in two parts above the limit.
// Output: the parts stay together, in the second request; usage is added up part by part.
#[test]
fn parts_stay_together() {
    let mut queue = Queue::default();
    let part = |part, uplink| Usage { part, ..usage(10, uplink, 0, 1) };
    let both = |uplink| {
        Report::Usage(vec![part(UsageInformation::BEF, 2 * uplink), part(UsageInformation::AFT, uplink)])
    };
    for urr in 0..9 {
        assert!(queue.push(report(urr, 1, 0, 1), 10));
    }
    assert!(queue.push(both(5), 10) && queue.push(both(7), 10));
    assert_eq!(next(&mut queue).len(), 9);
    assert_eq!(next(&mut queue), [both(12)]);
}
