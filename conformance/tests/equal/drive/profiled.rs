//! Sessions that are as others are, and are changed as others were.

use causeway_dataplane::Plan;
use causeway_model::RuleSet;

use super::{Run, is_legal};

impl Run {
    /// A session in words that may have been used before. `false`: no such words are remembered.
    pub(super) fn begin_profiled(&mut self, index: usize, set: &RuleSet) -> bool {
        let Some(profiled) = self.templates.profiled(set) else { return false };
        // The first of its kind shows how those are that follow; it may have been there before.
        let plan = Plan { session: self.held[index].seid, change: profiled.into() };
        if is_legal(set, &self.capabilities, &self.endpoints, &self.catalogue) && self.apply(&plan) {
            self.apply(&Plan::removal(plan.session));
        }
        self.held[index].is_profiled = true;
        self.carry_out(index, &plan, set.clone());
        true
    }

    /// The same of a session that is as others are, if it stays so. Every other time the session is set up once more, now that it is
    /// known what such a change makes of it.
    pub(super) fn modify_profiled(&mut self, index: usize, plan: &Plan, new: &RuleSet) -> bool {
        let held = &mut self.held[index];
        let before = held.rules.as_ref().and_then(|old| self.templates.profiled(old));
        let moved = before.as_ref().and_then(|before| self.templates.transition(before, new, plan));
        held.is_profiled = moved.is_some();
        let (Some(before), Some(moved)) = (before, moved) else { return false };
        let plan = Plan { session: plan.session, change: moved.into() };
        let is_known = self.tally.plans.is_multiple_of(2);
        self.carry_out(index, &plan, new.clone());
        if is_known && self.held[index].rules.as_ref() == Some(new) {
            self.apply(&Plan::removal(plan.session));
            self.apply(&Plan { session: plan.session, change: before.into() });
            self.apply(&plan);
        }
        true
    }
}
