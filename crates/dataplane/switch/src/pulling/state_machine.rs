//! The state machine of usage pulling: readings in, counters to read and reports out.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use causeway_types::{Direction, Span, Time, Volume};
use foldhash::fast::RandomState;

use super::banks::Banks;
use super::config::{Config, PullingPolicy};
use super::report::{Report, Triggers};
use super::rule::{CounterEstimate, Rule};
use super::urr::{State, Urr};
use crate::SwitchPdr;
use crate::pendulum::{Partition, Reading, Side};

/// A rule, with the location of its counters.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a, K> {
    /// Its number.
    pub number: SwitchPdr,
    /// The direction of its packets.
    pub direction: Direction,
    /// The partitions of its entries: in the ingress and in the egress table.
    pub partitions: [Partition; 2],
    /// The banks of its counters, before and after QoS enforcement: different banks are read concurrently.
    pub banks: [u16; 2],
    /// All its URRs.
    pub urrs: &'a [K],
    /// The number of the rule that it replaces, whose traffic is likely to be the same.
    pub replaces: Option<SwitchPdr>,
}

/// A rule names an unknown URR. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("URR {0:?} is not known")]
pub struct UnknownUrr<K>(pub K);

/// All URRs, and the counters that they need. `K` identifies a URR.
#[derive(Clone, Debug)]
pub struct Pulling<K> {
    pub(super) config: Config,
    urrs: Vec<Option<State<K>>>,
    vacant: Vec<u32>,
    keys: HashMap<K, u32, RandomState>,
    pub(super) rules: HashMap<SwitchPdr, Rule, RandomState>,
    /// By side and partition.
    pub(super) banks: [[Banks; 2]; 2],
    /// URRs without rules, by their next deadline: no reading triggers their check.
    pub(super) bare: BTreeSet<(Time, u32)>,
}

impl<K: Copy + Eq + Hash> Pulling<K> {
    /// Creates a state without URRs and rules.
    pub fn new(config: Config) -> Self {
        let config = Config { longest: config.longest.min(Span::from_secs(8)), ..config };
        Self {
            config,
            urrs: Vec::new(),
            vacant: Vec::new(),
            keys: HashMap::default(),
            rules: HashMap::default(),
            banks: Default::default(),
            bare: BTreeSet::new(),
        }
    }

    /// Adds a URR, or changes thresholds, quotas and periods of an existing one: its quotas start anew, its counted
    /// volume stays.
    pub fn provision(&mut self, now: Time, key: K, urr: Urr) {
        let index = match self.keys.get(&key) {
            Some(index) => *index,
            None => self.add(now, key, urr),
        };
        let Some(state) = self.state_mut(index) else { return };
        state.update(urr, now);
        for number in state.numbers.clone() {
            if let Some(rule) = self.rules.get_mut(&number) {
                rule.watches[urr.side as usize].get_or_insert(CounterEstimate::new(now));
            }
        }
        self.list(index);
        self.estimate(now, index);
    }

    /// Removes a URR. Returns its volume since the last report, which is complete once all its rules have retired.
    pub fn remove(&mut self, key: K) -> Option<Volume> {
        let index = self.keys.remove(&key)?;
        self.unlist(index);
        let state = self.urrs.get_mut(index as usize)?.take()?;
        self.vacant.push(index);
        for number in state.numbers.iter().chain(&state.expired) {
            if let Some(rule) = self.rules.get_mut(number) {
                rule.urrs.retain(|urr| *urr != index);
            }
        }
        Some(state.counted)
    }

    /// The volume of a URR since its last report.
    pub fn counted(&self, key: K) -> Option<Volume> {
        self.state(*self.keys.get(&key)?).map(|state| state.counted)
    }

    /// The rule is on the switch from now on.
    ///
    /// # Errors
    /// One of its URRs is unknown.
    pub fn enter(&mut self, now: Time, measured: &Measured<'_, K>) -> Result<(), UnknownUrr<K>> {
        let index = |key: &K| self.keys.get(key).copied().ok_or(UnknownUrr(*key));
        let urrs: Vec<u32> = measured.urrs.iter().map(index).collect::<Result<_, _>>()?;
        let Measured { number, direction, partitions, banks, .. } = *measured;
        let before = measured.replaces.and_then(|before| self.rules.get(&before));
        let likely =
            Side::ALL.map(|side| before.and_then(|rule| rule.watch(side)).map(|watch| watch.successor(now)));
        let mut watches = [None; 2];
        for index in &urrs {
            if let Some(state) = self.state_mut(*index) {
                state.numbers.push(number);
                let side = state.urr.side as usize;
                watches[side] = Some(likely[side].unwrap_or(CounterEstimate::new(now)));
            }
            self.list(*index);
        }
        let rule = Rule { direction, partitions, banks, urrs: urrs.clone(), watches, is_expired: false };
        self.rules.insert(number, rule);
        urrs.into_iter().for_each(|index| self.estimate(now, index));
        Side::ALL.into_iter().for_each(|side| self.schedule(now, side, number));
        Ok(())
    }

    /// No packet has the number any more. Its final readings count, but it is not picked again: expired numbers are
    /// read first anyway.
    pub fn expire(&mut self, number: SwitchPdr) {
        Side::ALL.into_iter().for_each(|side| self.unschedule(side, number));
        let Some(rule) = self.rules.get_mut(&number).filter(|rule| !rule.is_expired) else { return };
        rule.is_expired = true;
        for index in rule.urrs.clone() {
            if let Some(state) = self.state_mut(index) {
                state.numbers.retain(|other| *other != number);
                state.expired.push(number);
            }
            self.list(index);
        }
    }

