//! The engine's implementation of the data plane contract.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, ColdStorageState, Counters, Dataplane, Disposition, Event,
    Explanation, GtpuPath, HeavyHitterList, HeavyHitterSettings, HostReachability, Ingress, NamedCounter,
    PacketEngine, PathState, Plan, PlanId, PollApplied, ReceiveSource, RestoredUrr, SessionClasses,
    SessionState, Settings, Topology, Transmit, TransmitQueue,
};
use causeway_model::{ApplicationId, Applications, SessionChange};
use causeway_packet::{Batch, Frame};
use causeway_slowpath::lease::may_change_lookup;
use causeway_types::{NetworkInstance, Seid, Time, WallClock};

use crate::engine::FastPath;
use crate::topology_index::TopologyIndex;

/// A batch for one packet.
#[derive(Default)]
pub(crate) struct SinglePacketBatch {
    batch: Batch,
    queue: TransmitQueue,
}

impl fmt::Debug for SinglePacketBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Single")
    }
}

impl FastPath {
    /// Applies a plan: to a dormant session, to flow entries alone, or in the slow path.
    #[inline]
    pub(crate) fn apply_plan(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.expire(now);
        if let Some(session) = plan.change.installed() {
            self.slow_path.forget_drops_of(plan.session, session);
        }
        if let Some(applied) = self.apply_dormant(now, plan) {
            return applied;
        }
        let since = self.can_learn_from(now, plan);
        self.activate_affected(now, plan)?;
        self.expire_before(now, |_| vec![plan.session]);
        let applied =
            if self.hand_over(now, plan) { Ok(Applied::default()) } else { self.apply_active(now, plan) };
        if applied.is_ok() {
            since.into_iter().for_each(|since| self.learn_profile(since, plan));
            self.update_candidate(now, plan);
        }
        self.limit_active(now);
        applied
    }

    /// Applies a plan in the slow path, and writes the session into the flow table anew.
    fn apply_active(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let mut overlapping = if self.has_no_overlap(plan.session) {
            Vec::new()
        } else {
            self.slow_path.overlapping_sessions(plan.session)
        };
        self.remove_session(plan.session);
        let applied = self.slow_path.apply(now, plan);
        if may_change_lookup(&plan.change) {
            overlapping.extend(self.slow_path.overlapping_sessions(plan.session));
            overlapping.sort_unstable();
            overlapping.dedup();
        }
        self.insert_session(plan.session, overlapping.is_empty(), now);
        for other in overlapping {
            self.remove_session(other);
            self.insert_session(other, false, now);
        }
        applied
    }

    /// Processes one packet through the flow table, if it fits into a batch.
    fn process_single(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Option<Disposition> {
        let source = self.topology.receive_source(ingress)?;
        let mut single = self.single.take()?;
        let SinglePacketBatch { batch, queue } = &mut *single;
        batch.clear();
        let fits = batch.push(Frame { meta: ingress.meta(), data: packet });
        if fits {
            self.process_frames(now, source, batch, queue);
            queue.transmit_all(batch, &self.topology, out);
        }
        self.single = Some(single);
        fits.then_some(self.disposition)
    }
}

impl Dataplane for FastPath {
    fn capabilities(&self) -> Capabilities {
        self.slow_path.capabilities()
    }

    /// A plan of a session in cold storage is in flight while a disk reads.
    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        self.submit_plan(now, id, plan)
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        self.poll_waiting(now)
    }

