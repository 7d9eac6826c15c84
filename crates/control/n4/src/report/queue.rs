//! The reports of one session, one on its way at a time so that they arrive in order.

use std::collections::VecDeque;

use causeway_rules::Usage;
use causeway_types::{FTeid, PdrId, Qfi, UrrId};

/// Something the SMF must hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// Usage (USAR).
    Usage(Usage),
    /// Downlink data waits for an idle UE (DLDR).
    DownlinkData {
        /// The PDR that it matched.
        pdr: PdrId,
        /// The QFI it would be sent with.
        qfi: Option<Qfi>,
    },
    /// A peer does not know this tunnel of its own (ERIR).
    ErrorIndication(FTeid),
}

/// How many usages one Session Report Request carries: some 100 octets each, to stay below 1400.
const USAGES_PER_REQUEST: usize = 10;

/// The reports of one session.
#[derive(Debug, Default)]
pub(crate) struct ReportQueue {
    waiting: VecDeque<Report>,
    on_its_way: Option<OnItsWay>,
}

/// What is known of the report that was sent and is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OnItsWay {
    /// It is a Downlink Data Report of this PDR.
    downlink_data: Option<PdrId>,
}

impl ReportQueue {
    /// Adds a report. Downlink data of a PDR that the SMF is being told of is not said twice. Above `limit`,
    /// usage is added to what waits of the same URR, so nothing is lost; other reports are then refused.
    #[must_use]
    pub(crate) fn push(&mut self, report: Report, limit: usize) -> bool {
        if let Report::DownlinkData { pdr, .. } = report
            && self.is_being_told(pdr)
        {
            return true;
        }
        let is_full = self.waiting.len() >= limit;
        match report {
            Report::Usage(usage) if is_full => self.add_up(usage),
            _ if is_full => return false,
            report => self.waiting.push_back(report),
        }
        true
    }

    /// Takes what goes into the next request: the first report, with the usages that follow a usage.
    /// Empty when there is nothing, or when one is on its way.
    pub(crate) fn next_request(&mut self) -> Vec<Report> {
        if self.on_its_way.is_some() {
            return Vec::new();
        }
        let is_usage = |report: &Report| matches!(report, Report::Usage(_));
        let usages =
            self.waiting.iter().take(USAGES_PER_REQUEST).take_while(|report| is_usage(report)).count();
        let request: Vec<_> = self.waiting.drain(..usages.max(1).min(self.waiting.len())).collect();
        let downlink_data = match request.first() {
            Some(Report::DownlinkData { pdr, .. }) => Some(*pdr),
            _ => None,
        };
        self.on_its_way = (!request.is_empty()).then_some(OnItsWay { downlink_data });
        request
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
                Report::Usage(usage) if gone(usage.urr) => taken.push(usage),
                report => self.waiting.push_back(report),
            }
        }
        taken
    }

    /// The session ends: the usages that were not sent, to go into the last response.
    pub(crate) fn take_unsent_usage(&mut self) -> Vec<Usage> {
        let unsent = self.waiting.drain(..);
        unsent
            .filter_map(|report| if let Report::Usage(usage) = report { Some(usage) } else { None })
            .collect()
    }

    fn is_being_told(&self, pdr: PdrId) -> bool {
        let waits =
            |report: &Report| matches!(report, Report::DownlinkData { pdr: waiting, .. } if *waiting == pdr);
        self.on_its_way.is_some_and(|sent| sent.downlink_data == Some(pdr)) || self.waiting.iter().any(waits)
    }

    /// Adds a usage to the last one of its URR, or to the end when there is none.
    fn add_up(&mut self, usage: Usage) {
        let same = self.waiting.iter_mut().rev().find_map(|report| match report {
            Report::Usage(earlier) if earlier.urr == usage.urr => Some(earlier),
            _ => None,
        });
        match same {
            Some(earlier) => extend(earlier, &usage),
            None => self.waiting.push_back(Report::Usage(usage)),
        }
    }
}

/// Makes one measurement of two that follow each other.
fn extend(earlier: &mut Usage, later: &Usage) {
    earlier.volume += later.volume;
    earlier.end = later.end;
    earlier.first_packet = earlier.first_packet.or(later.first_packet);
    earlier.last_packet = later.last_packet.or(earlier.last_packet);
}

#[cfg(test)]
mod tests {
    use causeway_rules::UsageReason;
    use causeway_types::{Time, UrrId, Volume};

    use super::*;

    fn usage(urr: u32, uplink: u64, start: u64, end: u64) -> Usage {
        Usage {
            urr: UrrId(urr),
            reason: UsageReason::VolumeThreshold,
            volume: Volume { uplink, ..Volume::ZERO },
            start: Time::from_secs(start),
            end: Time::from_secs(end),
            first_packet: None,
            last_packet: Some(Time::from_secs(end)),
        }
    }

    fn downlink(pdr: u16) -> Report {
        Report::DownlinkData { pdr: PdrId(pdr), qfi: None }
    }

    // Input:  usage, usage, downlink data, usage.
    // Output: three requests in that order, each only when the one before is done.
    #[test]
    fn reports_keep_their_order() {
        let mut queue = ReportQueue::default();
        let all = [
            Report::Usage(usage(1, 5, 0, 1)),
            Report::Usage(usage(2, 6, 0, 1)),
            downlink(1),
            Report::Usage(usage(1, 7, 1, 2)),
        ];
        assert!(all.iter().all(|report| queue.push(report.clone(), 9)));
        assert_eq!(queue.next_request(), all[..2]);
        assert!(!queue.is_ready() && queue.next_request().is_empty());
        queue.done();
        assert_eq!(queue.next_request(), all[2..3]);
        queue.done();
        assert_eq!(queue.next_request(), all[3..]);
        queue.done();
        assert!(queue.next_request().is_empty() && !queue.is_ready());
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
        assert!(queue.push(Report::Usage(usage(1, 5, 0, 1)), 2) && queue.push(downlink(1), 2));
        assert!(queue.push(Report::Usage(usage(1, 7, 1, 3)), 2));
        assert!(queue.push(Report::Usage(usage(2, 9, 0, 3)), 2));
        assert!(!queue.push(downlink(2), 2));
        assert_eq!(queue.take_unsent_usage(), [usage(1, 12, 0, 3), usage(2, 9, 0, 3)]);
    }

    #[test]
    fn one_request_carries_a_bounded_number_of_usages() {
        let mut queue = ReportQueue::default();
        for urr in 0..15 {
            assert!(queue.push(Report::Usage(usage(urr, 1, 0, 1)), 99));
        }
        assert_eq!(queue.next_request().len(), USAGES_PER_REQUEST);
        queue.done();
        assert_eq!(queue.next_request().len(), 5);
    }
}
