//! The data plane: packets, plans, and the moves between them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Poll, Waker};

use causeway_dataplane::{
    Applied, ApplyError, BackendError, Capabilities, ColdStorageState, Counters, Dataplane, Disposition,
    DropReason, Egress, Event, Explanation, GtpuPath, HostReachability, Ingress, NamedCounter, PacketEngine,
    PathState, PlacedRule, Plan, PlanId, PollApplied, ReceiveSource, RulePlace, RulePlacement, SessionState,
    Settings, Topology, Transmit, TransmitQueue,
};
use causeway_model::Applications;
use causeway_packet::Batch;
use causeway_slowpath::Limits;
use causeway_slowpath::lease::{Destination, Software};
use causeway_switch::backend::{
    self, Counted, LocalSwitch, Notice, Operation, PlansInFlight, Progress, StartError, Switch, WithPorts,
};
use causeway_switch::driver::{Program, SwitchDriver};
use causeway_switch::model::upf::{UnknownProgram, Upf};
use causeway_switch::model::{Model, Timing};
use causeway_types::{Direction, NetworkInstance, Seid, Span, Time, WallClock};
use foldhash::fast::RandomState;

use crate::config::Config;
use crate::front::{Front, InProcessPorts, OwnPorts, Passed};
use crate::load::Load;
use crate::moves::{Command, Moves};
use crate::placement::Placement;
use crate::quota::is_near_quota;
use crate::rule::Rule;
use crate::shared::SharedSwitch;

/// Why a hybrid UPF cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HybridError {
    /// The model cannot run the program in front of software.
    #[error(transparent)]
    Program(#[from] UnknownProgram),
    /// The backend cannot fill its tables.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// How packets wait between the switch and the software, for tests: each for a random time, in order.
#[derive(Debug)]
struct Delay {
    random: fastrand::Rng,
    longest: Span,
    waiting: VecDeque<(Time, Ingress, Vec<u8>)>,
}

/// What is told the state changes of the switch.
struct NoticeSink(Box<dyn FnMut(&Notice) + Send>);

impl std::fmt::Debug for NoticeSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoticeSink")
    }
}

/// A UPF of a switch in front of a software data plane. Every session is known to the software; rules move to the switch
/// and back by a [`Placement`].
#[derive(Debug)]
pub struct Hybrid<D = Model<Upf>, F = InProcessPorts> {
    switch: Switch<D>,
    /// How packets come from the switch.
    front: F,
    moves: Moves,
    placement: Box<dyn Placement>,
    /// Commands in progress on the switch.
    commands: HashMap<Operation, Rule, RandomState>,
    plans: PlansInFlight<(PlanId, Seid)>,
    applied: VecDeque<(PlanId, Result<Applied, ApplyError>)>,
    /// Packets that the switch has forwarded or dropped.
    counters: Counters,
    switch_load: Load,
    software_load: Load,
    /// The packets of a batch that are for the software: their destination and octets.
    for_software: Vec<(Option<(Destination, Direction)>, u64)>,
    /// The packets that the software makes of them.
    queue: TransmitQueue,
    outbox: Vec<(Egress, Vec<u8>)>,
    delay: Option<Delay>,
    next_reading: Time,
    /// When the places of all rules are compared with those of the switch next.
    next_comparison: Time,
    notices: Option<NoticeSink>,
    /// The latest time given: the time of both sides never goes back.
    now: Time,
}

impl Hybrid {
    /// An empty UPF: a model of a switch whose requests take no time, in front of this software, which has the same topology.
    ///
    /// # Errors
    /// The topology does not fit.
    pub fn new(
        topology: &Topology,
        limits: Limits,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
    ) -> Result<Self, HybridError> {
        let local = LocalSwitch::in_front_of_software(topology, limits, Timing::INSTANT)?;
        Ok(Self::with_driver(local, |model| model, software, placement, config)?)
    }
}

impl<D: WithPorts> Hybrid<D> {
    /// An empty UPF over another driver of that model, for example one that injects faults.
    ///
    /// # Errors
    /// The topology does not fit.
    pub fn with_driver(
        local: LocalSwitch,
        driver: impl FnOnce(Model<Upf>) -> D,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
    ) -> Result<Self, StartError> {
        let LocalSwitch { model, program, config: switch_config } = local;
        let front = InProcessPorts::new(&switch_config, &program);
        Self::with_front(front, driver(model), &program, switch_config, software, placement, config)
    }

