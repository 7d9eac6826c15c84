//! The configuration and the state of a URR.

use causeway_types::{Direction, Span, Time, Volume};

use super::config::PullingPolicy;
use super::limit::Flow;
use super::{Limit, Triggers};
use crate::SwitchPdr;
use crate::pendulum::Side;

/// The start of time measurement (TS 29.244 clause 5.2.2.2, IMMER).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// Mode A: when the URR is provisioned.
    Provisioning,
    /// Mode B, the default: with the first packet, known from the reading that found it.
    #[default]
    FirstPacket,
}

/// What is measured, and when it is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Urr {
    /// The counters: before or after QoS enforcement.
    pub side: Side,
    /// The start of time measurement.
    pub start: Start,
    /// A report after each such volume.
    pub volume_threshold: Option<Limit>,
    /// The last report and the end of traffic after this volume.
    pub volume_quota: Option<Limit>,
    /// A report after each such time; above zero.
    pub time_threshold: Option<Span>,
    /// The last report and the end of traffic after this time.
    pub time_quota: Option<Span>,
    /// A report after each such period since provisioning; above zero.
    pub period: Option<Span>,
}

impl Urr {
    /// A URR that only counts, without reports.
    pub const fn new(side: Side) -> Self {
        Self {
            side,
            start: Start::FirstPacket,
            volume_threshold: None,
            volume_quota: None,
            time_threshold: None,
            time_quota: None,
            period: None,
        }
    }
}

/// The state of a URR.
#[derive(Clone, Debug)]
pub(super) struct State<K> {
    pub(super) key: K,
    pub(super) urr: Urr,
    /// Since the last report.
    pub(super) counted: Volume,
    /// Since the quota was granted.
    spent: Volume,
    /// Start of the measured time: the start of measurement or the last report.
    from: Option<Time>,
    /// Start of the time quota.
    quota_from: Option<Time>,
    /// The end of the period.
    next_period: Option<Time>,
    is_exhausted: bool,
    /// Rules whose packets it counts now.
    pub(super) numbers: Vec<SwitchPdr>,
    /// Rules that may still have unread usage.
    pub(super) expired: Vec<SwitchPdr>,
    /// When it needs the counters of its uplink and downlink rules; `None` if no limit is near.
    pub(super) needed: [Option<Time>; 2],
    /// Its deadline among the URRs without rules.
    pub(super) listed: Option<Time>,
}

impl<K> State<K> {
    pub(super) fn new(key: K, urr: Urr, now: Time) -> Self {
        let from = (urr.start == Start::Provisioning).then_some(now);
        Self {
            key,
            urr,
            counted: Volume::ZERO,
            spent: Volume::ZERO,
            from,
            quota_from: from,
            next_period: urr.period.map(|period| now + period),
            is_exhausted: false,
            numbers: Vec::new(),
            expired: Vec::new(),
            needed: [None; 2],
            listed: None,
        }
    }

    /// Sets other thresholds and new, unspent quotas. The counted volume stays.
    pub(super) fn update(&mut self, urr: Urr, now: Time) {
        if urr.period != self.urr.period {
            self.next_period = urr.period.map(|period| now + period);
        }
        self.urr = urr;
        self.spent = Volume::ZERO;
        self.is_exhausted = false;
        self.quota_from = self.from.map(|_| now);
    }

    /// Adds usage from a reading.
    pub(super) fn count(&mut self, usage: Volume, now: Time) {
        self.counted += usage;
        self.spent += usage;
        if usage != Volume::ZERO && self.from.is_none() {
            (self.from, self.quota_from) = (Some(now), Some(now));
        }
    }

    /// The triggers of its volume limits that are reached.
    pub(super) fn volume_triggers(&self) -> Triggers {
        if self.is_exhausted {
            return Triggers::empty();
        }
        let reached = |limit: Option<Limit>, volume| limit.is_some_and(|limit| limit.is_reached(volume));
        let mut triggers = Triggers::empty();
        triggers.set(Triggers::VOLUME_THRESHOLD, reached(self.urr.volume_threshold, &self.counted));
        triggers.set(Triggers::VOLUME_QUOTA, reached(self.urr.volume_quota, &self.spent));
        triggers
    }

    /// The triggers of its times that had ended by `now`.
    pub(super) fn time_triggers(&self, now: Time) -> Triggers {
        let mut triggers = Triggers::empty();
        for (trigger, end) in self.ends() {
            triggers.set(trigger, end.is_some_and(|end| end <= now));
        }
        triggers
    }

    /// The next end of one of its times.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.ends().into_iter().filter_map(|(_, end)| end).min()
    }

    /// When packets of a direction are likely to reach its volume, as [`Limit::reached_in`].
    pub(super) fn volume_end(
        &self,
        now: Time,
        flows: &[Flow; 3],
        direction: Option<Direction>,
        care: PullingPolicy,
    ) -> Option<Time> {
        if self.is_exhausted {
            return None;
        }
        let of = |limit: Option<Limit>, volume| limit?.reached_in(volume, flows, direction, care);
        let ends = [of(self.urr.volume_threshold, &self.counted), of(self.urr.volume_quota, &self.spent)];
        Some(shifted(now, ends.into_iter().flatten().min_by(f64::total_cmp)?))
    }

    /// Makes a report: thresholds and periods start anew. Returns the usage, and the start of its measurement.
    pub(super) fn report(&mut self, triggers: Triggers, now: Time) -> (Volume, Option<Time>) {
        self.is_exhausted |= triggers.must_stop();
        if let (Some(period), Some(next)) = (self.urr.period, self.next_period)
            && triggers.contains(Triggers::PERIODIC)
        {
            self.next_period = Some(next_after(next, period, now));
        }
        let from = self.from;
        self.from = from.map(|_| now);
        (std::mem::take(&mut self.counted), from)
    }

    fn ends(&self) -> [(Triggers, Option<Time>); 3] {
        let after = |from: Option<Time>, span: Option<Span>| {
            from.zip(span).filter(|_| !self.is_exhausted).map(|(from, span)| from + span)
        };
        [
            (Triggers::TIME_THRESHOLD, after(self.from, self.urr.time_threshold)),
            (Triggers::TIME_QUOTA, after(self.quota_from, self.urr.time_quota)),
            (Triggers::PERIODIC, self.next_period),
        ]
    }
}

/// The first end of a period after `now`; missed periods produce no reports of their own.
fn next_after(end: Time, period: Span, now: Time) -> Time {
    let late = now.since(end).as_nanos() / period.as_nanos().max(1);
    let periods = u32::try_from(late).unwrap_or(u32::MAX).saturating_add(1);
    end + period.saturating_mul(periods)
}

/// A time some seconds from now, or before. At most an hour away in either direction: anything later is recomputed.
fn shifted(now: Time, seconds: f64) -> Time {
    let span = Span::from_secs_f64(seconds.abs().min(3600.0));
    if seconds < 0.0 { now - span } else { now + span }
}
