//! The control thread: connects N4 with its sockets, its timers and the packet threads.
//!
//! What it waits for is in `inputs`; what belongs to sessions is in parts (`part`), which it has only while it works. With
//! `upf.pfcp.accelerate` the packet threads have these in between (`packet_thread`), and handle N4 themselves.

mod events;
mod gtpu_paths;
mod host;
mod in_force;
mod inputs;
mod kernel_routes;
mod local_source;
mod log;
mod n4_io;
mod networks;
mod packet_thread;
mod part;
mod plan_routes;
mod reload;
pub(crate) mod replication;
mod request_times;
mod routes;
mod settings;
mod sockets;
mod timer;
mod views;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, BackendError, Capabilities, Event, Plan, Topology};
use causeway_fastpath::index::{ToKernel, prefetch_at, request_prefault};
use causeway_n4::{ApplyId, N4, Node, Notice, Output};
use causeway_ports::PortError;
use causeway_ports::netlink::AddressMonitor;
use causeway_types::{DualIp, IdCipher, IpNet, NodeId, Time, WallClock};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tracing::info;

use crate::clock::Clock;
use crate::config::Upf;
use crate::error::RunError;
use crate::host_addresses::{AddressChanges, HostWatch};
use crate::management::{self, Listener, Management, ManagementRequest, N4Status};
use crate::memory::Budget;
use crate::open::AddressTranslation;
use crate::owner::Totals;
use crate::wall::{self, Wall};
use crate::watchdog::{Activity, ThreadHeartbeat, WatchedThread};
use crate::worker::{Report, WorkerHandle, WorkerMessage, WorkerReports};
use events::Events;
use gtpu_paths::GtpuPaths;
use host::Host;
use in_force::InForce;
use inputs::{Input, Inputs};
use log::{LateLine, Log};
use n4_io::N4Io;
use networks::{Networks, sum_of_parts};
use packet_thread::{AllParts, Threads};
use part::{ControlPart, Left, Received};
use plan_routes::PlanRoutes;
use replication::{ChainInputs, Primary};
use sockets::lock;
use timer::WakeTimer;

pub(crate) use kernel_routes::PoolsRefused;
pub(crate) use packet_thread::{N4InPacketThread, SharedControl};
pub(crate) use settings::state_machine;
pub(crate) use sockets::{SharedSockets, Sockets};

/// Maximum number of datagrams, or of reports of the packet threads, that are processed before other sources have their
/// turn.
const BURST: usize = 64;

/// The kind of stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Release associations first.
    Graceful,
    /// Stop immediately.
    Now,
}

/// A new configuration, which holds only what a running UPF can follow.
#[derive(Debug)]
pub(crate) enum Reload {
    /// Prepare the kernel for its UE address pools. Those that go stay there until they are drained. The second reply
    /// comes when that is done.
    Pools { upf: Arc<Upf>, reply: oneshot::Sender<oneshot::Receiver<Result<(), PoolsRefused>>> },
    /// Put it into force. These networks may set up associations, and these are beside the UPF.
    Apply { upf: Arc<Upf>, smfs: Vec<IpNet>, neighbours: Vec<IpNet>, reply: oneshot::Sender<()> },
}

/// The inputs of the control thread.
pub(crate) struct ControlInputs {
    pub(crate) upf: Upf,
    pub(crate) identity: N4Identity,
    pub(crate) topology: Topology,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    /// The wall clock.
    pub(crate) wall: wall::Source,
    /// The networks that may set up associations.
    pub(crate) smfs: Vec<IpNet>,
    /// The configuration in force.
    pub(crate) config: watch::Sender<Arc<Upf>>,
    pub(crate) translation: AddressTranslation,
    /// The sockets of each packet thread that receives N4; those of this thread if none does.
    pub(crate) n4: Vec<SharedSockets>,
    /// Where the control plane is while it runs.
    pub(crate) shared: Arc<SharedControl>,
    pub(crate) machine: HostWatch,
    /// Subscribed before the first reading of `machine`, so that no change between them is lost.
    pub(crate) address_monitor: Result<AddressMonitor, PortError>,
    /// The management server, which is not started yet, and what it asks.
    pub(crate) management: (Vec<Listener>, Management),
    pub(crate) asks: mpsc::Receiver<ManagementRequest>,
    pub(crate) stops: mpsc::UnboundedReceiver<Stop>,
    pub(crate) reloads: mpsc::UnboundedReceiver<Reload>,
    pub(crate) control_watch: ControlWatch,
    /// The chain whose primary this is; `None`: there is no chain.
    pub(crate) chain: Option<ChainInputs>,
}