    /// The same with packets that wait for the software, in order, each for a random time up to `longest`: for tests. The
    /// disposition of such a packet is [`Disposition::Consumed`] until the counters have it.
    #[must_use]
    pub fn with_waiting_packets(mut self, seed: u64, longest: Span) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        self.delay = Some(Delay { random, longest, waiting: VecDeque::new() });
        self
    }
}

impl<D: SwitchDriver> Hybrid<D, OwnPorts> {
    /// An empty UPF behind a switch outside this process, whose packets come to ports of this software. The configuration of the
    /// switch has its links to these ports ([`backend::Config::software`]).
    ///
    /// # Errors
    /// The program or the topology does not fit.
    pub fn behind(
        driver: D,
        program: &Program,
        switch: backend::Config,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
        ports: OwnPorts,
    ) -> Result<Self, StartError> {
        Self::with_front(ports, driver, program, switch.moving_rules(), software, placement, config)
    }
}

impl<D: SwitchDriver, F: Front<D>> Hybrid<D, F> {
    fn with_front(
        front: F,
        driver: D,
        program: &Program,
        switch: backend::Config,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
    ) -> Result<Self, StartError> {
        Ok(Self {
            switch: Switch::with_software(driver, program, switch, software)?,
            front,
            moves: Moves::new(config),
            placement,
            commands: HashMap::default(),
            plans: PlansInFlight::new(None),
            applied: VecDeque::new(),
            counters: Counters::default(),
            switch_load: Load::default(),
            software_load: Load::default(),
            for_software: Vec::new(),
            queue: TransmitQueue::default(),
            outbox: Vec::new(),
            delay: None,
            next_reading: Time::default(),
            next_comparison: Time::default(),
            notices: None,
            now: Time::default(),
        })
    }

    /// The switch and the software behind it.
    pub const fn switch(&mut self) -> &mut Switch<D> {
        &mut self.switch
    }

    /// Where rules are, and the statistics of moves.
    pub const fn moves(&self) -> &Moves {
        &self.moves
    }

    /// The same as one part of a switch: it has the sessions of one packet thread, and shares the switch's entries and rule changes
    /// with the other parts.
    #[must_use]
    pub fn as_part(self, switch: Arc<SharedSwitch>, part: usize) -> Self {
        let moves = Moves::new(*self.moves.config()).of_part(switch, part);
        Self { moves, ..self }
    }

    /// The same, which tells `sink` the state changes of the switch, for the operator.
    #[must_use]
    pub fn with_notices(mut self, sink: impl FnMut(&Notice) + Send + 'static) -> Self {
        self.notices = Some(NoticeSink(Box::new(sink)));
        self
    }

    /// The same behind a switch that may be away, as it is at the start. A plan of a session on the switch is refused at once when the
    /// switch has been unreachable for `timeout`, and fails when it is in flight for that long; it should be shorter than the response
    /// timeout of SMFs.
    #[must_use]
    pub fn with_plan_timeout(mut self, timeout: Span) -> Self {
        self.plans = PlansInFlight::new(Some(timeout));
        self.plans.set_away(Time::default());
        self
    }

    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Makes all progress that is possible.
    fn run(&mut self, now: Time) {
        self.switch.run_without_path_timers(now);
        loop {
            self.collect_frames();
            let any = self.take_progress(now)
                | self.take_counted(now)
                | self.take_rearmed(now)
                | self.take_notices(now);
            if !any {
                break;
            }
            self.switch.run_further(now);
        }
        self.deliver(now);
    }

    /// Lets the placement decide, and moves that are due go on. Not while the switch is away: it forwards, but nobody counts what.
    fn move_rules(&mut self, now: Time) {
        if self.plans.is_away() {
            return;
        }
        while let Some(command) = self.moves.poll(now) {
            self.command(now, command);
        }
        if self.placement.next_decision().is_none_or(|at| at > now) {
            return;
        }
        for wish in self.placement.decide(now, &self.moves) {
            if let Some(command) = self.moves.wish(now, wish) {
                self.command(now, command);
            }
        }
        self.run(now);
        if now >= self.next_comparison {
            self.next_comparison = now + self.moves.config().read_interval.unwrap_or_default();
            self.compare_places(now);
        }
    }

