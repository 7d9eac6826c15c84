//! The queues of operations, and their end.

use causeway_dataplane::{Applied, ApplyError, Plan};
use causeway_types::{Seid, Time};

use super::operation::{Operation, Pending, Progress};
use super::outcomes::Retry;
use super::session_state::SessionState;
use super::switch::Switch;
use crate::driver::SwitchDriver;

impl<D: SwitchDriver> Switch<D> {
    /// Queues an operation of a session behind its earlier ones; without a plan its rules stay unchanged.
    pub(super) fn enqueue(&mut self, seid: Seid, plan: Option<Plan>) -> Operation {
        let operation = Operation(self.submitted);
        self.submitted += 1;
        self.operations.insert(operation, Pending::new(seid, plan));
        match self.sessions.get_mut(&seid).filter(|state| state.busy.is_some()) {
            Some(state) => state.queue.push_back(operation),
            None => {
                self.sessions.entry(seid).or_default().busy = Some(operation);
                self.ready.push_back(operation);
            }
        }
        operation
    }

    /// Ends the operation.
    pub(super) fn end(&mut self, operation: Operation, result: Result<Applied, ApplyError>) {
        let Some(pending) = self.operations.remove(&operation) else { return };
        self.unwritten.remove(&operation);
        match &result {
            Ok(_) => self.statistics.done += 1,
            Err(_) => self.statistics.refused += 1,
        }
        if pending.plan.is_some() && !pending.is_abandoned {
            self.progress.push_back(Progress::Done(operation, result));
        }
        let Some(state) = self.sessions.get_mut(&pending.session) else { return };
        state.busy = state.queue.pop_front();
        match state.busy {
            Some(next) => self.ready.push_back(next),
            None => self.forget_if_over(pending.session),
        }
    }

    /// Removes the state of a session without rules, numbers and operations.
    pub(super) fn forget_if_over(&mut self, seid: Seid) {
        let is_over = |state: &SessionState| {
            state.numbers.is_empty() && state.busy.is_none() && state.placed.is_empty()
        };
        if self.sessions.get(&seid).is_some_and(is_over) && self.software.rules_of(seid).is_none() {
            self.sessions.remove(&seid);
        }
    }

    /// Schedules a retry after the configured delay.
    pub(super) fn retry(&mut self, now: Time, what: Retry) {
        self.laters += 1;
        self.later.insert((now + self.config.retry, self.laters), what);
    }
}
