//! All sessions on the switch, and the meaning of each rule number.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use causeway_model::RuleSet;
use causeway_types::{Seid, UrrId};
use foldhash::fast::RandomState;

use super::allocator::Change;
use super::compile_session::LookupKey;
use super::direct::Filters;
use super::operation::Operation;
use super::session_state::{NumberRecord, PlacedRule, SessionState};
use crate::armed::Arming;
use crate::{Count, SwitchPdr};

/// Sessions, and rules by number.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    states: HashMap<Seid, SessionState, RandomState>,
    rules: HashMap<SwitchPdr, NumberRecord, RandomState>,
}

/// What a session no longer has after a change.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    pub(super) keys: BTreeSet<LookupKey>,
    pub(super) filters: Filters,
}

impl Sessions {
    pub(super) fn get(&self, seid: Seid) -> Option<&SessionState> {
        self.states.get(&seid)
    }

    pub(super) fn rule(&self, number: SwitchPdr) -> Option<&NumberRecord> {
        self.rules.get(&number)
    }

    pub(super) fn states(&self) -> impl Iterator<Item = (Seid, &SessionState)> {
        self.states.iter().map(|(seid, state)| (*seid, state))
    }

    #[cfg(test)]
    pub(super) fn rules(&self) -> impl Iterator<Item = (SwitchPdr, &NumberRecord)> {
        self.rules.iter().map(|(number, rule)| (*number, rule))
    }

