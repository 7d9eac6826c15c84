//! Changes of sessions in progress, as their callers see them; the writer has their updates.

use std::collections::{HashMap, VecDeque};

use causeway_dataplane::{Applied, ApplyError, Plan, PlanId};
use causeway_types::Seid;
use foldhash::fast::RandomState;

use super::placement::Placement;
use super::reader::AppliedCount;

/// The most frames that wait for an operation.
const MAX_WAITING: usize = 1024;

/// The number of a session's change; the changes of one session are carried out in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation(pub(super) u64);

/// The progress of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The switch has carried it out: packets see the new rules. Usage that it reports may still have to be read.
    Written(Operation),
    /// It has ended.
    Done(Operation, Result<Applied, ApplyError>),
}

/// The state of an operation.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) session: Seid,
    /// `None`: the rules stay, but their entries are written again.
    pub(super) plan: Option<Plan>,
    /// Where the session's rules are to be afterwards, if that changes.
    pub(super) placement: Option<Placement>,
    /// The software has applied it before the switch; its result.
    pub(super) led: Option<Applied>,
    /// Frames of its new rules that arrived before the software had these rules, and their usage.
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) usage: Vec<AppliedCount>,
    /// The operation was abandoned: it must not be carried out.
    pub(super) is_abandoned: bool,
}

impl Pending {
    /// Its caller waits for its result.
    const fn is_reported(&self) -> bool {
        (self.plan.is_some() || self.placement.is_some()) && !self.is_abandoned
    }
}

/// All operations that have not ended, and the progress that was not polled.
#[derive(Debug, Default)]
pub(super) struct Operations {
    pending: HashMap<Operation, Pending, RandomState>,
    submitted: u64,
    /// Operations that can begin.
    ready: VecDeque<Operation>,
    progress: VecDeque<Progress>,
    /// The numbers of plans in flight that the contract's caller gave them.
    plan_ids: HashMap<Operation, PlanId, RandomState>,
    done: u64,
    refused: u64,
}

impl Operations {
    /// Adds an operation; without a plan the session's rules stay unchanged.
    pub(super) fn add(&mut self, session: Seid, plan: Option<Plan>) -> Operation {
        let operation = Operation(self.submitted);
        self.submitted += 1;
        let (frames, usage) = (Vec::new(), Vec::new());
        let pending =
            Pending { session, plan, placement: None, led: None, frames, usage, is_abandoned: false };
        self.pending.insert(operation, pending);
        operation
    }

    /// Sets where the rules of the operation's session are to be afterwards.
    pub(super) fn set_placement(&mut self, operation: Operation, placement: Placement) {
        if let Some(pending) = self.pending.get_mut(&operation) {
            pending.placement = Some(placement);
        }
    }

    /// The operation can begin: those before it of its session have ended.
    pub(super) fn make_ready(&mut self, operation: Operation) {
        self.ready.push_back(operation);
    }

    /// The next operation that can begin.
    pub(super) fn next_ready(&mut self) -> Option<Operation> {
        self.ready.pop_front()
    }

    pub(super) fn get(&self, operation: Operation) -> Option<&Pending> {
        self.pending.get(&operation)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Operations that have not ended.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Operations that succeeded, and those that were refused.
    pub(super) const fn ended(&self) -> [u64; 2] {
        [self.done, self.refused]
    }

    /// The operation must not be carried out, unless it was already.
    pub(super) fn abandon(&mut self, operation: Operation) {
        if let Some(pending) = self.pending.get_mut(&operation) {
            pending.is_abandoned = true;
        }
    }

    /// The software has applied it before the switch.
    pub(super) fn set_led(&mut self, operation: Operation, applied: Applied) {
        if let Some(pending) = self.pending.get_mut(&operation) {
            pending.led = Some(applied);
        }
    }

    /// The result of the software, if it has applied the operation before the switch; it is then forgotten.
    pub(super) fn take_led(&mut self, operation: Operation) -> Option<Applied> {
        self.pending.get_mut(&operation)?.led.take()
    }

    /// Frames and usage that wait until the software has the rules of the operation.
    pub(super) fn take_waiting(&mut self, operation: Operation) -> (Vec<Vec<u8>>, Vec<AppliedCount>) {
        let Some(pending) = self.pending.get_mut(&operation) else { return Default::default() };
        (std::mem::take(&mut pending.frames), std::mem::take(&mut pending.usage))
    }

    /// Whether packets of its new rules must wait: the software does not have these rules.
    pub(super) fn holds_packets(&self, operation: Operation) -> bool {
        self.pending.get(&operation).is_some_and(|pending| pending.led.is_none())
    }

    /// Keeps a frame until the software has the rules. `false`: too many wait.
    pub(super) fn hold_frame(&mut self, operation: Operation, frame: Vec<u8>) -> bool {
        let Some(pending) = self.pending.get_mut(&operation) else { return false };
        let fits = pending.frames.len() < MAX_WAITING;
        if fits {
            pending.frames.push(frame);
        }
        fits
    }

    /// Keeps usage until the software has the rules.
    pub(super) fn hold_usage(&mut self, operation: Operation, usage: AppliedCount) {
        if let Some(pending) = self.pending.get_mut(&operation) {
            pending.usage.push(usage);
        }
    }

    /// The switch has carried the operation out.
    pub(super) fn written(&mut self, operation: Operation) {
        let is_reported = |pending: &Pending| pending.is_reported();
        if self.pending.get(&operation).is_some_and(is_reported) {
            self.progress.push_back(Progress::Written(operation));
        }
    }

    /// Ends the operation; returns its session.
    pub(super) fn end(&mut self, operation: Operation, result: Result<Applied, ApplyError>) -> Option<Seid> {
        let pending = self.pending.remove(&operation)?;
        match &result {
            Ok(_) => self.done += 1,
            Err(_) => self.refused += 1,
        }
        if pending.is_reported() {
            self.progress.push_back(Progress::Done(operation, result));
        }
        Some(pending.session)
    }

    /// Whether there is progress to poll.
    pub(super) fn has_progress(&self) -> bool {
        !self.progress.is_empty()
    }

    pub(super) fn poll(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }

    /// Progress that was polled and belongs to other callers.
    pub(super) fn put_back(&mut self, progress: Vec<Progress>) {
        self.progress.extend(progress);
    }

    /// The caller's number of an operation.
    pub(super) fn set_plan_id(&mut self, operation: Operation, id: PlanId) {
        self.plan_ids.insert(operation, id);
    }

    /// The caller's number of an operation that has ended.
    pub(super) fn take_plan_id(&mut self, operation: Operation) -> Option<PlanId> {
        self.plan_ids.remove(&operation)
    }
}
