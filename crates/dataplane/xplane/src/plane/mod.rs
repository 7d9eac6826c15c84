//! The data plane: the pipeline over external memory, and the slow path for what it does not cover.

mod idle_sessions;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};

use causeway_dataplane::{
    Applied, ApplyError, BlockedAddresses, Capabilities, Counters, Dataplane, Disposition, DropReason,
    Egress, Event, Explanation, GtpuPath, HostReachability, Ingress, MemoryLosses, NamedCounter,
    PacketEngine, PathState, Plan, PlanId, PollApplied, ReceiveSource, SessionClasses, SessionState,
    Settings, Topology, Transmit, TransmitQueue,
};
use causeway_memory::{ExternalMemory, Failure, Local, Model, Place, QueuePair, Regions};
use causeway_model::{ApplicationId, Applications};
use causeway_packet::Batch;
use causeway_slowpath::lease::may_change_lookup;
use causeway_slowpath::{ExpiringSessions, Limits, SlowPath};
use causeway_types::{Seid, Span, Time, WallClock};
use foldhash::fast::FixedState;

use idle_sessions::IdleSessions;

use crate::arrival::arrival;
use crate::key::UeKey;
use crate::layout::{MODEL_RKEY, Sizes, StatePlace};
use crate::pipeline::{Departure, Directory, Pipeline, PipelineConfig, Verdict, Why};
use crate::sessions::{Compiled, Lease, Places, RecordPlace, compile_session};
use crate::state::UeState;
use crate::ue_table::UeRecord;

/// A memory that failed is asked again after so long.
const RETRY: Span = Span::from_secs(1);
/// The server that sweeps the flow table is told the time so many times in the age limit of its entries.
const DESCRIPTIONS: u32 = 16;

/// Sessions that are written anew at a time after a change of settings. Each waits for the memory several times.
const OUTDATED_AT_A_TIME: usize = 16;

/// External memory for whose outcomes a caller can wait.
pub trait Awaited: ExternalMemory {
    /// Waits until an outcome may be there, and returns the time then. `None`: none will come.
    fn wait(&mut self, now: Time) -> Option<Time>;

    /// Connects all queue pairs anew, after a failure. Returns whether that succeeded; if not, it is called again.
    fn reconnect(&mut self, now: Time) -> bool;

    /// Where the memory's server, which sweeps tables, is told of those at the `base` of the data plane. `None`: nobody sweeps.
    fn directory(&self) -> Option<Directory> {
        None
    }

    /// Sets the waker that is called, from any thread, when an outcome may be there. The default is that of memory without such threads.
    fn set_waker(&mut self, waker: Waker) {
        drop(waker);
    }
}

/// All is done when it is submitted.
impl Awaited for Local {
    fn wait(&mut self, _: Time) -> Option<Time> {
        None
    }

    fn reconnect(&mut self, _: Time) -> bool {
        true
    }
}

/// Model time passes from one event to the next.
impl Awaited for Model {
    fn wait(&mut self, now: Time) -> Option<Time> {
        self.next_timer().map(|next| next.max(now))
    }

    fn reconnect(&mut self, now: Time) -> bool {
        (0..self.queue_pairs()).all(|pair| self.connect(now, QueuePair(pair)).is_ok())
    }
}

/// Packets in the pipeline, by the number of their arrival.
type Ingresses = HashMap<u64, Ingress, FixedState>;

