//! The control thread: N4 between its sockets, its timers and the packet thread.

mod kernel_routes;
mod log;
mod routes;
mod settings;
mod sockets;
mod timer;
mod views;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use causeway_dataplane::{ApplyError, Capabilities, Plan, Topology};
use causeway_fastpath::index::{ToKernel, prefetch_at, prepare};
use causeway_n4::{ApplyId, N4, Notice, Output};
use causeway_rules::IdCipher;
use causeway_types::{IpNet, NodeId, Time};
use tokio::sync::{Notify, mpsc};

use crate::clock::Clock;
use crate::config::Upf;
use crate::daemon::Totals;
use crate::error::RunError;
use crate::host_addresses::{AddressChanges, HostWatch};
use crate::management::{self, Management, ManagementRequest, PortCounters};
use crate::memory::{Budget, Reading, rounded};
use crate::wall::{self, Wall};
use crate::watchdog::{Activity, Pauses, ThreadHeartbeat, WatchedThread};
use crate::worker::{Report, WorkerHandle};
use kernel_routes::KernelRoutes;
use log::Log;
use routes::FramedRoutes;
use sockets::Sockets;
use timer::WakeTimer;

pub(crate) use settings::state_machine;

/// Questions of the management server that wait, at most.
const MAX_REQUESTS: usize = 64;

/// Datagrams, or reports of the packet thread, that are taken one after the other before anything else has its turn.
const BURST: usize = 64;

/// How to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Release associations first.
    Graceful,
    /// At once.
    Now,
}

/// What the control thread is given.
pub(crate) struct ControlInputs {
    pub(crate) upf: Upf,
    pub(crate) node: NodeId,
    pub(crate) topology: Topology,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Clock,
    /// What says the time of the day.
    pub(crate) wall: wall::Source,
    /// What TEIDs and SEIDs are hidden under.
    pub(crate) secret: IdCipher,
    /// Who may set up associations.
    pub(crate) smfs: Vec<IpNet>,
    pub(crate) n4: Vec<UdpSocket>,
    pub(crate) machine: HostWatch,
    pub(crate) management: Vec<TcpListener>,
    pub(crate) ports: Vec<PortCounters>,
    pub(crate) stops: mpsc::UnboundedReceiver<Stop>,
    pub(crate) control_watch: ControlWatch,
    /// Of the control thread, then of each packet thread.
    pub(crate) pauses: Vec<Arc<Pauses>>,
}

/// How the watch reaches the control thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlWatch {
    heartbeat: Arc<ThreadHeartbeat>,
    rung: Arc<Notify>,
}

impl ControlWatch {
    /// The control thread, to be watched.
    pub(crate) fn watched(&self) -> WatchedThread {
        let rung = Arc::clone(&self.rung);
        let ring = Box::new(move || rung.notify_one());
        WatchedThread { name: "control thread".into(), heartbeat: Arc::clone(&self.heartbeat), ring }
    }
}

/// Runs until it is asked to end, or cannot go on.
pub(crate) async fn run(
    given: ControlInputs,
    mut n4: N4,
    budget: Budget,
    worker: WorkerHandle<ApplyId>,
) -> Result<Totals, RunError> {
    let (control, asks) = mpsc::channel(MAX_REQUESTS);
    n4.prepare_memory_with(prepare);
    n4.release_memory_with::<ToKernel>();
    let routes = FramedRoutes::new(&given.upf.session);
    let kernel = KernelRoutes::start(&given.upf).map_err(RunError::Sockets)?;
    let management = Management {
        started: given.clock.anchor(),
        control,
        workers: worker.snapshot_client(),
        ports: given.ports,
        pauses: given.pauses,
        may_change: given.management.iter().all(|it| it.local_addr().is_ok_and(|at| at.ip().is_loopback())),
    };
    // Dropped at the end, which stops it.
    let _server = management::start(given.management, management).map_err(RunError::Sockets)?;
    let control = Control {
        n4,
        clock: given.clock,
        wall: Wall::new(given.clock, given.wall),
        worker,
        sockets: Sockets::new(given.n4, given.upf.offload).map_err(RunError::Sockets)?,
        log: Log::default(),
        machine: given.machine,
        changes: AddressChanges::new(),
        routes,
        kernel,
        held: BTreeMap::new(),
        asks,
        stops: given.stops,
        control_watch: given.control_watch,
        budget,
        reading: None,
    };
    control.run().await
}

/// The control plane at work.
struct Control {
    n4: N4,
    clock: Clock,
    wall: Wall,
    worker: WorkerHandle<ApplyId>,
    sockets: Sockets,
    log: Log,
    machine: HostWatch,
    changes: AddressChanges,
    routes: FramedRoutes<ApplyId>,
    kernel: KernelRoutes<ApplyId>,
    /// Plans whose routes the kernel is being told of.
    held: BTreeMap<ApplyId, Plan>,
    asks: mpsc::Receiver<ManagementRequest>,
    stops: mpsc::UnboundedReceiver<Stop>,
    control_watch: ControlWatch,
    budget: Budget,
    /// What was last read of the memory that is used.
    reading: Option<Reading>,
}