    /// It waits for the disk.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.apply_plan(now, plan)
    }

    fn prefetch(&mut self, plan: &Plan) {
        match &plan.change {
            SessionChange::Install(session) => self.dormant.prefetch(plan.session, session),
            SessionChange::Rebind(transition) => self.dormant.prefetch_change(plan.session, transition),
            SessionChange::Remove => self.dormant.prefetch_removal(plan.session),
            SessionChange::Update(_) => {}
        }
    }

    fn set_waker(&mut self, waker: Waker) {
        self.set_cold_waker(waker);
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        let is_changed = self.slow_path.changes_classes(applications);
        if is_changed {
            self.remove_sessions_with_class();
        }
        self.slow_path.set_applications(applications);
        if is_changed {
            self.remove_sessions_with_class();
        }
    }

    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.slow_path.set_heavy_hitters(now, settings);
    }

    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        self.slow_path.heavy_hitters(now)
    }

    fn session_classes(&self) -> SessionClasses {
        self.slow_path.session_classes()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.slow_path.application_class(session)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.slow_path.set_host_reachability(host);
        self.topology.host.clone_from(host);
        self.topology_index.set_host_reachability(&self.topology);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.slow_path.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        let toggled = self.topology.toggled_slices(settings);
        self.slow_path.set_settings(now, settings, self.dormant.all_paths());
        self.topology.set(settings);
        self.topology_index = TopologyIndex::new(&self.topology);
        if !toggled.is_empty() {
            self.compile_slices_again(&toggled, now);
        }
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        Self::follow_paths(self, now, old, new);
    }

    fn paths(&self, after: Option<GtpuPath>, most: usize) -> Vec<PathState> {
        self.slow_path.supervised_paths(after, most)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.slow_path.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        let is_due = self.dormant.needs_trim() || self.outdated.are_some();
        let timer = is_due.then(Time::default).or_else(|| self.slow_path.next_deadline());
        timer.into_iter().chain(self.next_cold_step()).chain(self.next_plan_end()).min()
    }

    fn advance(&mut self, now: Time) {
        self.expire(now);
        if self.dormant.needs_trim() {
            self.dormant.trim();
        }
        if self.outdated.are_some() {
            self.compile_outdated(now);
        }
        self.slow_path.advance(now);
        self.end_reads(now);
        self.move_idle_out(now);
    }

    fn counters(&self) -> Counters {
        let mut counters = self.slow_path.counters().with(&self.fast_counters);
        counters.sessions += self.dormant.len() as u64;
        counters
    }

    fn stage_packets(&self) -> Vec<NamedCounter> {
        vec![
            NamedCounter { name: "flow_table", value: self.fast_path_packets() },
            NamedCounter { name: "slow_path", value: self.slow_path_packets() },
        ]
    }

    fn cold_storage(&self) -> Option<ColdStorageState> {
        self.cold_storage_state()
    }

    /// A dormant session becomes active, as by a packet. One in cold storage is there again afterwards.
    fn session_state(&mut self, now: Time, session: Seid) -> Option<SessionState> {
        let was_cold = self.dormant.cold_slot(session).is_some();
        self.activate(session, now).ok()?;
        self.settle_lease(session);
        let state = self.slow_path.state_of(now, session);
        self.grant_lease(session, now);
        self.move_back(now, was_cold.then_some(session));
        self.limit_active(now);
        state
    }

    fn usage_snapshot(&self, now: Time, session: Seid, since: Time) -> Option<Vec<u8>> {
        self.snapshot_usage(now, session, since)
    }

    fn restore_usage(&mut self, now: Time, session: Seid, snapshot: &[u8], urrs: &[RestoredUrr]) -> bool {
        self.go_on_with_usage(now, session, snapshot, urrs)
    }
}

impl PacketEngine for FastPath {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn process_batch(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        self.process_frames(now, source, batch, queue);
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        if let Some(disposition) = self.process_single(now, ingress, packet, out) {
            return disposition;
        }
        self.expire(now);
        self.process_slow(now, ingress, packet, out)
    }

    fn explain(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        self.explanation(now, ingress, packet)
    }

    fn is_frame_for(&self, network: &NetworkInstance, frame: &[u8], session: Seid) -> bool {
        self.slow_path.is_frame_for(network, frame, session)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.send_late(out);
        self.slow_path.flush(out);
    }
}