/// The data plane over external memory.
///
/// It owns its sessions. The packets of a batch are in flight together, and with [`Self::with_batches_in_flight`] those of several batches.
/// Plans, timers, and packets for the slow path wait until nothing is in flight.
#[derive(Debug)]
pub struct XPlane<M> {
    slow_path: SlowPath,
    topology: Topology,
    blocked: BlockedAddresses,
    /// The local GTP-U addresses.
    locals: Vec<IpAddr>,
    pipeline: Pipeline<M>,
    places: Places,
    leases: HashMap<Seid, Lease>,
    /// The time of the memory, which starts at zero: that of the data plane since its first packet or plan, or later.
    clock: Time,
    first: Option<Time>,
    next_token: u64,
    ingresses: Ingresses,
    /// Packets for the slow path, in order.
    slow: VecDeque<(Ingress, Vec<u8>)>,
    /// Packets to transmit, in order.
    ready: Vec<(Egress, Vec<u8>)>,
    idle: IdleSessions,
    counters: Counters,
    /// Packets that the pipeline decided.
    decided: u64,
    losses: MemoryLosses,
    /// Called with each session whose usage is lost in part.
    lost: fn(Seid),
    /// Packets in flight together.
    window: usize,
    /// A batch is processed to the end before the next one.
    is_prompt: bool,
    /// Plans that wait until the packets of their session have left its paging ring.
    waiting: VecDeque<(PlanId, Plan)>,
    /// The memory does not work: all packets are for the slow path until then.
    down_until: Option<Time>,
    /// When the server that sweeps the flow table gets the time next.
    describes_at: Option<Time>,
    /// Timers of sessions were due that the last call left to the next one.
    has_late_timers: bool,
    /// Sessions whose tables do not follow the settings yet.
    outdated: Vec<Seid>,
}

impl<M: Awaited> XPlane<M> {
    /// A data plane without sessions, over a memory whose tables at `base` are zero.
    pub fn new(
        topology: Topology,
        limits: Limits,
        memory: M,
        sizes: Sizes,
        base: Place,
        config: PipelineConfig,
    ) -> Self {
        let mut slow_path = SlowPath::new(topology.clone(), limits);
        // The records of the session are settled before.
        slow_path.leave_timers();
        Self {
            slow_path,
            blocked: topology.blocked_addresses(),
            locals: topology.local_addresses(),
            topology,
            pipeline: Pipeline::new(memory, sizes, base, config),
            places: Places::default(),
            leases: HashMap::new(),
            clock: Time::default(),
            first: None,
            next_token: 0,
            ingresses: Ingresses::default(),
            slow: VecDeque::new(),
            ready: Vec::new(),
            idle: IdleSessions::new(sizes.paging_rings),
            counters: Counters::default(),
            decided: 0,
            losses: MemoryLosses::default(),
            lost: |_| {},
            window: usize::MAX,
            is_prompt: true,
            waiting: VecDeque::new(),
            down_until: None,
            describes_at: None,
            has_late_timers: false,
            outdated: Vec::new(),
        }
    }

    /// The same with so many packets in flight together at most, instead of a whole batch. With one, packets leave in the order in which
    /// they came, also those of different flows.
    #[must_use]
    pub fn with_window(self, packets: usize) -> Self {
        Self { window: packets.max(1), ..self }
    }

    /// The same, and `lost` is called with each session that has used octets and tokens that only the memory knew when it restarted: what it used since
    /// its last grant is not reported.
    #[must_use]
    pub fn with_lost_usage(self, lost: fn(Seid)) -> Self {
        Self { lost, ..self }
    }

    /// The same with packets of several batches in flight: [`PacketEngine::process_batch`] does not wait for the memory, and what leaves
    /// later is sent by [`PacketEngine::flush`], after [`Dataplane::advance`] at [`Dataplane::next_deadline`] or when the waker was called.
    #[must_use]
    pub fn with_batches_in_flight(self) -> Self {
        Self { is_prompt: false, ..self }
    }

    /// The same with a memory that is not connected yet: the slow path forwards until it is.
    #[must_use]
    pub fn disconnected(self) -> Self {
        Self { down_until: Some(Time::default()), ..self }
    }

    /// The pipeline, to look at.
    pub const fn pipeline(&self) -> &Pipeline<M> {
        &self.pipeline
    }

    /// The memory, for tests that restart it.
    pub const fn memory_mut(&mut self) -> &mut M {
        self.pipeline.memory_mut()
    }