    fn command(&mut self, now: Time, command: Command) {
        let (rule, is_on_switch, gap) = match command {
            Command::Arm(rule, gap) => (rule, true, gap),
            Command::Return(rule) => (rule, false, Span::ZERO),
        };
        if is_on_switch && let Some(reason) = self.reason_to_stay(now, rule) {
            return self.moves.ended(now, rule, Err(reason.into()));
        }
        let Rule { session, direction } = rule;
        let operation = self.switch.place(now, session, direction, is_on_switch, gap);
        self.commands.insert(operation, rule);
    }

    /// Why a rule must stay in the software, whatever the switch can do.
    fn reason_to_stay(&mut self, now: Time, rule: Rule) -> Option<&'static str> {
        if !self.switch.sessions_in_common(now, rule.session).is_empty() {
            return Some("another session with the same UE address");
        }
        let software = self.switch.software();
        is_near_quota(software, now, rule.session, self.moves.config()).then_some("a quota near its end")
    }

    /// Rules that the switch has returned by itself are in the software.
    fn compare_places(&mut self, now: Time) {
        let is_there = |rule: &Rule| self.switch.places(rule.session).has(rule.direction);
        let gone: Vec<Rule> = self.moves.on_switch().filter(|rule| !is_there(rule)).collect();
        gone.into_iter().for_each(|rule| self.moves.returned(now, rule));
    }

    fn take_progress(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(progress) = self.switch.poll(now) {
            any = true;
            let Progress::Done(operation, result) = progress else { continue };
            if let Some(rule) = self.commands.remove(&operation) {
                self.moves.ended(now, rule, result.map(drop).map_err(|error| error.to_string()));
            } else if let Some((id, session)) = self.plans.end(operation) {
                if result.is_ok() {
                    self.session_changed(now, session);
                }
                self.applied.push_back((id, result));
            }
        }
        while let Some((operation, (id, _))) = self.plans.expire(now) {
            any = true;
            self.switch.abandon(operation);
            self.applied.push_back((id, Err(BackendError::TimedOut.into())));
        }
        any
    }

    /// The rules of a session have changed: its moves, and those of sessions that have its addresses, follow.
    fn session_changed(&mut self, now: Time, session: Seid) {
        let exists = self.switch.software().has_session(session);
        self.moves.session(now, session, exists);
        self.placement.session(session, exists);
        for rule in Rule::of(session) {
            if !self.switch.places(session).has(rule.direction) {
                self.moves.returned(now, rule);
            }
        }
        if !exists {
            return;
        }
        let overlapping = self.switch.sessions_in_common(now, session);
        if overlapping.is_empty() {
            return;
        }
        for rule in overlapping.into_iter().chain([session]).flat_map(Rule::of) {
            self.return_to_software(now, rule);
        }
    }

    /// Returns a rule that must not be on the switch any more, whatever the budget of changes.
    fn return_to_software(&mut self, now: Time, rule: Rule) {
        if self.switch.places(rule.session).has(rule.direction) {
            self.moves.returned(now, rule);
            let _unnamed = self.switch.place(now, rule.session, rule.direction, false, Span::ZERO);
        }
    }

    fn take_counted(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(Counted { session, direction, count }) = self.switch.poll_counted() {
            any = true;
            let rule = Rule { session, direction };
            self.moves.forwarded(now, rule);
            if !self.front.shows_forwarded() {
                self.switch_load.add(now, count.packets, count.octets);
            }
            self.placement.observe(now, rule, count.octets);
            if is_near_quota(self.switch.software(), now, session, self.moves.config()) {
                self.return_to_software(now, rule);
            }
        }
        any
    }

    fn take_rearmed(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some((session, direction)) = self.switch.poll_rearmed() {
            any = true;
            self.moves.rearmed(now, Rule { session, direction });
        }
        any
    }

    fn take_notices(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(notice) = self.switch.poll_notice() {
            any = true;
            let was_away = self.plans.is_away();
            self.plans.follow(now, &notice);
            if was_away && !self.plans.is_away() {
                self.moves.resumed(now);
                self.placement.resumed(now);
            }
            if let Some(NoticeSink(tell)) = &mut self.notices {
                tell(&notice);
            }
        }
        any
    }

    /// Packets of the software that left without one that arrived: timers, released buffers.
    fn collect_released(&mut self) {
        self.outbox.extend(self.switch.take_released());
    }

    /// Frames of the switch that no packet of this call caused: there are none but in tests with time.
    fn collect_frames(&mut self) {
        self.collect_released();
        self.front.take_sent(self.switch.driver(), &mut self.outbox);
    }

    /// Passes a packet to the software, now or after a while.
    fn leave_to_software(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        match &mut self.delay {
            None => self.process_in_software(now, ingress, packet),
            Some(Delay { random, longest, waiting }) => {
                let stay = longest.mul_f64(random.f64());
                let due = waiting.back().map_or(now, |(due, ..)| *due).max(now + stay);
                waiting.push_back((due, ingress.clone(), packet.to_vec()));
                Disposition::Consumed
            }
        }
    }

    /// Packets whose time in front of the software is over.
    fn deliver(&mut self, now: Time) {
        while let Some(Delay { waiting, .. }) = &mut self.delay
            && waiting.front().is_some_and(|(due, ..)| *due <= now)
            && let Some((_, ingress, packet)) = waiting.pop_front()
        {
            let _counted = self.process_in_software(now, &ingress, &packet);
        }
    }

    fn process_in_software(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        self.collect_released();
        self.software_load.count(now, packet.len());
        let destination = self.destination_of(ingress, packet);
        let disposition = self.switch.software().process(now, ingress, packet, &mut self.outbox);
        self.observe(now, destination, network_of(ingress), packet.len() as u64);
        disposition
    }

    fn destination_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<(Destination, Direction)> {
        let direction = match ingress {
            Ingress::Gtpu { .. } => Direction::Uplink,
            Ingress::Ip { .. } | Ingress::Ethernet { .. } => Direction::Downlink,
        };
        Some((self.switch.software_ref().destination_of(ingress, packet)?, direction))
    }

    /// The software has processed a packet to this destination, which came from this data network or in a tunnel.
    fn observe(
        &mut self,
        now: Time,
        destination: Option<(Destination, Direction)>,
        network: Option<&NetworkInstance>,
        octets: u64,
    ) {
        let Some((destination, direction)) = destination else { return };
        if let Some(session) = self.switch.software_ref().only_session_of(&destination, network) {
            self.placement.observe(now, Rule { session, direction }, octets);
            self.switch.packet_in_software(now, session);
        }
    }

    /// Passes the packets of a batch through the switch, and leaves those in it that are for the software.
    fn pass_switch_in_batch(&mut self, now: Time, source: ReceiveSource, batch: &mut Batch) {
        self.for_software.clear();
        batch.retain(|frame| {
            let Some(ingress) = self.switch.topology().ingress(source, &frame.meta) else { return false };
            if self.pass_switch(now, &ingress, frame.data).is_some() {
                return false;
            }
            self.software_load.count(now, frame.data.len());
            let destination = self.destination_of(&ingress, frame.data);
            self.for_software.push((destination, frame.data.len() as u64));
            true
        });
    }

    /// Submits a plan of a session whose state is in memory. If the switch does not have the session, the software applies it alone.
    /// Otherwise it is refused at once while the switch is unreachable.
    fn submit_loaded(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let session = plan.session;
        if !self.switch.has_session(session) {
            self.switch.expire_late_timers(now, session);
            let applied = self.switch.software().apply(now, plan);
            self.session_changed(now, session);
            self.switch.software().flush(&mut self.outbox);
            self.run(now);
            return Poll::Ready(applied);
        }
        if self.plans.are_refused(now) {
            return Poll::Ready(Err(BackendError::Unreachable.into()));
        }
        let operation = Switch::submit(&mut self.switch, now, plan);
        self.plans.begin(now, operation, (id, session));
        self.run(now);
        let place = self.applied.iter().position(|(applied, _)| *applied == id);
        match place.and_then(|place| self.applied.remove(place)) {
            Some((_, result)) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }

    /// What is due before packets: readings, results, moves.
    fn before_packets(&mut self, now: Time) -> Time {
        let now = self.at(now);
        self.read_counters_if_due(now);
        self.run(now);
        self.move_rules(now);
        now
    }

    /// A packet that the switch has handled.
    fn count(
        &mut self,
        now: Time,
        ingress: &Ingress,
        octets: usize,
        drop: Option<DropReason>,
    ) -> Disposition {
        self.switch_load.count(now, octets);
        self.counters.count_received(ingress, octets);
        if let Some(reason) = drop {
            self.counters.count_drop(reason);
            return Disposition::Dropped(reason);
        }
        self.counters.forwarded += 1;
        if let Some((egress, packet)) = self.outbox.last() {
            self.counters.count_sent(egress, packet.len());
        }
        Disposition::Forwarded
    }

    /// Passes a packet through the switch; `None`: it is for the software.
    fn pass_switch(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Disposition> {
        match self.front.pass(self.switch.driver(), now, ingress, packet, &mut self.outbox) {
            Passed::ForSoftware => None,
            Passed::Forwarded => Some(self.count(now, ingress, packet.len(), None)),
            Passed::Dropped(reason) => Some(self.count(now, ingress, packet.len(), Some(reason))),
        }
    }

    fn read_counters_if_due(&mut self, now: Time) {
        let Some(interval) = self.moves.config().read_interval.filter(|_| now >= self.next_reading) else {
            return;
        };
        self.next_reading = now + interval;
        self.switch.read_all_counters();
    }

    fn transmit(&mut self, out: &mut dyn Transmit) {
        for (egress, packet) in self.outbox.drain(..) {
            out.transmit(&egress, &packet);
        }
    }
}

/// The data network that packets come from without a tunnel.
const fn network_of(ingress: &Ingress) -> Option<&NetworkInstance> {
    match ingress {
        Ingress::Ip { network } => Some(network),
        Ingress::Gtpu { .. } | Ingress::Ethernet { .. } => None,
    }
}

impl<D: SwitchDriver, F: Front<D>> Dataplane for Hybrid<D, F> {
    fn capabilities(&self) -> Capabilities {
        self.switch.software_ref().capabilities()
    }

    fn switch_state(&self) -> Option<causeway_dataplane::SwitchState> {
        let state = self.switch.state();
        let is_reconciling = state.is_reconciling || self.plans.is_away();
        Some(causeway_dataplane::SwitchState { is_reconciling, ..state })
    }

    fn switch_events(&self) -> Vec<NamedCounter> {
        self.switch.events()
    }

    /// A plan waits while the software reads the state of its session from a disk, whichever side has the session.
    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let now = self.at(now);
        self.run(now);
        self.move_rules(now);
        match self.switch.software().wait_for_state(now, id, plan) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => self.submit_loaded(now, id, plan),
        }
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        let now = self.at(now);
        self.run(now);
        while let Some((id, plan, loaded)) = self.switch.software().poll_plan(now) {
            let applied = match loaded {
                Ok(()) => self.submit_loaded(now, id, &plan),
                Err(error) => Poll::Ready(Err(error)),
            };
            if let Poll::Ready(applied) = applied {
                self.applied.push_back((id, applied));
            }
        }
        self.applied.pop_front()
    }

    fn prefetch(&mut self, plan: &Plan) {
        if !self.switch.has_session(plan.session) {
            self.switch.software().prefetch(plan);
        }
    }

    fn set_waker(&mut self, waker: Waker) {
        self.front.set_waker(waker.clone());
        self.switch.software().set_waker(waker);
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.switch.set_applications(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.switch.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        let now = self.at(now);
        self.switch.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        let now = self.at(now);
        self.switch.reconfigure(now, settings);
        self.run(now);
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.switch.follow_paths(now, old, new);
    }

    fn paths(&self, after: Option<GtpuPath>, most: usize) -> Vec<PathState> {
        self.switch.software_ref().paths(after, most)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.switch.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        let waiting = self.delay.as_ref().and_then(|delay| delay.waiting.front()).map(|(due, ..)| *due);
        let has_rules = !self.moves.is_empty();
        let reading = self.moves.config().read_interval.filter(|_| has_rules).map(|_| self.next_reading);
        let may_move = !self.plans.is_away();
        let decision = self.placement.next_decision().filter(|_| has_rules && may_move);
        let idle = self.switch.software_ref().next_idle_step();
        let (due, plan) = (self.moves.next_due().filter(|_| may_move), self.plans.next_deadline());
        let own = [waiting, reading, decision, idle, due, plan, self.switch.next_deadline()];
        own.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time) {
        let now = self.at(now);
        self.read_counters_if_due(now);
        self.run(now);
        self.move_rules(now);
        self.switch.software().advance(now);
        self.switch.software().flush(&mut self.outbox);
        self.run(now);
    }

    /// Those of the software and of packets that passed the switch here; or, of a switch outside this process, its drops.
    fn counters(&self) -> Counters {
        self.switch.software_ref().counters().with(&self.counters).with(self.switch.drops())
    }

    fn stage_packets(&self) -> Vec<NamedCounter> {
        let value = self.counters.forwarded + self.counters.total_drops();
        let mut stages = vec![NamedCounter { name: "switch", value }];
        stages.extend(self.switch.software_ref().stage_packets());
        stages
    }

    fn session_state(&mut self, now: Time, session: Seid) -> Option<SessionState> {
        let now = self.at(now);
        self.switch.read_all_counters();
        self.run(now);
        self.switch.software().session_state(now, session)
    }

    fn cold_storage(&self) -> Option<ColdStorageState> {
        self.switch.software_ref().cold_storage()
    }

    fn rule_placement(&self, now: Time) -> Option<RulePlacement> {
        let now = self.now.max(now);
        let sessions = self.switch.software_ref().counters().sessions;
        let mut rules = RulePlace::ALL.map(|place| self.moves.count(place) as u64);
        rules[RulePlace::Software as usize] = (sessions * 2).saturating_sub(self.moves.len() as u64);
        Some(RulePlacement {
            rules,
            capacity: self.moves.config().capacity as u64,
            moves: self.moves.statistics(),
            changes_per_second: self.moves.changes_per_second(now),
            switch: self.switch_load.at(now),
            software: self.software_load.at(now),
            waits: *self.moves.wait_counts(),
        })
    }

    fn placed_rules(&self, now: Time, session: Option<Seid>, most: usize) -> Vec<PlacedRule> {
        let now = self.now.max(now);
        let rules: Vec<Rule> = match session {
            Some(session) if !self.switch.software_ref().has_session(session) => Vec::new(),
            Some(session) => Rule::of(session).into(),
            None => self.moves.rules().map(|(rule, _)| rule).chain(self.moves.refused(now)).collect(),
        };
        let with_rate = |rule: Rule| (self.placement.octets_per_second(now, rule), rule);
        let mut rules: Vec<_> = rules.into_iter().map(with_rate).collect();
        rules.sort_unstable_by(|(one, first), (other, second)| other.cmp(one).then(first.cmp(second)));
        let placed = |(octets_per_second, rule): (Option<u64>, Rule)| PlacedRule {
            session: rule.session,
            direction: rule.direction,
            place: self.moves.place(rule).into(),
            since: self.moves.since(rule),
            octets_per_second,
            refusal: self.moves.refusal(rule).map(str::to_owned),
        };
        rules.into_iter().take(most).map(placed).collect()
    }
}

