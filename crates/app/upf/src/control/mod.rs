//! The control thread: connects N4 with its sockets, its timers and the packet threads.

mod direct;
mod events;
mod gtpu_paths;
mod kernel_routes;
mod log;
mod networks;
mod reload;
mod request_times;
mod routes;
mod settings;
mod sockets;
mod timer;
mod views;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use causeway_dataplane::{ApplyError, BackendError, Capabilities, Plan, Topology};
use causeway_fastpath::index::{ToKernel, prefetch_at, request_prefault};
use causeway_n4::{ApplyId, N4, Notice, Output};
use causeway_pfcp::Header;
use causeway_ports::PortError;
use causeway_ports::netlink::AddressMonitor;
use causeway_types::{DualIp, IdCipher, IpNet, NodeId, Time};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tracing::info;

use crate::clock::Clock;
use crate::config::{Session, Upf};
use crate::daemon::{OwnerRequest, Totals};
use crate::direct::{Direct, DirectOwner};
use crate::error::RunError;
use crate::host_addresses::{AddressChanges, HostWatch};
use crate::management::{self, Listener, Management, ManagementRequest, N4Status, PortCounters};
use crate::memory::{Budget, Reading, rounded};
use crate::open::AddressTranslation;
use crate::wall::{self, Wall};
use crate::watchdog::{Activity, Pauses, ThreadHeartbeat, WatchedThread};
use crate::worker::{Report, WorkerHandle};
use events::Events;
use gtpu_paths::GtpuPaths;
use kernel_routes::KernelRoutes;
use log::Log;
use networks::Networks;
use request_times::RequestTimes;
use routes::FramedRoutes;
use sockets::Sockets;
use timer::WakeTimer;

pub(crate) use networks::network_of;
pub(crate) use request_times::Histogram;
pub(crate) use settings::state_machine;

/// Maximum number of queued requests of the management server.
const MAX_REQUESTS: usize = 64;

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
    Pools { upf: Arc<Upf>, reply: oneshot::Sender<oneshot::Receiver<Result<(), String>>> },
    /// Put it into force. These networks may set up associations, and these are beside the UPF.
    Apply { upf: Arc<Upf>, smfs: Vec<IpNet>, neighbours: Vec<IpNet>, reply: oneshot::Sender<()> },
}

/// The inputs of the control thread.
pub(crate) struct ControlInputs {
    pub(crate) upf: Upf,
    pub(crate) node: NodeId,
    pub(crate) topology: Topology,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    /// The wall clock.
    pub(crate) wall: wall::Source,
    /// The cipher that hides TEIDs and SEIDs.
    pub(crate) secret: IdCipher,
    /// The networks that may set up associations.
    pub(crate) smfs: Vec<IpNet>,
    /// The N4 addresses that SMFs are told.
    pub(crate) told: DualIp,
    /// The configuration in force.
    pub(crate) config: watch::Sender<Arc<Upf>>,
    pub(crate) translation: AddressTranslation,
    pub(crate) n4: Vec<UdpSocket>,
    /// What packet threads that answer N4 themselves share with this thread.
    pub(crate) direct: Option<Arc<Direct>>,
    pub(crate) machine: HostWatch,
    /// Subscribed before the first reading of `machine`, so that no change between them is lost.
    pub(crate) address_monitor: Result<AddressMonitor, PortError>,
    pub(crate) management: Vec<Listener>,
    pub(crate) ports: Vec<PortCounters>,
    pub(crate) stops: mpsc::UnboundedReceiver<Stop>,
    pub(crate) reloads: mpsc::UnboundedReceiver<Reload>,
    /// Requests of operators to the owner of the daemon.
    pub(crate) owner: mpsc::Sender<OwnerRequest>,
    pub(crate) control_watch: ControlWatch,
    /// The pauses of the control thread, then of each packet thread.
    pub(crate) pauses: Vec<Arc<Pauses>>,
}

