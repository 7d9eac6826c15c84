//! What a URR asks for, and what it has.

use causeway_types::{Direction, Span, Time, Volume};

use super::config::PullingPolicy;
use super::limit::Flow;
use super::{Limit, Triggers};
use crate::SwitchPdr;
use crate::pendulum::Side;

/// When time is measured from (TS 29.244 clause 5.2.2.2, IMMER).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// Mode A: from the moment at which the URR is provisioned.
    Provisioning,
    /// Mode B, the default: from the first packet, as far as it is known: from the reading that found it.
    #[default]
    FirstPacket,
}

/// What is measured, and when it is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Urr {
    /// Which counters: those before QoS enforcement, or those after it.
    pub side: Side,
    /// When time is measured from.
    pub start: Start,
    /// A report each time so much was counted.
    pub volume_threshold: Option<Limit>,
    /// The last report, and no more traffic, once so much was counted.
    pub volume_quota: Option<Limit>,
    /// A report each time so much time has passed; above zero.
    pub time_threshold: Option<Span>,
    /// The last report, and no more traffic, once so much time has passed.
    pub time_quota: Option<Span>,
    /// A report after each such time, from provisioning on; above zero.
    pub period: Option<Span>,
}

impl Urr {
    /// Counts and reports nothing by itself.
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

/// A URR at work.
#[derive(Clone, Debug)]
pub(super) struct State<K> {
    pub(super) key: K,
    pub(super) urr: Urr,
    /// Since the last report.
    pub(super) counted: Volume,
    /// Since the quota was given.
    spent: Volume,
    /// Time is measured since then: since the start or the last report.
    from: Option<Time>,
    /// The quota runs since then.
    quota_from: Option<Time>,
    /// The end of the period.
    next_period: Option<Time>,
    is_exhausted: bool,
    /// Rules whose packets it counts now.
    pub(super) numbers: Vec<SwitchPdr>,
    /// Rules of which there may still be usage to be read.
    pub(super) expired: Vec<SwitchPdr>,
    /// When it needs the counters of its uplink and downlink rules; `None` if nothing is nearing.
    pub(super) needed: [Option<Time>; 2],
    /// Where it stands among the URRs that no reading reminds of.
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

    /// Other thresholds from now on, and new quotas, of which nothing is spent. What was counted stays.
    pub(super) fn update(&mut self, urr: Urr, now: Time) {
        if urr.period != self.urr.period {
            self.next_period = urr.period.map(|period| now + period);
        }
        self.urr = urr;
        self.spent = Volume::ZERO;
        self.is_exhausted = false;
        self.quota_from = self.from.map(|_| now);
    }

    /// Usage that a reading found.
    pub(super) fn count(&mut self, usage: Volume, now: Time) {
        self.counted += usage;
        self.spent += usage;
        if usage != Volume::ZERO && self.from.is_none() {
            (self.from, self.quota_from) = (Some(now), Some(now));
        }
    }

    /// What its volume says: reached by what was counted.
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

    /// What the time says that was over by `now`.
    pub(super) fn time_triggers(&self, now: Time) -> Triggers {
        let mut triggers = Triggers::empty();
        for (trigger, end) in self.ends() {
            triggers.set(trigger, end.is_some_and(|end| end <= now));
        }
        triggers
    }

    /// When the next of its times is over.
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

    /// A report is made: thresholds and periods start anew. Returns the usage, and since when it was measured.
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

/// The first end of a period after `now`; periods that were missed make no reports of their own.
fn next_after(end: Time, period: Span, now: Time) -> Time {
    let late = now.since(end).as_nanos() / period.as_nanos().max(1);
    let periods = u32::try_from(late).unwrap_or(u32::MAX).saturating_add(1);
    end + period.saturating_mul(periods)
}

/// A moment some seconds from now, or before it. At most an hour away either way: whatever is further will be asked again.
fn shifted(now: Time, seconds: f64) -> Time {
    let span = Span::from_secs_f64(seconds.abs().min(3600.0));
    if seconds < 0.0 { now - span } else { now + span }
}
