//! The moves of rules, as a state machine: it takes wishes and what has happened, and returns the commands for the switch.
//!
//! ```text
//! software -> promoting -> armed -> switch -> demoting -> software
//! ```
//!
//! A rule is armed until the switch has forwarded one of its packets. A move that fails leaves the rule where it was. At
//! any moment the switch may return a rule by itself: its session has changed, or a quota is exhausted.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use causeway_dataplane::{MoveCounts, RulePlace, WaitCounts};
use causeway_types::{Seid, Span, Time};
use foldhash::fast::RandomState;

use crate::config::Config;
use crate::placement::Wish;
use crate::rate::Rate;
use crate::rule::Rule;
use crate::shared::SharedSwitch;

/// How often the gap of an armed rule is halved, when its patience is over.
const HALVING: Span = Span::from_millis(250);

/// A rule that comes back within this time was demoted too early.
const AGAIN: Span = Span::from_secs(5);

/// Waits that are kept for statistics.
const KEPT: usize = 4096;

/// Demotions and refusals that are remembered, before those are forgotten that no longer matter.
const REMEMBERED: usize = 65_536;

/// Where a rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the software.
    Software,
    /// Its entries are being written.
    Promoting,
    /// On the switch, which sends its packets to the software until there is a gap between them.
    Armed {
        /// The gap.
        gap: Span,
    },
    /// The switch forwards its packets.
    Switch,
    /// Its entries are being removed.
    Demoting,
}

impl From<Place> for RulePlace {
    fn from(place: Place) -> Self {
        match place {
            Place::Software => Self::Software,
            Place::Promoting => Self::Promoting,
            Place::Armed { .. } => Self::Armed,
            Place::Switch => Self::Switch,
            Place::Demoting => Self::Demoting,
        }
    }
}

/// What the switch is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Take the rule, armed with this gap; an armed rule gets this gap instead of a longer one.
    Arm(Rule, Span),
    /// Return the rule to the software.
    Return(Rule),
}

#[derive(Clone, Copy, Debug)]
struct State {
    place: Place,
    since: Time,
    /// When the gap is halved next, or the rule returns.
    due: Option<Time>,
    /// When it returns to the software, if it is still armed then.
    give_up: Time,
    /// When it was wished on the switch, or was armed again.
    wished: Time,
    /// It returns since it was armed for too long.
    gave_up: bool,
    /// It was armed before it returns.
    was_armed: bool,
}

/// Where all rules are that are not at rest in the software.
#[derive(Debug)]
pub struct Moves {
    config: Config,
    states: HashMap<Rule, State, RandomState>,
    /// The number of rules at each place but the software, which stays zero.
    counts: [usize; 5],
    /// Rules that are armed, by when that changes.
    due: BTreeSet<(Time, Rule)>,
    /// Rules that the switch does not take, until when and why.
    refused: HashMap<Rule, (Time, String), RandomState>,
    /// When rules were returned by a decision.
    recent: HashMap<Rule, Time, RandomState>,
    waits: VecDeque<Span>,
    wait_counts: WaitCounts,
    /// The switch, and which part of it has these rules.
    switch: (Arc<SharedSwitch>, usize),
    statistics: MoveCounts,
    recent_changes: Rate,
}

