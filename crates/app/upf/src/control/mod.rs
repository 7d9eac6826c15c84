//! The control thread: N4 between its sockets, its timers and the packet thread.

mod alarm;
mod kernel;
mod log;
mod routes;
mod settings;
mod sockets;
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
use crate::machine::{Changes, Machine};
use crate::management::{self, Ask, Management, PortCounters};
use crate::memory::{Budget, Reading, rounded};
use crate::wall::{self, Wall};
use crate::watch::{Activity, Pauses, Pulse, Watched};
use crate::worker::{Report, WorkerHandle};
use alarm::Alarm;
use kernel::Kernel;
use log::Log;
use routes::FramedRoutes;
use sockets::Sockets;

pub(crate) use settings::state_machine;

/// Questions of the management server that wait, at most.
const ASKS: usize = 64;

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
pub(crate) struct Surroundings {
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
    pub(crate) machine: Machine,
    pub(crate) management: Vec<TcpListener>,
    pub(crate) ports: Vec<PortCounters>,
    pub(crate) stops: mpsc::UnboundedReceiver<Stop>,
    pub(crate) heart: Heart,
    /// Of the control thread, then of each packet thread.
    pub(crate) pauses: Vec<Arc<Pauses>>,
}

/// How the watch reaches the control thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heart {
    pulse: Arc<Pulse>,
    rung: Arc<Notify>,
}

impl Heart {
    /// The control thread, to be watched.
    pub(crate) fn watched(&self) -> Watched {
        let rung = Arc::clone(&self.rung);
        let ring = Box::new(move || rung.notify_one());
        Watched { name: "control thread".into(), pulse: Arc::clone(&self.pulse), ring }
    }
}

/// Runs until it is asked to end, or cannot go on.
pub(crate) async fn run(
    given: Surroundings,
    mut n4: N4,
    budget: Budget,
    worker: WorkerHandle<ApplyId>,
) -> Result<Totals, RunError> {
    let (control, asks) = mpsc::channel(ASKS);
    n4.prepare_memory_with(prepare);
    n4.release_memory_with::<ToKernel>();
    let routes = FramedRoutes::new(&given.upf.session);
    let kernel = Kernel::start(&given.upf).map_err(RunError::Sockets)?;
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
        changes: Changes::new(),
        routes,
        kernel,
        held: BTreeMap::new(),
        asks,
        stops: given.stops,
        heart: given.heart,
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
    machine: Machine,
    changes: Changes,
    routes: FramedRoutes<ApplyId>,
    kernel: Kernel<ApplyId>,
    /// Plans whose routes the kernel is being told of.
    held: BTreeMap<ApplyId, Plan>,
    asks: mpsc::Receiver<Ask>,
    stops: mpsc::UnboundedReceiver<Stop>,
    heart: Heart,
    budget: Budget,
    /// What was last read of the memory that is used.
    reading: Option<Reading>,
}

impl Control {
    async fn run(mut self) -> Result<Totals, RunError> {
        let mut alarm = Alarm::new(self.clock);
        let Heart { pulse, rung } = self.heart.clone();
        pulse.begin();
        loop {
            pulse.doing(Activity::Outputs);
            self.carry_out();
            // The packet threads work while answers are sent.
            self.worker.wake();
            pulse.doing(Activity::Sending);
            self.send();
            pulse.doing(Activity::Waiting);
            alarm.set(self.n4.next_timer());
            alarm.set(self.log.due());
            tokio::select! {
                received = self.sockets.wait() => match received {
                    Ok(()) => self.receive(),
                    Err(error) => {
                        let what = format_args!("receiving on N4: {error}");
                        self.log.warn(self.clock.now(), "N4 sockets", None, &what);
                    }
                },
                report = self.worker.report() => {
                    pulse.doing(Activity::Reports);
                    let report = report.ok_or(RunError::Panicked("packets"))?;
                    if let Some(end) = self.reported(report).or_else(|| self.hear_more()) {
                        self.send();
                        return end;
                    }
                }
                () = alarm.wait() => {
                    pulse.doing(Activity::Timers);
                    let now = self.clock.now();
                    self.n4.timer(now);
                    self.log.tell(now);
                }
                () = rung.notified() => {
                    pulse.answer();
                    self.look_at_memory();
                }
                Some(ask) = self.asks.recv() => {
                    pulse.doing(Activity::Management);
                    self.answer(ask);
                }
                () = self.changes.wait() => {
                    pulse.doing(Activity::Management);
                    self.look_around();
                }
                () = self.wall.wait() => {
                    pulse.doing(Activity::Timers);
                    self.follow_wall_clock();
                }
                (id, result) = self.kernel.told() => {
                    pulse.doing(Activity::FramedRoutes);
                    self.routed(id, result);
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
    fn look_around(&mut self) {
        if self.machine.look() {
            self.worker.set_host_reachability(&self.machine.host());
        }
    }

    /// The wall clock may have been set.
    fn follow_wall_clock(&mut self) {
        let Some(clock) = self.wall.look() else { return };
        let by = wall::difference(self.n4.wall_clock(), clock);
        let what = format_args!("the wall clock was set {by}: times that SMFs give and are told follow it");
        self.log.warn(self.clock.now(), "wall clock", None, &what);
        self.n4.set_wall_clock(clock);
        self.worker.set_wall_clock(clock);
    }

    fn answer(&mut self, ask: Ask) {
        let now = self.clock.now();
        match ask {
            Ask::End { node, reply } => drop(reply.send(self.n4.end(now, &node))),
            Ask::Release { node, reply } => drop(reply.send(self.n4.release(now, &node))),
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
            self.heart.pulse.doing(Activity::N4Sockets);
            let Some((from, datagram)) = self.sockets.receive() else { break };
            self.heart.pulse.doing(Activity::Pfcp(datagram.get(1).copied().unwrap_or(0)));
            self.n4.datagram(self.clock.now(), from, datagram);
            self.carry_out();
        }
    }

    /// Takes the reports that have come already, in their order, up to the one that the packet thread has ended.
    fn hear_more(&mut self) -> Option<Result<Totals, RunError>> {
        for _ in 1..BURST {
            self.carry_out();
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
    fn routed(&mut self, id: ApplyId, result: Result<(), String>) {
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
    fn carry_out(&mut self) {
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
