//! The reports of one session, one on its way at a time so that they arrive in order.

use std::collections::VecDeque;
use std::ops::Add;

use causeway_dataplane::DownlinkData;
use causeway_pfcp::{AdditionalUsageReports, UsageReport};
use causeway_rules::Usage;
use causeway_types::{FTeid, UrrId};

use super::bundle::{Bundle, names_policy};

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

/// The reports of a session that has some.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Report>,
    /// The downlink data of the request that was sent and is not answered.
    on_its_way: Option<Vec<DownlinkData>>,
}

impl Queue {
    /// Adds a report. What the SMF is being told of is not said twice. Above `limit`, usage is added to what waits
    /// of the same URR, so nothing is lost; other reports are then refused.
    #[must_use]
    pub(super) fn push(&mut self, report: Report, limit: usize) -> bool {
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
    pub(super) fn next_request(&mut self) -> Vec<Report> {
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
    pub(super) fn again_without_policy(&mut self) -> bool {
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
    pub(super) fn done(&mut self) {
        self.on_its_way = None;
    }

    /// A request could go out now.
    pub(super) fn is_ready(&self) -> bool {
        self.on_its_way.is_none() && !self.waiting.is_empty()
    }

    /// A request was sent and is not answered.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.on_its_way.is_some()
    }

    /// How many reports wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// There is nothing, waiting or on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.on_its_way.is_none()
    }

    /// Puts what a response had no room for before all else, and says how much that is; `None` if it is nothing.
    pub(super) fn put_first(
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