    /// What was lost with the memory.
    pub const fn losses(&self) -> &MemoryLosses {
        &self.losses
    }

    fn tick(&mut self, now: Time) {
        let passed = now.since(*self.first.get_or_insert(now));
        self.clock = self.clock.max(Time::default() + passed);
    }

    /// Lets the memory work until no packet is in flight. Packets that leave are ready to be sent, those for the slow path wait in `self.slow`.
    /// Returns the disposition of the last packet that left.
    fn drain(&mut self, now: Time) -> Option<Disposition> {
        self.drain_until(now, Pipeline::is_settled)
    }

    fn drain_until(&mut self, now: Time, is_done: fn(&Pipeline<M>) -> bool) -> Option<Disposition> {
        self.tick(now);
        let mut last = None;
        loop {
            self.pipeline.advance(self.clock);
            while let Some(departure) = self.pipeline.poll() {
                last = self.depart(departure);
            }
            if is_done(&self.pipeline) {
                return last;
            }
            match self.pipeline.memory_mut().wait(self.clock) {
                Some(time) => self.clock = time,
                None => return last,
            }
        }
    }

    /// A packet leaves the pipeline.
    fn depart(&mut self, departure: Departure) -> Option<Disposition> {
        let Departure { token, mut frame, user, tos, hops, arrived, verdict } = departure;
        let ingress = self.ingresses.remove(&token)?;
        let length = frame.len();
        let disposition = match verdict {
            Verdict::SlowPath(_) => {
                self.slow.push_back((ingress, frame));
                return None;
            }
            Verdict::Drop(reason) => Disposition::Dropped(reason),
            Verdict::Lost => Disposition::Dropped(DropReason::ExternalMemory),
            Verdict::Send(send) => {
                let topology = (&self.topology, &self.locals[..]);
                match send.wrap((&mut frame, user), tos, hops, topology) {
                    Some(egress) => {
                        let packet = std::mem::take(&mut frame);
                        let counter = match egress {
                            Egress::Gtpu { .. } => &mut self.counters.gtpu_sent,
                            _ => &mut self.counters.ip_sent,
                        };
                        counter.count(packet.len());
                        self.ready.push((egress, packet));
                        Disposition::Forwarded
                    }
                    None => Disposition::Dropped(DropReason::NoEgress),
                }
            }
        };
        let counter = match ingress {
            Ingress::Gtpu { .. } => &mut self.counters.gtpu_received,
            Ingress::Ip { .. } => &mut self.counters.ip_received,
            Ingress::Ethernet { .. } => &mut self.counters.ethernet_received,
        };
        counter.count(length);
        match disposition {
            Disposition::Dropped(reason) => {
                self.slow_path.record_drop(arrived, &ingress.meta(), &frame, reason);
                self.counters.count_drop(reason);
            }
            _ => self.counters.forwarded += 1,
        }
        self.decided += 1;
        Some(disposition)
    }

    /// Lets all packets leave, then processes those for the slow path. Returns the disposition of the last one.
    fn finish(&mut self, now: Time) -> Option<Disposition> {
        let mut last = self.drain(now);
        while let Some((ingress, packet)) = self.slow.pop_front() {
            last = Some(self.process_slow(now, &ingress, &packet));
        }
        self.recover_if_failed(now);
        last
    }

    /// Sends what has left. Packets for the slow path let all others leave first, and so does a failure.
    fn progress(&mut self, now: Time) {
        self.tick(now);
        self.pipeline.advance(self.clock);
        while let Some(departure) = self.pipeline.poll() {
            self.depart(departure);
        }
        self.take_paged(now);
        if !self.slow.is_empty() || self.pipeline.failure().is_some() {
            self.finish(now);
        }
    }

    /// Lets all packets leave before something that concerns sessions. Cheap if none is in flight.
    fn quiesce(&mut self, now: Time) {
        if !self.pipeline.is_settled() {
            self.finish(now);
        }
    }