/// The UPF as SMFs know it.
pub(crate) struct N4Identity {
    pub(crate) node: NodeId,
    /// The N4 addresses that SMFs are told.
    pub(crate) advertised: DualIp,
    /// The cipher that hides TEIDs and SEIDs.
    pub(crate) secret: IdCipher,
}

/// The watchdog's access to the control thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlWatch {
    heartbeat: Arc<ThreadHeartbeat>,
    probe: Arc<Notify>,
}

impl ControlWatch {
    /// The control thread, for the watchdog.
    pub(crate) fn watched(&self) -> WatchedThread {
        let probe = Arc::clone(&self.probe);
        let ring = Box::new(move || probe.notify_one());
        WatchedThread { name: "control thread".into(), heartbeat: Arc::clone(&self.heartbeat), ring }
    }
}

/// Runs until a stop is requested or an error ends it.
pub(crate) async fn run(
    given: ControlInputs,
    mut n4: N4,
    budget: Budget,
    mut worker: WorkerHandle<ApplyId>,
) -> Result<Totals, RunError> {
    n4.prepare_memory_with(request_prefault);
    n4.release_memory_with::<ToKernel>();
    let shared = given.shared;
    let (n4_io, arrivals) =
        N4Io::new(given.n4, &given.upf, Arc::clone(&shared.times)).map_err(RunError::Sockets)?;
    let (plan_routes, route_results) =
        PlanRoutes::start(&given.upf, given.translation).map_err(RunError::Sockets)?;
    let (listeners, management) = given.management;
    // Dropping it at the end stops it.
    let _server = management::start(listeners, management).map_err(RunError::Sockets)?;
    let mut chain = given.chain.map(|chain| Primary::new(chain, given.upf.chain.usage_interval));
    let inputs = Inputs {
        arrivals,
        reports: worker.take_reports().ok_or(RunError::Panicked("packets"))?,
        timer: WakeTimer::new(given.clock),
        n4_released: Arc::clone(&shared.left),
        watchdog_probe: Arc::clone(&given.control_watch.probe),
        asks: given.asks,
        changes: AddressChanges::new(given.address_monitor),
        wall: Wall::new(given.clock, given.wall),
        route_results,
        stops: given.stops,
        reloads: given.reloads,
        acknowledgements: chain.as_mut().map(Primary::acknowledgements),
    };
    shared.begin(Threads { wakers: worker.wakers(), awaited: worker.awaited() });
    let of_part = |number| {
        let sockets = n4_io.of_thread(number)?;
        let datagrams = n4_io.datagrams_beside(&lock(&sockets));
        let networks = Networks::new(&given.upf);
        Some(Box::new(ControlPart::new(
            number,
            n4.vacant_part(),
            worker.another_plan_queue(),
            networks,
            datagrams,
        )))
    };
    let parts: Vec<_> = (0..n4.part_count()).filter_map(of_part).collect();
    let mut control = Control {
        node: Some(n4.vacant_node()),
        n4,
        parts,
        clock: given.clock,
        worker,
        n4_io,
        log: Log::default(),
        host: Host::new(given.machine, budget),
        plan_routes,
        pending_outputs: VecDeque::new(),
        chain,
        in_force: InForce::new(given.config, given.topology),
        control_watch: given.control_watch,
        events: Events::default(),
        paths: GtpuPaths::default(),
        session_limit: given.upf.max_sessions.min(given.capabilities.max_sessions),
        heavy_hitter_seed: RandomState::new().hash_one(0),
    };
    let result = run_turns(&shared, &mut control, inputs).await;
    // It stops and joins the packet threads, which must not wait for a reader of reports, nor end it themselves.
    drop(control);
    result
}

