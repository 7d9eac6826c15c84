//! The heavy hitters of today: a detector with a list of the flows that are heavy now.
//!
//! [`HeavyHitters`] is what a data plane needs beside its packets: it takes each packet, lists a flow from its report on,
//! counts its packets exactly while it is listed, and ends it when they are below half of the threshold for a window, by
//! a timer too, so that a flow without packets ends. What a flow is, beside its key, is the data plane's: `T`.
//!
//! ```
//! use causeway_traffic::heavy::{Change, FlowKind, HeavyHitterSettings, HeavyHitters, Threshold};
//! use causeway_traffic::FiveTuple;
//! use causeway_types::{Direction, Span, Time};
//!
//! let settings = HeavyHitterSettings {
//!     threshold: Threshold::PacketsPerSecond(100),
//!     window: Span::from_secs(1),
//!     memory: 1 << 20,
//!     kind: FlowKind::UeAddress,
//!     seed: 7,
//! };
//! let mut heavy = HeavyHitters::new(&settings)?;
//! let (ue, host) = ([10, 45, 0, 2].into(), [198, 51, 100, 9].into());
//! let packet = FiveTuple { addresses: (ue, host), ports: (4000, 443), protocol: 17 };
//! let key = heavy.keys().key(Direction::Uplink, &packet);
//! let at = |millis| Time::from_secs(1000) + Span::from_millis(millis);
//! (0..1000).for_each(|packet| heavy.observe(1200, at(packet), key, || "the first UE"));
//! assert!(matches!(heavy.poll_change(), Some(Change::Began(flow)) if flow.flow == "the first UE"));
//! assert_eq!(heavy.listed(at(1000)).map(|flow| flow.packets_per_second).collect::<Vec<_>>(), [1000]);
//! // Silence: the timer alone.
//! while let Some(next) = heavy.next_deadline() {
//!     heavy.advance(next);
//! }
//! assert!(matches!(heavy.poll_change(), Some(Change::Ended(_))));
//! # Ok::<(), causeway_traffic::ConfigError>(())
//! ```

mod list;
mod settings;

use std::collections::VecDeque;

use causeway_types::{Span, Time};

use crate::{ConfigError, EventBudget, Key, Outcome, Random, Sliding, Statistics, UnitSampler};
use list::List;

pub use list::MAX_LISTED;
pub use settings::{FlowKind, HeavyHitterKeys, HeavyHitterSettings, Threshold};

/// Packets that are looked at together: one bit of a word for each.
const TOGETHER: usize = u64::BITS as usize;

/// Packets that are looked at one by one if one of them has a unit.
const PART: usize = 8;

/// A flow that is heavy, at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFlow<T> {
    /// What it is.
    pub flow: T,
    /// Since when it is listed.
    pub since: Time,
    /// Bits of IP packets in a second, over the last window, or since it is listed if that is shorter.
    pub bits_per_second: u64,
    /// The same of IP packets.
    pub packets_per_second: u64,
}

/// A change of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change<T> {
    /// The flow has become heavy.
    Began(ListedFlow<T>),
    /// It is no longer; with its last rate.
    Ended(ListedFlow<T>),
}

/// What has been counted. All counters wrap after 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeavyHitterCounts {
    /// Those of the detector.
    pub detector: Statistics,
    /// Flows in the list now.
    pub listed: u64,
    /// Heavy flows that were not listed, since the list was full.
    pub unlisted: u64,
    /// Changes that were not said, since there were too many in a second.
    pub unsaid: u64,
}

impl HeavyHitterCounts {
    /// The sum of those of two detectors.
    #[must_use]
    pub const fn with(&self, other: &Self) -> Self {
        let (one, more) = (&self.detector, &other.detector);
        Self {
            detector: Statistics {
                reports: one.reports + more.reports,
                replacements: one.replacements + more.replacements,
                saturations: one.saturations + more.saturations,
                earlier_packets: one.earlier_packets + more.earlier_packets,
                restarts: one.restarts + more.restarts,
            },
            listed: self.listed + other.listed,
            unlisted: self.unlisted + other.unlisted,
            unsaid: self.unsaid + other.unsaid,
        }
    }
}

/// A detector with its list. Its memory does not grow, but for the list, which has at most [`MAX_LISTED`] flows.
#[derive(Clone, Debug)]
pub struct HeavyHitters<T> {
    settings: HeavyHitterSettings,
    keys: HeavyHitterKeys,
    units: UnitSampler,
    detector: Sliding,
    list: List<T>,
    changes: VecDeque<Change<T>>,
    /// When the list is looked at again; `None`: it is empty.
    next_look: Option<Time>,
    budget: EventBudget,
    counts: HeavyHitterCounts,
}

impl<T: Clone> HeavyHitters<T> {
    /// With an empty list.
    ///
    /// # Errors
    /// As for [`HeavyHitterSettings::sliding`].
    pub fn new(settings: &HeavyHitterSettings) -> Result<Self, ConfigError> {
        let config = settings.sliding()?;
        Ok(Self {
            settings: *settings,
            keys: settings.keys(),
            units: UnitSampler::new(config.unit, Random::with_seed(settings.units_seed())),
            detector: Sliding::new(&config)?,
            list: List::new(settings.window),
            changes: VecDeque::new(),
            next_look: None,
            budget: EventBudget::default(),
            counts: HeavyHitterCounts::default(),
        })
    }

    /// How heavy hitters are looked for.
    pub const fn settings(&self) -> &HeavyHitterSettings {
        &self.settings
    }

    /// Makes the keys of packets.
    pub const fn keys(&self) -> HeavyHitterKeys {
        self.keys
    }