impl Moves {
    /// No rule is on the switch.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            states: HashMap::default(),
            counts: [0; 5],
            due: BTreeSet::new(),
            refused: HashMap::default(),
            recent: HashMap::default(),
            waits: VecDeque::new(),
            wait_counts: WaitCounts::default(),
            switch: (Arc::new(SharedSwitch::new(1)), 0),
            statistics: MoveCounts::default(),
            recent_changes: Rate::default(),
        }
    }

    /// The same for the rules of this part of a switch, whose capacity and rule changes all parts share.
    #[must_use]
    pub fn of_part(mut self, switch: Arc<SharedSwitch>, part: usize) -> Self {
        self.switch = (switch, part);
        self
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Where a rule is.
    pub fn place(&self, rule: Rule) -> Place {
        self.states.get(&rule).map_or(Place::Software, |state| state.place)
    }

    /// Since when a rule is where it is; `None`: it is at rest in the software.
    pub fn since(&self, rule: Rule) -> Option<Time> {
        self.states.get(&rule).map(|state| state.since)
    }

    /// Why the switch does not take a rule, if it was tried.
    pub fn refusal(&self, rule: Rule) -> Option<&str> {
        self.refused.get(&rule).map(|(_, reason)| reason.as_str())
    }

    /// The rules that the switch does not take for now, in no order.
    pub fn refused(&self, now: Time) -> impl Iterator<Item = Rule> {
        self.refused.iter().filter(move |(_, (until, _))| now < *until).map(|(rule, _)| *rule)
    }

    /// The rule is on the switch, armed or not.
    pub fn is_on_switch(&self, rule: Rule) -> bool {
        matches!(self.place(rule), Place::Armed { .. } | Place::Switch)
    }

    /// The switch forwards the packets of the rule, and no move of it is in progress.
    pub fn is_settled(&self, rule: Rule) -> bool {
        self.place(rule) == Place::Switch
    }

    /// The rules on the switch, armed or not, in no order.
    pub fn on_switch(&self) -> impl Iterator<Item = Rule> {
        let is_there = |state: &State| matches!(state.place, Place::Armed { .. } | Place::Switch);
        self.states.iter().filter(move |(_, state)| is_there(state)).map(|(rule, _)| *rule)
    }

    /// Rules that are not at rest in the software, in no order.
    pub fn rules(&self) -> impl Iterator<Item = (Rule, Place)> {
        self.states.iter().map(|(rule, state)| (*rule, state.place))
    }

    /// The number of rules that are on the switch or on their way.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// All rules are at rest in the software.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether a promotion of the rule would be tried.
    pub fn may_promote(&self, now: Time, rule: Rule) -> bool {
        self.place(rule) == Place::Software && self.refused.get(&rule).is_none_or(|(until, _)| now >= *until)
    }

    /// Rules that may be promoted besides those on the switch and those that move.
    pub fn free(&self) -> usize {
        let armed = self.config.armed.saturating_sub(self.armed());
        self.config.capacity.saturating_sub(self.switch.0.rules()).min(armed)
    }

    /// No entry of the switch is free.
    pub fn is_full(&self) -> bool {
        self.switch.0.rules() >= self.config.capacity
    }

    /// Tells the other parts of the switch for which octets a second an entry is missing here; `None`: for none.
    pub fn ask(&self, now: Time, octets: Option<u64>) {
        self.switch.0.ask(now, self.switch.1, octets);
    }

    /// The most octets a second for which an entry is missing in another part of the switch.
    pub fn asked_by_others(&self, now: Time) -> Option<u64> {
        self.switch.0.asked_by_others(now, self.switch.1)
    }

    /// Rules that are armed or being promoted.
    pub const fn armed(&self) -> usize {
        self.count(RulePlace::Promoting) + self.count(RulePlace::Armed)
    }

    /// The number of rules at a place other than the software.
    pub const fn count(&self, place: RulePlace) -> usize {
        self.counts[place as usize]
    }

    /// Counts since the start.
    pub const fn statistics(&self) -> MoveCounts {
        self.statistics
    }

    /// Rule changes that were commanded in the last second.
    pub fn changes_per_second(&self, now: Time) -> u64 {
        self.recent_changes.sum(now)
    }

    /// The last times between the wish for a promotion and the first packet that the switch forwarded, oldest first.
    pub fn waits(&self) -> impl Iterator<Item = Span> {
        self.waits.iter().copied()
    }

    /// These times since the start, in counts by length.
    pub const fn wait_counts(&self) -> &WaitCounts {
        &self.wait_counts
    }

    /// Takes a wish; `None`: it is not carried out.
    pub fn wish(&mut self, now: Time, wish: Wish) -> Option<Command> {
        match wish {
            Wish::Promote(rule) if self.may_promote(now, rule) && self.free() > 0 => {
                self.switch.0.take_entry(self.config.capacity)?;
                if self.take_token(now).is_none() {
                    self.switch.0.release_entry();
                    return None;
                }
                let returned = self.recent.remove(&rule);
                self.statistics.again += u64::from(returned.is_some_and(|at| now.since(at) < AGAIN));
                self.refused.remove(&rule);
                self.set(now, rule, Place::Promoting);
                Some(Command::Arm(rule, self.config.longest_stay))
            }
            Wish::Demote(rule) if self.is_on_switch(rule) => {
                self.take_token(now)?;
                self.set(now, rule, Place::Demoting);
                Some(Command::Return(rule))
            }
            Wish::Promote(_) | Wish::Demote(_) => None,
        }
    }

    /// The command of a rule has ended, with the reason if it failed.
    pub fn ended(&mut self, now: Time, rule: Rule, result: Result<(), String>) {
        match (self.place(rule), result) {
            (Place::Promoting, Ok(())) => {
                self.statistics.promoted += 1;
                self.set(now, rule, Place::Armed { gap: self.config.longest_stay });
            }
            (Place::Promoting, Err(reason)) => {
                self.statistics.refused += 1;
                self.refuse(now, rule, reason);
                self.set(now, rule, Place::Software);
            }
            (Place::Demoting, Ok(())) if self.states.get(&rule).is_some_and(|state| state.gave_up) => {
                self.statistics.gave_up += 1;
                self.set(now, rule, Place::Software);
            }
            (Place::Demoting, Ok(())) => {
                self.statistics.demoted += 1;
                if self.recent.len() >= REMEMBERED {
                    self.recent.retain(|_, at| now.since(*at) < AGAIN);
                }
                self.recent.insert(rule, now);
                self.set(now, rule, Place::Software);
            }
            // It is still there as before; the placement decides again.
            (Place::Demoting, Err(_)) => {
                let was_armed = self.states.get(&rule).is_some_and(|state| state.was_armed);
                let armed = Place::Armed { gap: self.config.longest_stay };
                self.set(now, rule, if was_armed { armed } else { Place::Switch });
            }
            (Place::Software | Place::Armed { .. } | Place::Switch, _) => {}
        }
    }

    /// The switch has forwarded packets of the rule.
    pub fn forwarded(&mut self, now: Time, rule: Rule) {
        if let Place::Armed { gap } = self.place(rule) {
            self.statistics.flipped += 1;
            self.statistics.flipped_early += u64::from(gap < self.config.longest_stay);
            if self.waits.len() == KEPT {
                self.waits.pop_front();
            }
            let wished = self.states.get(&rule).map_or(now, |state| state.wished);
            self.waits.push_back(now.since(wished));
            self.wait_counts.add(now.since(wished));
            self.set(now, rule, Place::Switch);
        }
    }

    /// The switch has returned the rule by itself.
    pub fn returned(&mut self, now: Time, rule: Rule) {
        if self.is_on_switch(rule) {
            self.statistics.returned += 1;
            self.set(now, rule, Place::Software);
        }
    }

    /// The switch had lost the rule, which is armed again: the time to the switch of one that it forwarded begins now.
    pub fn rearmed(&mut self, now: Time, rule: Rule) {
        let Some(state) = self.states.get_mut(&rule) else { return };
        match state.place {
            Place::Switch => state.wished = now,
            // It is armed if it cannot return.
            Place::Demoting => state.was_armed = true,
            Place::Software | Place::Promoting | Place::Armed { .. } => {}
        }
        if self.is_on_switch(rule) {
            self.set(now, rule, Place::Armed { gap: self.config.longest_stay });
        }
    }

    /// The switch is reachable again: armed rules, of which nobody knew whether they had flipped, have all their time once more.
    pub fn resumed(&mut self, now: Time) {
        let is_armed = |state: &State| matches!(state.place, Place::Armed { .. });
        let armed = self.states.iter().filter(|(_, state)| is_armed(state)).map(|(rule, _)| *rule);
        for rule in armed.collect::<Vec<_>>() {
            self.set_armed_time(now, rule);
        }
    }

    /// A session has changed: its rules may be tried again. One that does not exist any more is forgotten, unless a command
    /// of it is in progress.
    pub fn session(&mut self, now: Time, session: Seid, exists: bool) {
        for rule in Rule::of(session) {
            self.refused.remove(&rule);
            if !exists {
                self.returned(now, rule);
            }
        }
    }

    /// When [`Moves::poll`] has a command; `None`: no rule is armed.
    pub fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next command for a rule that is armed for long.
    pub fn poll(&mut self, now: Time) -> Option<Command> {
        while let Some((at, rule)) = self.due.first().copied() {
            if at > now {
                return None;
            }
            let Some(State { place: Place::Armed { gap }, give_up, .. }) = self.states.get(&rule).copied()
            else {
                self.due.remove(&(at, rule));
                continue;
            };
            if self.take_token(now).is_none() {
                self.set_due(rule, Some(now + HALVING));
                continue;
            }
            if now >= give_up {
                self.refuse(now, rule, "no gap between its packets".into());
                self.set(now, rule, Place::Demoting);
                if let Some(state) = self.states.get_mut(&rule) {
                    state.gave_up = true;
                }
                return Some(Command::Return(rule));
            }
            let gap = (gap / 2).max(self.config.least_gap).min(gap);
            if let Some(state) = self.states.get_mut(&rule) {
                state.place = Place::Armed { gap };
            }
            let next = if gap > self.config.least_gap { now + HALVING } else { give_up };
            self.set_due(rule, Some(next.min(give_up)));
            return Some(Command::Arm(rule, gap));
        }
        None
    }

    /// The rule is not tried again for a while.
    fn refuse(&mut self, now: Time, rule: Rule, reason: String) {
        if self.refused.len() >= REMEMBERED {
            self.refused.retain(|_, (until, _)| now < *until);
        }
        self.refused.insert(rule, (now + self.config.retry_refused, reason));
    }

    fn set(&mut self, now: Time, rule: Rule, place: Place) {
        let before = self.states.get(&rule).copied();
        if let Some(state) = before {
            self.counts[RulePlace::from(state.place) as usize] -= 1;
        }
        if place != Place::Software {
            self.counts[RulePlace::from(place) as usize] += 1;
        }
        self.set_due(rule, None);
        if place == Place::Software {
            if self.states.remove(&rule).is_some() {
                self.switch.0.release_entry();
            }
            return;
        }
        let wished = before.filter(|_| place != Place::Promoting).map_or(now, |state| state.wished);
        let was_armed = before.is_some_and(|state| matches!(state.place, Place::Armed { .. }));
        let state = State { place, since: now, due: None, give_up: now, wished, gave_up: false, was_armed };
        self.states.insert(rule, state);
        if let Place::Armed { .. } = place {
            self.set_armed_time(now, rule);
        }
    }

    /// A rule is armed from now on, or once more.
    fn set_armed_time(&mut self, now: Time, rule: Rule) {
        let Config { strict, give_up, patience, .. } = self.config;
        if let Some(state) = self.states.get_mut(&rule) {
            state.give_up = now + give_up;
        }
        let first = if strict { give_up } else { patience };
        self.set_due(rule, Some(now + first.min(give_up)));
    }

    fn set_due(&mut self, rule: Rule, due: Option<Time>) {
        let Some(state) = self.states.get_mut(&rule) else { return };
        if let Some(before) = std::mem::replace(&mut state.due, due) {
            self.due.remove(&(before, rule));
        }
        if let Some(due) = due {
            self.due.insert((due, rule));
        }
    }

    /// Takes one rule change of the budget.
    fn take_token(&mut self, now: Time) -> Option<()> {
        if self.switch.0.take_change(now, self.config.changes_per_second).is_none() {
            self.statistics.over_budget += 1;
            return None;
        }
        self.statistics.changes += 1;
        self.recent_changes.add(now, 1);
        Some(())
    }
}

/// The entries of its rules are free for others.
impl Drop for Moves {
    fn drop(&mut self) {
        (0..self.states.len()).for_each(|_| self.switch.0.release_entry());
    }
}
