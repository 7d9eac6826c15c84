//! The contract of the data plane, as the engine keeps it.

use std::fmt;
use std::sync::Arc;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, Event, HostReachability, Ingress,
    Op, PacketEngine, Plan, Transmit,
};
use causeway_ports::{Batch, Frame};
use causeway_rules::Applications;
use causeway_types::{Time, WallClock};

use crate::engine::FastPath;
use crate::leaving::{Leaving, meta_of};

/// A batch for one packet.
#[derive(Default)]
pub(crate) struct Single {
    batch: Batch,
    leaving: Leaving,
}

impl fmt::Debug for Single {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Single")
    }
}

impl FastPath {
    /// Carries out a plan in the slow room, and writes its session into the lines anew.
    fn apply_awake(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let changes_ways = plan.ops.iter().any(may_change_ways);
        let mut rivals =
            if self.is_alone(plan.session) { Vec::new() } else { self.slow.rivals(plan.session) };
        self.leave(plan.session);
        let applied = self.slow.apply(now, plan);
        if changes_ways {
            rivals.extend(self.slow.rivals(plan.session));
            rivals.sort_unstable();
            rivals.dedup();
        }
        self.enter(plan.session, rivals.is_empty(), now);
        for rival in rivals {
            self.leave(rival);
            self.enter(rival, false, now);
        }
        applied
    }

    /// Handles one packet by the lines, if it fits into a batch.
    fn process_alone(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Option<Disposition> {
        let entrance = self.entrance(ingress)?;
        let mut single = self.single.take()?;
        let Single { batch, leaving } = &mut single;
        batch.clear();
        let fits = batch.push(Frame { meta: meta_of(ingress), data: packet });
        if fits {
            self.process_batch(now, entrance, batch, leaving);
            leaving.transmit(batch, &self.surroundings, out);
        }
        self.single = Some(single);
        fits.then_some(self.fate)
    }
}

/// Other packets may find the session than before.
const fn may_change_ways(op: &Op) -> bool {
    matches!(op, Op::CreateSession | Op::RemoveSession | Op::SetPduType(_) | Op::PutPdr(_) | Op::RemovePdr(_))
}

impl Dataplane for FastPath {
    fn capabilities(&self) -> Capabilities {
        self.slow.capabilities()
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.expire(now);
        if let Some(applied) = self.apply_resting(now, plan) {
            return applied;
        }
        let since = self.could_teach(now, plan);
        self.wake_concerned(now, plan);
        let applied = if self.lead(now, plan) { Ok(Applied::default()) } else { self.apply_awake(now, plan) };
        if applied.is_ok() {
            self.follow_plan(plan);
            since.into_iter().for_each(|since| self.learn(since, plan));
        }
        self.calm(now);
        applied
    }

    fn prefetch(&mut self, plan: &Plan) {
        match (plan.ops.profiled(), plan.ops.transition()) {
            (Some(alike), _) => self.resting.prefetch(plan.session, alike),
            (None, Some(moved)) => self.resting.approach_change(plan.session, moved),
            (None, None) if plan.ops.is_removal() => self.resting.approach_end(plan.session),
            (None, None) => {}
        }
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.slow.set_applications(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.slow.set_host_reachability(host);
        self.topology.host.clone_from(host);
        self.surroundings.set_host_reachability(&self.topology);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.slow.set_wall_clock(now, clock);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.slow.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        let loose = self.resting.is_loose().then(Time::default);
        loose.or_else(|| self.slow.next_deadline())
    }

    fn advance(&mut self, now: Time) {
        self.expire(now);
        if self.resting.is_loose() {
            self.resting.tighten();
        }
        self.slow.advance(now);
    }

    fn counters(&self) -> Counters {
        let mut counters = self.slow.counters().with(&self.hot);
        counters.sessions += self.resting.len() as u64;
        counters
    }
}

impl PacketEngine for FastPath {
    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        if let Some(fate) = self.process_alone(now, ingress, packet, out) {
            return fate;
        }
        self.expire(now);
        self.ask_slow(now, ingress, packet, out)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.slow.flush(out);
    }
}
