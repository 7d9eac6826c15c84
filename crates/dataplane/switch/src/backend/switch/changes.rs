//! The steps of a change: it is tried out and compiled, written, and applied by the software; or it is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, BackendError, Op, Plan};
use causeway_model::RuleSet;
use causeway_slowpath::lease::PlanPreview;
use causeway_types::{PdrId, ReportingTriggers, Seid, Time, UrrId};

use super::Switch;
use crate::SwitchPdr;
use crate::backend::allocator::{Change, Rewrites};
use crate::backend::notice::{Cause, Notice};
use crate::backend::operation::{Operation, Pending};
use crate::backend::reader::Waiter;
use crate::backend::requests::{REFUSAL_PAUSE, Retry};
use crate::backend::template::RuleAction;
use crate::backend::writer::{PendingWrite, Prepared, WriteEnd};
use crate::driver::{DriverError, Rejected, SwitchDriver, WriteError};
use crate::pendulum::WriterTurn;

/// The queue of operations, and their begin.
impl<D: SwitchDriver> Switch<D> {
    /// Queues an operation of a session behind its earlier ones; without a plan its rules stay unchanged.
    pub(super) fn enqueue(&mut self, seid: Seid, plan: Option<Plan>) -> Operation {
        let operation = self.operations.add(seid, plan);
        if self.sessions.enqueue(seid, operation) {
            self.operations.make_ready(operation);
        }
        operation
    }

    /// Writes the rules of a session again, unchanged, if no operation of it is in flight.
    pub(super) fn rewrite(&mut self, seid: Seid) {
        if self.sessions.is_at_rest(seid) {
            self.enqueue(seid, None);
        }
    }

    /// Writes the session again, if quotas were exhausted or granted since its entries were made.
    pub(super) fn update_for_quota(&mut self, now: Time, seid: Seid) {
        let Some(state) = self.sessions.get(seid) else { return };
        let can_change = !state.exhausted.is_empty()
            || self.software.rules_of(now, seid).is_some_and(|rules| rules.has_quota());
        if can_change && state.exhausted != self.software.exhausted_of(now, seid) {
            self.rewrite(seid);
        }
    }

    /// Compiles sessions again for the next step of classes of filters, after their other operations.
    pub(super) fn advance_classes(&mut self) -> bool {
        let sessions = self.allocator.advance_classes(self.writer.background());
        let is_step = sessions.is_some();
        self.rewrite_all(sessions.unwrap_or_default());
        is_step
    }

    fn rewrite_all(&mut self, sessions: Rewrites) {
        for seid in sessions {
            match self.sessions.get(seid) {
                Some(_) => drop(self.enqueue(seid, None)),
                None => self.allocator.forget_classes(seid),
            }
        }
    }

    /// Begins the next operation whose session is free: it is tried out, and compiled.
    pub(super) fn begin(&mut self, now: Time) -> bool {
        let Some(operation) = self.operations.next_ready() else { return false };
        if let Err(error) = self.try_begin(now, operation) {
            let seid = self.operations.get(operation).map(|pending| pending.session);
            seid.into_iter().for_each(|seid| self.settle_class(now, seid));
            self.end(operation, Err(error));
        }
        true
    }

    fn try_begin(&mut self, now: Time, operation: Operation) -> Result<(), ApplyError> {
        let Some(pending) = self.operations.get(operation) else { return Ok(()) };
        if pending.is_abandoned {
            return Err(BackendError::TimedOut.into());
        }
        let (seid, plan, placement) = (pending.session, pending.plan.clone(), pending.placement);
        let PlanPreview { rules, exhausted } = match &plan {
            Some(plan) => self.software.preview_plan(now, plan)?,
            None => PlanPreview {
                rules: self.software.rules_of(now, seid).cloned().unwrap_or_default(),
                exhausted: self.software.exhausted_of(now, seid),
            },
        };
        let (change, updates) = if self.config.places {
            self.change_placed(seid, &rules, &exhausted, placement)?
        } else {
            self.change_in_view(now, seid, &rules, &exhausted)?
        };
        let names_application = rules.pdrs.values().any(|pdr| pdr.pdi.application.is_some());
        self.sessions.begin(seid, operation, &change, exhausted, names_application);
        self.reader.add_urrs(now, seid, &rules);
        self.reader.read_bases(now, &change.add, &mut self.requests);
        let leads = plan.filter(|plan| self.may_lead(plan, &change.rule_actions()));
        self.writer.begin(operation, seid, change, updates);
        let Some(plan) = leads else { return Ok(()) };
        match self.software.apply(now, &plan) {
            Ok(applied) => {
                self.send_from_software(now);
                self.operations.set_led(operation, applied);
            }
            Err(error) => self.reject(now, operation, error),
        }
        Ok(())
    }

