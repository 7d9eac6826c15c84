//! Usage: what a URR measures, and when it reports (TS 29.244 clauses 5.2.2 and 7.5.8.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_model::{
    ApplicationId, BaseInterval, Detected, Monitoring, Pdr, Urr, UrrPart, Usage, UsageLimits,
};
use causeway_types::{
    Direction, PdrId, ReportingTriggers as On, Span, Time, UsageInformation, UsageReportTrigger as Cause,
    Volume, WallClock,
};

/// The time without packets after which traffic has stopped, without an Inactivity Detection Time.
const STOPPED_AFTER: Span = Span::from_secs(60);
/// The time after a monitoring time until both parts are reported, if nothing else causes a report.
const MONITORED_WITHIN: Span = Span::from_secs(5);

/// A quantity of everything that can be limited.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    volume: Volume,
    time: Span,
    events: u64,
}

/// Traffic that has started and not stopped.
#[derive(Clone, Copy, Debug)]
struct Running {
    last: Time,
    pdr: PdrId,
}

/// The measurement of one URR.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    urr: Arc<Urr>,
    /// The start of the present part.
    since: Time,
    unreported: Amount,
    events: Vec<Time>,
    first_packet: Option<Time>,
    last_packet: Option<Time>,
    /// The parts before monitoring times, which the next report contains.
    before: Vec<Usage>,
    /// The limits in force: those of the URR, or subsequent ones.
    thresholds: UsageLimits,
    quotas: UsageLimits,
    to_threshold: Amount,
    to_quota: Amount,
    /// The quotas that are exhausted; [`UrrPart::ValidityTime`]: all are void. Nothing passes until they are granted.
    exhausted: BTreeSet<UrrPart>,
    dropped: (u64, u64),
    /// Until when time was measured; `None`: it does not run.
    measured: Option<Time>,
    /// Time was measured when the measurement was paused.
    was_running: bool,
    /// The end of the present interval of time measurement.
    pause_at: Option<Time>,
    running: BTreeMap<Option<ApplicationId>, Running>,
    period_at: Option<Time>,
    holding_at: Option<Time>,
    validity_at: Option<Time>,
    inactivity_at: Option<Time>,
    monitorings: Vec<Monitoring>,
    monitored_at: Option<Time>,
    reports_left: Option<u16>,
    /// Of a stop that is due, the applications.
    stopped: Vec<Option<Detected>>,
    /// What is to be reported.
    due: Cause,
    notes: Vec<Usage>,
}

impl Measurement {
    /// That of a new URR.
    pub(crate) fn new(urr: Arc<Urr>, now: Time, clock: WallClock) -> Self {
        let mut new = Self {
            since: now,
            unreported: Amount::default(),
            events: Vec::new(),
            first_packet: None,
            last_packet: None,
            before: Vec::new(),
            thresholds: urr.thresholds,
            quotas: urr.quotas,
            to_threshold: Amount::default(),
            to_quota: Amount::default(),
            exhausted: BTreeSet::new(),
            dropped: (0, 0),
            measured: None,
            was_running: false,
            pause_at: None,
            running: BTreeMap::new(),
            period_at: None,
            holding_at: None,
            validity_at: None,
            inactivity_at: None,
            monitorings: urr.monitoring_times().into_iter().copied().collect(),
            monitored_at: None,
            reports_left: urr.number_of_reports.map(std::num::NonZeroU16::get),
            stopped: Vec::new(),
            due: Cause::empty(),
            notes: Vec::new(),
            urr,
        };
        // A monitoring time that is over holds immediately, and there is nothing before it.
        while let Some(first) = new.monitorings.first().filter(|first| clock.reaches(first.at) <= now) {
            (new.thresholds, new.quotas) = (first.thresholds.or(new.thresholds), first.quotas.or(new.quotas));
            new.monitorings.remove(0);
        }
        new.check_quota();
        // Nothing is reported of a quota of zero.
        new.due = Cause::empty();
        for part in [UrrPart::Period, UrrPart::HoldingTime, UrrPart::ValidityTime, UrrPart::InactivityTimer] {
            new.restart_timers(now, &part);
        }
        if new.urr.immediate_start && new.is_active() {
            new.start_time(now);
        }
        new
    }