/// The watchdog's access to the control thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlWatch {
    heartbeat: Arc<ThreadHeartbeat>,
    rung: Arc<Notify>,
}

impl ControlWatch {
    /// The control thread, for the watchdog.
    pub(crate) fn watched(&self) -> WatchedThread {
        let rung = Arc::clone(&self.rung);
        let ring = Box::new(move || rung.notify_one());
        WatchedThread { name: "control thread".into(), heartbeat: Arc::clone(&self.heartbeat), ring }
    }
}

/// Runs until a stop is requested or an error ends it.
pub(crate) async fn run(
    given: ControlInputs,
    mut n4: N4,
    budget: Budget,
    worker: WorkerHandle<ApplyId>,
) -> Result<Totals, RunError> {
    let (control, asks) = mpsc::channel(MAX_REQUESTS);
    n4.prepare_memory_with(request_prefault);
    n4.release_memory_with::<ToKernel>();
    let direct = given.direct.map(|direct| {
        Box::new(DirectOwner::new(direct, &n4, &given.topology, settings::v4_pools(&given.upf.session)))
    });
    let mut sockets = Sockets::new(given.n4, given.upf.offload).map_err(RunError::Sockets)?;
    if direct.is_some() {
        sockets = sockets.only_send_v4();
    }
    let routes = FramedRoutes::new(&given.upf.session);
    let kernel = KernelRoutes::start(&given.upf, given.translation).map_err(RunError::Sockets)?;
    let in_force = given.config.subscribe();
    let management = Management {
        started: given.clock.anchor(),
        control,
        workers: worker.snapshot_client(),
        ports: given.ports,
        pauses: given.pauses,
        upf: in_force,
        owner: given.owner,
        node_id: given.node.to_string(),
        streams: Management::stream_permits(),
        watches: Management::watch_permits(),
    };
    // Dropping it at the end stops it.
    let _server = management::start(given.management, management).map_err(RunError::Sockets)?;
    let control = Control {
        n4,
        clock: given.clock,
        wall: Wall::new(given.clock, given.wall),
        worker,
        sockets,
        direct,
        log: Log::default(),
        machine: given.machine,
        changes: AddressChanges::new(given.address_monitor),
        routes,
        kernel,
        held: BTreeMap::new(),
        asks,
        stops: given.stops,
        reloads: given.reloads,
        config: given.config,
        topology: given.topology,
        drained: Vec::new(),
        control_watch: given.control_watch,
        budget,
        reading: None,
        events: Events::default(),
        networks: Networks::new(&given.upf),
        paths: GtpuPaths::default(),
        times: RequestTimes::default(),
        session_limit: given.upf.max_sessions.min(given.capabilities.max_sessions),
        heavy_hitter_seed: RandomState::new().hash_one(0),
    };
    control.run().await
}

/// The state of the control thread.
struct Control {
    n4: N4,
    clock: Clock,
    wall: Wall,
    worker: WorkerHandle<ApplyId>,
    sockets: Sockets,
    /// N4 in the packet threads.
    direct: Option<Box<DirectOwner>>,
    log: Log,
    machine: HostWatch,
    changes: AddressChanges,
    routes: FramedRoutes<ApplyId>,
    kernel: KernelRoutes<ApplyId>,
    /// Plans that wait for their kernel routes.
    held: BTreeMap<ApplyId, Plan>,
    asks: mpsc::Receiver<ManagementRequest>,
    stops: mpsc::UnboundedReceiver<Stop>,
    reloads: mpsc::UnboundedReceiver<Reload>,
    /// The configuration in force.
    config: watch::Sender<Arc<Upf>>,
    /// The topology of the data plane, with the settings in force.
    topology: Topology,
    /// UE address pools that are not configured any more, and of which addresses are in use.
    drained: Vec<Session>,
    control_watch: ControlWatch,
    budget: Budget,
    /// The last reading of the memory usage.
    reading: Option<Reading>,
    events: Events,
    networks: Networks,
    paths: GtpuPaths,
    times: RequestTimes,
    session_limit: u32,
    /// Unpredictable, and the same while the process runs.
    heavy_hitter_seed: u64,
}

