//! The reports of one session, one on its way at a time so that they arrive in order.

use std::collections::VecDeque;
use std::ops::Add;

use causeway_dataplane::DownlinkData;
use causeway_rules::Usage;
use causeway_types::{FTeid, UrrId};

use super::bundle::{Bundle, names_policy};

/// Something the SMF must hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// Usage of one URR (USAR), in the parts that belong into one message.
    Usage(Vec<Usage>),
    /// Downlink data came for an idle UE, or was discarded (DLDR).
    DownlinkData(DownlinkData),
    /// A peer does not know this tunnel of its own (ERIR).
    ErrorIndication(FTeid),
    /// No packet came for long (UPIR).
    Inactivity,
}

/// The reports of one session.
#[derive(Debug, Default)]
pub(crate) struct ReportQueue {
    waiting: VecDeque<Report>,
    /// The downlink data of the request that was sent and is not answered.
    on_its_way: Option<Vec<DownlinkData>>,
}

impl ReportQueue {
    /// Adds a report. What the SMF is being told of is not said twice. Above `limit`, usage is added to what waits
    /// of the same URR, so nothing is lost; other reports are then refused.
    #[must_use]
    pub(crate) fn push(&mut self, report: Report, limit: usize) -> bool {
        if self.is_being_told(&report) {
            return true;
        }
        let is_full = self.waiting.len() >= limit;
        match report {
            Report::Usage(parts) if is_full => self.add_up(parts),
            _ if is_full => return false,
            report => self.waiting.push_back(report),
        }
        true
    }

    /// Takes what goes into the next request: the first reports that go together. Empty when there is nothing, or
    /// when one is on its way.
    pub(crate) fn next_request(&mut self) -> Vec<Report> {
        if self.on_its_way.is_some() {
            return Vec::new();
        }
        let mut bundle = Bundle::default();
        let count = self.waiting.iter().take_while(|report| bundle.takes(report)).count();
        let request: Vec<_> = self.waiting.drain(..count).collect();
        let downlink_data = request.iter().filter_map(Report::downlink_data).collect();
        self.on_its_way = (!request.is_empty()).then_some(downlink_data);
        request
    }

    /// The request was refused for its paging policy: its downlink data is the next to be told. False if it named
    /// no policy.
    pub(crate) fn again_without_policy(&mut self) -> bool {
        let Some(data) = self.on_its_way.take() else { return false };
        if !data.iter().any(names_policy) {
            return false;
        }
        for data in data.into_iter().rev() {
            self.waiting.push_front(Report::DownlinkData(DownlinkData { dscp: None, ..data }));
        }
        true
    }

    /// The request is answered or given up: the next may go.
    pub(crate) fn done(&mut self) {
        self.on_its_way = None;
    }

    /// A request could go out now.
    pub(crate) fn is_ready(&self) -> bool {
        self.on_its_way.is_none() && !self.waiting.is_empty()
    }

    /// A request was sent and is not answered.
    pub(crate) fn is_on_its_way(&self) -> bool {
        self.on_its_way.is_some()
    }

    /// How many reports wait to be sent.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes the usages of URRs that are gone, to go into the response that says so.
    pub(crate) fn take_usage_of(&mut self, gone: impl Fn(UrrId) -> bool) -> Vec<Usage> {
        let mut taken = Vec::new();
        for report in std::mem::take(&mut self.waiting) {
            match report {
                Report::Usage(parts) if parts.iter().any(|usage| gone(usage.urr)) => taken.extend(parts),
                report => self.waiting.push_back(report),
            }
        }
        taken
    }

    /// The session ends: the usages that were not sent, to go into the last response.
    pub(crate) fn take_unsent_usage(&mut self) -> Vec<Usage> {
        let usages = |report| if let Report::Usage(parts) = report { parts } else { Vec::new() };
        self.waiting.drain(..).flat_map(usages).collect()
    }

