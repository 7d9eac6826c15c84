//! The data plane: packets, plans, and the moves between them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event,
    Explanation, GtpuPath, HostReachability, Ingress, NamedCounter, PacketEngine, PathState, Plan, PlanId,
    PollApplied, SessionState, Settings, Topology, Transmit,
};
use causeway_model::Applications;
use causeway_slowpath::Limits;
use causeway_slowpath::lease::Software;
use causeway_switch::backend::{
    Counted, LocalSwitch, Notice, Operation, Ports, Progress, StartError, Switch, WithPorts,
};
use causeway_switch::driver::Program;
use causeway_switch::model::upf::{UnknownProgram, Upf};
use causeway_switch::model::{Model, Timing};
use causeway_types::{Direction, Seid, Span, Time, WallClock};
use foldhash::fast::RandomState;

use crate::config::Config;
use crate::moves::{Command, Moves};
use crate::placement::Placement;
use crate::quota::is_near_quota;
use crate::rule::Rule;

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

/// A UPF of a switch in front of a software data plane. Every session is known to the software; rules move to the switch
/// and back by a [`Placement`].
#[derive(Debug)]
pub struct Hybrid<D = Model<Upf>> {
    switch: Switch<D>,
    ports: Ports,
    moves: Moves,
    placement: Box<dyn Placement>,
    /// Commands and plans in progress on the switch.
    commands: HashMap<Operation, Rule, RandomState>,
    plans: HashMap<Operation, (PlanId, Seid), RandomState>,
    applied: VecDeque<(PlanId, Result<Applied, ApplyError>)>,
    /// Packets that the switch has forwarded or dropped.
    counters: Counters,
    outbox: Vec<(Egress, Vec<u8>)>,
    delay: Option<Delay>,
    next_reading: Time,
    notices: VecDeque<Notice>,
    /// The latest time given: the time of both sides never goes back.
    now: Time,
}

impl Hybrid {
    /// An empty UPF: a model of a switch with this program, whose requests take no time, in front of this software, which
    /// has the same topology.
    ///
    /// # Errors
    /// The program or the topology does not fit.
    pub fn new(
        program: &Program,
        topology: &Topology,
        limits: Limits,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
    ) -> Result<Self, HybridError> {
        Self::with_timing(program, topology, limits, Timing::INSTANT, software, placement, config)
    }

    /// The same, with a switch whose requests take this time.
    ///
    /// # Errors
    /// The program or the topology does not fit.
    pub fn with_timing(
        program: &Program,
        topology: &Topology,
        limits: Limits,
        timing: Timing,
        software: Box<dyn Software>,
        placement: Box<dyn Placement>,
        config: Config,
    ) -> Result<Self, HybridError> {
        let local = LocalSwitch::in_front_of_software(program, topology, limits, timing)?;
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
        let ports = Ports::new(&switch_config.topology);
        Ok(Self {
            switch: Switch::with_software(driver(model), &program, switch_config, software)?,
            ports,
            moves: Moves::new(config),
            placement,
            commands: HashMap::default(),
            plans: HashMap::default(),
            applied: VecDeque::new(),
            counters: Counters::default(),
            outbox: Vec::new(),
            delay: None,
            next_reading: Time::default(),
            notices: VecDeque::new(),
            now: Time::default(),
        })
    }

