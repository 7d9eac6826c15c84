//! Actions of a URR that become due with time alone.

use causeway_model::Urr;
use causeway_types::{ReportingTriggers as Asked, Span, Time, UsageReportTrigger as Trigger, WallTime};

use super::clock::TimeMeasurement;
use super::{Measurement, stopped_after};

impl Measurement {
    /// The time of the timer to set; `None` when none is needed, or an earlier or equal one is set. Never at or
    /// before a past time, so that time goes on. A monitoring time before the wall-clock time `wall` is reached now.
    pub(crate) fn timer_to_set(&mut self, urr: &Urr, now: Time, wall: WallTime) -> Option<Time> {
        let monitoring = self.next_monitoring(urr).filter(|at| *at <= wall).map(|_| now);
        let at = self.next_deadline(urr).into_iter().chain(monitoring).min()?.max(now);
        if self.timers.set.is_some_and(|set| set <= at) {
            return None;
        }
        self.timers.set = Some(at);
        Some(at)
    }

    /// The timers that are set.
    pub(crate) const fn timers_set(&self) -> (Option<Time>, Option<WallTime>) {
        (self.timers.set, self.timers.set_monitoring)
    }

    /// The timer of this time is the one that is set; afterwards none is set.
    pub(crate) fn timer_expired(&mut self, at: Time) -> bool {
        self.timers.set.take_if(|set| *set == at).is_some()
    }

    /// The monitoring time to set a timer for; `None` when there is none, or an earlier or equal one is set.
    pub(crate) fn monitoring_to_set(&mut self, urr: &Urr, wall: WallTime) -> Option<WallTime> {
        let at = self.next_monitoring(urr).filter(|at| *at > wall)?;
        if self.timers.set_monitoring.is_some_and(|set| set <= at) {
            return None;
        }
        self.timers.set_monitoring = Some(at);
        Some(at)
    }

    /// The timer for this monitoring time is the one that is set; afterwards none is set.
    pub(crate) fn monitoring_expired(&mut self, at: WallTime) -> bool {
        self.timers.set_monitoring.take_if(|set| *set == at).is_some()
    }

    /// When [`Measurement::due`] has something to do, except for monitoring times.
    pub(crate) fn next_deadline(&self, urr: &Urr) -> Option<Time> {
        let (measured, timed) = match self.is_active(urr) {
            true => (self.measured_deadlines(urr), self.timed_deadlines(urr)),
            false => ([None; 4], [None; 4]),
        };
        measured.into_iter().chain(timed).chain([self.timers.monitoring_report]).flatten().min()
    }

    fn timed_deadlines(&self, urr: &Urr) -> [Option<Time>; 4] {
        [self.period_end(urr), self.holding_end(urr), self.timers.valid_until, self.inactivity_end(urr)]
    }

    fn measured_deadlines(&self, urr: &Urr) -> [Option<Time>; 4] {
        let measurement = TimeMeasurement::of(urr);
        let threshold = self.thresholds.time.filter(|_| asks(urr, Asked::TIMTH));
        let quota = self.quotas.time.filter(|_| !self.exhausted.time);
        [
            threshold.and_then(|limit| self.clock.reaches(self.armed.time + limit, measurement)),
            quota.and_then(|limit| self.clock.reaches(self.granted.time + limit, measurement)),
            self.clock.end(measurement).filter(|_| asks(urr, Asked::ENVCL)),
            self.traffic_end(urr),
        ]
    }

    fn traffic_end(&self, urr: &Urr) -> Option<Time> {
        self.traffic.next_stop(stopped_after(urr)).filter(|_| asks(urr, Asked::STOPT))
    }

    fn period_end(&self, urr: &Urr) -> Option<Time> {
        self.timers.next_period.filter(|_| asks(urr, Asked::PERIO))
    }

    fn holding_end(&self, urr: &Urr) -> Option<Time> {
        Some(self.last_packet_or(self.timers.holding_from?) + urr.holding_time?)
    }

    fn inactivity_end(&self, urr: &Urr) -> Option<Time> {
        let timer = urr.inactivity_timer.filter(|_| asks(urr, Asked::UPINT))?;
        Some(self.last_packet_or(self.timers.active_from?) + timer)
    }

    fn last_packet_or(&self, from: Time) -> Time {
        self.last_packet.map_or(from, |last| last.max(from))
    }

    /// The next monitoring time that has not passed. One that has passed stays so if the wall clock is set back.
    pub(crate) fn next_monitoring(&self, urr: &Urr) -> Option<WallTime> {
        let times = urr.monitoring_times();
        let mut coming = times.iter().map(|monitoring| monitoring.at);
        coming.find(|at| self.timers.monitored.is_none_or(|over| *at > over))
    }