    /// Processes a packet in the slow path. Nothing is in flight.
    fn process_slow(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        self.expire_before(now, |slow_path| slow_path.sessions_for_any(ingress, packet));
        let concerned = self.slow_path.sessions_for_packet(ingress, packet);
        let mut ready = std::mem::take(&mut self.ready);
        let process = |slow_path: &mut SlowPath| slow_path.process(now, ingress, packet, &mut ready);
        let disposition = self.with_settled(now, &concerned, process);
        // Nothing is in flight that would have become ready meanwhile.
        self.ready = ready;
        concerned.iter().for_each(|seid| self.page_out(now, *seid));
        self.recover_if_failed(now);
        disposition
    }

    /// What the slow path does while it has the state of these sessions. Nothing is in flight.
    fn with_settled<R>(&mut self, now: Time, seids: &[Seid], act: impl FnOnce(&mut SlowPath) -> R) -> R {
        seids.iter().for_each(|seid| self.settle(now, *seid));
        let result = act(&mut self.slow_path);
        seids.iter().for_each(|seid| self.grant(now, *seid));
        result
    }

    fn hand_out(&mut self, out: &mut dyn Transmit) {
        self.ready.drain(..).for_each(|(egress, packet)| out.transmit(&egress, &packet));
    }

    fn recover_if_failed(&mut self, now: Time) {
        if self.pipeline.failure().is_some() {
            self.recover(now);
        }
    }

