//! The parameters that the SMF gives a URR, and what restarts with them.

use std::collections::BTreeSet;

use causeway_model::{Monitoring, Urr, UrrPart, UsageLimits};
use causeway_types::{ReportingTriggers, Time, Volume};

use super::clock::{TimeMeasurement, UsageTimer};
use super::limits::Exhausted;
use super::report::UsagePart;
use super::totals::Totals;
use super::traffic::Traffic;
use super::{Measurement, Timers, stopped_after};

impl Measurement {
    /// A new measurement; every timer of the URR starts.
    pub(crate) fn new(urr: &Urr, now: Time) -> Self {
        let timers = Timers {
            next_period: urr.period.map(|period| now + period),
            holding_from: Some(now),
            valid_until: urr.validity_time.map(|validity| now + validity),
            active_from: Some(now),
            monitored: None,
            monitoring_report: None,
            set: None,
            set_monitoring: None,
        };
        let mut measurement = Self {
            volume: Volume::ZERO,
            events: 0,
            clock: UsageTimer::default(),
            resumes: false,
            thresholds: urr.thresholds,
            quotas: urr.quotas,
            exhausted: Exhausted::default(),
            reported: Totals::default(),
            armed: Totals::default(),
            granted: Totals::default(),
            running: UsagePart::beginning(now),
            closed: Vec::new(),
            dropped: (0, 0),
            last_packet: None,
            traffic: Traffic::default(),
            detected: Vec::new(),
            timers,
            reports_left: urr.number_of_reports.map(|number| number.get()),
        };
        measurement.exhaust_what_is_zero();
        measurement.start_immediately(urr, now);
        measurement
    }

    /// Restarts after the URR has lost its last PDR: everything but the monitoring times that have passed.
    pub(crate) fn reset(&mut self, urr: &Urr, now: Time) {
        let Timers { monitored, set, set_monitoring, .. } = self.timers;
        let timers = Timers { monitored, set, set_monitoring, ..Self::new(urr, now).timers };
        *self = Self { timers, ..Self::new(urr, now) };
    }

    /// The URR replaces `old`. The parts that differ restart.
    pub(crate) fn update(&mut self, old: &Urr, urr: &Urr, now: Time) {
        let (before, measurement) = (TimeMeasurement::of(old), TimeMeasurement::of(urr));
        if urr.inactive && !old.inactive {
            self.resumes = self.clock.is_running(now, before);
            self.traffic.clear();
        }
        if old.inactive && !urr.inactive {
            self.restart_timers(urr, now);
        }
        if !old.triggers.contains(ReportingTriggers::STOPT) {
            // What stopped before the SMF asked is not reported.
            self.traffic.stop(now, stopped_after(old));
        }
        self.clock.change_pace(now, before, measurement);
        if urr.inactive || !urr.method.duration {
            self.clock.stop(now, measurement);
        } else if old.inactive && std::mem::take(&mut self.resumes) {
            self.clock.start(now, measurement);
        }
        if urr.immediate_start && (old.inactive || !old.immediate_start) {
            self.start_immediately(urr, now);
        }
        let newly = urr.triggers.difference(old.triggers);
        let mut parts = changed(old, urr);
        parts.extend(newly.contains(ReportingTriggers::PERIO).then_some(UrrPart::Period));
        parts.extend(newly.contains(ReportingTriggers::UPINT).then_some(UrrPart::InactivityTimer));
        self.renew(urr, &parts, now);
    }

    /// The SMF has sent these parts again.
    pub(crate) fn renew(&mut self, urr: &Urr, parts: &BTreeSet<UrrPart>, now: Time) {
        for part in parts {
            match part {
                UrrPart::VolumeThreshold => {
                    self.thresholds.volume = urr.thresholds.volume;
                    self.armed.volume = self.reported.volume;
                }
                UrrPart::TimeThreshold => {
                    self.thresholds.time = urr.thresholds.time;
                    self.armed.time = self.reported.time;
                }
                UrrPart::EventThreshold => {
                    self.thresholds.events = urr.thresholds.events;
                    self.armed.events = self.reported.events;
                }
                UrrPart::VolumeQuota => {
                    self.quotas.volume = urr.quotas.volume;
                    self.granted.volume = self.reported.volume;
                    self.exhausted.volume = false;
                    self.start_quota(urr, now);
                }
                UrrPart::TimeQuota => {
                    self.quotas.time = urr.quotas.time;
                    self.granted.time = self.reported.time;
                    self.exhausted.time = false;
                    self.start_quota(urr, now);
                }
                UrrPart::EventQuota => {
                    self.quotas.events = urr.quotas.events;
                    self.granted.events = self.reported.events;
                    self.exhausted.events = urr.quotas.events == Some(0);
                    self.start_quota(urr, now);
                }
                // As the other thresholds, it counts what was not reported.
                UrrPart::DroppedThreshold if urr.dropped_threshold.is_some() => {}
                UrrPart::DroppedThreshold => self.dropped = (0, 0),
                UrrPart::Period => self.timers.next_period = urr.period.map(|period| now + period),
                UrrPart::HoldingTime => {
                    self.revive_without_quota(urr, urr.holding_time.is_some(), now);
                    self.timers.holding_from = Some(now).filter(|_| !self.exhausted.expired);
                }
                UrrPart::ValidityTime => {
                    self.revive_without_quota(urr, urr.validity_time.is_some(), now);
                    let end = urr.validity_time.map(|validity| now + validity);
                    self.timers.valid_until = end.filter(|_| !self.exhausted.expired);
                }
                UrrPart::InactivityTimer => self.timers.active_from = Some(now),
                UrrPart::NumberOfReports => {
                    self.reports_left = urr.number_of_reports.map(|number| number.get());
                    self.start_immediately(urr, now);
                }
            }
        }
    }

