//! Usage measurement of one URR (TS 29.244 clause 5.2.2).

mod clock;
mod due;
mod lease;
mod limits;
mod measured_state;
mod provision;
mod report;
mod snapshot;
mod state;
mod totals;
mod traffic;

use std::time::Duration;

use causeway_model::{Detected, Pdr, Urr, UsageLimits};
use causeway_types::{Direction, ReportingTriggers, Span, Time, UsageReportTrigger, Volume, WallTime};

use clock::{TimeMeasurement, UsageTimer};
use limits::Exhausted;
pub(crate) use measured_state::UrrState;
use report::UsagePart;
pub(crate) use snapshot::{SnapshotReader, begin_snapshot};
use totals::Totals;
use traffic::Traffic;

/// How long without packets until traffic counts as stopped, without an Inactivity Detection Time.
const TRAFFIC_STOP_TIMEOUT: Span = Duration::from_secs(60);

/// The measurement of a URR, and how much of it has been reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Measurement {
    /// After QoS enforcement; with MBQE before it.
    volume: Volume,
    events: u64,
    clock: UsageTimer,
    /// The clock ran when the measurement was paused.
    resumes: bool,
    /// The thresholds in force: the URR's, or subsequent ones of a monitoring time.
    thresholds: UsageLimits,
    /// The quotas in force.
    quotas: UsageLimits,
    exhausted: Exhausted,
    /// The totals at the last report, and at the last monitoring time after it.
    reported: Totals,
    /// The totals from which thresholds count.
    armed: Totals,
    /// The totals from which quotas count.
    granted: Totals,
    /// The usage for the next report.
    running: UsagePart,
    /// The parts that monitoring times have ended, sent with the next report.
    closed: Vec<UsagePart>,
    /// Dropped downlink packets and octets since their last report.
    dropped: (u64, u64),
    /// When the last packet matched one of its PDRs, whatever its disposition.
    last_packet: Option<Time>,
    /// The traffic that has started and not stopped.
    traffic: Traffic,
    /// The applications whose start or stop is in the next report.
    detected: Vec<Detected>,
    timers: Timers,
    /// The number of further reports that it may make.
    reports_left: Option<u16>,
}

/// The timers of a URR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Timers {
    next_period: Option<Time>,
    /// The quota holding time runs from this time or from the last packet; `None`: the quotas are void.
    holding_from: Option<Time>,
    /// `None`: without a limit, or the quotas are void.
    valid_until: Option<Time>,
    /// The inactivity timer runs from this time or from the last packet; `None`: inactivity was reported.
    active_from: Option<Time>,
    /// Monitoring times up to this one have passed.
    monitored: Option<WallTime>,
    /// When the two parts around a monitoring time are sent if nothing else causes a report.
    monitoring_report: Option<Time>,
    /// The timer that is set for this URR.
    set: Option<Time>,
    /// The monitoring time for which a timer is set.
    set_monitoring: Option<WallTime>,
}

impl Measurement {
    /// The measurement runs: it is neither paused nor at the end of its number of reports.
    pub(crate) fn is_active(&self, urr: &Urr) -> bool {
        !urr.inactive && self.may_report()
    }

    /// Its number of reports is not exhausted.
    pub(crate) fn may_report(&self) -> bool {
        self.reports_left != Some(0)
    }

    /// It has neither a report nor a timer due.
    pub(crate) fn is_quiet(&self, urr: &Urr, now: Time) -> bool {
        let mut probe = self.clone();
        probe.check(urr, now).is_empty()
            && probe.next_deadline(urr).is_none()
            && probe.next_monitoring(urr).is_none()
            && probe == *self
    }

    fn totals(&self, urr: &Urr, now: Time) -> Totals {
        Totals {
            volume: self.volume,
            time: self.clock.total(now, TimeMeasurement::of(urr)),
            events: self.events,
        }
    }

    /// Its clock has run since this time: with packets or without.
    pub(crate) fn has_measured_time(&self, urr: &Urr, since: Time, now: Time) -> bool {
        let measurement = TimeMeasurement::of(urr);
        self.clock.total(now, measurement) > self.clock.total(since, measurement)
    }

