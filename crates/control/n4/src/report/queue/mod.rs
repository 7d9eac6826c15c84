//! The report queue of one session: few requests in flight at a time, numbered in the order of their events.

use std::collections::VecDeque;
use std::ops::Add;

use causeway_dataplane::DownlinkData;
use causeway_model::Usage;
use causeway_pfcp::{AdditionalUsageReports, UsageReport};
use causeway_types::{FTeid, PdrId, UrrId, UsageReportTrigger};

use super::batch::{ReportBatch, names_policy};

/// A report to the SMF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// Usage of one URR (USAR), in parts that must be in one message.
    Usage(Vec<Usage>),
    /// Usage that did not fit into a response (USAR), already numbered.
    Additional(Box<UsageReport<'static>>),
    /// Downlink data was received for an idle UE, or was discarded (DLDR).
    DownlinkData(DownlinkData),
    /// A GTP-U peer sent an Error Indication for this tunnel (ERIR).
    ErrorIndication(FTeid),
    /// No packet was received for the inactivity period (UPIR).
    Inactivity,
    /// The UPF has deleted the session (PSDBU). The last of its reports.
    Ended,
}

/// The most requests of a session in flight.
const MAX_OUTSTANDING: usize = 4;
/// The number of additional requests in flight for urgent reports: paging, tunnel errors, quotas.
const MAX_OUTSTANDING_URGENT: usize = 4;

/// The triggers of quota exhaustion: no more packets pass until the SMF grants a new quota.
const QUOTA: UsageReportTrigger = UsageReportTrigger::VOLQU
    .union(UsageReportTrigger::TIMQU)
    .union(UsageReportTrigger::EVEQU)
    .union(UsageReportTrigger::QUHTI)
    .union(UsageReportTrigger::QUVTI);

/// The reports of a session that has some.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Report>,
    /// The requests in flight.
    outstanding: Vec<OutstandingRequest>,
    last: RequestNumber,
}

/// The number of a request within its session.
pub(crate) type RequestNumber = u16;

/// A request in flight.
#[derive(Debug)]
struct OutstandingRequest {
    number: RequestNumber,
    /// Its contents beside usage.
    contents: Vec<Report>,
    /// The number of its transaction; `None`: it was not sent.
    sequence: Option<u32>,
}

impl Queue {
    /// Adds a report. A report that is in flight or queued is not added twice. Above `limit`, usage is added to queued
    /// usage of the same URR, so nothing is lost; other reports are then rejected. Usage that did not fit into a response
    /// does not count.
    #[must_use]
    pub(super) fn push(&mut self, report: Report, limit: usize) -> bool {
        if self.is_in_flight(&report) {
            return true;
        }
        let is_full = self.waiting.len() - self.additional() >= limit;
        match report {
            Report::Usage(parts) if is_full => self.merge_usage(parts),
            _ if is_full => return false,
            report => self.waiting.push_back(report),
        }
        true
    }

    /// Takes the contents of the next request, and its number: the first reports that fit together. While
    /// [`MAX_OUTSTANDING`] requests are in flight, only urgent reports, and the usage that must be numbered before
    /// them. `None` when nothing may be sent.
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
        self.outstanding.push(OutstandingRequest { number: self.last, contents: notified, sequence: None });
        Some((self.last, request))
    }

    /// Which of the queued reports may be sent now.
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
            // The last report: all others have been acknowledged, or are in the same request.
            Report::Ended => all && !has_open,
            _ if all => true,
            Report::DownlinkData(_) | Report::ErrorIndication(_) => urgent,
            // Usage reports of one URR are numbered in order.
            report => report.urrs().any(|urr| quotas.contains(&urr)),
        }
    }

    /// This request was rejected for its paging policy: its downlink data is the next to be reported. False if it had
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

    /// Downlink data is in a request in flight.
    pub(super) fn notifies(&self) -> bool {
        self.outstanding.iter().flat_map(|open| &open.contents).any(|report| report.downlink_data().is_some())
    }

    /// The next packets of these PDRs are reported, whatever is in flight: the requests in flight are about packets before
    /// a change of their FARs.
    pub(super) fn notify_again(&mut self, pdrs: &[PdrId]) {
        let is_earlier =
            |report: &Report| report.downlink_data().is_some_and(|data| pdrs.contains(&data.pdr));
        for open in &mut self.outstanding {
            open.contents.retain(|report| !is_earlier(report));
        }
    }

    /// A request was sent under the number of this transaction.
    pub(super) fn sent(&mut self, number: RequestNumber, sequence: u32) {
        if let Some(open) = self.outstanding.iter_mut().find(|open| open.number == number) {
            open.sequence = Some(sequence);
        }
    }

    /// A request of another member of a chain is in flight. Returns its number here.
    pub(super) fn resume(&mut self, sequence: u32) -> RequestNumber {
        self.last = self.last.wrapping_add(1);
        let open = OutstandingRequest { number: self.last, contents: Vec::new(), sequence: Some(sequence) };
        self.outstanding.push(open);
        self.last
    }

    /// The transactions of the requests in flight.
    pub(super) fn sequences(&self) -> impl Iterator<Item = u32> {
        self.outstanding.iter().filter_map(|open| open.sequence)
    }

    /// Usage that was not sent, one item for each report.
    pub(super) fn unsent_usage(&self) -> impl Iterator<Item = &Vec<Usage>> {
        self.waiting
            .iter()
            .filter_map(|report| if let Report::Usage(parts) = report { Some(parts) } else { None })
    }

    /// This request got its response or was given up: another may be sent.
    pub(super) fn done(&mut self, number: RequestNumber) {
        self.outstanding.retain(|open| open.number != number);
    }

    /// A request could be sent now.
    pub(super) fn is_ready(&self) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(self.may_go())
    }

    /// A request is in flight.
    pub(super) fn is_on_its_way(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// The number of queued reports.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The number of queued usage reports that did not fit into a response.
    pub(super) fn additional(&self) -> usize {
        self.waiting.iter().filter(|report| matches!(report, Report::Additional(_))).count()
    }

    /// No report is queued or in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.outstanding.is_empty()
    }

    /// Puts reports that did not fit into a response first, and returns their number; `None` if there are none.
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

    /// The session ends: takes the reports that did not fit into an earlier response and were not sent either.
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

    /// Takes the usage of removed URRs, for the response to their removal.
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

    /// The session ends: takes the usage that was not sent, for the last response.
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
        let notifies = |notified: &Report| match notified {
            Report::ErrorIndication(_) => notified == report,
            notified => notified.downlink_data().is_some_and(|data| is_same(&data)),
        };
        let is_inactive = |waiting: &Report| matches!(waiting, Report::Inactivity) && waiting == report;
        self.outstanding.iter().flat_map(|open| &open.contents).any(notifies)
            || self.waiting.iter().any(|waiting| notifies(waiting) || is_inactive(waiting))
    }

    /// Adds usage to the last queued one of its URR, or to the end if there is none with the same parts.
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

    /// The URRs of the report.
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
/// The most event times in one report when reports are added up; the first ones are kept.
const EVENTS_PER_REPORT: usize = 64;

/// Both are of the same application, or of none.
fn is_of_same(one: &Usage, other: &Usage) -> bool {
    let application = |usage: &Usage| usage.detected.as_ref().map(|detected| detected.application.clone());
    application(one) == application(other)
}

/// Merges two consecutive measurements into one.
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
