//! Thresholds and quotas of one URR.

use causeway_model::{Urr, UsageLimits};
use causeway_types::{Direction, Time, UsageReportTrigger as Trigger};

use super::Measurement;
use super::clock::TimeMeasurement;
use super::due::{if_requested, when};
use super::totals::{ReachedLimits, Totals, exceeds};

/// The most event times in one report: ten reports with as many fit into one message. Later events are counted without
/// their times, by which alone an SMF, and the standby of a chain, count those that are reported.
const MAX_EVENT_TIMES: usize = 512;

/// The exhausted quotas. One is enough to stop the traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Exhausted {
    pub(super) volume: bool,
    pub(super) time: bool,
    pub(super) events: bool,
    /// Its holding or validity time has ended: the remainder is void.
    pub(super) expired: bool,
}

impl Measurement {
    /// No packet may pass until a quota is given.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted != Exhausted::default()
    }

    /// A packet exceeds the remaining volume quota. It does not pass, and the quota is exhausted.
    pub(crate) fn exceeds(&self, urr: &Urr, direction: Direction, octets: usize) -> bool {
        let quota = self.quotas.volume.filter(|_| urr.method.volume && self.is_active(urr));
        let used = self.totals(urr, Time::default()).since(&self.granted).volume;
        quota.is_some_and(|quota| exceeds(&quota, &used, direction, octets))
    }

    /// The remaining volume quota is too small for the packets: it is exhausted.
    pub(crate) fn exhaust_volume(&mut self, urr: &Urr, now: Time) -> Trigger {
        self.exhausted.volume = true;
        self.clock.stop(now, TimeMeasurement::of(urr));
        quota_trigger(urr, Trigger::VOLQU)
    }

    /// Voids the remainder of all quotas.
    pub(super) fn void_quotas(&mut self, urr: &Urr, now: Time) {
        self.exhausted.expired = true;
        (self.timers.holding_from, self.timers.valid_until) = (None, None);
        self.clock.stop(now, TimeMeasurement::of(urr));
    }

    /// Thresholds and quotas that are reached now.
    pub(crate) fn check(&mut self, urr: &Urr, now: Time) -> Trigger {
        if !self.is_active(urr) {
            return Trigger::empty();
        }
        let totals = self.totals(urr, now);
        self.check_thresholds(urr, &totals) | self.check_quotas(urr, &totals, now) | self.check_dropped(urr)
    }

    fn check_thresholds(&self, urr: &Urr, totals: &Totals) -> Trigger {
        let reached = ReachedLimits::of(&self.thresholds, &totals.since(&self.armed));
        let triggers = when(reached.volume, Trigger::VOLTH)
            | when(reached.time, Trigger::TIMTH)
            | when(reached.events, Trigger::EVETH);
        if_requested(urr, triggers)
    }

    fn check_quotas(&mut self, urr: &Urr, totals: &Totals, now: Time) -> Trigger {
        let reached = ReachedLimits::of(&self.quotas, &totals.since(&self.granted));
        let volume = reached.volume && !std::mem::replace(&mut self.exhausted.volume, reached.volume);
        let time = reached.time && !std::mem::replace(&mut self.exhausted.time, reached.time);
        if volume || time {
            self.clock.stop(now, TimeMeasurement::of(urr));
        }
        // A quota that is given as zero is reported only if there is usage to report.
        if totals.since(&self.reported).is_null() && totals.since(&self.granted).is_null() {
            return Trigger::empty();
        }
        quota_trigger(urr, when(volume, Trigger::VOLQU) | when(time, Trigger::TIMQU))
    }

    /// Traffic starts, which is an event. As many events as the quota grants may pass.
    pub(super) fn traffic_starts(&mut self, urr: &Urr, now: Time) -> Trigger {
        let start = if_requested(urr, Trigger::START);
        if !urr.method.events {
            return start;
        }
        let used = self.events.saturating_sub(self.granted.events);
        if self.quotas.events.is_some_and(|quota| used >= u64::from(quota)) {
            self.exhausted.events = true;
        }
        if self.is_exhausted() {
            return start;
        }
        self.events += 1;
        if self.running.events.len() < MAX_EVENT_TIMES {
            self.running.events.push(now);
        }
        let is_last = self.quotas.events.is_some_and(|quota| used + 1 == u64::from(quota));
        start | self.check(urr, now) | quota_trigger(urr, when(is_last, Trigger::EVEQU))
    }
}

/// The exhaustion of a quota is reported if its trigger is set, or if there is no threshold to report before it
/// (TS 29.244 clause 5.2.2.2.1).
fn quota_trigger(urr: &Urr, triggers: Trigger) -> Trigger {
    let UsageLimits { volume, time, events } = urr.thresholds;
    let alone = when(volume.is_none(), Trigger::VOLQU)
        | when(time.is_none(), Trigger::TIMQU)
        | when(events.is_none(), Trigger::EVEQU);
    if_requested(urr, triggers) | triggers & alone
}