    /// A packet matched one of its PDRs; its disposition is not decided yet.
    pub(crate) fn arrived(&mut self, urr: &Urr, now: Time, pdr: &Pdr) -> UsageReportTrigger {
        let goes_on = self.traffic.is_continued(pdr, now, stopped_after(urr));
        self.traffic.extend(pdr, now);
        self.last_packet = Some(now);
        self.timers.active_from.get_or_insert(now);
        if !self.is_active(urr) {
            return UsageReportTrigger::empty();
        }
        if goes_on { UsageReportTrigger::empty() } else { self.traffic_of(pdr, urr, now) }
    }

    /// Counts a packet before QoS enforcement (MBQE), unless it exceeds a quota. [`Measurement::check_before_qos`]
    /// returns the limits that it reaches, when its disposition is known.
    pub(crate) fn arrived_before_qos(
        &mut self,
        urr: &Urr,
        now: Time,
        direction: Direction,
        octets: usize,
    ) -> UsageReportTrigger {
        if !urr.before_qos || !self.is_active(urr) || self.is_exhausted() {
            return UsageReportTrigger::empty();
        }
        if self.exceeds(urr, direction, octets) {
            return self.exhaust_volume(urr, now);
        }
        self.count(urr, now, direction, octets);
        UsageReportTrigger::empty()
    }

    /// The limits that a packet reached which was counted before QoS enforcement.
    pub(crate) fn check_before_qos(&mut self, urr: &Urr, now: Time) -> UsageReportTrigger {
        if urr.before_qos { self.check(urr, now) } else { UsageReportTrigger::empty() }
    }

    /// The traffic of a PDR starts.
    fn traffic_of(&mut self, pdr: &Pdr, urr: &Urr, now: Time) -> UsageReportTrigger {
        if !urr.triggers.contains(ReportingTriggers::STOPT) {
            self.traffic.stop(now, stopped_after(urr));
        }
        self.traffic.start(pdr, now);
        let triggers = self.traffic_starts(urr, now);
        if triggers.contains(UsageReportTrigger::START) {
            self.detected.extend(traffic::detected(pdr));
        }
        triggers
    }

    /// A packet passed QoS enforcement and is forwarded.
    pub(crate) fn passed(
        &mut self,
        urr: &Urr,
        now: Time,
        direction: Direction,
        octets: usize,
    ) -> UsageReportTrigger {
        if urr.before_qos || !self.is_active(urr) || self.is_exhausted() {
            return UsageReportTrigger::empty();
        }
        self.count(urr, now, direction, octets);
        self.check(urr, now)
    }

    fn count(&mut self, urr: &Urr, now: Time, direction: Direction, octets: usize) {
        if urr.method.volume {
            self.volume.count(direction, octets as u64);
        }
        if urr.method.duration {
            self.clock.packet(now, TimeMeasurement::of(urr));
        }
        self.running.first_packet.get_or_insert(now);
        self.running.last_packet = Some(now);
    }

    /// An End Marker was received in the tunnel of one of its PDRs.
    pub(crate) fn end_marker(&self, urr: &Urr) -> UsageReportTrigger {
        if self.may_report() {
            due::if_requested(urr, UsageReportTrigger::EMRRE)
        } else {
            UsageReportTrigger::empty()
        }
    }

    /// A downlink packet of one of its PDRs was dropped.
    pub(crate) fn dropped(&mut self, urr: &Urr, octets: usize) -> UsageReportTrigger {
        if urr.dropped_threshold.is_none() || !self.is_active(urr) {
            return UsageReportTrigger::empty();
        }
        self.dropped = (self.dropped.0 + 1, self.dropped.1.saturating_add(octets as u64));
        self.check_dropped(urr)
    }

    /// The threshold of dropped traffic is reached since its last report.
    fn check_dropped(&mut self, urr: &Urr) -> UsageReportTrigger {
        let (packets, octets) = self.dropped;
        let reached = urr.dropped_threshold.is_some_and(|limit| limit.is_reached_by(packets, octets));
        let trigger = due::if_requested(urr, due::when(reached && packets > 0, UsageReportTrigger::DROTH));
        if !trigger.is_empty() {
            self.dropped = (0, 0);
        }
        trigger
    }
}

/// How long without packets until traffic counts as stopped.
pub(crate) fn stopped_after(urr: &Urr) -> Span {
    urr.inactivity_detection.unwrap_or(TRAFFIC_STOP_TIMEOUT)
}

#[cfg(test)]
mod tests;