/// Waits and works, until a stop is requested or an error ends it.
async fn run_turns(
    shared: &SharedControl,
    control: &mut Control,
    mut inputs: Inputs,
) -> Result<Totals, RunError> {
    let mut input = Input::Started;
    loop {
        let has_more = {
            let mut all = shared.take_all();
            control.take_parts(shared, &mut all);
            let end = control.turn(input, &mut inputs.reports, shared);
            if let Some(end) = end {
                // The packet threads find no parts any more.
                shared.give_back(all);
                return end;
            }
            inputs.timer.set(control.n4.next_timer());
            inputs.timer.set(control.log.due());
            inputs.timer.set(control.chain.as_ref().and_then(Primary::next_usage_step));
            shared.set_timer(inputs.timer.due());
            shared.set_observed(control.is_observed());
            let has_more = !inputs.arrivals.are_none() && control.n4_io.has_more();
            control.give_parts(shared, &mut all);
            shared.give_back(all);
            has_more
        };
        input = inputs.next(has_more).await;
    }
}

/// The control plane, but for what the control thread waits for.
struct Control {
    /// Between turns, others are in the place of its parts and of its node.
    n4: N4,
    /// What is in the place of the node.
    node: Option<Box<Node>>,
    /// All parts, during a turn.
    #[expect(clippy::vec_box, reason = "a part is given to a packet thread without being moved")]
    parts: Vec<Box<ControlPart>>,
    clock: Clock,
    worker: WorkerHandle<ApplyId>,
    n4_io: N4Io,
    log: Log,
    host: Host,
    plan_routes: PlanRoutes,
    /// Outputs of N4 that were taken from it before they could be executed, in order. Later ones have to wait for them.
    pending_outputs: VecDeque<Output>,
    /// `None`: there is no chain.
    chain: Option<Primary>,
    in_force: InForce,
    control_watch: ControlWatch,
    events: Events,
    paths: GtpuPaths,
    session_limit: u32,
    /// Unpredictable, and the same while the process runs.
    heavy_hitter_seed: u64,
}

/// Parts.
impl Control {
    /// Takes the parts of the control plane from where the packet threads find them. In the first turn it has them already.
    fn take_parts(&mut self, shared: &SharedControl, all: &mut AllParts<'_>) {
        if !self.parts.is_empty() {
            return;
        }
        shared.exchange_node(&mut self.node);
        if let Some(node) = &mut self.node {
            self.n4.exchange_node(node);
        }
        self.parts.extend(all.iter_mut().filter_map(|place| place.take()));
        for (number, part) in self.parts.iter_mut().enumerate() {
            self.n4.exchange_part(number, &mut part.n4);
        }
    }

    /// Gives the parts to the packet threads.
    fn give_parts(&mut self, shared: &SharedControl, all: &mut AllParts<'_>) {
        for (number, part) in self.parts.iter_mut().enumerate() {
            self.n4.exchange_part(number, &mut part.n4);
        }
        for (place, part) in all.iter_mut().zip(self.parts.drain(..)) {
            **place = Some(part);
        }
        if let Some(node) = &mut self.node {
            self.n4.exchange_node(node);
        }
        shared.exchange_node(&mut self.node);
    }