    /// The number has retired: it has no further readings.
    pub fn retire(&mut self, number: SwitchPdr) {
        self.expire(number);
        for index in self.rules.remove(&number).map(|rule| rule.urrs).unwrap_or_default() {
            if let Some(state) = self.state_mut(index) {
                state.expired.retain(|other| *other != number);
            }
        }
    }

    /// The counters of this partition that are needed first, at most `budget`; see [`Config`].
    pub fn pick(&mut self, now: Time, side: Side, partition: Partition, budget: usize) -> Vec<SwitchPdr> {
        self.pick_at_least(now, side, partition, 0, budget)
    }

    /// The same, extended with counters that are needed later to `least` counters in all, if there are that many.
    /// Counters that are needed much later than the remaining ones are not picked.
    pub fn pick_at_least(
        &mut self,
        now: Time,
        side: Side,
        partition: Partition,
        least: usize,
        budget: usize,
    ) -> Vec<SwitchPdr> {
        const ANY: Span = Span::from_secs(60);
        let Some(banks) = self.banks[side as usize].get_mut(usize::from(partition.0)) else {
            return Vec::new();
        };
        let mut ahead = Span::ZERO;
        let reach = |ahead: &mut Span, most: Span, budget: usize| {
            while *ahead < most && banks.due(now + *ahead) < budget {
                *ahead = (*ahead * 2).max(Span::from_millis(1)).min(most);
            }
            banks.due(now + *ahead)
        };
        let mut budget = budget;
        if reach(&mut ahead, self.config.ahead.unwrap_or(ANY), budget) < least.min(budget) {
            budget = least.min(budget);
            reach(&mut ahead, ANY, budget);
        }
        let mut picked = banks.pick(now, now + ahead, budget);
        if self.config.care.is_some() {
            picked.reverse();
        }
        picked
    }

    /// Takes the readings of a pass that started at `started`, and returns the reports.
    pub fn readings(&mut self, started: Time, readings: &[Reading]) -> Vec<Report<K>> {
        let mut reports = Vec::new();
        for reading in readings {
            self.reading(started, reading, &mut reports);
        }
        reports
    }

    /// Reports of URRs without rules, whose time or period has ended.
    pub fn advance(&mut self, now: Time) -> Vec<Report<K>> {
        let mut reports = Vec::new();
        while let Some((_, index)) = self.bare.first().copied().filter(|(end, _)| *end <= now) {
            self.unlist(index);
            if let Some(state) = self.state_mut(index) {
                reports.push(report(state, state.time_triggers(now), now));
            }
            self.list(index);
        }
        reports
    }

    /// The next deadline of [`Pulling::advance`].
    pub fn next_deadline(&self) -> Option<Time> {
        self.bare.first().map(|(end, _)| *end)
    }

    fn reading(&mut self, now: Time, reading: &Reading, reports: &mut Vec<Report<K>>) {
        let Some(rule) = self.rules.get_mut(&reading.number) else { return };
        let (volume, urrs) = (rule.volume(reading.usage), rule.urrs.clone());
        if let Some(watch) = &mut rule.watches[reading.side as usize] {
            watch.observe(now, reading.usage, PullingPolicy::of(&self.config));
        }
        for index in urrs {
            let is_due = self.is_due(index, now);
            let Some(state) = self.state_mut(index).filter(|state| state.urr.side == reading.side) else {
                continue;
            };
            state.count(volume, now);
            let mut triggers = state.volume_triggers();
            if is_due {
                triggers |= state.time_triggers(now);
            }
            if !triggers.is_empty() {
                reports.push(report(state, triggers, now));
            }
            self.list(index);
            self.estimate(now, index);
        }
        self.schedule(now, reading.side, reading.number);
    }

    /// Whether one of its times has ended, and all its counters have been read since.
    fn is_due(&self, index: u32, now: Time) -> bool {
        let Some(state) = self.state(index) else { return false };
        let Some(end) = state.next_end().filter(|end| *end <= now) else { return false };
        let rules = state.numbers.iter().filter_map(|number| self.rules.get(number));
        let mut watches = rules.filter_map(|rule| rule.watch(state.urr.side));
        watches.all(|watch| watch.read >= end)
    }

    fn add(&mut self, now: Time, key: K, urr: Urr) -> u32 {
        let state = Some(State::new(key, urr, now));
        let index = match self.vacant.pop() {
            Some(index) => index,
            None => {
                self.urrs.push(None);
                (self.urrs.len() - 1) as u32
            }
        };
        if let Some(urr) = self.urrs.get_mut(index as usize) {
            *urr = state;
        }
        self.keys.insert(key, index);
        index
    }

    pub(super) fn state(&self, index: u32) -> Option<&State<K>> {
        self.urrs.get(index as usize)?.as_ref()
    }

    pub(super) fn state_mut(&mut self, index: u32) -> Option<&mut State<K>> {
        self.urrs.get_mut(index as usize)?.as_mut()
    }
}

fn report<K: Copy>(state: &mut State<K>, triggers: Triggers, now: Time) -> Report<K> {
    let (usage, from) = state.report(triggers, now);
    Report { key: state.key, triggers, usage, from, until: now }
}