impl Control {
    async fn run(mut self) -> Result<Totals, RunError> {
        let mut timer = WakeTimer::new(self.clock);
        let ControlWatch { heartbeat, rung } = self.control_watch.clone();
        heartbeat.begin();
        self.look_for_heavy_hitters();
        loop {
            heartbeat.set_activity(Activity::Outputs);
            self.apply_outputs();
            self.follow_direct();
            // The packet threads run while responses are sent.
            self.worker.wake();
            heartbeat.set_activity(Activity::Sending);
            self.send();
            heartbeat.set_activity(Activity::Waiting);
            timer.set(self.n4.next_timer());
            timer.set(self.log.due());
            tokio::select! {
                received = self.sockets.wait() => match received {
                    Ok(()) => self.receive(),
                    Err(error) => {
                        let what = format_args!("receiving on N4: {error}");
                        self.log.warn(self.clock.now(), "N4 sockets", None, &what);
                    }
                },
                report = self.worker.report() => {
                    heartbeat.set_activity(Activity::Reports);
                    let report = report.ok_or(RunError::Panicked("packets"))?;
                    if let Some(end) = self.reported(report).or_else(|| self.drain_reports()) {
                        self.send();
                        return end;
                    }
                }
                () = timer.wait() => {
                    heartbeat.set_activity(Activity::Timers);
                    let now = self.clock.now();
                    self.n4.timer(now);
                    self.log.log_suppressed(now);
                }
                () = rung.notified() => {
                    heartbeat.beat();
                    self.look_at_memory();
                self.leave_memory();
                self.log_unsent();
                    self.remove_drained();
                }
                Some(ask) = self.asks.recv() => {
                    heartbeat.set_activity(Activity::Management);
                    self.answer(ask);
                }
                () = self.changes.wait() => {
                    heartbeat.set_activity(Activity::Management);
                    self.refresh_host();
                }
                () = self.wall.wait() => {
                    heartbeat.set_activity(Activity::Timers);
                    self.follow_wall_clock();
                }
                (id, result) = self.kernel.next_result() => {
                    heartbeat.set_activity(Activity::FramedRoutes);
                    self.route_result(id, result);
                }
                Some(stop) = self.stops.recv() => self.stop(stop),
                Some(reload) = self.reloads.recv() => {
                    heartbeat.set_activity(Activity::Management);
                    self.reload(reload);
                }
            }
        }
    }

    /// Reads the memory usage, and makes N4 refuse sessions while memory is short.
    fn look_at_memory(&mut self) {
        let reading = self.budget.read();
        let was_short = self.reading.as_ref().is_some_and(|reading| reading.is_short);
        let is_short = reading.as_ref().is_some_and(|reading| reading.is_short);
        if let Some(Reading { limit, source, used, .. }) = reading.as_ref().filter(|_| is_short != was_short)
        {
            let (used, limit) = (rounded(*used), rounded(*limit));
            let then = if is_short { "no more sessions are accepted" } else { "sessions are accepted again" };
            let line = format_args!("memory: {used} of {limit} ({source}) are in use: {then}");
            self.log.warn(self.clock.now(), "memory", None, &line);
        }
        self.n4.set_short_of_memory(is_short);
        self.reading = reading;
    }

    /// Updates the filters and reachable addresses after a change of interfaces or addresses of the host.
    fn refresh_host(&mut self) {
        if self.machine.refresh() {
            self.worker.set_host_reachability(&self.machine.host());
        }
    }

    /// Handles a wall clock that may have been set.
    fn follow_wall_clock(&mut self) {
        let Some(clock) = self.wall.refresh() else { return };
        let by = wall::difference(self.n4.wall_clock(), clock);
        let what = format_args!("the wall clock was set {by}: times in PFCP messages follow it");
        self.log.warn(self.clock.now(), "wall clock", None, &what);
        self.n4.set_wall_clock(clock);
        self.worker.set_wall_clock(clock);
    }