    fn is_being_told(&self, report: &Report) -> bool {
        let is_same = |told: &DownlinkData| match report {
            Report::DownlinkData(data) => {
                (told.pdr, told.qfi, told.status) == (data.pdr, data.qfi, data.status)
            }
            _ => false,
        };
        let waits = |waiting: &Report| match waiting {
            Report::Inactivity => *report == Report::Inactivity,
            waiting => waiting.downlink_data().is_some_and(|data| is_same(&data)),
        };
        self.on_its_way.iter().flatten().any(is_same) || self.waiting.iter().any(waits)
    }

    /// Adds usage to the last one of its URR, or to the end when there is none with the same parts.
    fn add_up(&mut self, parts: Vec<Usage>) {
        let is_same = |earlier: &[Usage]| {
            earlier.len() == parts.len()
                && earlier
                    .iter()
                    .zip(&parts)
                    .all(|(one, other)| (one.urr, one.part) == (other.urr, other.part))
        };
        let same = self.waiting.iter_mut().rev().find_map(|report| match report {
            Report::Usage(earlier) if is_same(earlier) => Some(earlier),
            _ => None,
        });
        match same {
            Some(earlier) => {
                earlier.iter_mut().zip(parts).for_each(|(earlier, later)| extend(earlier, later));
            }
            None => self.waiting.push_back(Report::Usage(parts)),
        }
    }
}

impl Report {
    pub(super) fn downlink_data(&self) -> Option<DownlinkData> {
        if let Self::DownlinkData(data) = self { Some(*data) } else { None }
    }

    pub(super) fn tunnel(&self) -> Option<causeway_pfcp::FTeid> {
        if let Self::ErrorIndication(tunnel) = self { Some((*tunnel).into()) } else { None }
    }
}
/// How many times of events one report keeps when reports are added up; the first ones.
const EVENTS_PER_REPORT: usize = 64;

/// Makes one measurement of two that follow each other.
fn extend(earlier: &mut Usage, later: Usage) {
    earlier.triggers |= later.triggers;
    earlier.volume = sum(earlier.volume, later.volume);
    earlier.duration = sum(earlier.duration, later.duration);
    earlier.end = later.end;
    earlier.first_packet = earlier.first_packet.or(later.first_packet);
    earlier.last_packet = later.last_packet.or(earlier.last_packet);
    earlier.events.extend(later.events);
    earlier.events.truncate(EVENTS_PER_REPORT);
    earlier.macs = std::mem::take(&mut earlier.macs).followed_by(later.macs);
}