    /// Whether the software applies the plan first: buffered packets must be transmitted before new ones, so the
    /// software forwards first, and the switch sends it packets until it forwards itself. Only for plans without other
    /// requirements, and while the switch is reachable: otherwise the packets would not leave, and the plan may be refused.
    fn may_lead(&self, plan: &Plan, after: &[(PdrId, RuleAction)]) -> bool {
        let is_of_way = |op: &Op| {
            matches!(
                op,
                Op::PutFar(_) | Op::SendEndMarker { .. } | Op::NotifyAgain(_) | Op::SetInactivityTimer(_)
            )
        };
        let Some(state) = self.sessions.get(plan.session).filter(|_| !self.is_away) else { return false };
        let buffered =
            |pdr: &PdrId| state.placed.get(pdr).map(|placed| placed.wanted.content.template.action);
        let is_released = |(pdr, action): &(PdrId, RuleAction)| {
            buffered(pdr) == Some(RuleAction::Buffer) && action.forwards()
        };
        plan.ops().iter().all(is_of_way) && after.iter().any(is_released)
    }

    /// Ends the operation.
    fn end(&mut self, operation: Operation, result: Result<Applied, ApplyError>) {
        let Some(seid) = self.operations.end(operation, result) else { return };
        match self.sessions.next_operation(seid) {
            Some(next) => self.operations.make_ready(next),
            None => self.forget_if_over(seid),
        }
    }

    /// Removes the state of a session without rules, numbers and operations.
    pub(super) fn forget_if_over(&mut self, seid: Seid) {
        let may_rest = self.config.places || !self.software.has_session(seid);
        if may_rest && self.sessions.remove_if_over(seid) {
            self.reader.remove_urrs(seid, None);
            self.reader.forget_session(seid);
        }
    }
}

/// The writes of operations.
impl<D: SwitchDriver> Switch<D> {
    /// Queues the next operation whose templates are written for its turn at the accounting tables.
    pub(super) fn queue_prepared(&mut self, now: Time) -> bool {
        match self.writer.next_prepared() {
            None => return false,
            Some(Prepared::Written(operation)) => self.written(now, operation),
            Some(Prepared::Refused(operation, error)) => self.reject(now, operation, error),
            Some(Prepared::Queue(command)) => {
                let operation = command.writes;
                if let Err(invalid) = self.reader.queue_write(now, command) {
                    let error = BackendError::Refused { reason: invalid.to_string() };
                    self.reject(now, operation, error.into());
                }
            }
        }
        true
    }

    /// Writes the next operation whose turn it is.
    pub(super) fn write(&mut self, now: Time) -> bool {
        match self.reader.poll_write(now) {
            None => return false,
            Some(WriterTurn::Refuse { writes, full, .. }) => {
                let table = ["pre_qos", "post_qos"][full.side as usize];
                let capacity = self.layout.accounting_capacity(full.side as usize);
                self.reject(now, writes, ApplyError::Full { table, capacity });
            }
            Some(WriterTurn::Write(batch)) => {
                self.writer.add_counters(&batch);
                self.write_remaining(now, batch.writes);
            }
        }
        true
    }

    /// Writes the updates of an operation that the switch has not confirmed, when its counters may be used.
    pub(super) fn write_remaining(&mut self, now: Time, operation: Operation) {
        let Some(added) = self.writer.added(operation) else { return };
        if !self.reader.has_bases(now, operation, &added, &mut self.requests) {
            return;
        }
        if self.writer.write_remaining(now, operation, &mut self.requests) {
            self.sessions.start_altering(operation, &self.writer.altered(operation));
        } else {
            self.write_ended(now, operation, Ok(()));
        }
    }

