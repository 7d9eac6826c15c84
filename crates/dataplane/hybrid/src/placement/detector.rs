//! The thesis' placement: a detector on the switch decides packet by packet.

use std::collections::BTreeMap;

use causeway_types::{Seid, Time};

use super::{Placement, Wish};
use crate::moves::Moves;
use crate::rule::Rule;

/// What says which rules are heavy.
pub trait Detector: std::fmt::Debug + Send {
    /// A packet of a rule: whether the rule is heavy now.
    fn is_heavy(&mut self, now: Time, rule: Rule, octets: u64) -> bool;
}

/// Follows a detector as the thesis describes it (sections 3.4 and 3.5): a rule that is reported moves to the switch, and
/// one on the switch that the next packet does not report moves back. There is no hysteresis, and no ageing.
#[derive(Debug)]
pub struct AsDetected<T> {
    detector: T,
    /// Rules of which packets came since the last decision, and whether they are heavy.
    seen: BTreeMap<Rule, bool>,
}

impl<T: Detector> AsDetected<T> {
    /// Placement by this detector.
    pub const fn new(detector: T) -> Self {
        Self { detector, seen: BTreeMap::new() }
    }
}

impl<T: Detector> Placement for AsDetected<T> {
    fn observe(&mut self, now: Time, rule: Rule, octets: u64) {
        let is_heavy = self.detector.is_heavy(now, rule, octets);
        self.seen.insert(rule, is_heavy);
    }

    fn session(&mut self, session: Seid, exists: bool) {
        if !exists {
            self.seen.retain(|rule, _| rule.session != session);
        }
    }

    fn decide(&mut self, _: Time, moves: &Moves) -> Vec<Wish> {
        let seen = std::mem::take(&mut self.seen);
        let wish = |(rule, is_heavy)| match (is_heavy, moves.is_on_switch(rule)) {
            (true, false) => Some(Wish::Promote(rule)),
            (false, true) => Some(Wish::Demote(rule)),
            _ => None,
        };
        seen.into_iter().filter_map(wish).collect()
    }

    fn next_decision(&self) -> Option<Time> {
        (!self.seen.is_empty()).then(Time::default)
    }
}
