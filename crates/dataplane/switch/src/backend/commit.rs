//! The end of a change: its counters are read, and the software data plane applies it.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Op, Plan};
use causeway_model::RuleSet;
use causeway_types::{ReportingTriggers, Seid, Span, Time, UrrId};

use super::operation::{Operation, Pending};
use super::outcomes::Retry;
use super::session_change::Change;
use super::switch::Switch;
use crate::SwitchPdr;
use crate::driver::SwitchDriver;

impl<D: SwitchDriver> Switch<D> {
    /// The counters that must be read before the software applies a plan: those whose usage it reports or would
    /// otherwise count for other URRs.
    pub(super) fn usage_needed(&self, seid: Seid, plan: &Plan, change: &Change) -> Vec<(SwitchPdr, usize)> {
        let Some(state) = self.sessions.get(&seid) else { return Vec::new() };
        let Some(rules) = self.software.rules_of(seid) else { return Vec::new() };
        let concerned = concerned(plan, rules);
        let is_fresh = |number: &SwitchPdr| change.fresh.iter().any(|(_, fresh)| fresh == number);
        let mut needed = Vec::new();
        for number in state.numbers.iter().filter(|number| !is_fresh(number)) {
            let Some(rule) = self.rules.get(number).filter(|rule| rule.content.is_counted) else { continue };
            let stays = change
                .placed
                .get(&rule.pdr)
                .is_some_and(|placed| placed.wanted.content.urrs == rule.content.urrs);
            let is_needed = match &concerned {
                None => true,
                Some(urrs) => !stays || rule.content.urrs.iter().any(|urr| urrs.contains(urr)),
            };
            if !is_needed || rule.content.urrs.is_empty() {
                continue;
            }
            let sides = [rule.content.before_qos, true];
            let open = (0..2).filter(|side| sides[*side] && !rule.is_final[*side]);
            needed.extend(open.map(|side| (*number, side)));
        }
        needed
    }

    /// The software applies the plan, and the operation ends.
    pub(super) fn commit(&mut self, now: Time, operation: Operation) {
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        let Pending { session: seid, is_abandoned, .. } = *pending;
        let (plan, led) = (pending.plan.clone(), pending.led.take());
        let (frames, usage) = (std::mem::take(&mut pending.frames), std::mem::take(&mut pending.usage));
        let result = match (plan, led) {
            (Some(plan), Some(_)) if is_abandoned => {
                self.take_back(now, &plan);
                Err(ApplyError::Backend("the switch took too long".to_owned()))
            }
            (_, Some(applied)) => Ok(applied),
            (Some(_), None) if is_abandoned => {
                Err(ApplyError::Backend("the switch took too long".to_owned()))
            }
            (Some(plan), None) => self.software.apply_without_timers(now, &plan),
            (None, None) => Ok(Applied::default()),
        };
        let failed = result.is_err();
        self.forget_fresh(seid, operation);
        self.send_from_software(now);
        self.forget_urrs(seid);
        if let (Some(state), Some(rules)) = (self.sessions.get_mut(&seid), self.software.rules_of(seid)) {
            state.fars = rules.fars.shared().map(|far| (far.id, Arc::clone(far))).collect();
            if failed {
                state.exhausted.clear();
            }
        }
        self.end(operation, result);
        self.fold(now, &usage);
        for frame in frames {
            self.handle_frame(now, frame);
        }
        if failed {
            self.enqueue(seid, None);
        } else {
            self.update_for_quota(seid);
        }
    }

    pub(super) fn forget_fresh(&mut self, seid: Seid, operation: Operation) {
        let numbers: Vec<SwitchPdr> =
            self.sessions.get(&seid).map(|state| state.numbers.iter().copied().collect()).unwrap_or_default();
        for number in numbers {
            if let Some(rule) = self.rules.get_mut(&number) {
                rule.fresh = rule.fresh.filter(|by| *by != operation);
                rule.altering = rule.altering.filter(|by| *by != operation);
            }
        }
    }

    /// Writes the session again, if quotas were exhausted or granted since its entries were made.
    pub(super) fn update_for_quota(&mut self, seid: Seid) {
        let exhausted = self.software.exhausted_of(seid);
        let Some(state) = self.sessions.get(&seid) else { return };
        if state.exhausted != exhausted && state.busy.is_none() {
            self.enqueue(seid, None);
        }
    }

    /// The same after a delay, whatever quotas the entries were made for: the switch has refused it.
    pub(super) fn rewrite_later(&mut self, now: Time, seid: Seid) {
        self.laters += 1;
        self.later.insert((now + self.config.retry.max(RETRY_INTERVAL), self.laters), Retry::Rewrite(seid));
    }

    /// Writes the rules of a session again, unchanged, if no other operation of it is in flight.
    pub(super) fn rewrite_session(&mut self, seid: Seid) {
        if self.sessions.get(&seid).is_some_and(|state| state.busy.is_none()) {
            self.enqueue(seid, None);
        }
    }
}

/// The delay before a refused rewrite is tried again.
const RETRY_INTERVAL: Span = Span::from_secs(1);

/// The URRs whose counters a plan needs; `None`: those of all.
fn concerned(plan: &Plan, rules: &RuleSet) -> Option<BTreeSet<UrrId>> {
    if plan.change.is_removal() {
        return None;
    }
    let is_linked = rules.urrs.values().any(|urr| urr.triggers.contains(ReportingTriggers::LIUSA));
    let mut urrs = BTreeSet::new();
    for op in plan.ops().iter() {
        match op {
            Op::QueryUrr(urr) | Op::RemoveUrr(urr) | Op::RenewUrr { urr, .. } => drop(urrs.insert(*urr)),
            Op::PutUrr(urr) if rules.urrs.contains_key(&urr.id) => drop(urrs.insert(urr.id)),
            _ => {}
        }
    }
    if is_linked && !urrs.is_empty() { None } else { Some(urrs) }
}