    /// Gives a packet to the pipeline. Returns whether it takes it.
    fn arrive(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> bool {
        // The tables know no firewall.
        if self.down_until.is_some() || self.topology.firewall.is_some() {
            return false;
        }
        let arrival = arrival(self.next_token, now, ingress, packet, &self.topology, &self.blocked);
        let Some(arrival) = arrival else { return false };
        self.ingresses.insert(self.next_token, ingress.clone());
        self.next_token += 1;
        self.tick(now);
        self.pipeline.arrive(self.clock, arrival);
        true
    }

    /// The usage of a session is lost in part.
    #[cold]
    fn lose_state(&mut self, seid: Seid) {
        self.losses.states += 1;
        (self.lost)(seid);
    }

    /// Returns the use of a session's grants to the slow path. Nothing is in flight.
    fn settle(&mut self, now: Time, seid: Seid) {
        let Some(mut lease) = self.leases.remove(&seid) else { return };
        if lease.is_granted {
            let mut states = HashMap::new();
            for home in lease.states.iter().map(|state| state.home) {
                if let Some(state) = self.read_state(now, &home) {
                    states.insert(home.state(), state);
                } else {
                    self.lose_state(seid);
                }
            }
            lease.settle(&mut self.slow_path, seid, |place| states.remove(&place));
        }
        self.leases.insert(seid, lease);
    }

    /// Grants octets and tokens to the records of a session.
    fn grant(&mut self, now: Time, seid: Seid) {
        let Some(lease) = self.leases.get_mut(&seid) else { return };
        let states = lease.grant(&self.slow_path, seid, now);
        self.tick(now);
        for (place, state) in states {
            self.pipeline.write_ue_state(self.clock, &place.ue, place.way, &state);
        }
        self.reply(now);
    }

    fn read_state(&mut self, now: Time, place: &RecordPlace) -> Option<UeState> {
        self.tick(now);
        self.pipeline.read_ue_state(self.clock, &place.ue, place.way);
        self.reply(now).and_then(|octets| UeState::decode(&octets))
    }

    /// Waits for the operations of the control plane. The reply to the last one. No packet is in flight.
    fn reply(&mut self, now: Time) -> Option<Vec<u8>> {
        self.drain(now);
        std::iter::from_fn(|| self.pipeline.poll_reply()).last().flatten()
    }

    /// The rules of a record change. What else is in its bucket follows.
    fn raise_generation(&mut self, place: &RecordPlace) -> u64 {
        let generation = self.pipeline.raise_generation(&place.ue);
        for (other, header) in self.places.others(place) {
            let header = header.with_generation(generation);
            self.places.set_header(&other, header);
            self.pipeline.write_header(self.clock, other.way, &header);
        }
        generation
    }

    /// Takes a session out of the tables.
    fn remove_session(&mut self, now: Time, seid: Seid) {
        self.settle(now, seid);
        let Some(lease) = self.leases.remove(&seid) else { return };
        for place in lease.records {
            self.raise_generation(&place);
            self.pipeline.erase_record(self.clock, &place.ue, place.way);
            self.places.release(&place);
        }
        self.reply(now);
    }

    /// Writes the rules of a session into the tables.
    fn insert_session(&mut self, now: Time, seid: Seid, has_no_overlap: bool) {
        if self.topology.firewall.is_some() {
            return;
        }
        let Some(spec) = self.slow_path.offload_spec(seid) else { return };
        if self.down_until.is_some() {
            // It is written when the memory is there.
            self.leases.insert(seid, Lease { has_no_overlap, ..Lease::default() });
            return;
        }
        let mut lease = Lease { has_no_overlap, ..Lease::default() };
        for mut compiled in compile_session(&spec, &self.topology) {
            let mut placed = Vec::new();
            for record in std::mem::take(&mut compiled.records) {
                let Some(ue) = UeKey::new(&record.lookup.key) else { continue };
                let bucket = self.pipeline.ue_bucket(&ue);
                // If both places of the bucket are taken, packets find no record.
                let Some(place) = self.places.take(ue, bucket) else { continue };
                placed.push((place, record));
            }
            let Some(home) = placed.first().map(|(place, _)| *place) else { continue };
            let shared_state = (placed.len() > 1).then(|| home.state());
            for (place, record) in placed {
                self.tick(now);
                let generation = self.raise_generation(&place);
                let header = record.header(place.ue, generation, shared_state);
                self.places.set_header(&place, header);
                let Compiled { actions, pdrs, .. } = record;
                let record = UeRecord { header, actions, pdrs, state: UeState::default() };
                self.pipeline.write_record(self.clock, place.way, &record);
                lease.records.push(place);
            }
            lease.states.push(compiled.at(home));
        }
        if !lease.records.is_empty() {
            self.leases.insert(seid, lease);
            self.grant(now, seid);
        }
    }

    /// Writes some of the sessions anew whose tables do not follow the firewall or the limit of their slice yet. Those that ended are skipped.
    fn write_outdated(&mut self, now: Time) {
        if self.outdated.is_empty() {
            return;
        }
        self.quiesce(now);
        let left = self.outdated.len().saturating_sub(OUTDATED_AT_A_TIME);
        for seid in self.outdated.split_off(left) {
            if self.pipeline.failure().is_some() {
                self.outdated.push(seid);
                continue;
            }
            self.remove_session(now, seid);
            let overlaps = !self.slow_path.overlapping_sessions(seid).is_empty();
            self.insert_session(now, seid, !overlaps);
        }
        self.recover_if_failed(now);
    }

    /// The memory failed: connects anew, and writes all sessions anew. States that are newer here than there are kept; those that the
    /// memory had are read, unless it has restarted.
    fn recover(&mut self, now: Time) {
        let failure = self.pipeline.failure();
        let has_restarted = failure == Some(Failure::Restarted);
        self.losses.failures += u64::from(failure.is_some());
        self.losses.restarts += u64::from(has_restarted);
        // The server may be another one.
        self.describes_at = self.describes_at.map(|_| now);
        let mut known: HashMap<StatePlace, UeState> = self.pipeline.reset().into_iter().collect();
        if !self.pipeline.memory_mut().reconnect(self.clock) {
            self.down_until = Some(now + RETRY);
        }
        let seids: Vec<Seid> = self.leases.keys().copied().collect();
        for seid in &seids {
            let Some(mut lease) = self.leases.remove(seid) else { continue };
            for home in lease.states.iter().map(|state| state.home) {
                if lease.is_granted && !known.contains_key(&home.state()) {
                    let is_there = !has_restarted && self.down_until.is_none();
                    match is_there.then(|| self.read_state(now, &home)).flatten() {
                        Some(state) => drop(known.insert(home.state(), state)),
                        None => self.lose_state(*seid),
                    }
                }
            }
            for place in &lease.records {
                self.pipeline.raise_generation(&place.ue);
                self.places.release(place);
            }
            lease.settle(&mut self.slow_path, *seid, |place| known.remove(&place));
            // The session is not forgotten if the memory does not come back.
            self.leases.insert(*seid, Lease::default());
        }
        let has_rest = !has_restarted && self.down_until.is_none();
        self.pipeline.recover_paged(self.clock, has_rest);
        self.take_paged(now);
        if self.down_until.is_none() && self.pipeline.failure().is_none() {
            for seid in seids {
                let overlaps = !self.slow_path.overlapping_sessions(seid).is_empty();
                self.insert_session(now, seid, !overlaps);
            }
        }
        if self.pipeline.failure().is_some() {
            self.pipeline.reset();
            self.down_until = Some(now + RETRY);
            self.pipeline.recover_paged(self.clock, false);
            self.take_paged(now);
        }
    }

    /// Tells the server that sweeps the flow table the time, if that is due.
    fn describe_flows(&mut self, now: Time) {
        if self.down_until.is_some() || self.describes_at.is_some_and(|at| now < at) {
            return;
        }
        let directory = self.pipeline.memory_mut().directory();
        let interval = (self.pipeline.flow_age() / DESCRIPTIONS).max(Span::from_millis(1));
        self.describes_at = directory.map(|_| now + interval);
        if let Some(directory) = directory {
            self.tick(now);
            self.pipeline.describe_flows(self.clock, &directory);
        }
    }

    /// Expires timers that are due.
    fn expire(&mut self, now: Time) {
        if self.down_until.is_some_and(|until| until <= now) {
            self.down_until = None;
            self.recover(now);
        }
        self.describe_flows(now);
        if self.slow_path.expired_session(now).is_some() {
            self.quiesce(now);
        }
        self.expire_some(now);
        self.slow_path.flush(&mut self.ready);
        self.forget_discarded();
        self.recover_if_failed(now);
    }

    /// Expires timers that are due, those of [`SESSIONS_AT_A_TIME`](causeway_slowpath::SESSIONS_AT_A_TIME) sessions at most. Nothing is in flight.
    fn expire_some(&mut self, now: Time) {
        let mut sessions = ExpiringSessions::default();
        while let Some(seid) = self.slow_path.expired_session(now) {
            if !sessions.admits(seid) {
                self.has_late_timers = true;
                return;
            }
            self.with_settled(now, &[seid], |slow_path| slow_path.expire_one(now));
        }
        self.has_late_timers = false;
    }

    /// Before a packet or a plan of these sessions: expires their timers that are due, and others unless [`XPlane::expire_some`] has left
    /// some. Nothing is in flight.
    fn expire_before(&mut self, now: Time, seids: impl FnOnce(&SlowPath) -> Vec<Seid>) {
        if !self.has_late_timers {
            self.expire_some(now);
        }
        if self.has_late_timers {
            for seid in seids(&self.slow_path) {
                while self.with_settled(now, &[seid], |slow_path| slow_path.expire_one_of(now, seid)) {}
            }
        }
    }

    fn apply_plan(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        self.quiesce(now);
        self.expire(now);
        self.expire_before(now, |_| vec![plan.session]);
        let is_alone = self.leases.get(&plan.session).is_some_and(|lease| lease.has_no_overlap);
        let mut overlapping =
            if is_alone { Vec::new() } else { self.slow_path.overlapping_sessions(plan.session) };
        self.remove_session(now, plan.session);
        if self.slow_path.plan_needs_octets(now, plan) {
            self.page_in(now, plan.session);
        }
        let applied = self.slow_path.apply(now, plan);
        // What is still buffered waits in memory again.
        self.page_out(now, plan.session);
        if may_change_lookup(&plan.change) {
            overlapping.extend(self.slow_path.overlapping_sessions(plan.session));
            overlapping.sort_unstable();
            overlapping.dedup();
        }
        self.insert_session(now, plan.session, overlapping.is_empty());
        for other in overlapping {
            self.remove_session(now, other);
            self.insert_session(now, other, false);
        }
        self.recover_if_failed(now);
        applied
    }
}

impl<M: Awaited> Dataplane for XPlane<M> {
    fn capabilities(&self) -> Capabilities {
        self.slow_path.capabilities()
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        if self.begin_release(now, plan) {
            self.waiting.push_back((id, plan.clone()));
            return Poll::Pending;
        }
        Poll::Ready(self.apply_plan(now, plan))
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        if self.waiting.is_empty() {
            return None;
        }
        self.take_paged(now);
        let place = self.waiting.iter().position(|(_, plan)| self.is_released(plan.session))?;
        let (id, plan) = self.waiting.remove(place)?;
        Some((id, self.apply_plan(now, &plan)))
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.slow_path.set_applications(applications);
    }

