//! Refusals by the switch.

use std::sync::Arc;

use causeway_dataplane::{ApplyError, Op, Plan};
use causeway_types::{Span, Time};

use super::notice::{Cause, Notice};
use super::operation::Operation;
use super::outcomes::Retry;
use super::switch::Switch;
use crate::driver::{Rejected, SwitchDriver, WriteError};

/// The delay before a refused write is tried again.
const RETRY_INTERVAL: Span = Span::from_secs(1);

impl<D: SwitchDriver> Switch<D> {
    /// The switch refuses the updates of an operation. If it has lost the entries that they change, or a part of them
    /// was made, its state is reconciled.
    pub(super) fn write_refused(&mut self, now: Time, operation: Operation, rejected: &Rejected) {
        let Some(pending) = self.operations.get(&operation) else { return };
        let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
        let is_uncertain = pending.is_uncertain;
        if differs && self.check_suspicion(now) {
            // Updates with unknown outcome are part of the reconciliation.
            if !is_uncertain {
                self.retry(now, Retry::Write(operation));
            }
            return;
        }
        self.access.written(now, false);
        self.reject(now, operation, self.refusal(rejected));
        if is_uncertain {
            self.start_reconcile(now, Cause::Refused);
        }
    }

    /// The error for the control plane.
    pub(super) fn refusal(&self, rejected: &Rejected) -> ApplyError {
        match &rejected.error {
            WriteError::Full { table, size } => self.full(table, *size),
            _ => ApplyError::Backend(rejected.to_string()),
        }
    }

    fn full(&self, table: &str, size: usize) -> ApplyError {
        match self.layout.table(table).map(|table| self.layout.name(table.id)) {
            Some(table) => ApplyError::Full { table, capacity: size as u64 },
            None => ApplyError::Backend(format!("table {table} is full, {size} entries")),
        }
    }

    /// The operation fails: the earlier state remains.
    pub(super) fn reject(&mut self, now: Time, operation: Operation, error: ApplyError) {
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        let change = std::mem::take(&mut pending.change);
        let (seid, led, is_uncertain) = (pending.session, pending.led.take(), pending.is_uncertain);
        let (plan, is_own) = (pending.plan.clone(), pending.plan.is_none());
        for (_, number) in &change.fresh {
            self.rules.remove(number);
            if let Some(state) = self.sessions.get_mut(&seid) {
                state.numbers.remove(number);
            }
        }
        self.give_back(seid, &change, !is_uncertain);
        self.forget_fresh(seid, operation);
        if let (Some(_), Some(plan)) = (led, plan) {
            self.take_back(now, &plan);
        }
        self.end(operation, Err(error));
        if let Some(rules) = self.software.rules_of(seid).cloned() {
            self.learn_urrs(now, seid, &rules);
            if let Some(state) = self.sessions.get_mut(&seid) {
                state.exhausted.clear();
            }
            match is_own {
                // No other event would write it again.
                true => self.rewrite_later(now, seid),
                false => self.update_for_quota(seid),
            }
        }
    }

    /// The software returns to the FARs that the switch still has.
    pub(super) fn take_back(&mut self, now: Time, plan: &Plan) {
        let before = self.sessions.get(&plan.session).map(|state| state.fars.clone()).unwrap_or_default();
        let put = |op: &Op| match op {
            Op::PutFar(far) => before.get(&far.id).map(|far| Op::PutFar(Arc::clone(far))),
            _ => None,
        };
        let ops: Vec<Op> = plan.ops().iter().filter_map(put).collect();
        let back = Plan::update(plan.session, ops);
        let _was_valid = self.software.apply_without_timers(now, &back);
        self.send_from_software(now);
    }

    /// The switch refuses templates or routes: operations that wait for them are refused, and the write is tried again
    /// later.
    pub(super) fn reject_templates(&mut self, now: Time, error: ApplyError) {
        self.statistics.rejected_background_writes += 1;
        if self.background_writes.refused.is_none() {
            self.notices.push_back(Notice::Refused { reason: error.to_string() });
        }
        self.background_writes.refused = Some(error.clone());
        for operation in std::mem::take(&mut self.prepared) {
            match self.operations.get(&operation).is_some_and(|pending| pending.change.after_chore > 0) {
                true => self.reject(now, operation, error.clone()),
                false => self.prepared.push_back(operation),
            }
        }
        self.laters += 1;
        self.later.insert((now + RETRY_INTERVAL, self.laters), Retry::Reconcile);
    }
}