    /// Executes what is due at this time, with the wall-clock time `wall`, and returns the triggers to report. `soon`
    /// is how long after a monitoring time the two parts are sent if nothing else causes a report.
    pub(crate) fn due(&mut self, urr: &Urr, now: Time, wall: WallTime, soon: Span) -> Trigger {
        let is_due = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        while self.next_monitoring(urr).is_some_and(|at| at <= wall) {
            self.split(urr, now, soon);
        }
        let mut triggers = if self.is_active(urr) { self.active_due(urr, now) } else { Trigger::empty() };
        if is_due(self.timers.monitoring_report) {
            self.timers.monitoring_report = None;
            triggers |= Trigger::MONIT;
        }
        triggers
    }

    /// Executes what is due while the measurement is active. A paused one reports only when it is queried or ends.
    fn active_due(&mut self, urr: &Urr, now: Time) -> Trigger {
        let is_due = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        let mut triggers = self.measured_due(urr, now);
        if is_due(self.period_end(urr)) {
            triggers |= Trigger::PERIO;
            self.timers.next_period =
                urr.period.map(|period| next_period(self.timers.next_period, period, now));
        }
        if is_due(self.inactivity_end(urr)) {
            triggers |= Trigger::UPINT;
            self.timers.active_from = None;
        }
        let (held, invalid) = (is_due(self.holding_end(urr)), is_due(self.timers.valid_until));
        if held || invalid {
            triggers |= when(held, Trigger::QUHTI) | when(invalid, Trigger::QUVTI);
            if held {
                self.traffic.clear();
            }
            self.void_quotas(urr, now);
        }
        if_requested(urr, triggers)
    }

    fn measured_due(&mut self, urr: &Urr, now: Time) -> Trigger {
        let mut triggers = self.check(urr, now);
        let measurement = TimeMeasurement::of(urr);
        if self.clock.end(measurement).is_some_and(|end| end <= now) {
            self.clock.stop(now, measurement);
            triggers |= if_requested(urr, Trigger::ENVCL);
        }
        if self.traffic_end(urr).is_some_and(|end| end <= now) {
            self.detected.extend(self.traffic.stop(now, stopped_after(urr)));
            triggers |= Trigger::STOPT;
        }
        triggers
    }

    /// The next monitoring time is reached: usage before it becomes a part of its own, and the limits after it apply.
    fn split(&mut self, urr: &Urr, now: Time, soon: Span) {
        let over = self.timers.monitored;
        let times = urr.monitoring_times();
        let coming = times.into_iter().find(|monitoring| over.is_none_or(|over| monitoring.at > over));
        let Some(monitoring) = coming else { return };
        self.timers.monitored = Some(monitoring.at);
        let part = self.cut(urr, now);
        // Nothing can have been measured before a time that had passed when a new URR received it.
        if !part.is_nothing() {
            self.closed.push(part);
            self.timers.monitoring_report = Some(now + soon);
        }
        self.start_subsequent(urr, monitoring, now);
    }
}

/// The first multiple of the period after now.
fn next_period(last: Option<Time>, period: Span, now: Time) -> Time {
    let last = last.unwrap_or(now);
    let over = now.since(last).as_nanos() / period.as_nanos().max(1);
    last + period.saturating_mul(u32::try_from(over + 1).unwrap_or(u32::MAX))
}

pub(super) fn when(is: bool, trigger: Trigger) -> Trigger {
    if is { trigger } else { Trigger::empty() }
}

fn asks(urr: &Urr, trigger: Asked) -> bool {
    urr.triggers.contains(trigger)
}

/// The triggers that are among the URR's reporting triggers.
pub(super) fn if_requested(urr: &Urr, triggers: Trigger) -> Trigger {
    let pairs = [
        (Asked::PERIO, Trigger::PERIO),
        (Asked::VOLTH, Trigger::VOLTH),
        (Asked::TIMTH, Trigger::TIMTH),
        (Asked::QUHTI, Trigger::QUHTI),
        (Asked::START, Trigger::START),
        (Asked::STOPT, Trigger::STOPT),
        (Asked::DROTH, Trigger::DROTH),
        (Asked::LIUSA, Trigger::LIUSA),
        (Asked::VOLQU, Trigger::VOLQU),
        (Asked::TIMQU, Trigger::TIMQU),
        (Asked::ENVCL, Trigger::ENVCL),
        (Asked::EVETH, Trigger::EVETH),
        (Asked::EVEQU, Trigger::EVEQU),
        (Asked::QUVTI, Trigger::QUVTI),
        (Asked::REEMR, Trigger::EMRRE),
        (Asked::UPINT, Trigger::UPINT),
    ];
    let requested = pairs.into_iter().filter(|(requested, _)| asks(urr, *requested));
    requested.fold(Trigger::empty(), |all, (_, trigger)| all | trigger) & triggers
}
