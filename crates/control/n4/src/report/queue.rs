//! The reports of one session: few of them on their way at a time, numbered in the order in which they happened.

use std::collections::VecDeque;
use std::ops::Add;

use causeway_dataplane::DownlinkData;
use causeway_pfcp::{AdditionalUsageReports, UsageReport};
use causeway_rules::{Usage, UsageReportTrigger};
use causeway_types::{FTeid, UrrId};

use super::bundle::{ReportBatch, names_policy};

/// Something the SMF must hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// Usage of one URR (USAR), in the parts that belong into one message.
    Usage(Vec<Usage>),
    /// Usage that a response had no room for (USAR), numbered already.
    Additional(Box<UsageReport<'static>>),
    /// Downlink data came for an idle UE, or was discarded (DLDR).
    DownlinkData(DownlinkData),
    /// A peer does not know this tunnel of its own (ERIR).
    ErrorIndication(FTeid),
    /// No packet came for long (UPIR).
    Inactivity,
    /// We have deleted the session (PSDBU). The last of its reports.
    Ended,
}

/// Requests of a session that may be on their way at a time.
const MAX_OUTSTANDING: usize = 4;
/// As many more may be, of reports that something waits for: paging, another tunnel, a quota.
const MAX_OUTSTANDING_URGENT: usize = 4;

/// What a quota's end is told by: no more passes until the SMF has granted more.
const QUOTA: UsageReportTrigger = UsageReportTrigger::VOLQU
    .union(UsageReportTrigger::TIMQU)
    .union(UsageReportTrigger::EVEQU)
    .union(UsageReportTrigger::QUHTI)
    .union(UsageReportTrigger::QUVTI);

/// The reports of a session that has some.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Report>,
    /// The requests that were sent and are not answered.
    outstanding: Vec<OutstandingRequest>,
    last: RequestNumber,
}

/// Which of a session's requests it is.
pub(crate) type RequestNumber = u16;

/// A request that was sent and is not answered.
#[derive(Debug)]
struct OutstandingRequest {
    number: RequestNumber,
    /// What it tells beside usage.
    contents: Vec<Report>,
}

impl Queue {
    /// Adds a report. What the SMF is being told of is not said twice. Above `limit`, usage is added to what waits
    /// of the same URR, so nothing is lost; other reports are then refused.
    #[must_use]
    pub(super) fn push(&mut self, report: Report, limit: usize) -> bool {
        if self.is_in_flight(&report) {
            return true;
        }
        let is_full = self.waiting.len() >= limit;
        match report {
            Report::Usage(parts) if is_full => self.merge_usage(parts),
            _ if is_full => return false,
            report => self.waiting.push_back(report),
        }
        true
    }

    /// Takes what goes into the next request, and its number: the first reports that go together. While [`MAX_OUTSTANDING`] requests
    /// are on their way, only what does not wait for them, and the usage that must be numbered before it. `None` when nothing
    /// may go.
    pub(super) fn next_request(&mut self) -> Option<(RequestNumber, Vec<Report>)> {
        let may_go = self.may_go();
        let mut bundle = ReportBatch::default();
        let (mut request, mut rest, mut is_full) = (Vec::new(), VecDeque::new(), false);
        for report in std::mem::take(&mut self.waiting) {
            let goes = !is_full && may_go(&report);
            is_full |= goes && !bundle.try_add(&report);
            if goes && !is_full {
                request.push(report);
            } else {
                rest.push_back(report);
            }
        }
        self.waiting = rest;
        if request.is_empty() {
            return None;
        }
        self.last = self.last.wrapping_add(1);
        let notified = request.iter().filter(|report| !report.is_usage()).cloned().collect();
        self.outstanding.push(OutstandingRequest { number: self.last, contents: notified });
        Some((self.last, request))
    }

    /// Which of the reports that wait may go now.
    fn may_go(&self) -> impl Fn(&Report) -> bool + use<> {
        let is_open_for = |limit| self.outstanding.len() < limit;
        let (all, urgent) =
            (is_open_for(MAX_OUTSTANDING), is_open_for(MAX_OUTSTANDING + MAX_OUTSTANDING_URGENT));
        let has_open = !self.outstanding.is_empty();
        let quotas: Vec<UrrId> = match !all && urgent {
            true => self.waiting.iter().filter_map(Report::quota).collect(),
            false => Vec::new(),
        };
        move |report| match report {
            // It is the last: all others have been heard, or are in the same request.
            Report::Ended => all && !has_open,
            _ if all => true,
            Report::DownlinkData(_) | Report::ErrorIndication(_) => urgent,
            // Usage of one URR is numbered in its order.
            report => report.urrs().any(|urr| quotas.contains(&urr)),
        }
    }