    /// The detector.
    pub const fn detector(&self) -> &Sliding {
        &self.detector
    }

    /// Takes a packet of this many octets. `describe` is called when its flow is listed.
    pub fn observe(&mut self, octets: u32, now: Time, key: Key, describe: impl Fn() -> T) {
        self.observe_all(now, &[octets], |_| key, |_| describe(), |_| ());
    }

    /// Takes packets of so many octets, in order. `key` and `describe` have the position of a packet; `describe` is called when
    /// its flow is listed. `fetch` may prefetch memory.
    ///
    /// A packet of a listed flow is counted in the list, and one with units in the detector. Most packets have no unit: where
    /// no flow is listed, these need no key and no memory, and are not looked at one by one.
    #[inline]
    pub fn observe_all(
        &mut self,
        now: Time,
        octets: &[u32],
        key: impl Fn(usize) -> Key,
        describe: impl Fn(usize) -> T,
        fetch: impl Fn(*const u8),
    ) {
        for (first, octets) in (0..).step_by(TOGETHER).zip(octets.chunks(TOGETHER)) {
            let (mut units, mut with_units) = ([0_u8; TOGETHER], 0_u64);
            let parts = octets.chunks(PART).zip(units.chunks_mut(PART));
            for (place, (octets, units)) in (0..).step_by(PART).zip(parts) {
                if self.units.pass(octets) {
                    continue;
                }
                for (position, (octets, units)) in (place..).zip(octets.iter().zip(units)) {
                    *units = self.units.of(*octets);
                    with_units |= u64::from(*units > 0) << position;
                }
            }
            ones(with_units, |position, rest| {
                fetch(self.detector.address(key(first + position)));
                rest
            });
            let all = u64::MAX >> (TOGETHER - octets.len());
            ones(if self.list.is_empty() { with_units } else { all }, |position, rest| {
                let octets = octets.get(position).copied().unwrap_or_default();
                let units = units.get(position).copied().unwrap_or_default();
                let at = first + position;
                self.observe_units(now, (octets, units), key(at), || describe(at));
                // Once a flow is listed, every packet may be of it.
                if self.list.is_empty() { rest } else { all & (u64::MAX - 1) << position }
            });
        }
    }

    fn observe_units(
        &mut self,
        now: Time,
        (octets, units): (u32, u8),
        key: Key,
        describe: impl FnOnce() -> T,
    ) {
        let is_listed = self.list.count(key, octets);
        if units == 0 {
            return;
        }
        let outcome = self.detector.observe_units(key, units, now);
        if !is_listed && matches!(outcome, Outcome::Heavy | Outcome::Report { .. }) {
            self.begin(key, octets, now, outcome.is_report(), describe);
        }
    }

    /// Lists a flow that is heavy.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, key: Key, octets: u32, now: Time, is_report: bool, describe: impl FnOnce() -> T) {
        if self.list.is_full() {
            self.counts.unlisted += u64::from(is_report);
            return;
        }
        let began = self.list.insert(key, octets, now, describe());
        self.next_look.get_or_insert(now + self.step());
        self.say(now, Change::Began(began));
    }

    /// The time between two looks at the list.
    fn step(&self) -> Span {
        self.settings.window / 4
    }

    /// When to call [`advance`](Self::advance) next; `None`: no flow is listed.
    pub const fn next_deadline(&self) -> Option<Time> {
        self.next_look
    }

    /// Ends flows that are heavy no longer. O(listed flows), each quarter of a window.
    pub fn advance(&mut self, now: Time) {
        if self.next_look.is_none_or(|next| next > now) {
            return;
        }
        let HeavyHitterSettings { threshold, window, .. } = self.settings;
        // A flow is listed for a window at least.
        let is_over = |flow: &ListedFlow<T>| {
            now.since(flow.since) >= window
                && match threshold {
                    Threshold::BitsPerSecond(bits) => flow.bits_per_second < bits.div_ceil(2),
                    Threshold::PacketsPerSecond(packets) => flow.packets_per_second < packets.div_ceil(2),
                }
        };
        for ended in self.list.look(now, is_over) {
            self.say(now, Change::Ended(ended));
        }
        self.next_look = (!self.list.is_empty()).then(|| now + self.step());
    }

    /// Ends all flows, since nothing is looked for any longer.
    pub fn end_all(&mut self, now: Time) {
        for ended in self.list.look(now, |_| true) {
            self.say(now, Change::Ended(ended));
        }
        self.next_look = None;
    }

    /// The next change of the list, the oldest first.
    pub fn poll_change(&mut self) -> Option<Change<T>> {
        self.changes.pop_front()
    }

    /// The flows that are heavy, in no order.
    pub fn listed(&self, now: Time) -> impl Iterator<Item = ListedFlow<T>> {
        self.list.flows(now)
    }

    /// What has been counted.
    pub fn counts(&self) -> HeavyHitterCounts {
        HeavyHitterCounts {
            detector: self.detector.statistics(),
            listed: self.list.len() as u64,
            ..self.counts
        }
    }

    fn say(&mut self, now: Time, change: Change<T>) {
        if self.budget.take(now) {
            self.changes.push_back(change);
        } else {
            self.counts.unsaid += 1;
        }
    }
}

/// Calls `take` with the place of the lowest bit and the bits above it, which it may change, until there is none.
#[inline(always)]
fn ones(mut bits: u64, mut take: impl FnMut(usize, u64) -> u64) {
    while bits != 0 {
        bits = take(bits.trailing_zeros() as usize, bits & (bits - 1));
    }
}

#[cfg(test)]
mod tests;