    /// Applies the limits after a monitoring time; where none are given, the remainder of the old ones applies.
    pub(super) fn start_subsequent(&mut self, urr: &Urr, monitoring: &Monitoring, now: Time) {
        let totals = self.totals(urr, now);
        restart(&mut self.armed, &monitoring.thresholds, &totals);
        restart(&mut self.granted, &monitoring.quotas, &totals);
        self.thresholds = monitoring.thresholds.or(self.thresholds);
        self.quotas = monitoring.quotas.or(self.quotas);
        self.exhausted.volume &= monitoring.quotas.volume.is_none();
        self.exhausted.time &= monitoring.quotas.time.is_none();
        self.exhausted.events &= monitoring.quotas.events.is_none();
        self.exhaust_what_is_zero();
    }

    /// Where there is no quota to grant, a new holding or validity time lets packets pass again.
    fn revive_without_quota(&mut self, urr: &Urr, is_given: bool, now: Time) {
        let is_unlimited = urr.holding_time.is_none() && urr.validity_time.is_none();
        if self.exhausted.expired && urr.quotas == UsageLimits::default() && (is_given || is_unlimited) {
            self.start_quota(urr, now);
        }
    }

    /// The measurement is no longer paused: what runs without packets starts anew, except that a quota is valid until
    /// the same time.
    fn restart_timers(&mut self, urr: &Urr, now: Time) {
        self.timers.next_period = urr.period.map(|period| now + period);
        self.timers.active_from = Some(now);
        self.timers.holding_from = self.timers.holding_from.map(|_| now);
    }

    /// The holding and validity times of a quota start when it is given.
    fn start_quota(&mut self, urr: &Urr, now: Time) {
        self.exhausted.expired = false;
        self.timers.holding_from = Some(now);
        self.timers.valid_until = urr.validity_time.map(|validity| now + validity);
        self.start_immediately(urr, now);
    }

    /// ISTM: time runs without a packet.
    fn start_immediately(&mut self, urr: &Urr, now: Time) {
        if urr.method.duration && urr.immediate_start && self.is_active(urr) && !self.is_exhausted() {
            self.clock.start(now, TimeMeasurement::of(urr));
        }
    }

    fn exhaust_what_is_zero(&mut self) {
        let zero = super::totals::ReachedLimits::of(&self.quotas, &Totals::default());
        self.exhausted.volume |= zero.volume;
        self.exhausted.time |= zero.time;
        self.exhausted.events |= zero.events;
    }
}

/// Restarts the count of the limits from these totals.
fn restart(start: &mut Totals, limits: &UsageLimits, totals: &Totals) {
    if limits.volume.is_some() {
        start.volume = totals.volume;
    }
    if limits.time.is_some() {
        start.time = totals.time;
    }
    if limits.events.is_some() {
        start.events = totals.events;
    }
}

fn changed(old: &Urr, new: &Urr) -> BTreeSet<UrrPart> {
    let parts = [
        (UrrPart::VolumeThreshold, old.thresholds.volume != new.thresholds.volume),
        (UrrPart::TimeThreshold, old.thresholds.time != new.thresholds.time),
        (UrrPart::EventThreshold, old.thresholds.events != new.thresholds.events),
        (UrrPart::VolumeQuota, old.quotas.volume != new.quotas.volume),
        (UrrPart::TimeQuota, old.quotas.time != new.quotas.time),
        (UrrPart::EventQuota, old.quotas.events != new.quotas.events),
        (UrrPart::DroppedThreshold, old.dropped_threshold != new.dropped_threshold),
        (UrrPart::Period, old.period != new.period),
        (UrrPart::HoldingTime, old.holding_time != new.holding_time),
        (UrrPart::ValidityTime, old.validity_time != new.validity_time),
        (UrrPart::InactivityTimer, old.inactivity_timer != new.inactivity_timer),
        (UrrPart::NumberOfReports, old.number_of_reports != new.number_of_reports),
    ];
    parts.into_iter().filter(|(_, is)| *is).map(|(part, _)| part).collect()
}