    fn set_waker(&mut self, waker: Waker) {
        self.pipeline.memory_mut().set_waker(waker);
    }

    fn session_classes(&self) -> SessionClasses {
        self.slow_path.session_classes()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.slow_path.application_class(session)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.slow_path.set_host_reachability(host);
        self.topology.host = HostReachability::clone(host);
        self.blocked = self.topology.blocked_addresses();
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.slow_path.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        self.quiesce(now);
        let toggled = self.topology.toggled_slices(settings);
        let had_firewall = self.topology.firewall.is_some();
        self.slow_path.reconfigure(now, settings);
        self.topology.set(settings);
        self.blocked = self.topology.blocked_addresses();
        // The tables know no firewall and no limits of slices: the slow path has these packets.
        let is_firewall_toggled = had_firewall != self.topology.firewall.is_some();
        if !is_firewall_toggled && toggled.is_empty() {
            return;
        }
        let of_slice = |seid: &Seid| {
            let slice = self.slow_path.rules_of(*seid).and_then(|rules| rules.slice);
            slice.is_some_and(|slice| toggled.contains(&slice))
        };
        let is_outdated = |seid: &Seid| is_firewall_toggled || of_slice(seid);
        let before = self.outdated.len();
        self.outdated.extend(self.slow_path.seids().filter(is_outdated));
        if before > 0 {
            self.outdated.sort_unstable();
            self.outdated.dedup();
        }
        self.write_outdated(now);
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.slow_path.follow_paths(now, old, new);
    }

