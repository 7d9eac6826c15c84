//! The steps of a change until the switch has it.

use causeway_dataplane::{ApplyError, Op, Plan};
use causeway_slowpath::lease::PlanPreview;
use causeway_types::{PdrId, Time};

use super::counter_waits::Waiter;
use super::operation::{Operation, Progress};
use super::outcomes::{InFlight, Retry, WriteOwner};
use super::recovery::ReadBack;
use super::session_state::NumberRecord;
use super::switch::Switch;
use super::template::RuleAction;
use crate::SwitchPdr;
use crate::driver::{DriverError, Request, SwitchDriver, Update};
use crate::pendulum::{Batch, Command, Partition, WriterTurn};

impl<D: SwitchDriver> Switch<D> {
    /// Begins the next operation whose session is free: it is tried out, and compiled.
    pub(super) fn begin(&mut self, now: Time) -> bool {
        let Some(operation) = self.ready.pop_front() else { return false };
        if let Err(error) = self.try_begin(now, operation) {
            self.end(operation, Err(error));
        }
        true
    }

    fn try_begin(&mut self, now: Time, operation: Operation) -> Result<(), ApplyError> {
        let Some(pending) = self.operations.get(&operation) else { return Ok(()) };
        let (seid, plan) = (pending.session, pending.plan.clone());
        let PlanPreview { rules, exhausted } = match &plan {
            Some(plan) => self.software.preview_plan(now, plan)?,
            None => PlanPreview {
                rules: self.software.rules_of(seid).cloned().unwrap_or_default(),
                exhausted: self.software.exhausted_of(seid),
            },
        };
        let (change, updates) = self.come_to(seid, &rules, &exhausted)?;
        for (pdr, number) in &change.fresh {
            let Some(placed) = change.placed.get(pdr) else { continue };
            let numbered = NumberRecord::new(seid, *pdr, placed.wanted.content.clone(), operation);
            self.rules.insert(*number, numbered);
        }
        if let Some(state) = self.sessions.get_mut(&seid) {
            state.numbers.extend(change.fresh.iter().map(|(_, number)| *number));
            state.exhausted = exhausted;
        }
        self.learn_urrs(now, seid, &rules);
        self.read_bases(now, &change.add);
        let leads = plan.filter(|plan| self.may_lead(plan, &change.rule_actions()));
        if let Some(pending) = self.operations.get_mut(&operation) {
            (pending.change, pending.unwritten) = (change, updates);
        }
        self.unwritten.insert(operation);
        self.prepared.push_back(operation);
        let Some(plan) = leads else { return Ok(()) };
        match self.software.apply_without_timers(now, &plan) {
            Ok(applied) => {
                self.send_from_software(now);
                if let Some(pending) = self.operations.get_mut(&operation) {
                    pending.led = Some(applied);
                }
            }
            Err(error) => self.reject(now, operation, error),
        }
        Ok(())
    }

    /// Whether the software applies the plan first: buffered packets must be transmitted before new ones, so the
    /// software forwards first, and the switch sends it packets until it forwards itself. Only for plans without other
    /// requirements.
    fn may_lead(&self, plan: &Plan, after: &[(PdrId, RuleAction)]) -> bool {
        let is_of_way = |op: &Op| {
            matches!(
                op,
                Op::PutFar(_) | Op::SendEndMarker { .. } | Op::NotifyAgain(_) | Op::SetInactivityTimer(_)
            )
        };
        let Some(state) = self.sessions.get(&plan.session) else { return false };
        let buffered =
            |pdr: &PdrId| state.placed.get(pdr).map(|placed| placed.wanted.content.template.action);
        let is_released = |(pdr, action): &(PdrId, RuleAction)| {
            buffered(pdr) == Some(RuleAction::Buffer) && action.forwards()
        };
        plan.ops().iter().all(is_of_way) && after.iter().any(is_released)
    }

    /// Moves operations whose templates are written to the writer's queue, in their order.
    pub(super) fn hand_over(&mut self, now: Time) -> bool {
        let Some(operation) = self.prepared.front().copied() else { return false };
        let Some(pending) = self.operations.get(&operation) else {
            self.prepared.pop_front();
            return true;
        };
        let needed = pending.change.after_chore;
        if let Some(error) = self.background_writes.refused.clone().filter(|_| needed > 0) {
            self.prepared.pop_front();
            self.reject(now, operation, error);
            return true;
        }
        if needed > self.background_writes.written {
            return false;
        }
        self.prepared.pop_front();
        let change = &pending.change;
        if pending.unwritten.is_empty() && change.add.is_empty() && change.expire.is_empty() {
            self.written(now, operation, &[Partition(0); 2]);
            return true;
        }
        let command = Command { add: change.add.clone(), expire: change.expire.clone(), writes: operation };
        if let Err(invalid) = self.access.submit(now, command) {
            self.reject(now, operation, ApplyError::Backend(invalid.to_string()));
        }
        true
    }