    /// The rule is replaced; what has changed starts over.
    pub(crate) fn replace(&mut self, urr: Arc<Urr>, now: Time, clock: WallClock) {
        self.measure_time(now);
        let old = std::mem::replace(&mut self.urr, urr);
        let new = Arc::clone(&self.urr);
        let mut parts = BTreeSet::new();
        let mut changed = |part: UrrPart, has_changed: bool| {
            if has_changed {
                parts.insert(part);
            }
        };
        changed(UrrPart::VolumeThreshold, old.thresholds.volume != new.thresholds.volume);
        changed(UrrPart::TimeThreshold, old.thresholds.time != new.thresholds.time);
        changed(UrrPart::EventThreshold, old.thresholds.events != new.thresholds.events);
        changed(UrrPart::VolumeQuota, old.quotas.volume != new.quotas.volume);
        changed(UrrPart::TimeQuota, old.quotas.time != new.quotas.time);
        changed(UrrPart::EventQuota, old.quotas.events != new.quotas.events);
        changed(UrrPart::DroppedThreshold, old.dropped_threshold != new.dropped_threshold);
        changed(UrrPart::Period, old.period != new.period);
        changed(UrrPart::HoldingTime, old.holding_time != new.holding_time);
        changed(UrrPart::ValidityTime, old.validity_time != new.validity_time);
        changed(UrrPart::InactivityTimer, old.inactivity_timer != new.inactivity_timer);
        changed(UrrPart::NumberOfReports, old.number_of_reports != new.number_of_reports);
        if (&old.monitoring, &old.additional_monitoring) != (&new.monitoring, &new.additional_monitoring) {
            self.monitorings = new.monitoring_times().into_iter().copied().collect();
            self.reach_monitorings(now, clock);
        }
        if old.triggers.contains(On::PERIO) != new.triggers.contains(On::PERIO) {
            parts.insert(UrrPart::Period);
        }
        if old.inactive && !new.inactive {
            // What runs without packets starts anew; a quota is valid until the same time.
            self.restart_timers(now, &UrrPart::Period);
            self.restart_timers(now, &UrrPart::InactivityTimer);
            if self.holding_at.is_some() {
                self.restart_timers(now, &UrrPart::HoldingTime);
            }
        }
        if new.inactive && !old.inactive {
            self.was_running = self.measured.is_some();
            self.stop_time();
            self.running.clear();
        } else if new.immediate_start && !old.immediate_start
            || old.inactive && !new.inactive && (new.immediate_start || self.was_running)
        {
            self.start_time(now);
        }
        if !new.method.duration {
            self.stop_time();
        }
        self.renew(&parts, now);
    }

    /// These parts were provisioned again: a threshold or quota counts from the last report on, a time runs from now.
    pub(crate) fn renew(&mut self, parts: &BTreeSet<UrrPart>, now: Time) {
        self.measure_time(now);
        let (new, used) = (Arc::clone(&self.urr), self.unreported);
        for part in parts {
            match part {
                UrrPart::VolumeThreshold => {
                    (self.thresholds.volume, self.to_threshold.volume) = (new.thresholds.volume, used.volume);
                }
                UrrPart::VolumeQuota => {
                    (self.quotas.volume, self.to_quota.volume) = (new.quotas.volume, used.volume);
                }
                UrrPart::TimeThreshold => {
                    (self.thresholds.time, self.to_threshold.time) = (new.thresholds.time, used.time);
                }
                UrrPart::TimeQuota => (self.quotas.time, self.to_quota.time) = (new.quotas.time, used.time),
                UrrPart::EventThreshold => {
                    (self.thresholds.events, self.to_threshold.events) = (new.thresholds.events, used.events);
                }
                UrrPart::EventQuota => {
                    (self.quotas.events, self.to_quota.events) = (new.quotas.events, used.events);
                }
                UrrPart::DroppedThreshold if new.dropped_threshold.is_none() => self.dropped = (0, 0),
                UrrPart::DroppedThreshold => {}
                UrrPart::HoldingTime | UrrPart::ValidityTime => self.renew_quota_time(now, *part),
                UrrPart::NumberOfReports => {
                    self.reports_left = self.urr.number_of_reports.map(std::num::NonZeroU16::get);
                }
                timer => self.restart_timers(now, timer),
            }
        }
        if parts.iter().any(|part| is_quota(*part)) {
            self.exhausted.retain(|part| !parts.contains(part) && *part != UrrPart::ValidityTime);
            self.restart_timers(now, &UrrPart::HoldingTime);
            self.restart_timers(now, &UrrPart::ValidityTime);
        }
        if parts.iter().any(|part| is_quota(*part) || *part == UrrPart::NumberOfReports)
            && new.immediate_start
            && self.is_active()
            && self.measured.is_none()
        {
            self.start_time(now);
        }
        if parts.iter().any(|part| is_quota(*part)) {
            self.check_quota();
        }
        self.check_thresholds();
        self.check_dropped(now);
    }

