//! A placement for tests: random rules move between any two steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use causeway_hybrid::{Moves, Placement, Rule, Wish};
use causeway_types::{Seid, Time};

/// Before each packet, plan and timer, moves up to two random rules of the sessions that there are: to the switch, or one
/// time in four back to the software.
#[derive(Debug)]
pub(crate) struct RandomPlacement {
    random: u64,
    sessions: BTreeSet<Seid>,
    /// Rules so far whose packets the switch has forwarded, of all placements that share it.
    flipped: Arc<AtomicU64>,
    counted: u64,
}

impl RandomPlacement {
    /// Other moves for each seed. `flipped` counts the rules whose packets the switch forwards after a move.
    pub(crate) fn new(seed: u64, flipped: Arc<AtomicU64>) -> Self {
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { random, sessions: BTreeSet::new(), flipped, counted: 0 }
    }

    /// A xorshift generator: the crate needs no other random numbers.
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) as usize % bound.max(1)
    }
}

impl Placement for RandomPlacement {
    fn observe(&mut self, _: Time, rule: Rule, _: u64) {
        self.sessions.insert(rule.session);
    }

    fn session(&mut self, session: Seid, exists: bool) {
        if exists {
            self.sessions.insert(session);
        } else {
            self.sessions.remove(&session);
        }
    }

    fn decide(&mut self, _: Time, moves: &Moves) -> Vec<Wish> {
        let flipped = moves.statistics().flipped;
        self.flipped.fetch_add(flipped - self.counted, Ordering::Relaxed);
        self.counted = flipped;
        let mut wishes = Vec::new();
        for _ in 0..self.below(3) {
            let (place, direction) = (self.below(self.sessions.len()), self.below(2));
            let Some(session) = self.sessions.iter().nth(place) else { continue };
            let Some(rule) = Rule::of(*session).get(direction).copied() else { continue };
            match (moves.is_on_switch(rule), self.below(4)) {
                // Most stay for some packets: the first one of an armed rule goes to the software.
                (true, 1..) => {}
                (true, _) => wishes.push(Wish::Demote(rule)),
                (false, _) => wishes.push(Wish::Promote(rule)),
            }
        }
        wishes
    }

    fn next_decision(&self) -> Option<Time> {
        Some(Time::default())
    }
}