    /// Does what the packet threads have left.
    fn do_what_is_left(&mut self) {
        let left = self.parts.iter_mut().map(|part| mem::take(&mut part.left)).collect::<Vec<_>>();
        let (mut all_reports, mut all_datagrams) = (Vec::new(), Vec::new());
        for Left { outputs, reports, datagrams, mut lines } in left {
            self.log.later.append(&mut lines);
            outputs.into_iter().for_each(|output| self.execute(output, true));
            all_reports.extend(reports);
            all_datagrams.extend(datagrams);
        }
        // What follows from them comes after the outputs of all parts.
        for report in all_reports {
            // None of them is the end of a thread.
            let _ = self.reported(report);
            self.apply_outputs();
        }
        self.n4.settle(self.clock.now());
        self.apply_outputs();
        self.receive_taken(all_datagrams);
    }

    /// Processes datagrams that packet threads have received, in order.
    fn receive_taken(&mut self, datagrams: impl IntoIterator<Item = Received>) {
        for (at, from, source, datagram) in datagrams {
            self.n4_io.datagrams.received(at, from, source, &datagram, |ip| self.n4.is_smf(ip));
            self.n4.datagram(self.clock.now(), from, &datagram);
            self.apply_outputs();
        }
    }
}

impl Control {
    /// Handles an input, and executes what follows from it. Returns the result if it is the end.
    fn turn(
        &mut self,
        input: Input,
        reports: &mut WorkerReports<ApplyId>,
        shared: &SharedControl,
    ) -> Option<Result<Totals, RunError>> {
        let heartbeat = Arc::clone(&self.control_watch.heartbeat);
        // What the packet threads left comes before what follows now.
        self.do_what_is_left();
        let end = self.handle(input, reports);
        if end.is_none() {
            heartbeat.set_activity(Activity::Outputs);
            self.apply_outputs();
        }
        if end.is_none() {
            // While this thread has one turn after another, such as for a purge, the others would not have any.
            for thread in shared.missed() {
                self.receive_taken(shared.take_inbox(thread));
                self.receive(thread);
            }
        }
        // The packet threads run while responses are sent. They must know of all commands before they have N4.
        self.worker.wake();
        self.parts.iter_mut().for_each(|part| part.plans.wake());
        heartbeat.set_activity(Activity::Sending);
        self.send();
        self.log_late();
        heartbeat.set_activity(Activity::Waiting);
        end
    }

    fn handle(
        &mut self,
        input: Input,
        reports: &mut WorkerReports<ApplyId>,
    ) -> Option<Result<Totals, RunError>> {
        let heartbeat = Arc::clone(&self.control_watch.heartbeat);
        match input {
            Input::Started => {
                heartbeat.begin();
                if let Some(chain) = &mut self.chain {
                    chain.begin(self.clock.now(), &mut self.n4);
                }
                self.look_for_heavy_hitters();
            }
            Input::Replicated(changes) => self.replicated(changes),
            Input::Arrived(Ok(())) => self.receive(0),
            Input::Arrived(Err(error)) => self.log.later.push(LateLine::NotReceived(error)),
            Input::Reported(None) => return Some(Err(RunError::Panicked("packets"))),
            Input::Reported(Some(message)) => {
                heartbeat.set_activity(Activity::Reports);
                return self.message(message).or_else(|| self.drain_reports(reports));
            }
            Input::TimerDue => {
                heartbeat.set_activity(Activity::Timers);
                let now = self.clock.now();
                self.n4.timer(now);
                self.log.log_suppressed(now);
                if let Some(chain) = &mut self.chain {
                    chain.ask_for_usage(now, &self.n4, &mut self.worker);
                }
            }
            // What was left is handled in any turn.
            Input::N4Released => {}
            Input::WatchdogProbe => {
                heartbeat.beat();
                self.look_at_host();
                self.remove_drained();
            }
            Input::Asked(ask) => {
                heartbeat.set_activity(Activity::Management);
                self.answer(ask);
            }
            Input::HostChanged => {
                heartbeat.set_activity(Activity::Management);
                if let Some(reachability) = self.host.refresh() {
                    self.worker.set_host_reachability(&reachability);
                }
            }
            Input::ClockSet(clock) => {
                heartbeat.set_activity(Activity::Timers);
                self.follow_wall_clock(clock);
            }
            Input::Routed((id, result)) => {
                heartbeat.set_activity(Activity::FramedRoutes);
                self.route_result(id, result);
            }
            Input::Stop(stop) => self.stop(stop),
            Input::Reload(reload) => {
                heartbeat.set_activity(Activity::Management);
                self.reload(reload);
            }
        }
        None
    }