    /// The write of an operation has ended, with or without a response.
    pub(super) fn write_ended(&mut self, now: Time, operation: Operation, outcome: Result<(), DriverError>) {
        match self.writer.write_ended(now, operation, outcome, &mut self.requests) {
            None => {}
            Some(WriteEnd::Incomplete) => self.write_remaining(now, operation),
            Some(WriteEnd::Written) => {
                self.reader.write_ended(now, true);
                self.written(now, operation);
            }
            Some(WriteEnd::Refused(rejected)) => self.write_refused(now, operation, &rejected),
            Some(WriteEnd::Failed(error)) => {
                self.reader.write_ended(now, false);
                self.reject(now, operation, error);
            }
        }
    }

    /// The switch has carried it out: packets see the new rules.
    fn written(&mut self, now: Time, operation: Operation) {
        let Some(write) = self.writer.take(operation) else { return };
        let PendingWrite { session: seid, change, partitions, .. } = write;
        self.operations.written(operation);
        let counters = self.usage_needed(now, operation, &change);
        self.reader.add_numbers(now, &change, &partitions, &self.sessions);
        change.gone.iter().filter(|number| change.expire.contains(number)).for_each(|number| {
            self.reader.expire(*number);
        });
        for number in self.sessions.expire(seid, &change) {
            self.allocator.release(number, self.writer.background());
        }
        self.allocator.written(seid, &change, self.writer.background());
        let replaced = self.sessions.replace(seid, change);
        self.allocator.leave(seid, &replaced);
        self.settle_class(now, seid);
        if !self.reader.wait(Waiter::Operation(operation), &counters) {
            self.commit(now, operation);
        }
    }

    /// The counters that must be read before the software applies the plan of an operation: those whose usage it
    /// reports or would otherwise count for other URRs.
    fn usage_needed(&mut self, now: Time, operation: Operation, change: &Change) -> Vec<(SwitchPdr, usize)> {
        let pending = self.operations.get(operation).filter(|pending| pending.led.is_none());
        let Some(plan) = pending.and_then(|pending| pending.plan.as_ref()) else { return Vec::new() };
        let Some(state) = self.sessions.get(plan.session) else { return Vec::new() };
        let Some(rules) = self.software.rules_of(now, plan.session) else { return Vec::new() };
        let concerned = concerned(plan, rules);
        let is_fresh = |number: &SwitchPdr| change.fresh.iter().any(|(_, fresh)| fresh == number);
        let mut needed = Vec::new();
        for number in state.numbers.iter().filter(|number| !is_fresh(number)) {
            let Some(rule) = self.sessions.rule(*number).filter(|rule| rule.content.is_counted) else {
                continue;
            };
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
        let Some(pending) = self.operations.get(operation) else { return };
        let Pending { session: seid, is_abandoned, .. } = *pending;
        let plan = pending.plan.clone();
        let led = self.operations.take_led(operation);
        let (frames, usage) = self.operations.take_waiting(operation);
        let result = match (plan, led) {
            (Some(plan), Some(_)) if is_abandoned => {
                self.take_back(now, &plan);
                Err(BackendError::TimedOut.into())
            }
            (_, Some(applied)) => Ok(applied),
            (Some(_), None) if is_abandoned => Err(BackendError::TimedOut.into()),
            (Some(plan), None) => self.software.apply(now, &plan),
            (None, None) => Ok(Applied::default()),
        };
        let failed = result.is_err();
        self.tell_class(now, seid);
        self.sessions.end_operation(seid, operation);
        self.send_from_software(now);
        let rules = self.software.rules_of(now, seid);
        self.reader.remove_urrs(seid, rules);
        if let Some(rules) = rules {
            self.sessions.set_fars(seid, rules);
            if failed {
                self.sessions.clear_exhausted(seid);
            }
        }
        self.end(operation, result);
        self.count_usage(now, &usage);
        for frame in frames {
            self.handle_frame(now, frame);
        }
        if failed {
            self.enqueue(seid, None);
        } else {
            self.update_for_quota(now, seid);
            self.update_for_class(seid);
        }
    }
}

/// Refusals by the switch.
impl<D: SwitchDriver> Switch<D> {
    /// The switch refuses the updates of an operation. If it has lost the entries that they change, or a part of them
    /// was made, its state is reconciled.
    fn write_refused(&mut self, now: Time, operation: Operation, rejected: &Rejected) {
        let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
        let is_uncertain = self.writer.is_uncertain(operation);
        if differs && self.recovery.suspect(now) {
            // Updates with unknown outcome are part of the reconciliation.
            if !is_uncertain {
                self.requests.retry(now, Retry::Write(operation));
            }
            return;
        }
        self.reader.write_ended(now, false);
        let error = self.refusal(rejected);
        self.reject(now, operation, error);
        if is_uncertain {
            self.recovery.start(now, Cause::Refused);
        }
    }