impl Control {
    async fn run(mut self) -> Result<Totals, RunError> {
        let mut timer = WakeTimer::new(self.clock);
        let ControlWatch { heartbeat, rung } = self.control_watch.clone();
        heartbeat.begin();
        loop {
            heartbeat.set_activity(Activity::Outputs);
            self.apply_outputs();
            // The packet threads work while answers are sent.
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
            }
        }
    }

    /// Reads how much memory is used, and has N4 refuse sessions while hardly any is left.
    fn look_at_memory(&mut self) {
        let reading = self.budget.read();
        let was_short = self.reading.as_ref().is_some_and(|reading| reading.is_short);
        let is_short = reading.as_ref().is_some_and(|reading| reading.is_short);
        if let Some(Reading { limit, source, used, .. }) = reading.as_ref().filter(|_| is_short != was_short)
        {
            let (used, limit) = (rounded(*used), rounded(*limit));
            let then = if is_short { "no more sessions are accepted" } else { "sessions are accepted again" };
            let line = format_args!("memory: {used} of {limit} ({source}) are used: {then}");
            self.log.warn(self.clock.now(), "memory", None, &line);
        }
        self.n4.set_short_of_memory(is_short);
        self.reading = reading;
    }

    /// Interfaces or addresses of the machine have changed.
    fn refresh_host(&mut self) {
        if self.machine.refresh() {
            self.worker.set_host_reachability(&self.machine.host());
        }
    }

    /// The wall clock may have been set.
    fn follow_wall_clock(&mut self) {
        let Some(clock) = self.wall.refresh() else { return };
        let by = wall::difference(self.n4.wall_clock(), clock);
        let what = format_args!("the wall clock was set {by}: times that SMFs give and are told follow it");
        self.log.warn(self.clock.now(), "wall clock", None, &what);
        self.n4.set_wall_clock(clock);
        self.worker.set_wall_clock(clock);
    }

    fn answer(&mut self, ask: ManagementRequest) {
        let now = self.clock.now();
        match ask {
            ManagementRequest::End { node, reply } => drop(reply.send(self.n4.end(now, &node))),
            ManagementRequest::Release { node, reply } => drop(reply.send(self.n4.release(now, &node))),
            ask => {
                let memory = views::memory(&self.n4, &self.budget, self.reading.as_ref());
                views::answer(&self.n4, &mut self.sockets, memory, ask);
            }
        }
    }

    /// Takes the datagrams that have come already, in their order.
    fn receive(&mut self) {
        for _ in 0..BURST {
            if let Some(following) = self.sockets.peek_next() {
                self.n4.prefetch(following, prefetch_at);
            }
            self.control_watch.heartbeat.set_activity(Activity::N4Sockets);
            let Some((from, datagram)) = self.sockets.receive() else { break };
            self.control_watch.heartbeat.set_activity(Activity::Pfcp(datagram.get(1).copied().unwrap_or(0)));
            self.n4.datagram(self.clock.now(), from, datagram);
            self.apply_outputs();
        }
    }

    /// Takes the reports that have come already, in their order, up to the one that the packet thread has ended.
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

    /// Takes a report of the packet thread; how it ended, if that is what it says.
    fn reported(&mut self, report: Report<ApplyId>) -> Option<Result<Totals, RunError>> {
        match report {
            Report::Applied(id, result) => {
                self.kernel.withdraw(self.routes.applied(&id, result.is_ok()));
                self.n4.applied(self.clock.now(), id, result);
            }
            Report::Event(event) => {
                let now = self.clock.now();
                self.log.debug(now, "events of the data plane", &format_args!("data plane: {event:?}"));
                self.n4.event(now, event);
            }
            Report::Stopped(end) => return Some(end.map(|last| Totals::of(*last)).map_err(RunError::Port)),
        }
        None
    }

    /// The kernel knows the routes of a plan, or would not have them.
    fn route_result(&mut self, id: ApplyId, result: Result<(), String>) {
        let Some(plan) = self.held.remove(&id) else { return };
        match result {
            Ok(()) => {
                // As above.
                self.worker.apply(id, plan);
            }
            Err(error) => {
                self.kernel.withdraw(self.routes.applied(&id, false));
                self.n4.applied(self.clock.now(), id, Err(ApplyError::Backend(error)));
            }
        }
    }

    /// Does what N4 wants done. Plans wait until the packet threads are woken for them, and datagrams for [`Control::send`].
    fn apply_outputs(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { to, bytes } => {
                    if let Err(error) = self.sockets.send(to, bytes) {
                        unsent(&mut self.log, self.clock.now(), to, &error);
                    }
                }
                Output::Applications(applications) => {
                    self.worker.set_applications(&applications);
                }
                Output::Apply { id, plan } => {
                    self.log.plan(|| self.clock.now(), &plan);
                    let routes = self.routes.plan(id, &plan);
                    if routes.is_empty() {
                        // When the packet thread has ended, its last report ends this one too.
                        self.worker.apply(id, plan);
                    } else {
                        self.held.insert(id, plan);
                        self.kernel.announce(id, routes);
                    }
                }
                Output::Notice(notice) => {
                    self.log.notice(self.clock.now(), &notice);
                    if notice == Notice::Finished {
                        self.worker.stop();
                    }
                }
            }
        }
    }

    /// Sends what waits to be sent.
    fn send(&mut self) {
        let Self { sockets, log, clock, n4, .. } = self;
        let lost = |to, error| unsent(log, clock.now(), to, &error);
        sockets.flush(lost, |octets| n4.recycle(octets));
    }

    fn stop(&mut self, stop: Stop) {
        match stop {
            Stop::Graceful => self.n4.shutdown(self.clock.now()),
            Stop::Now => drop(self.worker.stop()),
        }
    }
}

/// A datagram could not be sent.
fn unsent(log: &mut Log, now: Time, to: SocketAddr, error: &io::Error) {
    log.warn(now, "unsent datagrams", Some(to.ip()), &format_args!("sending to {to} on N4: {error}"));
}