    /// Tells the packet threads how heavy hitters are looked for.
    fn look_for_heavy_hitters(&mut self) {
        let settings = self.config.borrow().traffic.heavy_hitters.settings(self.heavy_hitter_seed);
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
        let Some(ask) = self.answer_direct(ask) else { return };
        let now = self.clock.now();
        match ask {
            ManagementRequest::End { node, reply } => drop(reply.send(self.n4.end(now, &node))),
            ManagementRequest::Release { node, reply } => drop(reply.send(self.n4.release(now, &node))),
            ManagementRequest::Drain { is_draining, reply } => {
                self.drain(is_draining);
                // The client may have left.
                let direct = self.direct.as_ref().map_or(0, |direct| direct.len());
                let _ = reply.send(self.n4.session_count() as u64 + direct);
            }
            ManagementRequest::Subscribe { sender, reply } => {
                self.events.subscribe(sender);
                // The client may have left.
                let _ = reply.send(());
            }
            ask => {
                let memory = views::memory(&self.n4, &self.budget, self.reading.as_ref());
                let dropped = self.sockets.dropped();
                let status = || {
                    self.status_with_direct(N4Status {
                        memory,
                        networks: self.networks.status(),
                        paths: self.paths.status(),
                        latencies: self.times.status(),
                        session_limit: u64::from(self.session_limit),
                        ..views::status(&self.n4, dropped)
                    })
                };
                views::answer(&self.n4, status, ask);
            }
        }
    }

    /// Processes the datagrams already received, in order.
    fn receive(&mut self) {
        for _ in 0..BURST {
            if let Some(following) = self.sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            self.control_watch.heartbeat.set_activity(Activity::N4Sockets);
            let Some((from, datagram)) = self.sockets.receive() else { break };
            if self.direct.is_some() {
                let datagram = datagram.to_vec();
                self.datagram_beside(from, &datagram);
                continue;
            }
            self.control_watch.heartbeat.set_activity(Activity::Pfcp(datagram.get(1).copied().unwrap_or(0)));
            let now = self.clock.now();
            self.log.message(|| now, "received", from, datagram);
            messages(datagram).for_each(|header| self.times.received(now, from, &header));
            self.n4.datagram(now, from, datagram);
            self.apply_outputs();
        }
    }

    /// Processes a datagram.
    fn datagram(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.control_watch.heartbeat.set_activity(Activity::Pfcp(datagram.get(1).copied().unwrap_or(0)));
        let now = self.clock.now();
        self.log.message(|| now, "received", from, datagram);
        messages(datagram).for_each(|header| self.times.received(now, from, &header));
        self.n4.datagram(now, from, datagram);
        self.apply_outputs();
    }