    /// A holding or validity time runs from now, unless the quotas are void; without quotas it ends that.
    fn renew_quota_time(&mut self, now: Time, part: UrrPart) {
        let urr = Arc::clone(&self.urr);
        let is_void = self.exhausted.contains(&UrrPart::ValidityTime);
        let given = if part == UrrPart::HoldingTime {
            urr.holding_time.is_some()
        } else {
            urr.validity_time.is_some()
        };
        let is_free = urr.holding_time.is_none() && urr.validity_time.is_none();
        if !is_void {
            self.restart_timers(now, &part);
        } else if urr.quotas == UsageLimits::default() && (given || is_free) {
            self.exhausted.remove(&UrrPart::ValidityTime);
            self.restart_timers(now, &UrrPart::HoldingTime);
            self.restart_timers(now, &UrrPart::ValidityTime);
            if urr.immediate_start && self.is_active() && self.measured.is_none() {
                self.start_time(now);
            }
        }
    }

    fn restart_timers(&mut self, now: Time, part: &UrrPart) {
        let urr = &self.urr;
        match part {
            UrrPart::Period => {
                let period = urr.period.filter(|_| urr.triggers.contains(On::PERIO));
                self.period_at = period.map(|period| now + period);
            }
            UrrPart::HoldingTime => self.holding_at = urr.holding_time.map(|time| now + time),
            UrrPart::ValidityTime => self.validity_at = urr.validity_time.map(|time| now + time),
            UrrPart::InactivityTimer => {
                let timer = urr.inactivity_timer.filter(|_| urr.triggers.contains(On::UPINT));
                self.inactivity_at = timer.map(|timer| now + timer);
            }
            _ => {}
        }
    }