    /// The number of sessions, and of rule numbers including those that have not retired.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.states.len(), self.rules.len())
    }

    /// Queues an operation behind earlier ones of its session; `true`: there are none.
    pub(super) fn enqueue(&mut self, seid: Seid, operation: Operation) -> bool {
        let state = self.states.entry(seid).or_default();
        if state.busy.is_some() {
            state.queue.push_back(operation);
            return false;
        }
        state.busy = Some(operation);
        true
    }

    /// The operation in progress has ended: returns the next one of the session.
    pub(super) fn next_operation(&mut self, seid: Seid) -> Option<Operation> {
        let state = self.states.get_mut(&seid)?;
        state.busy = state.queue.pop_front();
        state.busy
    }

    /// Whether there is such a session, without an operation.
    pub(super) fn is_at_rest(&self, seid: Seid) -> bool {
        self.states.get(&seid).is_some_and(|state| state.busy.is_none())
    }

    /// Removes a session that the software does not have, unless it has rules, numbers or operations. Returns whether
    /// it was removed.
    pub(super) fn remove_if_over(&mut self, seid: Seid) -> bool {
        let is_over = |state: &SessionState| {
            state.numbers.is_empty() && state.busy.is_none() && state.placed.is_empty()
        };
        self.states.get(&seid).is_some_and(is_over) && self.states.remove(&seid).is_some()
    }

    /// An operation begins: its new numbers, the exhausted quotas for which its entries were made, and whether its rules name applications.
    pub(super) fn begin(
        &mut self,
        seid: Seid,
        operation: Operation,
        change: &Change,
        exhausted: BTreeSet<UrrId>,
        names_application: bool,
    ) {
        for (pdr, number) in &change.fresh {
            let Some(placed) = change.placed.get(pdr) else { continue };
            let rule = NumberRecord::new(seid, *pdr, placed.wanted.content.clone(), operation);
            self.rules.insert(*number, rule);
        }
        if let Some(state) = self.states.get_mut(&seid) {
            state.numbers.extend(change.fresh.iter().map(|(_, number)| *number));
            state.exhausted = exhausted;
            state.names_application = names_application;
        }
    }

    /// The operation that changes the actions of these numbers is being written.
    pub(super) fn start_altering(&mut self, operation: Operation, numbers: &[SwitchPdr]) {
        for number in numbers {
            self.rules.entry(*number).and_modify(|rule| rule.altering = Some(operation));
        }
    }

    /// The numbers that a change leaves without a rule, and that have no counters to read.
    pub(super) fn expire(&mut self, seid: Seid, change: &Change) -> Vec<SwitchPdr> {
        let (counted, uncounted): (Vec<_>, Vec<_>) =
            change.gone.iter().copied().partition(|number| change.expire.contains(number));
        for number in counted {
            self.rules.entry(number).and_modify(|rule| rule.is_expired = true);
        }
        for number in &uncounted {
            self.rules.remove(number);
            if let Some(state) = self.states.get_mut(&seid) {
                state.numbers.remove(number);
            }
        }
        uncounted
    }

    /// The change is written: the session has its rules. Returns what it had before.
    pub(super) fn replace(&mut self, seid: Seid, change: Change) -> Replaced {
        for placed in change.placed.values().filter(|placed| change.altered.contains(&placed.number)) {
            let content = placed.wanted.content.clone();
            self.rules.entry(placed.number).and_modify(|rule| rule.update(content));
        }
        let Some(state) = self.states.get_mut(&seid) else { return Replaced::default() };
        let keys = state.keys.difference(&change.keys).copied().collect();
        state.keys = change.keys;
        state.ues = change.ues;
        state.guards = change.guards;
        state.measured = change.measured;
        state.meters = change.meters;
        state.placed = change.placed;
        state.places = change.places;
        state
            .flipped
            .retain(|number| state.placed.values().any(|it| it.number == *number && it.armed.is_some()));
        Replaced { keys, filters: std::mem::replace(&mut state.filters, change.filters) }
    }

    /// A change failed: its new numbers are no rules.
    pub(super) fn remove_fresh(&mut self, seid: Seid, change: &Change) {
        for (_, number) in &change.fresh {
            self.rules.remove(number);
            if let Some(state) = self.states.get_mut(&seid) {
                state.numbers.remove(number);
            }
        }
    }

    /// The operation is over, so the software has the rules of its numbers.
    pub(super) fn end_operation(&mut self, seid: Seid, operation: Operation) {
        let Some(state) = self.states.get(&seid) else { return };
        for number in &state.numbers {
            if let Some(rule) = self.rules.get_mut(number) {
                rule.fresh = rule.fresh.filter(|by| *by != operation);
                rule.altering = rule.altering.filter(|by| *by != operation);
            }
        }
    }

    /// An armed rule has forwarded packets: it has flipped. `true`: that is new.
    pub(super) fn set_flipped(&mut self, number: SwitchPdr) -> bool {
        let Some(rule) = self.rules.get(&number) else { return false };
        let Some(state) = self.states.get_mut(&rule.session) else { return false };
        let is_armed = |placed: &PlacedRule| placed.number == number && placed.armed.is_some();
        state.placed.get(&rule.pdr).is_some_and(is_armed) && state.flipped.insert(number)
    }

    /// All rules of a session are armed: the software has had their packets.
    pub(super) fn rearm(&mut self, seid: Seid, arm: &mut dyn FnMut(SwitchPdr) -> Arming) {
        let Some(state) = self.states.get_mut(&seid) else { return };
        state.flipped.clear();
        state.placed.values_mut().for_each(|placed| placed.armed = Some(arm(placed.number)));
    }

    /// The number has retired. Returns its session.
    pub(super) fn remove_number(&mut self, number: SwitchPdr) -> Option<Seid> {
        let seid = self.rules.remove(&number)?.session;
        if let Some(state) = self.states.get_mut(&seid) {
            state.numbers.remove(&number);
        }
        Some(seid)
    }

    /// The software has these rules.
    pub(super) fn set_fars(&mut self, seid: Seid, rules: &RuleSet) {
        if let Some(state) = self.states.get_mut(&seid) {
            state.fars = rules.fars.shared().map(|far| (far.id, Arc::clone(far))).collect();
        }
    }

    /// The entries may have been made for other quotas than the exhausted ones.
    pub(super) fn clear_exhausted(&mut self, seid: Seid) {
        if let Some(state) = self.states.get_mut(&seid) {
            state.exhausted.clear();
        }
    }

    /// A counter of a number was read.
    pub(super) fn record_reading(
        &mut self,
        number: SwitchPdr,
        side: usize,
        count: Count,
        is_last: bool,
    ) -> Option<&NumberRecord> {
        let rule = self.rules.get_mut(&number)?;
        rule.last[side] += count;
        rule.is_final[side] |= is_last;
        Some(rule)
    }

    /// The counter of a number starts from zero.
    pub(super) fn restart_counter(&mut self, number: SwitchPdr, side: usize) {
        if let Some(rule) = self.rules.get_mut(&number) {
            rule.last[side] = Count::ZERO;
        }
    }

    /// All counters start from zero. Returns how many had unread usage.
    pub(super) fn restart_counters(&mut self) -> usize {
        let mut counters = 0;
        for rule in self.rules.values_mut() {
            rule.last = [Count::ZERO; 2];
            counters += rule.is_final.iter().filter(|is_final| !**is_final).count();
        }
        counters
    }
}