    fn paths(&self, after: Option<GtpuPath>, most: usize) -> Vec<PathState> {
        self.slow_path.supervised_paths(after, most)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.slow_path.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        // The time of the memory began with the first packet or plan, or is ahead of that.
        let ahead = self.pipeline.next_timer().filter(|_| !self.is_prompt).zip(self.first);
        let memory = ahead.map(|(timer, first)| first + timer.since(Time::default()));
        let described = self.describes_at.filter(|_| self.down_until.is_none());
        let outdated = (!self.outdated.is_empty()).then(Time::default);
        self.slow_path
            .next_deadline()
            .into_iter()
            .chain(outdated)
            .chain(self.down_until)
            .chain(described)
            .chain(memory)
            .min()
    }

    fn advance(&mut self, now: Time) {
        if !self.is_prompt && self.down_until.is_none() {
            self.progress(now);
        }
        self.expire(now);
        self.write_outdated(now);
        self.slow_path.advance(now);
    }

    fn counters(&self) -> Counters {
        self.slow_path.counters().with(&self.counters)
    }

    fn memory_losses(&self) -> Option<MemoryLosses> {
        Some(MemoryLosses { aged_flows: self.pipeline.counters().aged, ..self.losses })
    }

    /// What the pipeline decided, and what the slow path did, by the reason.
    fn stage_packets(&self) -> Vec<NamedCounter> {
        let slow = self.pipeline.counters().slow;
        let of = |why: Why| slow.get(why as usize).copied().unwrap_or(0);
        let counters = self.slow_path.counters();
        let received = counters.gtpu_received.packets
            + counters.ip_received.packets
            + counters.ethernet_received.packets;
        vec![
            NamedCounter { name: "flow_table", value: self.decided },
            NamedCounter { name: "slow_path", value: received },
            NamedCounter { name: "local_state_collision", value: of(Why::LocalStateCollision) },
            NamedCounter { name: "flow_collision", value: of(Why::FlowCollision) },
        ]
    }