    /// A quota is exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        !self.exhausted.is_empty()
    }

    /// It measures: it is neither paused nor at the end of its number of reports.
    pub(crate) fn is_active(&self) -> bool {
        !self.urr.inactive && self.reports_left != Some(0)
    }

    /// The rule.
    pub(crate) fn urr(&self) -> &Urr {
        &self.urr
    }

    /// A packet of a PDR with this URR was received, whatever becomes of it.
    pub(crate) fn note_traffic(&mut self, pdr: &Pdr, now: Time) {
        self.restart_timers(now, &UrrPart::InactivityTimer);
        if self.holding_at.is_some() {
            self.restart_timers(now, &UrrPart::HoldingTime);
        }
        if !self.is_active() {
            return;
        }
        self.advance_runs(now);
        let application = pdr.pdi.application.clone();
        let running = Running { last: now, pdr: pdr.id };
        let is_start = self.running.insert(application.clone(), running).is_none();
        if is_start && self.urr.method.events && !self.is_exhausted() {
            self.count_event(now);
        }
        if is_start && self.urr.triggers.contains(On::START) {
            let mut note = Usage::new(self.urr.id, Cause::START, now, now);
            note.events.push(now);
            note.detected = application.map(|application| Detected { application, pdr: pdr.id });
            self.notes.push(note);
        }
    }

    /// Traffic starts: an event, unless it is one more than the quota has.
    fn count_event(&mut self, now: Time) {
        let has_left = |quota: u32| self.to_quota.events < u64::from(quota);
        if !self.quotas.events.is_none_or(has_left) {
            self.exhaust(Cause::EVEQU, false);
            return;
        }
        for amount in [&mut self.unreported, &mut self.to_threshold, &mut self.to_quota] {
            amount.events += 1;
        }
        self.events.push(now);
        self.check_thresholds();
        if self.quotas.events.is_some_and(|quota| self.to_quota.events == u64::from(quota))
            && self.urr.triggers.contains(On::EVEQU)
        {
            self.due |= Cause::EVEQU;
        }
    }

    /// A packet of this many octets would be more than a quota has left. The quota is exhausted then.
    pub(crate) fn exceeds_quota(&mut self, direction: Direction, octets: u64, now: Time) -> bool {
        if !self.is_active() {
            return self.is_exhausted();
        }
        self.measure_time(now);
        let mut after = self.to_quota;
        after.volume.count(direction, octets);
        if !self.is_exhausted() && self.quotas.volume.is_some_and(|quota| quota.is_exceeded_by(&after.volume))
        {
            self.exhaust(Cause::VOLQU, true);
        }
        self.is_exhausted()
    }

    /// Counts a packet.
    pub(crate) fn count(&mut self, direction: Direction, octets: u64, now: Time) {
        if !self.is_active() || self.is_exhausted() {
            return;
        }
        self.measure_time(now);
        for amount in [&mut self.unreported, &mut self.to_threshold, &mut self.to_quota] {
            if self.urr.method.volume {
                amount.volume.count(direction, octets);
            }
        }
        self.first_packet = self.first_packet.or(Some(now));
        self.last_packet = Some(now);
        self.start_time(now);
        if !self.urr.before_qos {
            self.check();
        }
    }

    /// Compares what was measured with the limits.
    pub(crate) fn check(&mut self) {
        self.check_thresholds();
        self.check_quota();
    }

    /// Counts a downlink packet that was dropped.
    pub(crate) fn count_dropped(&mut self, octets: u64, now: Time) {
        if self.urr.dropped_threshold.is_some() && self.is_active() {
            self.dropped = (self.dropped.0 + 1, self.dropped.1 + octets);
            self.check_dropped(now);
        }
    }

    fn check_dropped(&mut self, now: Time) {
        let reports = self.is_active() && self.urr.triggers.contains(On::DROTH);
        let (packets, octets) = self.dropped;
        let is_reached = self.urr.dropped_threshold.is_some_and(|limit| limit.is_reached_by(packets, octets));
        if reports && packets > 0 && is_reached {
            self.dropped = (0, 0);
            let mut note = Usage::new(self.urr.id, Cause::DROTH, now, now);
            note.events.push(now);
            self.notes.push(note);
        }
    }

    /// A packet or a report starts the measurement of time, or prolongs its interval.
    fn start_time(&mut self, now: Time) {
        if !self.urr.method.duration || self.is_exhausted() {
            return;
        }
        let is_running = self.measured.is_some();
        self.measured = self.measured.or(Some(now));
        self.pause_at = match (self.urr.base_interval, self.urr.inactivity_detection) {
            (Some(BaseInterval::Discrete(length)), _) if !is_running => Some(now + length),
            (Some(BaseInterval::Discrete(_)), _) => self.pause_at,
            (Some(BaseInterval::Continuous(length)), _) => {
                let start = if is_running { self.pause_at.map_or(now, |at| at - length) } else { now };
                // The end of the interval behind the one that has the packet.
                let mut end = if is_running { start } else { now };
                while end <= now {
                    end = end + length;
                }
                Some(end + length)
            }
            (None, Some(time)) => Some(now + time),
            (None, None) => None,
        };
    }

    fn stop_time(&mut self) {
        (self.measured, self.pause_at) = (None, None);
    }

    /// Measures time until now, or until the present interval has ended.
    fn measure_time(&mut self, now: Time) {
        let Some(measured) = self.measured else { return };
        let end = self.pause_at.filter(|at| *at <= now);
        let until = end.unwrap_or(now).max(measured);
        for amount in [&mut self.unreported, &mut self.to_threshold, &mut self.to_quota] {
            amount.time += until.since(measured);
        }
        self.measured = Some(until);
        if end.is_some() {
            self.stop_time();
            if self.urr.triggers.contains(On::ENVCL) {
                self.due |= Cause::ENVCL;
            }
        }
    }

    /// Nothing passes any more; `reports`: this is reported, if it is a trigger.
    fn exhaust(&mut self, cause: Cause, reports: bool) {
        let (part, trigger) = match cause {
            Cause::VOLQU => (UrrPart::VolumeQuota, On::VOLQU),
            Cause::TIMQU => (UrrPart::TimeQuota, On::TIMQU),
            Cause::EVEQU => (UrrPart::EventQuota, On::EVEQU),
            Cause::QUHTI => (UrrPart::ValidityTime, On::QUHTI),
            _ => (UrrPart::ValidityTime, On::QUVTI),
        };
        self.exhausted.insert(part);
        self.stop_time();
        if reports && self.urr.triggers.contains(trigger) {
            self.due |= cause;
        }
    }

    fn check_quota(&mut self) {
        if self.is_exhausted() || !self.is_active() {
            return;
        }
        if self.quotas.volume.is_some_and(|quota| quota.is_reached_by(&self.to_quota.volume)) {
            self.exhaust(Cause::VOLQU, true);
        } else if self.quotas.time.is_some_and(|quota| self.to_quota.time >= quota) {
            self.exhaust(Cause::TIMQU, true);
        }
    }

    fn check_thresholds(&mut self) {
        if !self.is_active() {
            return;
        }
        let (limits, used, on) = (self.thresholds, self.to_threshold, self.urr.triggers);
        if on.contains(On::VOLTH) && limits.volume.is_some_and(|limit| limit.is_reached_by(&used.volume)) {
            self.due |= Cause::VOLTH;
        }
        if on.contains(On::TIMTH) && limits.time.is_some_and(|limit| used.time >= limit) {
            self.due |= Cause::TIMTH;
        }
        if on.contains(On::EVETH) && limits.events.is_some_and(|limit| used.events >= u64::from(limit)) {
            self.due |= Cause::EVETH;
        }
    }

    /// An End Marker was received.
    pub(crate) fn note_end_marker(&mut self) {
        if self.is_active() && self.urr.triggers.contains(On::REEMR) {
            self.due |= Cause::EMRRE;
        }
    }

    /// Timers that have expired.
    pub(crate) fn advance(&mut self, now: Time, clock: WallClock) {
        self.reach_monitorings(now, clock);
        self.measure_time(now);
        if !self.is_active() {
            return;
        }
        self.check();
        self.advance_runs(now);
        if self.period_at.is_some_and(|at| at <= now) {
            self.due |= Cause::PERIO;
            while let (Some(at), Some(period)) = (self.period_at.filter(|at| *at <= now), self.urr.period) {
                self.period_at = Some(at + period);
            }
        }
        if self.inactivity_at.take_if(|at| *at <= now).is_some() {
            self.due |= Cause::UPINT;
        }
        if self.monitored_at.take_if(|at| *at <= now).is_some() {
            self.due |= Cause::MONIT;
        }
        let is_invalid = self.validity_at.is_some_and(|at| at <= now);
        let is_held = self.holding_at.is_some_and(|at| at <= now);
        if is_invalid {
            self.exhaust(Cause::QUVTI, true);
        }
        if is_held {
            // What comes after it starts anew.
            self.running.clear();
            self.exhaust(Cause::QUHTI, true);
        }
        if is_invalid || is_held {
            (self.validity_at, self.holding_at) = (None, None);
        }
    }

    /// Traffic that has stopped.
    fn advance_runs(&mut self, now: Time) {
        let after = self.urr.inactivity_detection.unwrap_or(STOPPED_AFTER);
        let is_over = |running: &Running| running.last + after <= now;
        let (stopped, running): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.running).into_iter().partition(|(_, running)| is_over(running));
        self.running = running;
        if self.urr.triggers.contains(On::STOPT) && !stopped.is_empty() {
            self.due |= Cause::STOPT;
            self.stopped.extend(stopped.into_iter().map(|(application, running)| {
                application.map(|application| Detected { application, pdr: running.pdr })
            }));
        }
    }

    fn reach_monitorings(&mut self, now: Time, clock: WallClock) {
        while let Some(first) = self.monitorings.first().copied() {
            let at = clock.reaches(first.at);
            if at > now {
                return;
            }
            self.monitorings.remove(0);
            self.measure_time(at);
            let part = self.take_part(Cause::MONIT, at, UsageInformation::BEF);
            self.before.push(part);
            self.thresholds = first.thresholds.or(self.thresholds);
            self.quotas = first.quotas.or(self.quotas);
            if first.thresholds != UsageLimits::default() {
                self.to_threshold = Amount::default();
            }
            if first.quotas != UsageLimits::default() {
                self.to_quota = Amount::default();
                self.exhausted.clear();
            }
            self.monitored_at = self.monitored_at.or(Some(at + MONITORED_WITHIN));
        }
    }

    /// When [`Measurement::advance`] is due next.
    pub(crate) fn next_deadline(&self, clock: WallClock) -> Option<Time> {
        let monitoring = self.monitorings.first().map(|first| clock.reaches(first.at));
        if !self.is_active() {
            return monitoring;
        }
        let after = self.urr.inactivity_detection.unwrap_or(STOPPED_AFTER);
        let stop = self.running.values().map(|running| running.last + after).min();
        let limit = |limit: Option<Span>, used: Span| {
            let left = limit?.saturating_sub(used);
            self.measured.map(|measured| measured + left)
        };
        let threshold = limit(self.thresholds.time, self.to_threshold.time)
            .filter(|_| self.urr.triggers.contains(On::TIMTH));
        let quota = limit(self.quotas.time, self.to_quota.time).filter(|_| !self.is_exhausted());
        let timers =
            [self.period_at, self.holding_at, self.validity_at, self.inactivity_at, self.monitored_at];
        let others = [monitoring, stop, threshold, quota, self.pause_at];
        timers.into_iter().chain(others).flatten().min()
    }

    /// A report is due.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty() || !self.notes.is_empty()
    }

    /// The reports that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<Usage> {
        let mut list = std::mem::take(&mut self.notes);
        let mut due = std::mem::take(&mut self.due);
        if !due.is_empty() {
            // Triggers that come together make one report; each further application that stops has its own.
            let start = list.pop_if(|note| note.triggers == Cause::START);
            due.set(Cause::START, start.is_some());
            due.set(Cause::DROTH, list.pop_if(|note| note.triggers == Cause::DROTH).is_some());
            list.extend(self.take(due, now));
            let mut stopped = std::mem::take(&mut self.stopped).into_iter();
            let detected = start.and_then(|start| start.detected).or(stopped.next().flatten());
            if let Some(last) = list.last_mut() {
                last.detected = detected;
            }
            list.extend(
                stopped.map(|detected| Usage { detected, ..Usage::new(self.urr.id, Cause::STOPT, now, now) }),
            );
        }
        if !list.is_empty() {
            self.count_report();
        }
        list
    }

    /// The report of a URR that is linked to one that reports.
    pub(crate) fn take_linked(&mut self, now: Time) -> Vec<Usage> {
        let list = self.take(Cause::LIUSA, now);
        self.count_report();
        list
    }

    fn count_report(&mut self) {
        self.reports_left = self.reports_left.map(|left| left.saturating_sub(1));
        if self.reports_left == Some(0) {
            self.stop_time();
        }
    }

    /// The usage since the last report, in parts.
    pub(crate) fn take(&mut self, cause: Cause, now: Time) -> Vec<Usage> {
        self.measure_time(now);
        let part = if self.before.is_empty() { UsageInformation::empty() } else { UsageInformation::AFT };
        let mut parts = std::mem::take(&mut self.before);
        parts.push(self.take_part(cause, now, part));
        self.monitored_at = None;
        // A report that a threshold caused starts all of them anew.
        if cause.intersects(Cause::VOLTH | Cause::TIMTH | Cause::EVETH) {
            self.to_threshold = Amount::default();
        }
        parts
    }

    fn take_part(&mut self, cause: Cause, end: Time, part: UsageInformation) -> Usage {
        let whole = Span::from_secs(self.unreported.time.as_secs());
        let mut usage = Usage::new(self.urr.id, cause, self.since, end);
        usage.part = part;
        usage.volume = self.urr.method.volume.then_some(self.unreported.volume);
        usage.duration = self.urr.method.duration.then_some(whole);
        usage.first_packet = self.first_packet.take();
        usage.last_packet = self.last_packet.take();
        usage.events = std::mem::take(&mut self.events);
        let fraction = self.unreported.time.saturating_sub(whole);
        self.unreported = Amount { time: fraction, ..Amount::default() };
        self.since = end;
        usage
    }
}

fn is_quota(part: UrrPart) -> bool {
    matches!(part, UrrPart::VolumeQuota | UrrPart::TimeQuota | UrrPart::EventQuota)
}
