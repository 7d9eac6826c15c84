//! Placement by the rate of a rule, with hysteresis.

use std::collections::{BTreeSet, HashMap};

use causeway_types::{Seid, Span, Time};
use foldhash::fast::RandomState;

use super::{Placement, Wish};
use crate::moves::Moves;
use crate::rate::Rate;
use crate::rule::Rule;

/// The rates between which a rule stays where it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// A rule with this many octets in a second moves to the switch.
    pub up: u64,
    /// A rule with fewer octets a second for [`Thresholds::hold`] moves back.
    pub down: u64,
    /// How long it must have fewer.
    pub hold: Span,
    /// How often rules on the switch are checked.
    pub check: Span,
    /// A rule on a full switch is replaced only by one that has this many times its octets.
    pub ratio: f64,
}

impl Thresholds {
    /// Up at this many bits a second, down at half of it for two seconds, checked each half second, replaced by 1.25
    /// times as much.
    pub const fn at(bits_per_second: u64) -> Self {
        let up = bits_per_second / 8;
        Self { up, down: up / 2, hold: Span::from_secs(2), check: Span::from_millis(500), ratio: 1.25 }
    }
}

/// How soon candidates are tried again: after a decision, and on a full switch.
const SOON: Span = Span::from_millis(1);
const LATER: Span = Span::from_millis(50);

/// Places the rules with the highest rates on the switch.
#[derive(Debug)]
pub struct ByRate {
    thresholds: Thresholds,
    rates: HashMap<Rule, Measured, RandomState>,
    /// Rules that have reached the upper rate, and may be in the software.
    candidates: BTreeSet<Rule>,
    /// Rules on the switch by rate at the last check, the lowest last.
    slowest: Vec<(u64, Rule)>,
    next_check: Time,
    /// When candidates for which there was no free entry are tried again.
    next_try: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    rate: Rate,
    /// Since when it is below the lower rate, as far as checks have seen.
    below: Option<Time>,
}

impl ByRate {
    /// Placement with these thresholds.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            rates: HashMap::default(),
            candidates: BTreeSet::new(),
            slowest: Vec::new(),
            next_check: Time::default(),
            next_try: Time::default(),
        }
    }

    /// Rules on the switch that have been slow for long go; those without traffic are forgotten.
    fn check(&mut self, now: Time, moves: &Moves, wishes: &mut Vec<Wish>) {
        let Thresholds { down, hold, .. } = self.thresholds;
        self.slowest.clear();
        for rule in moves.on_switch() {
            let measured = self.rates.entry(rule).or_default();
            let octets = measured.rate.sum(now);
            if octets >= down {
                measured.below = None;
            } else {
                let since = *measured.below.get_or_insert(now);
                if now.since(since) >= hold {
                    wishes.push(Wish::Demote(rule));
                    continue;
                }
            }
            self.slowest.push((octets, rule));
        }
        self.slowest.sort_unstable_by(|one, other| other.cmp(one));
        if let Some(asked) = moves.asked_by_others(now).filter(|_| moves.is_full()) {
            self.replace_slowest(asked, moves, wishes);
        }
        self.rates.retain(|rule, measured| measured.rate.sum(now) > 0 || moves.is_on_switch(*rule));
    }

    fn promote(&mut self, now: Time, moves: &Moves, wishes: &mut Vec<Wish>) {
        let (up, rates) = (self.thresholds.up, &self.rates);
        let mut wanted: Vec<(u64, Rule)> = Vec::new();
        self.candidates.retain(|rule| {
            let octets = rates.get(rule).map_or(0, |measured| measured.rate.sum(now));
            let is_wanted = octets >= up && moves.may_promote(now, *rule);
            wanted.extend(is_wanted.then_some((octets, *rule)));
            is_wanted
        });
        wanted.sort_unstable_by(|one, other| other.cmp(one));
        let (mut free, asked) = (moves.free(), moves.asked_by_others(now));
        let is_scarce = free <= 1;
        // The fastest rule without an entry; also if it is wished just now, since there may be no budget for it.
        let mut without = None;
        for (octets, rule) in wanted {
            if free > 0 {
                without = without.or(Some(octets));
                // The last entry is for the fastest rule of all parts of the switch.
                if free > 1 || asked.is_none_or(|asked| octets >= asked) {
                    free -= 1;
                    wishes.push(Wish::Promote(rule));
                }
                continue;
            }
            // A later decision promotes it, when the replaced rule has left the switch. A switch on which no more rules may be armed is
            // not full: the rule waits until one of these has its gap.
            if !moves.is_full() || !self.replace_slowest(octets, moves, wishes) {
                without = without.or(Some(octets));
            }
        }
        moves.ask(now, without.filter(|_| is_scarce));
    }

    /// Wishes the slowest rule back, if one with these octets is clearly faster. `false`: none is.
    fn replace_slowest(&mut self, octets: u64, moves: &Moves, wishes: &mut Vec<Wish>) -> bool {
        while let Some((lowest, replaced)) = self.slowest.last().copied() {
            if moves.is_settled(replaced) {
                let is_faster = octets as f64 >= lowest as f64 * self.thresholds.ratio;
                if is_faster {
                    self.slowest.pop();
                    wishes.push(Wish::Demote(replaced));
                }
                return is_faster;
            }
            self.slowest.pop();
        }
        false
    }
}

impl Placement for ByRate {
    fn observe(&mut self, now: Time, rule: Rule, octets: u64) {
        let measured = self.rates.entry(rule).or_default();
        measured.rate.add(now, octets);
        if measured.rate.sum(now) >= self.thresholds.up {
            self.candidates.insert(rule);
        }
    }

    fn session(&mut self, session: Seid, exists: bool) {
        if !exists {
            for rule in Rule::of(session) {
                self.rates.remove(&rule);
                self.candidates.remove(&rule);
            }
        }
    }

    fn decide(&mut self, now: Time, moves: &Moves) -> Vec<Wish> {
        let mut wishes = Vec::new();
        if now >= self.next_check {
            self.next_check = now + self.thresholds.check;
            self.check(now, moves, &mut wishes);
        }
        if !self.candidates.is_empty() {
            self.promote(now, moves, &mut wishes);
            self.next_try = now + if moves.free() > 0 { SOON } else { LATER };
        }
        wishes
    }

    /// Rules on the switch that were not seen were not slow. The counters are read before the next check.
    fn resumed(&mut self, now: Time) {
        self.rates.values_mut().for_each(|measured| measured.below = None);
        self.next_check = now + self.thresholds.check;
    }

    fn octets_per_second(&self, now: Time, rule: Rule) -> Option<u64> {
        Some(self.rates.get(&rule).map_or(0, |measured| measured.rate.sum(now)))
    }

    fn next_decision(&self) -> Option<Time> {
        let tries = (!self.candidates.is_empty()).then_some(self.next_try);
        [Some(self.next_check), tries].into_iter().flatten().min()
    }
}