    /// The error for the control plane.
    pub(super) fn refusal(&self, rejected: &Rejected) -> ApplyError {
        if let WriteError::Full { table, size } = &rejected.error
            && let Some(table) = self.layout.table(table)
        {
            return ApplyError::Full { table: self.layout.name(table.id), capacity: *size as u64 };
        }
        BackendError::Refused { reason: rejected.to_string() }.into()
    }

    /// The operation fails: the earlier state remains.
    pub(super) fn reject(&mut self, now: Time, operation: Operation, error: ApplyError) {
        let Some(pending) = self.operations.get(operation) else { return };
        let (seid, plan) = (pending.session, pending.plan.clone());
        let is_rewrite = plan.is_none() && pending.placement.is_none();
        self.settle_class(now, seid);
        let led = self.operations.take_led(operation);
        if let Some(PendingWrite { change, is_uncertain, .. }) = self.writer.take(operation) {
            self.sessions.remove_fresh(seid, &change);
            let (sessions, background) = (&self.sessions, self.writer.background());
            self.allocator.give_back(seid, &change, !is_uncertain, sessions, background);
        }
        self.sessions.end_operation(seid, operation);
        if let (Some(_), Some(plan)) = (led, plan) {
            self.take_back(now, &plan);
        }
        self.end(operation, Err(error));
        let Some(rules) = self.software.rules_of(now, seid) else { return };
        self.reader.add_urrs(now, seid, rules);
        self.sessions.clear_exhausted(seid);
        if is_rewrite {
            // No other event would write it again.
            self.requests.retry_refused(now, Retry::Rewrite(seid));
        } else {
            self.update_for_quota(now, seid);
            self.update_for_class(seid);
        }
    }

    /// The software returns to the FARs that the switch still has.
    fn take_back(&mut self, now: Time, plan: &Plan) {
        let fars = self.sessions.get(plan.session).map(|state| &state.fars);
        let put = |op: &Op| match op {
            Op::PutFar(far) => fars?.get(&far.id).map(|far| Op::PutFar(Arc::clone(far))),
            _ => None,
        };
        let ops: Vec<Op> = plan.ops().iter().filter_map(put).collect();
        let back = Plan::update(plan.session, ops);
        let _was_valid = self.software.apply(now, &back);
        self.send_from_software(now);
    }

    /// The write of the first background batch has ended.
    pub(super) fn background_write_ended(&mut self, now: Time, outcome: Result<(), DriverError>) {
        let Some(rejected) = self.writer.background_ended(now, outcome, &mut self.requests) else { return };
        let differs = matches!(rejected.error, WriteError::Exists(_) | WriteError::Missing(_));
        if !differs && let Some(sessions) = self.allocator.refuse_classes(self.writer.background()) {
            return self.rewrite_all(sessions);
        }
        let error = self.refusal(&rejected);
        self.refuse_background(now, error);
        self.recovery.start(now, Cause::Refused);
    }

    /// The switch refuses templates or routes: operations that wait for them are refused, and the write is tried again
    /// later.
    pub(super) fn refuse_background(&mut self, now: Time, error: ApplyError) {
        let (refused, is_new) = self.writer.refuse_background(error.clone());
        if is_new {
            self.notices.push_back(Notice::Refused { reason: error.to_string() });
        }
        for operation in refused {
            self.reject(now, operation, error.clone());
        }
        self.requests.retry_at(now + REFUSAL_PAUSE, Retry::Reconcile);
    }
}

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
