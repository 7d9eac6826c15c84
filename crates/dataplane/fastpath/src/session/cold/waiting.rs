//! Plans of sessions whose state is being read from a disk.

use std::collections::{BTreeMap, VecDeque};
use std::task::Poll;

use causeway_dataplane::{Applied, ApplyError, BackendError, Plan, PlanId, PollApplied};
use causeway_types::{Seid, Span, Time};

use super::NotLoaded;
use crate::FastPath;

/// How long a plan waits for a disk at most.
const MOST: Span = Span::from_secs(10);

/// What became of a plan.
type Outcome = (PlanId, Result<Applied, ApplyError>);

/// Plans that wait, those of each session in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct WaitingPlans {
    plans: BTreeMap<Seid, VecDeque<(PlanId, Plan)>>,
    /// Sessions whose first plan can be tried, since their read has ended.
    ready: VecDeque<Seid>,
    /// When plans are given up, in the order in which they came; some are gone.
    ends: VecDeque<(Time, Seid, PlanId)>,
}

impl WaitingPlans {
    pub(super) fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Whether plans of the session wait.
    pub(super) fn has(&self, seid: Seid) -> bool {
        self.plans.contains_key(&seid)
    }

    fn push(&mut self, now: Time, id: PlanId, plan: &Plan) {
        self.plans.entry(plan.session).or_default().push_back((id, plan.clone()));
        self.ends.push_back((now + MOST, plan.session, id));
    }

    /// The read of a session has ended.
    pub(super) fn wake(&mut self, seid: Seid) {
        if self.has(seid) {
            self.ready.push_back(seid);
        }
    }

    /// The next session whose first plan can be tried.
    fn next_ready(&mut self) -> Option<Seid> {
        loop {
            let seid = self.ready.pop_front()?;
            if self.has(seid) {
                return Some(seid);
            }
        }
    }

    /// Takes the first plan of a session. The next one can be tried then.
    fn take(&mut self, seid: Seid) -> Option<(PlanId, Plan)> {
        let of_session = self.plans.get_mut(&seid)?;
        let first = of_session.pop_front();
        if of_session.is_empty() {
            self.plans.remove(&seid);
        } else {
            self.ready.push_front(seid);
        }
        while self.ends.front().is_some_and(|(_, seid, id)| !self.is_waiting(*seid, *id)) {
            self.ends.pop_front();
        }
        first
    }

    fn is_waiting(&self, seid: Seid, id: PlanId) -> bool {
        self.plans.get(&seid).is_some_and(|plans| plans.iter().any(|(known, _)| *known == id))
    }

    /// The session whose first plan has waited for too long.
    fn overdue(&self, now: Time) -> Option<Seid> {
        self.ends.front().filter(|(end, ..)| *end <= now).map(|(_, seid, _)| *seid)
    }

    /// When the next plan is given up.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.ends.front().map(|(end, ..)| *end)
    }
}

fn refused() -> ApplyError {
    BackendError::ColdStorage.into()
}

impl FastPath {
    /// Submits a plan, which does not wait for a disk in the packet thread.
    pub(crate) fn submit_plan(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        self.wait_for_state(now, id, plan).map(|loaded| loaded.and_then(|()| self.apply_plan(now, plan)))
    }

    /// The next plan that has waited and is applied now, or is given up.
    pub(crate) fn poll_waiting(&mut self, now: Time) -> Option<Outcome> {
        let (id, plan, loaded) = self.poll_plan(now)?;
        Some((id, loaded.and_then(|()| self.apply_plan(now, &plan))))
    }

    /// Waits until the state of the session of a plan is in memory, and until earlier plans of the session go on. `Pending`: the plan comes from
    /// [`FastPath::poll_plan`].
    pub(crate) fn wait_for_state(
        &mut self,
        now: Time,
        id: PlanId,
        plan: &Plan,
    ) -> Poll<Result<(), ApplyError>> {
        let seid = plan.session;
        if self.has_waiting_plans(seid) {
            self.wait_with(now, id, plan);
            return Poll::Pending;
        }
        let loaded = if self.dormant.cold() == 0 { Ok(()) } else { self.activate_cold(now, seid) };
        match loaded {
            Ok(()) => Poll::Ready(Ok(())),
            Err(NotLoaded::Unreadable) => Poll::Ready(Err(refused())),
            Err(NotLoaded::Reading(_)) => {
                self.wait_with(now, id, plan);
                Poll::Pending
            }
        }
    }

    /// The next plan that has waited, and goes on or is refused now.
    pub(crate) fn poll_plan(&mut self, now: Time) -> Option<(PlanId, Plan, Result<(), ApplyError>)> {
        self.cold.as_deref().filter(|cold| !cold.waiting.is_empty())?;
        self.end_reads(now);
        while let Some(seid) = self.cold.as_deref_mut()?.waiting.next_ready() {
            let loaded = self.activate_cold(now, seid);
            if let Err(NotLoaded::Reading(_)) = loaded {
                continue;
            }
            let (id, plan) = self.cold.as_deref_mut()?.waiting.take(seid)?;
            return Some((id, plan, loaded.map_err(|_| refused())));
        }
        let waiting = &mut self.cold.as_deref_mut()?.waiting;
        let (id, plan) = waiting.take(waiting.overdue(now)?)?;
        Some((id, plan, Err(refused())))
    }

    /// Activates a session for a plan if it is in cold storage.
    fn activate_cold(&mut self, now: Time, seid: Seid) -> Result<(), NotLoaded> {
        match self.dormant.cold_slot(seid) {
            Some(_) => self.activate_for_packet(seid, now),
            None => Ok(()),
        }
    }

    fn wait_with(&mut self, now: Time, id: PlanId, plan: &Plan) {
        self.cold.as_deref_mut().into_iter().for_each(|cold| cold.waiting.push(now, id, plan));
    }

    /// Whether plans of the session wait: it stays in memory until they are applied.
    pub(super) fn has_waiting_plans(&self, seid: Seid) -> bool {
        self.cold.as_deref().is_some_and(|cold| cold.waiting.has(seid))
    }

    /// When a plan that waits is given up.
    pub(crate) fn next_plan_end(&self) -> Option<Time> {
        self.cold.as_deref()?.waiting.next_end()
    }
}