    /// This request was refused for its paging policy: its downlink data is the next to be told. False if it named
    /// no policy.
    pub(super) fn again_without_policy(&mut self, number: RequestNumber) -> bool {
        let open = self.outstanding.iter().find(|open| open.number == number);
        let notified = || open.into_iter().flat_map(|open| &open.contents);
        let data: Vec<_> = notified().filter_map(Report::downlink_data).collect();
        if !data.iter().any(names_policy) {
            return false;
        }
        for data in data.into_iter().rev() {
            self.waiting.push_front(Report::DownlinkData(DownlinkData { dscp: None, ..data }));
        }
        true
    }

    /// This request is answered or given up: another may go.
    pub(super) fn done(&mut self, number: RequestNumber) {
        self.outstanding.retain(|open| open.number != number);
    }

    /// A request could go out now.
    pub(super) fn is_ready(&self) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(self.may_go())
    }

    /// A request was sent and is not answered.
    pub(super) fn is_on_its_way(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// How many reports wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// There is nothing, waiting or on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.outstanding.is_empty()
    }

    /// Puts what a response had no room for before all else, and says how much that is; `None` if it is nothing.
    pub(super) fn push_front(
        &mut self,
        additional: Vec<UsageReport<'static>>,
    ) -> Option<AdditionalUsageReports> {
        let count = u16::try_from(additional.len()).unwrap_or(u16::MAX);
        for report in additional.into_iter().rev() {
            self.waiting.push_front(Report::Additional(Box::new(report)));
        }
        (count > 0).then_some(AdditionalUsageReports::Count(count))
    }

    /// The session ends: what an earlier response had no room for and was not sent either.
    pub(super) fn take_additional(&mut self) -> Vec<UsageReport<'static>> {
        let mut taken = Vec::new();
        for report in std::mem::take(&mut self.waiting) {
            match report {
                Report::Additional(report) => taken.push(*report),
                report => self.waiting.push_back(report),
            }
        }
        taken
    }

    /// Takes the usages of URRs that are gone, to go into the response that says so.
    pub(super) fn take_usage_of(&mut self, gone: impl Fn(UrrId) -> bool) -> Vec<Usage> {
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
    pub(super) fn take_unsent_usage(&mut self) -> Vec<Usage> {
        let usages = |report| if let Report::Usage(parts) = report { parts } else { Vec::new() };
        self.waiting.drain(..).flat_map(usages).collect()
    }

    fn is_in_flight(&self, report: &Report) -> bool {
        let is_same = |notified: &DownlinkData| match report {
            Report::DownlinkData(data) => {
                (notified.pdr, notified.qfi, notified.status) == (data.pdr, data.qfi, data.status)
            }
            _ => false,
        };
        let tells = |notified: &Report| match notified {
            Report::ErrorIndication(_) => notified == report,
            notified => notified.downlink_data().is_some_and(|data| is_same(&data)),
        };
        let is_inactive = |waiting: &Report| matches!(waiting, Report::Inactivity) && waiting == report;
        self.outstanding.iter().flat_map(|open| &open.contents).any(tells)
            || self.waiting.iter().any(|waiting| tells(waiting) || is_inactive(waiting))
    }

    /// Adds usage to the last one of its URR, or to the end when there is none with the same parts.
    fn merge_usage(&mut self, parts: Vec<Usage>) {
        let is_same = |earlier: &[Usage]| {
            earlier.len() == parts.len()
                && earlier.iter().zip(&parts).all(|(one, other)| {
                    (one.urr, one.part) == (other.urr, other.part) && is_of_same(one, other)
                })
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

    fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_) | Self::Additional(_))
    }

    /// The URRs whose usage it is.
    fn urrs(&self) -> impl Iterator<Item = UrrId> {
        let (parts, additional) = match self {
            Self::Usage(parts) => (parts.as_slice(), None),
            Self::Additional(report) => (&[][..], Some(report.urr_id)),
            _ => (&[][..], None),
        };
        parts.iter().map(|usage| usage.urr).chain(additional)
    }

    /// The URR whose quota is exhausted.
    fn quota(&self) -> Option<UrrId> {
        let Self::Usage(parts) = self else { return None };
        parts.iter().find(|usage| usage.triggers.intersects(QUOTA)).map(|usage| usage.urr)
    }

    pub(super) fn tunnel(&self) -> Option<causeway_pfcp::FTeid> {
        if let Self::ErrorIndication(tunnel) = self { Some((*tunnel).into()) } else { None }
    }
}
/// How many times of events one report keeps when reports are added up; the first ones.
const EVENTS_PER_REPORT: usize = 64;

/// Both concern the same application, or none.
fn is_of_same(one: &Usage, other: &Usage) -> bool {
    let application = |usage: &Usage| usage.detected.as_ref().map(|detected| detected.application.clone());
    application(one) == application(other)
}

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
mod tests;