impl<D: SwitchDriver, F: Front<D>> PacketEngine for Hybrid<D, F> {
    fn topology(&self) -> &Topology {
        self.switch.topology()
    }

    /// The switch takes its packets first, one by one; the software gets the others as one batch. The packets of a rule
    /// are on one side in the whole batch: rules move between batches, and an armed rule flips at a gap.
    fn process_batch(
        &mut self,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
        queue: &mut TransmitQueue,
    ) {
        queue.clear();
        if self.delay.is_some() || self.moves.config().read_interval.is_none() {
            for frame in batch.frames() {
                if let Some(ingress) = self.topology().ingress(source, &frame.meta) {
                    self.process(now, &ingress, frame.data, queue);
                }
            }
            return;
        }
        let now = self.before_packets(now);
        self.pass_switch_in_batch(now, source, batch);
        self.collect_released();
        self.transmit(queue);
        if !batch.is_empty() {
            self.switch.software().process_batch(now, source, batch, &mut self.queue);
            queue.append(&mut self.queue);
            let mut for_software = std::mem::take(&mut self.for_software);
            let network = match source {
                ReceiveSource::Network(place) => self.topology().networks.get(usize::from(place)),
                ReceiveSource::Gtpu | ReceiveSource::Ethernet(_) => None,
            };
            let network = network.map(|network| network.instance.clone());
            for (destination, octets) in for_software.drain(..) {
                self.observe(now, destination, network.as_ref(), octets);
            }
            self.for_software = for_software;
        }
        self.run(now);
        self.transmit(queue);
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        let now = self.before_packets(now);
        let disposition = match self.pass_switch(now, ingress, packet) {
            Some(disposition) => {
                if self.moves.config().read_interval.is_none() {
                    self.switch.read_all_counters();
                }
                disposition
            }
            None => self.leave_to_software(now, ingress, packet),
        };
        self.run(now);
        self.transmit(out);
        disposition
    }

    fn explain(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        let now = self.at(now);
        self.switch.read_all_counters();
        self.run(now);
        self.switch.software().explain(now, ingress, packet)
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        self.collect_released();
        self.switch.software().flush(&mut self.outbox);
        self.transmit(out);
    }
}