    fn session_state(&mut self, now: Time, session: Seid) -> Option<SessionState> {
        self.quiesce(now);
        self.with_settled(now, &[session], |slow_path| slow_path.session_state(now, session))
    }
}

impl<M: Awaited> PacketEngine for XPlane<M> {
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
        queue.clear();
        self.expire(now);
        for frame in batch.frames() {
            let Some(ingress) = self.topology.ingress(source, &frame.meta) else { continue };
            if !self.arrive(now, &ingress, frame.data) {
                // What came before it leaves before it.
                self.finish(now);
                self.process_slow(now, &ingress, frame.data);
            } else if self.pipeline.in_flight() >= self.window {
                self.finish(now);
            }
        }
        if self.is_prompt {
            self.finish(now);
        } else {
            self.progress(now);
        }
        self.ready.drain(..).for_each(|(egress, packet)| queue.push_owned(egress, packet));
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        self.expire(now);
        let disposition = if self.arrive(now, ingress, packet) {
            self.finish(now).unwrap_or(Disposition::Dropped(DropReason::ExternalMemory))
        } else {
            // What came before it leaves before it.
            self.quiesce(now);
            self.process_slow(now, ingress, packet)
        };
        self.hand_out(out);
        disposition
    }

    fn explain(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        self.quiesce(now);
        let concerned = self.slow_path.sessions_for_packet(ingress, packet);
        self.with_settled(now, &concerned, |slow_path| slow_path.explain(now, ingress, packet))
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.hand_out(out);
        self.slow_path.flush(out);
    }
}

/// A data plane over the model of external memory, with the sizes of its tables.
pub type ModelPlane = XPlane<Model>;

impl ModelPlane {
    /// A data plane over a model with these parameters. `None`: the tables are larger than an address space.
    pub fn over_model(
        topology: Topology,
        limits: Limits,
        parameters: causeway_memory::ModelParameters,
        sizes: Sizes,
        seed: u64,
    ) -> Option<Self> {
        let mut regions = Regions::new();
        regions.insert(MODEL_RKEY, sizes.region()?);
        let memory = Model::new(parameters, regions, seed);
        let base = Place { rkey: MODEL_RKEY, address: 0 };
        let config = PipelineConfig::default();
        Some(Self::new(topology, limits, memory, sizes, base, config))
    }
}

/// A data plane over memory of this process.
pub type LocalPlane = XPlane<Local>;

impl LocalPlane {
    /// A data plane over so much memory of this process as the tables need. `None`: it cannot have so much.
    pub fn in_process(
        topology: Topology,
        limits: Limits,
        sizes: Sizes,
        config: PipelineConfig,
    ) -> Option<Self> {
        // Asked first: memory that there is not would end the process.
        let size = usize::try_from(sizes.octets()).ok()?;
        Vec::<u8>::new().try_reserve_exact(size).ok()?;
        let mut regions = Regions::new();
        regions.insert(MODEL_RKEY, sizes.region()?);
        let base = Place { rkey: MODEL_RKEY, address: 0 };
        Some(Self::new(topology, limits, Local::new(regions), sizes, base, config))
    }
}
