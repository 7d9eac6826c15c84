//! Builds usage reports from the measurement.

use causeway_model::{Urr, Usage};
use causeway_types::{Span, Time, UsageInformation, UsageReportTrigger as Trigger, Volume};

use super::Measurement;
use super::clock::TimeMeasurement;

/// The usage of a period of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UsagePart {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) volume: Volume,
    pub(super) time: Span,
    pub(super) first_packet: Option<Time>,
    pub(super) last_packet: Option<Time>,
    pub(super) events: Vec<Time>,
}

impl UsagePart {
    /// Nothing measured yet.
    pub(super) fn beginning(now: Time) -> Self {
        Self {
            start: now,
            end: now,
            volume: Volume::ZERO,
            time: Span::ZERO,
            first_packet: None,
            last_packet: None,
            events: Vec::new(),
        }
    }

    /// It has no duration and no usage.
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::beginning(self.end)
    }

    /// Converts to one report. The URR determines whether usage was measured before or after QoS enforcement; both
    /// together are two URRs. So Usage Information is about monitoring times alone (TS 29.244 table 7.5.8.3-1).
    fn into_usage(self, urr: &Urr, triggers: Trigger, part: UsageInformation) -> Usage {
        let method = urr.method;
        Usage {
            part,
            volume: method.volume.then_some(self.volume),
            duration: method.duration.then_some(self.time),
            first_packet: self.first_packet,
            last_packet: self.last_packet,
            events: self.events,
            ..Usage::new(urr.id, triggers, self.start, self.end)
        }
    }
}

impl Measurement {
    /// Reports the usage since the last report. Only a report that a threshold caused restarts the thresholds (TS
    /// 29.244 clause 5.2.2.3.1).
    pub(crate) fn report(&mut self, urr: &Urr, triggers: Trigger, now: Time) -> Vec<Usage> {
        if !triggers.difference(Trigger::IMMER | Trigger::TERMR | Trigger::MONIT).is_empty() {
            self.count_report(urr, now);
        }
        // Such reports contain no measurement: the usage remains for the next one.
        if triggers.difference(Trigger::START | Trigger::DROTH).is_empty() {
            let detected = std::mem::take(&mut self.detected).pop();
            return vec![Usage { events: vec![now], detected, ..Usage::new(urr.id, triggers, now, now) }];
        }
        if triggers.intersects(Trigger::VOLTH | Trigger::TIMTH | Trigger::EVETH) {
            self.armed = self.totals(urr, now);
        }
        let last = self.cut(urr, now);
        let closed = std::mem::take(&mut self.closed);
        self.timers.monitoring_report = None;
        let after = if closed.is_empty() { UsageInformation::empty() } else { UsageInformation::AFT };
        let before = |part: UsagePart| part.into_usage(urr, Trigger::MONIT, UsageInformation::BEF);
        let mut usages: Vec<_> = closed.into_iter().map(before).collect();
        usages.push(last.into_usage(urr, triggers, after));
        self.name_applications(urr, now, &mut usages);
        usages
    }

    /// Names the application that started or stopped in the last report. Further ones that stopped at the same time
    /// have a report of their own, without measurement, since a report names one application.
    fn name_applications(&mut self, urr: &Urr, now: Time, usages: &mut Vec<Usage>) {
        let mut detected = std::mem::take(&mut self.detected).into_iter();
        if let Some(usage) = usages.last_mut() {
            usage.detected = detected.next();
        }
        let stopped =
            |detected| Usage { detected: Some(detected), ..Usage::new(urr.id, Trigger::STOPT, now, now) };
        usages.extend(detected.map(stopped));
    }

    /// Ends the current part and starts another. Time is cut at whole seconds; the fraction goes into the next part.
    pub(super) fn cut(&mut self, urr: &Urr, now: Time) -> UsagePart {
        let totals = self.totals(urr, now);
        let used = totals.since(&self.reported);
        let seconds = Span::from_secs(used.time.as_secs());
        let running = std::mem::replace(&mut self.running, UsagePart::beginning(now));
        // Packets of flow entries may have passed since a timer was due.
        let last_packet = running.last_packet.map(|last| last.min(now));
        let part = UsagePart { end: now, volume: used.volume, time: seconds, last_packet, ..running };
        self.reported = totals;
        self.reported.time = totals.time.saturating_sub(used.time - seconds);
        part
    }

    fn count_report(&mut self, urr: &Urr, now: Time) {
        self.reports_left = self.reports_left.map(|left| left.saturating_sub(1));
        if !self.may_report() {
            self.clock.stop(now, TimeMeasurement::of(urr));
        }
    }
}