    /// The same with packets that wait for the software, in order, each for a random time up to `longest`: for tests. The
    /// disposition of such a packet is [`Disposition::Consumed`] until the counters have it.
    #[must_use]
    pub fn with_waiting_packets(mut self, seed: u64, longest: Span) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        self.delay = Some(Delay { random, longest, waiting: VecDeque::new() });
        self
    }

    /// The switch and the software behind it.
    pub const fn switch(&mut self) -> &mut Switch<D> {
        &mut self.switch
    }

    /// Where rules are, and the statistics of moves.
    pub const fn moves(&self) -> &Moves {
        &self.moves
    }

    /// The next notice for the operator, oldest first.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Makes all progress that is possible.
    fn run(&mut self, now: Time) {
        loop {
            self.switch.run_without_path_timers(now);
            self.collect_frames();
            let any = self.take_progress(now) | self.take_counted(now) | self.take_notices(now);
            if !any {
                break;
            }
        }
        self.deliver(now);
    }

    /// Lets the placement decide, and moves that are due go on.
    fn move_rules(&mut self, now: Time) {
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
        self.compare_places(now);
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
        let software = self.switch.software();
        if !software.overlapping_sessions(rule.session).is_empty() {
            return Some("another session with the same UE address");
        }
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
            } else if let Some((id, session)) = self.plans.remove(&operation) {
                if result.is_ok() {
                    self.session_changed(now, session);
                }
                self.applied.push_back((id, result));
            }
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
        let overlapping = self.switch.software().overlapping_sessions(session);
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
            self.placement.observe(now, rule, count.octets);
            if is_near_quota(self.switch.software(), now, session, self.moves.config()) {
                self.return_to_software(now, rule);
            }
        }
        any
    }

    fn take_notices(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(notice) = self.switch.poll_notice() {
            any = true;
            if matches!(notice, Notice::Reconciled(_)) {
                self.moves.restarted(now);
            }
            self.notices.push_back(notice);
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
        self.ports.take_sent(self.switch.driver(), &mut self.outbox);
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
        let software = self.switch.software();
        let disposition = software.process(now, ingress, packet, &mut self.outbox);
        if let Some(session) = software.session_for_packet(ingress, packet) {
            let direction = match ingress {
                Ingress::Gtpu { .. } => Direction::Uplink,
                Ingress::Ip { .. } | Ingress::Ethernet { .. } => Direction::Downlink,
            };
            self.placement.observe(now, Rule { session, direction }, packet.len() as u64);
            self.switch.packet_in_software(now, session);
        }
        disposition
    }

    /// A packet that the switch has handled.
    fn count(&mut self, ingress: &Ingress, octets: usize, is_forwarded: bool) -> Disposition {
        self.counters.count_received(ingress, octets);
        if !is_forwarded {
            self.counters.count_drop(DropReason::MbrExceeded);
            return Disposition::Dropped(DropReason::MbrExceeded);
        }
        self.counters.forwarded += 1;
        if let Some((egress, packet)) = self.outbox.last() {
            self.counters.count_sent(egress, packet.len());
        }
        Disposition::Forwarded
    }

    /// Passes a packet through the switch; `None`: it is for the software.
    fn pass_switch(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Disposition> {
        let (port, frame) = self.ports.frame_of(ingress, packet)?;
        self.switch.driver().receive(now, port, &frame);
        let mut is_forwarded = false;
        while let Some((port, frame)) = self.switch.driver().poll_sent() {
            if port == LocalSwitch::SOFTWARE_PORT {
                return None;
            }
            if let Some(sent) = self.ports.egress_of(port, &frame) {
                self.outbox.push(sent);
                is_forwarded = true;
            }
        }
        Some(self.count(ingress, packet.len(), is_forwarded))
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

impl<D: WithPorts> Dataplane for Hybrid<D> {
    fn capabilities(&self) -> Capabilities {
        self.switch.software_ref().capabilities()
    }

    fn switch_state(&self) -> Option<causeway_dataplane::SwitchState> {
        Some(self.switch.state())
    }

    /// A plan of a session that the switch does not have is applied by the software alone.
    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let now = self.at(now);
        self.run(now);
        self.move_rules(now);
        let session = plan.session;
        if !self.switch.has_session(session) {
            let applied = self.switch.software().submit(now, id, plan);
            if applied.is_ready() {
                self.session_changed(now, session);
            }
            self.switch.software().flush(&mut self.outbox);
            self.run(now);
            return applied;
        }
        let operation = Switch::submit(&mut self.switch, now, plan);
        self.plans.insert(operation, (id, session));
        self.run(now);
        let place = self.applied.iter().position(|(applied, _)| *applied == id);
        match place.and_then(|place| self.applied.remove(place)) {
            Some((_, result)) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }

    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        let now = self.at(now);
        self.run(now);
        self.applied.pop_front()
    }

    fn prefetch(&mut self, plan: &Plan) {
        if !self.switch.has_session(plan.session) {
            self.switch.software().prefetch(plan);
        }
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
        self.switch.reconfigure(now, settings);
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
        let decision = self.placement.next_decision().filter(|_| has_rules);
        let own = [waiting, reading, decision, self.moves.next_due(), self.switch.next_deadline()];
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

    fn counters(&self) -> Counters {
        self.switch.software_ref().counters().with(&self.counters)
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
}

impl<D: WithPorts> PacketEngine for Hybrid<D> {
    fn topology(&self) -> &Topology {
        self.switch.topology()
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        let now = self.at(now);
        self.read_counters_if_due(now);
        self.run(now);
        self.move_rules(now);
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