fn sum<T: Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use causeway_dataplane::DataStatus;
    use causeway_rules::{UsageInformation, UsageReportTrigger};
    use causeway_types::{PdrId, Teid, Time, UrrId, Volume};

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

    /// What goes into one request after the other, each answered.
    fn requests(reports: &[Report]) -> Vec<Vec<Report>> {
        let mut queue = ReportQueue::default();
        assert!(reports.iter().all(|report| queue.push(report.clone(), 99)));
        let next = || {
            let request = queue.next_request();
            queue.done();
            (!request.is_empty()).then_some(request)
        };
        std::iter::from_fn(next).collect()
    }

    // Input:  usage, downlink data, a tunnel, inactivity and usage at once.
    // Output: one request with all of it; while it is unanswered none follows.
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
        let mut queue = ReportQueue::default();
        assert!(queue.push(downlink(1), 9) && queue.next_request().len() == 1);
        assert!(queue.push(Report::Inactivity, 9) && queue.push(Report::Inactivity, 9));
        assert!(!queue.is_ready() && queue.next_request().is_empty());
        queue.done();
        assert_eq!(queue.next_request(), [Report::Inactivity]);
    }

    // Input:  buffered and discarded packets; one PDR with two QoS flows; a packet that names a paging policy.
    // Output: one request has one status, names a PDR once, and a policy only beside other downlink data.
    #[test]
    fn what_does_not_go_together_is_told_apart() {
        let (buffered, discarded) = (DataStatus::Buffered, DataStatus::Discarded);
        let status = [with(1, 0, buffered), with(2, 0, buffered), with(1, 0, discarded)];
        assert_eq!(requests(&status), [status[..2].to_vec(), status[2..].to_vec()]);
        let policy = [report(1, 5, 0, 1), with(1, 46, buffered), with(2, 0, buffered), Report::Inactivity];
        assert_eq!(requests(&policy), [policy[..1].to_vec(), policy[1..3].to_vec(), policy[3..].to_vec()]);
    }

    // Input:  a request that names a paging policy is refused for it; another without one is.
    // Output: the first is said again without the policy, before all else; the second is not.
    #[test]
    fn a_refused_policy_is_left_out() {
        let mut queue = ReportQueue::default();
        assert!(queue.push(with(1, 46, DataStatus::Buffered), 9) && queue.next_request().len() == 1);
        assert!(queue.push(Report::Inactivity, 9));
        assert!(queue.again_without_policy());
        let data = DownlinkData { pdr: PdrId(1), qfi: None, dscp: None, status: Some(DataStatus::Buffered) };
        assert_eq!(queue.next_request(), [Report::DownlinkData(data), Report::Inactivity]);
        assert!(!queue.again_without_policy());
    }

    // Input:  downlink data of one PDR while its report waits, is on its way, and is answered.
    // Output: told once; told again only after the answer.
    #[test]
    fn downlink_data_is_not_told_twice() {
        let mut queue = ReportQueue::default();
        assert!(queue.push(downlink(1), 9) && queue.push(downlink(1), 9));
        assert_eq!(queue.next_request(), [downlink(1)]);
        assert!(queue.push(downlink(1), 9));
        queue.done();
        assert!(!queue.is_ready());
        assert!(queue.push(downlink(1), 9) && queue.is_ready());
    }

    // Input:  a queue of two that is full, then usage of a URR that waits and of one that does not.
    // Output: the first is added up with its times, the second waits too; an error indication is refused.
    #[test]
    fn usage_above_the_limit_is_added_up() {
        let mut queue = ReportQueue::default();
        assert!(queue.push(report(1, 5, 0, 1), 2) && queue.push(downlink(1), 2));
        assert!(queue.push(report(1, 7, 1, 3), 2));
        assert!(queue.push(report(2, 9, 0, 3), 2));
        assert!(!queue.push(downlink(2), 2));
        assert_eq!(queue.take_unsent_usage(), [usage(1, 12, 0, 3), usage(2, 9, 0, 3)]);
    }

    #[test]
    fn one_request_carries_a_bounded_number_of_usages() {
        let mut queue = ReportQueue::default();
        for urr in 0..15 {
            assert!(queue.push(report(urr, 1, 0, 1), 99));
        }
        assert_eq!(queue.next_request().len(), super::super::bundle::USAGES);
        queue.done();
        assert_eq!(queue.next_request().len(), 5);
    }

    // Input:  nine usages, then one in two parts, then one more in two parts above the limit.
    // Output: the parts stay together, in the second request; what is added up is added part by part.
    #[test]
    fn parts_stay_together() {
        let mut queue = ReportQueue::default();
        let part = |part, uplink| Usage { part, ..usage(10, uplink, 0, 1) };
        let both = |uplink| {
            Report::Usage(vec![part(UsageInformation::UBE, 2 * uplink), part(UsageInformation::UAE, uplink)])
        };
        for urr in 0..9 {
            assert!(queue.push(report(urr, 1, 0, 1), 10));
        }
        assert!(queue.push(both(5), 10) && queue.push(both(7), 10));
        assert_eq!(queue.next_request().len(), 9);
        queue.done();
        assert_eq!(queue.next_request(), [both(12)]);
    }
}