    /// Processes the reports already queued, in order, up to one that the packet threads have ended.
    fn drain_reports(&mut self) -> Option<Result<Totals, RunError>> {
        for _ in 1..BURST {
            self.apply_outputs();
            let end = self.worker.report_now().map(|report| self.reported(report))?;
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// Processes a report of the packet threads. Returns the result if they have ended.
    fn reported(&mut self, report: Report<ApplyId>) -> Option<Result<Totals, RunError>> {
        match report {
            Report::Applied(id, result) => {
                self.kernel.withdraw(self.routes.applied(&id, result.is_ok()));
                let now = self.clock.now();
                self.events.applied(now, self.n4.wall_clock(), &id, result.is_ok());
                let is_gone = matches!(&result, Ok(_) | Err(ApplyError::UnknownSession(_)));
                self.networks.applied(id, result.is_ok(), is_gone);
                self.direct_applied(id, result.is_ok(), is_gone);
                let changes_flows = self.networks.take_change(id);
                self.n4.applied(now, id, result);
                if changes_flows {
                    self.count_qos_flows(id.session_index());
                }
            }
            Report::Event(event) => {
                let now = self.clock.now();
                self.log.event(now, &event);
                self.events.data_plane(now, self.n4.wall_clock(), &event);
                self.paths.event(&event);
                self.before_event(&event);
                self.n4.event(now, event);
            }
            Report::Direct(report) => self.direct_report(report),
            Report::Stopped(end) => return Some(end.map(|last| Totals::of(*last)).map_err(RunError::Port)),
        }
        None
    }

    /// Counts the QoS flows of a session again.
    fn count_qos_flows(&mut self, index: u32) {
        if let Some(session) = self.n4.sessions_in(index..index + 1).next() {
            self.networks.set_qos_flows(index, &session.rules());
        }
    }

    /// Continues a plan whose routes were installed, or reports their failure.
    fn route_result(&mut self, id: ApplyId, result: Result<(), String>) {
        let Some(plan) = self.held.remove(&id) else { return };
        match result {
            Ok(()) => {
                // As above.
                self.worker.apply(id, plan);
            }
            Err(reason) => {
                self.kernel.withdraw(self.routes.applied(&id, false));
                let now = self.clock.now();
                self.events.applied(now, self.n4.wall_clock(), &id, false);
                self.networks.applied(id, false, false);
                self.direct_applied(id, false, false);
                let error = ApplyError::Backend(BackendError::Refused { reason });
                self.n4.applied(now, id, Err(error));
            }
        }
    }

    /// Executes the outputs of N4. Plans are queued until the packet threads are notified, datagrams until
    /// [`Control::send`].
    fn apply_outputs(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { to, bytes } => {
                    if self.events.are_wanted() {
                        self.events.datagram(self.clock.now(), self.n4.wall_clock(), to, &bytes);
                    }
                    self.log.message(|| self.clock.now(), "sends", to, &bytes);
                    messages(&bytes).for_each(|header| self.times.queued(to, &header));
                    if let Err(error) = self.sockets.send(to, bytes) {
                        unsent(&mut self.log, self.clock.now(), to, &error);
                    }
                }
                Output::Applications(applications) => {
                    self.worker.set_applications(&applications);
                }
                Output::Apply { id, plan } => {
                    self.log.plan(|| self.clock.now(), &plan);
                    self.events.plan(id, &plan);
                    self.networks.submitted(id, &plan);
                    self.direct_plan(id, &plan);
                    if let Some(outside) =
                        plan.change.installed().and_then(|session| self.networks.address_outside(session))
                    {
                        self.log.outside_address(self.clock.now(), plan.session, &outside);
                    }
                    let routes = self.routes.plan(id, &plan);
                    if routes.is_empty() {
                        // When the packet thread has ended, its last report ends this thread, too.
                        self.worker.apply(id, plan);
                    } else {
                        self.held.insert(id, plan);
                        self.kernel.announce(id, routes);
                    }
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
    }

    /// Sends the queued datagrams.
    fn send(&mut self) {
        let Self { sockets, log, clock, n4, .. } = self;
        let lost = |to, error| unsent(log, clock.now(), to, &error);
        sockets.flush(lost, |octets| n4.recycle(octets));
        self.times.sent(|| self.clock.now());
    }

    fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Graceful => {
                self.with_direct(|direct, now, adopting| direct.adopt_all(now, adopting));
                self.n4.shutdown(self.clock.now());
            }
            Stop::Now => drop(self.worker.stop()),
        }
    }
}

/// The headers of the messages of a datagram, up to the first that is malformed.
fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Header> {
    std::iter::from_fn(move || {
        let (header, _, rest) = Header::decode(datagram).ok()?;
        datagram = rest;
        Some(header)
    })
}

/// Logs a datagram that could not be sent.
fn unsent(log: &mut Log, now: Time, to: SocketAddr, error: &io::Error) {
    log.warn(now, "unsent datagrams", Some(to.ip()), &format_args!("sending to {to} on N4: {error}"));
}