    /// Makes N4 refuse sessions while memory is short, and logs what the host refuses.
    fn look_at_host(&mut self) {
        let now = self.clock.now();
        let is_short = self.host.look_at_memory(now, &mut self.log);
        self.n4.set_short_of_memory(is_short);
        self.host.look_at_interfaces(now, &mut self.log);
    }

    /// The wall clock was set.
    fn follow_wall_clock(&mut self, clock: WallClock) {
        let by = wall::difference(self.n4.wall_clock(), clock);
        let what = format_args!("the wall clock was set {by}: times in PFCP messages follow it");
        self.log.warn(self.clock.now(), "wall clock", None, &what);
        self.n4.set_wall_clock(clock);
        self.worker.set_wall_clock(clock);
    }

    /// Tells the packet threads how heavy hitters are looked for.
    fn look_for_heavy_hitters(&mut self) {
        let settings = self.in_force.upf().traffic.heavy_hitters.settings(self.heavy_hitter_seed);
        self.worker.set_heavy_hitters(settings);
    }

    fn drain(&mut self, is_draining: bool) {
        if is_draining != self.n4.is_draining() {
            self.n4.set_draining(is_draining);
            match is_draining {
                true => info!("the UPF is being drained: it accepts no new sessions"),
                false => info!("the UPF accepts new sessions again"),
            }
        }
    }

    fn answer(&mut self, ask: ManagementRequest) {
        let now = self.clock.now();
        match ask {
            ManagementRequest::End { node, reply } => drop(reply.send(self.n4.end(now, &node))),
            ManagementRequest::Release { node, reply } => drop(reply.send(self.n4.release(now, &node))),
            ManagementRequest::Drain { is_draining, reply } => {
                self.drain(is_draining);
                // The client may have left.
                let _ = reply.send(self.n4.session_count() as u64);
            }
            ManagementRequest::Subscribe { sender, reply } => {
                self.events.subscribe(sender);
                // The client may have left.
                let _ = reply.send(());
            }
            ask => {
                let refused = self.host.refused();
                let dropped = self.n4_io.dropped() + self.parts.iter().map(|part| part.lost).sum::<u64>();
                let status = || N4Status {
                    memory: self.host.memory(&self.n4),
                    networks: sum_of_parts(self.parts.iter().map(|part| part.networks.status())),
                    paths: self.paths.status(),
                    refused_datagrams: refused,
                    latencies: self.n4_io.latencies(),
                    session_limit: u64::from(self.session_limit),
                    by_packet_thread: self.parts.iter().map(|part| part.handled).sum(),
                    chain: self.chain.as_ref().map(Primary::status),
                    ..views::status(&self.n4, dropped)
                };
                views::answer(&self.n4, status, ask);
            }
        }
    }

    /// Processes the datagrams that have arrived at the sockets of a thread, in order.
    fn receive(&mut self, thread: usize) {
        let Some(sockets) = self.n4_io.of_thread(thread) else { return };
        let mut sockets = lock(&sockets);
        self.take_back(&mut sockets);
        sockets.arrived();
        for _ in 0..BURST {
            if let Some(following) = sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            self.control_watch.heartbeat.set_activity(Activity::N4Sockets);
            let Some((from, source, datagram)) = sockets.receive() else { break };
            self.control_watch.heartbeat.set_activity(Activity::Pfcp(datagram.get(1).copied().unwrap_or(0)));
            let now = self.clock.now();
            self.log.message(|| now, "received", from, datagram);
            self.n4_io.datagrams.received(now, from, source, datagram, |ip| self.n4.is_smf(ip));
            self.n4.datagram(now, from, datagram);
            self.apply_outputs();
        }
        self.take_back(&mut sockets);
    }