    /// The writer's next turn.
    pub(super) fn write(&mut self, now: Time) -> bool {
        match self.access.poll_write(now) {
            None => false,
            Some(WriterTurn::Refuse { writes, full, .. }) => {
                let table = ["pre_qos", "post_qos"][full.side as usize];
                let capacity = self.layout.accounting_capacity(full.side as usize);
                self.reject(now, writes, ApplyError::Full { table, capacity });
                true
            }
            Some(WriterTurn::Write(batch)) => {
                self.write_batch(now, batch);
                true
            }
        }
    }

    fn write_batch(&mut self, now: Time, batch: Batch<Operation>) {
        let mut updates = Vec::new();
        let mut partitions = [Partition(0); 2];
        for insertion in &batch.insertions {
            let (side, partition) = (insertion.side as usize, insertion.partition);
            partitions[side] = partition;
            let numbers = insertion.numbers.iter();
            let entry =
                |number: &SwitchPdr| self.layout.accounting_entry(side, usize::from(partition.0), number.0);
            updates.extend(numbers.filter_map(entry).map(Update::Insert));
        }
        let operation = batch.writes;
        if let Some(pending) = self.operations.get_mut(&operation) {
            updates.append(&mut pending.unwritten);
            pending.unwritten = updates;
            pending.partitions = partitions;
        }
        self.write_remaining(now, operation);
    }

    /// Writes the updates of an operation that the switch has not confirmed.
    pub(super) fn write_remaining(&mut self, now: Time, operation: Operation) {
        if !self.has_bases(now, operation) {
            return;
        }
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        if pending.unwritten.is_empty() {
            return self.write_ended(now, operation, Ok(()));
        }
        pending.attempts += 1;
        let (updates, altered) = (pending.unwritten.clone(), pending.change.altered.clone());
        for number in altered {
            self.rules.entry(number).and_modify(|rule| rule.altering = Some(operation));
        }
        self.send_request(now, Request::Write(updates), InFlight::Write(operation));
    }

    /// The write of an operation has ended, with or without a response.
    pub(super) fn write_ended(&mut self, now: Time, operation: Operation, outcome: Result<(), DriverError>) {
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        match outcome {
            Ok(()) => {
                self.access.written(now, true);
                let partitions = pending.partitions;
                self.written(now, operation, &partitions);
            }
            Err(DriverError::Uncertain) => {
                pending.is_uncertain = true;
                let read_back = ReadBack::of(&pending.unwritten);
                let tables = read_back.left.clone();
                pending.read_back = Some(read_back);
                self.read_back(now, WriteOwner::Operation(operation), &tables);
            }
            Err(DriverError::Rejected(rejected)) => self.write_refused(now, operation, &rejected),
            // A partly done batch must be completed, however long that takes.
            Err(_) if pending.is_uncertain || pending.attempts < self.config.attempts => {
                self.retry(now, Retry::Write(operation));
            }
            Err(error) => {
                self.access.written(now, false);
                self.reject(now, operation, ApplyError::Backend(error.to_string()));
            }
        }
    }

    /// The switch has carried it out: packets see the new rules.
    fn written(&mut self, now: Time, operation: Operation, partitions: &[Partition; 2]) {
        let Some(pending) = self.operations.get_mut(&operation) else { return };
        self.unwritten.remove(&operation);
        let change = std::mem::take(&mut pending.change);
        let seid = pending.session;
        let needed = pending.plan.as_ref().filter(|_| pending.led.is_none()).cloned();
        if pending.plan.is_some() && !pending.is_abandoned {
            self.progress.push_back(Progress::Written(operation));
        }
        self.book(&change);
        let waits = needed.map(|plan| self.usage_needed(seid, &plan, &change)).unwrap_or_default();
        self.enter_numbers(now, &change, partitions);
        for number in &change.gone {
            if change.expire.contains(number) {
                self.pulling.expire(*number);
                self.rules.entry(*number).and_modify(|rule| rule.is_expired = true);
            } else {
                self.rules.remove(number);
                self.release(*number);
                if let Some(state) = self.sessions.get_mut(&seid) {
                    state.numbers.remove(number);
                }
            }
        }
        self.classes.written(seid, change.classes, !change.filters.is_empty());
        self.free_meters(&change.freed);
        self.leave_templates(&change.left_templates);
        change.left_sessions.iter().for_each(|session| self.numbers.release_session_number(*session));
        for placed in change.placed.values().filter(|placed| change.altered.contains(&placed.number)) {
            let content = placed.wanted.content.clone();
            self.rules.entry(placed.number).and_modify(|rule| rule.update(content));
        }
        if let Some(state) = self.sessions.get_mut(&seid) {
            for key in state.keys.difference(&change.keys) {
                self.keys.remove(key);
            }
            state.keys = change.keys;
            state.ues = change.ues;
            state.guards = change.guards;
            state.meters = change.meters;
            state.placed = change.placed;
            let remaining = std::mem::replace(&mut state.filters, change.filters);
            self.classes.leave(seid, &remaining);
        }
        let passes = self.passes();
        if !self.waits.add(Waiter::Operation(operation), &waits, passes) {
            self.commit(now, operation);
        }
    }
}
