//! The fast path behind a switch: usage that the switch has counted is added in the slow path, while no flow entry of the
//! session has counts of its own.

use std::collections::BTreeSet;
use std::task::Poll;

use causeway_dataplane::{ApplyError, Ingress, Plan, PlanId};
use causeway_model::RuleSet;
use causeway_slowpath::SlowPath;
use causeway_slowpath::lease::{CounterReading, Destination, PlanPreview, Software};
use causeway_types::{NetworkInstance, Seid, Time, UrrId};

use crate::FastPath;

impl FastPath {
    /// Does something with a session in the slow path, which has all its counts then. A dormant session becomes active: if its
    /// state cannot be read from cold storage, it is lost, since what the switch has counted cannot wait.
    fn with_settled<T>(&mut self, now: Time, seid: Seid, act: impl FnOnce(&mut SlowPath) -> T) -> T {
        if self.activate(seid, now).is_err() {
            self.give_up(seid);
            // What was given up is not unreadable.
            let _ = self.activate(seid, now);
        }
        self.settle_lease(seid);
        let done = act(&mut self.slow_path);
        self.grant_lease(seid, now);
        self.limit_active(now);
        done
    }
}

impl Software for FastPath {
    fn leave_timers(&mut self) {
        self.leaves_timers = true;
    }

    fn preview_plan(&mut self, now: Time, plan: &Plan) -> Result<PlanPreview, ApplyError> {
        self.activate_affected(now, plan)?;
        self.with_settled(now, plan.session, |slow_path| slow_path.preview_plan(now, plan))
    }

    fn rules_of(&mut self, now: Time, seid: Seid) -> Option<&RuleSet> {
        self.activate(seid, now).ok()?;
        self.slow_path.rules_of(seid)
    }

    fn has_session(&self, seid: Seid) -> bool {
        self.dormant.has(seid) || self.slow_path.rules_of(seid).is_some()
    }

    fn exhausted_of(&mut self, now: Time, seid: Seid) -> BTreeSet<UrrId> {
        self.with_settled(now, seid, |slow_path| slow_path.exhausted_of(now, seid))
    }

    fn add_usage(&mut self, now: Time, seid: Seid, readings: &[CounterReading<'_>]) {
        self.with_settled(now, seid, |slow_path| slow_path.add_usage(now, seid, readings));
    }

    fn record_activity(&mut self, now: Time, seid: Seid) {
        self.with_settled(now, seid, |slow_path| slow_path.record_activity(now, seid));
    }

    fn set_class(&mut self, now: Time, seid: Seid, class: Option<u8>) {
        let of = |slow_path: &SlowPath| (slow_path.class_of(seid), slow_path.is_class_elsewhere(seid));
        let is_changed = self.with_settled(now, seid, |slow_path| {
            let before = of(slow_path);
            slow_path.set_class(now, seid, class);
            before != of(slow_path)
        });
        if is_changed {
            self.compile_again(seid, now);
        }
    }

    fn due_sessions(&self, now: Time, most: usize) -> Vec<Seid> {
        self.slow_path.due_sessions(now, most)
    }

    fn expire_session(&mut self, now: Time, seid: Seid) -> bool {
        if self.dormant.cold_slot(seid).is_some() {
            // Timers that it had in memory. It is loaded for those that it has now, without waiting for a disk (`load_due`).
            self.slow_path.expire_session(now, seid);
            return false;
        }
        self.with_settled(now, seid, |slow_path| slow_path.expire_session(now, seid));
        true
    }

    fn next_session_timer(&self) -> Option<Time> {
        self.slow_path.next_session_timer()
    }

    fn advance_paths(&mut self, now: Time) {
        self.slow_path.advance_paths(now);
    }

    fn next_path_timer(&self) -> Option<Time> {
        self.slow_path.next_path_timer()
    }

    fn next_idle_step(&self) -> Option<Time> {
        self.next_cold_step().into_iter().chain(self.next_plan_end()).min()
    }

    fn wait_for_state(&mut self, now: Time, id: PlanId, plan: &Plan) -> Poll<Result<(), ApplyError>> {
        Self::wait_for_state(self, now, id, plan)
    }

    fn poll_plan(&mut self, now: Time) -> Option<(PlanId, Plan, Result<(), ApplyError>)> {
        Self::poll_plan(self, now)
    }

    fn overlapping_sessions(&self, seid: Seid) -> Vec<Seid> {
        self.slow_path.overlapping_sessions(seid)
    }

    fn destination_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<Destination> {
        self.slow_path.destination_of(ingress, packet)
    }

    fn only_session_of(&self, destination: &Destination, network: Option<&NetworkInstance>) -> Option<Seid> {
        self.slow_path.only_session_of(destination, network)
    }
}