    /// Takes what sockets have for N4 and the log.
    fn take_back(&mut self, sockets: &mut Sockets) {
        sockets.spare.drain(..).for_each(|octets| self.n4.recycle(octets));
        let errors = sockets.take_error().map(LateLine::NotReceived).into_iter();
        let unsent = sockets.unsent.drain(..).map(|(to, error)| LateLine::Unsent(to, error));
        errors.chain(unsent).for_each(|line| self.log.later.push(line));
    }

    /// Someone is told of each message, plan and event: the packet thread leaves N4 to the control thread.
    fn is_observed(&self) -> bool {
        self.events.are_wanted() || self.log.is_detailed()
    }

    /// Processes the reports already queued, in order, up to one that the packet threads have ended.
    fn drain_reports(&mut self, reports: &mut WorkerReports<ApplyId>) -> Option<Result<Totals, RunError>> {
        for _ in 1..BURST {
            self.apply_outputs();
            let end = self.message(reports.next_now()?);
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Processes a message of the packet threads. Returns the result if they have ended.
    fn message(&mut self, message: WorkerMessage<ApplyId>) -> Option<Result<Totals, RunError>> {
        if matches!(message, WorkerMessage::Panicked) {
            return Some(Err(RunError::Panicked("packets")));
        }
        self.worker.handle_message(message).and_then(|report| self.reported(report))
    }

    /// Processes a report of the packet threads. Returns the result if they have ended.
    fn reported(&mut self, report: Report<ApplyId>) -> Option<Result<Totals, RunError>> {
        match report {
            Report::Applied(id, result) => self.applied(self.clock.now(), id, result),
            Report::Event(event) => {
                let now = self.clock.now();
                self.log_event(now, &event);
                self.paths.event(&event);
                self.n4.event(now, event);
            }
            Report::Usage(snapshots) => {
                if let Some(chain) = &mut self.chain {
                    chain.usage_measured(&self.n4, snapshots);
                }
            }
            Report::UsageRestored(sessions) => {
                if let Some(chain) = &mut self.chain {
                    chain.usage_restored(sessions);
                }
            }
            Report::Stopped(end) => return Some(end.map(|last| Totals::of(*last)).map_err(RunError::Port)),
        }
        None
    }

    /// The result of a plan.
    fn applied(&mut self, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.plan_routes.applied(id, result.is_ok());
        self.events.applied(now, self.n4.wall_clock(), &id, result.is_ok());
        let changes_flows = self.part(id).is_some_and(|part| part.note_result(id, &result));
        self.n4.applied(now, id, result);
        if changes_flows {
            self.count_qos_flows(id);
        }
    }

    /// The part with the session of a plan.
    fn part(&mut self, id: ApplyId) -> Option<&mut ControlPart> {
        self.parts.get_mut(id.part()).map(Box::as_mut)
    }

    /// Counts the QoS flows of a session again.
    fn count_qos_flows(&mut self, id: ApplyId) {
        let Self { n4, parts, .. } = self;
        if let Some((session, part)) = n4.session_of_plan(id).zip(parts.get_mut(id.part())) {
            part.networks.set_qos_flows(id.session_index(), &session.rules());
        }
    }

    /// Continues a plan whose routes were installed, or reports their failure.
    fn route_result(&mut self, id: ApplyId, result: Result<(), String>) {
        let Some(plan) = self.plan_routes.written(id) else { return };
        match result {
            Ok(()) => self.submit(id, plan),
            Err(reason) => {
                let error = ApplyError::Backend(BackendError::Refused { reason });
                self.applied(self.clock.now(), id, Err(error));
            }
        }
    }

    /// Executes the outputs of N4. Plans are queued until the packet threads are notified, datagrams until
    /// [`Control::send`].
    fn apply_outputs(&mut self) {
        while let Some(output) = self.next_output() {
            self.execute(output, false);
        }
    }

    /// Executes an output. `is_noted`: its part knows its plan.
    fn execute(&mut self, output: Output, is_noted: bool) {
        match output {
            Output::Send { to, bytes } => {
                if self.events.are_wanted() {
                    self.events.datagram(self.clock.now(), self.n4.wall_clock(), to, &bytes);
                }
                self.log.message(|| self.clock.now(), "sends", to, &bytes);
                let leaves = match &mut self.chain {
                    Some(chain) => chain.hold(to, bytes),
                    None => Some((to, bytes)),
                };
                if let Some((to, bytes)) = leaves {
                    self.n4_io.datagrams.queue(to, bytes);
                }
            }
            Output::Applications(applications) => self.worker.set_applications(&applications),
            Output::Apply { id, plan } => {
                self.log.plan(|| self.clock.now(), &plan);
                self.events.plan(id, &plan);
                let waits = is_noted || self.part(id).is_some_and(|part| part.note_plan(id, &plan));
                let ready = if waits { self.plan_routes.submit(id, plan) } else { Some(plan) };
                ready.into_iter().for_each(|plan| self.submit(id, plan));
            }
            Output::Notice(notice) => {
                let now = self.clock.now();
                self.log.notice(now, &notice, &self.n4);
                self.events.notice(now, self.n4.wall_clock(), &notice);
                if notice == Notice::Finished {
                    self.worker.stop();
                }
            }
        }
    }

    /// Queues a plan for its packet thread.
    fn submit(&mut self, id: ApplyId, plan: Plan) {
        if let Some(part) = self.part(id) {
            // When the packet thread has ended, its last report ends this thread, too.
            part.plans.apply(id, plan);
        }
    }

    /// The next output of N4; those that are pending come first. A plan that no packet thread could be given is
    /// completed before.
    fn next_output(&mut self) -> Option<Output> {
        loop {
            if let Some(chain) = &mut self.chain {
                chain.replicate(self.clock, &mut self.n4, &mut self.worker, &mut self.pending_outputs);
            }
            if let Some(output) = self.pending_outputs.pop_front().or_else(|| self.n4.poll_output()) {
                return Some(output);
            }
            match self.parts.iter_mut().find_map(|part| part.plans.own_report())? {
                Report::Applied(id, result) => self.applied(self.clock.now(), id, result),
                Report::Event(_) | Report::Usage(_) | Report::UsageRestored(_) | Report::Stopped(_) => {}
            }
        }
    }

    /// The standby has so many changes: datagrams that waited for them leave.
    fn replicated(&mut self, changes: u64) {
        if let Some(chain) = &mut self.chain {
            chain.acknowledged(changes).for_each(|(to, octets)| self.n4_io.datagrams.queue(to, octets));
        }
    }

    /// Sends the queued datagrams.
    fn send(&mut self) {
        self.n4_io.wait_for_threads();
        let own = self.n4_io.own();
        let mut sockets = lock(&own);
        self.n4_io.send(&mut sockets, &self.clock);
        self.take_back(&mut sockets);
    }

    /// Logs what packet threads noticed.
    fn log_late(&mut self) {
        let lines = self.log.later.take();
        if lines.is_empty() {
            return;
        }
        let now = self.clock.now();
        for line in lines {
            self.log.late(now, &line);
            if let LateLine::Event(event) = &line {
                self.events.data_plane(now, self.n4.wall_clock(), event);
            }
        }
    }

    fn log_event(&mut self, now: Time, event: &Event) {
        self.log.event(now, event);
        self.events.data_plane(now, self.n4.wall_clock(), event);
    }

    fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Graceful => self.n4.shutdown(self.clock.now()),
            Stop::Now => drop(self.worker.stop()),
        }
    }
}
