//! The control plane's handle of the packet threads: what concerns all of them, and the plans of one part of N4 ([`PlanQueue`]).

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task;
use std::{io, mem};

use causeway_dataplane::{
    EchoConfig, GtpuPath, HeavyHitterSettings, HostReachability, Plan, Settings, Topology,
};
use causeway_model::Applications;
use causeway_ports::Waker;
use causeway_types::{Seid, Span, Time, WallClock};

use super::directory::ALL_WORKERS;
use super::messages::{Report, RestoredUsage, Snapshot, SnapshotClient, Task};
use super::n4::N4Work;
use super::notifier::Notifier;
use super::packet_loop::{PacketLoop, frame_size};
use super::peers::{FIRST_WORKER, WorkerPeers, worker_peers};
use super::placement::Placement;
use super::plan_queue::PlanQueue;
use super::ports::PortSet;
use super::schedule::Schedule;
use super::session_keys::NewPaths;
use super::thread::{PacketThread, WorkerMessage, WorkerReports, channel};
use crate::clock::Clock;
use crate::config::MAX_WORKERS;
use crate::data_planes::BoxedDataPlane;
use crate::watchdog::WatchedThread;

/// Paths of sessions of other workers that the first one is told at once.
const PATHS_PER_COMMAND: usize = 256;

// An entry of the directory has a place for each worker that a configuration may have.
const _: () = assert!(MAX_WORKERS <= ALL_WORKERS);

/// The data plane, ports and schedule of one worker.
pub struct WorkerSetup<K> {
    /// The data plane, empty.
    pub data_plane: BoxedDataPlane,
    /// The ports. Those of the first worker define the topology; the others have further queues of them.
    pub ports: PortSet,
    /// The core and polling mode of the thread.
    pub schedule: Schedule,
    /// N4 that this thread receives itself.
    pub n4: Option<Box<dyn N4Work<K>>>,
}

/// The packet threads. Dropping the handle stops them.
#[derive(Debug)]
pub struct WorkerHandle<K> {
    threads: Vec<PacketThread<K>>,
    /// `None`: they are read without the handle.
    reports: Option<WorkerReports<K>>,
    /// The number of reports of the threads on their way that later ones have to wait for.
    awaited: Arc<AtomicU32>,
    /// N4 is in the threads: the results that they send are among these reports.
    has_n4: bool,
    /// The plans of this part of N4, and what is queued for the threads besides.
    plans: PlanQueue<K>,
    /// The number of running threads, and the last counters of the ended ones.
    running: usize,
    last: Snapshot,
}

/// The state for more than one thread.
type MultiWorker<K> = (Option<Placement<K>>, Vec<WorkerPeers>);

impl<K: Copy + Eq + Hash + Send + 'static> WorkerHandle<K> {
    /// Starts one thread.
    ///
    /// # Errors
    /// The system has no free thread or descriptor, or the process may not use the configured core.
    pub fn spawn(
        data_plane: BoxedDataPlane,
        ports: PortSet,
        clock: Clock,
        schedule: Schedule,
    ) -> io::Result<Self> {
        Self::start(vec![WorkerSetup { data_plane, ports, schedule, n4: None }], clock, |_, _| {
            (None, Vec::new())
        })
    }

    /// Starts a thread for each setup. Each owns a part of the sessions, at most `max_sessions` in all, with this
    /// topology.
    ///
    /// # Errors
    /// As for [`WorkerHandle::spawn`].
    pub fn spawn_all(
        setups: Vec<WorkerSetup<K>>,
        clock: Clock,
        topology: &Topology,
        max_sessions: usize,
    ) -> io::Result<Self> {
        if setups.len() == 1 {
            return Self::start(setups, clock, |_, _| (None, Vec::new()));
        }
        let is_by_seid = setups.iter().all(|setup| setup.n4.is_some());
        Self::start(setups, clock, |notifiers, frame_size| {
            let placement = Placement::new(topology.clone(), max_sessions, notifiers.len(), is_by_seid);
            let peers = worker_peers(notifiers, placement.directory(), topology, frame_size);
            (Some(placement), peers)
        })
    }

    fn start(
        setups: Vec<WorkerSetup<K>>,
        clock: Clock,
        assemble: impl FnOnce(&[Arc<Notifier>], usize) -> MultiWorker<K>,
    ) -> io::Result<Self> {
        let (message, reports) = channel();
        let awaited = Arc::new(AtomicU32::new(0));
        let has_n4 = setups.iter().any(|setup| setup.n4.is_some());
        let notifier = |_| Waker::new().map(|waker| Arc::new(Notifier::new(waker)));
        let notifiers = setups.iter().map(notifier).collect::<io::Result<Vec<_>>>()?;
        let frame_size = setups.iter().map(|setup| frame_size(&setup.ports)).max().unwrap_or(0);
        let (placement, peers) = assemble(&notifiers, frame_size);
        let mut peers = peers.into_iter();
        let mut threads = Vec::new();
        for (number, (setup, notifier)) in setups.into_iter().zip(notifiers).enumerate() {
            let WorkerSetup { mut data_plane, ports, schedule, n4 } = setup;
            data_plane.set_waker(Arc::clone(&notifier).into());
            let packets = PacketLoop::new(
                data_plane,
                ports,
                clock,
                Arc::clone(&notifier),
                schedule.busy_poll,
                peers.next(),
            );
            let to = (message.clone(), Arc::clone(&awaited));
            threads.push(PacketThread::spawn(number, packets, notifier, schedule, n4, to)?);
        }
        let (reports, running, last) = (Some(reports), threads.len(), Snapshot::default());
        let plans = PlanQueue::new(placement, threads.iter().map(PacketThread::commands).cloned().collect());
        Ok(Self { threads, reports, awaited, has_n4, plans, running, last })
    }

    /// A queue for the plans of a further part of N4, with other sessions, which another thread may have.
    pub fn another_plan_queue(&self) -> PlanQueue<K> {
        self.plans.beside()
    }

    /// Queues a plan, as [`PlanQueue::apply`] does.
    pub fn apply(&mut self, key: K, plan: Plan) -> bool {
        self.plans.apply(key, plan)
    }

    /// Wakes each thread, also if no command is queued.
    pub(crate) fn wakers(&self) -> Vec<task::Waker> {
        self.threads.iter().map(PacketThread::waker).collect()
    }

    /// The reports, for a reader that does not have the handle while it waits. It passes each message to
    /// [`WorkerHandle::handle_message`]; [`WorkerHandle::report`] returns what is left.
    pub(crate) fn take_reports(&mut self) -> Option<WorkerReports<K>> {
        self.reports.take()
    }

    /// The number of reports of the threads on their way that later ones have to wait for.
    pub(crate) fn awaited(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.awaited)
    }

    /// Queues the applications to detect until [`WorkerHandle::wake`] is called.
    pub fn set_applications(&mut self, applications: &Arc<Applications>) {
        for worker in 0..self.threads.len() {
            // A thread that has ended states so in its last report.
            let _ = self.plans.queue_task(worker, Task::Provision(Arc::clone(applications)));
        }
    }

    /// Queues how heavy hitters are looked for until [`WorkerHandle::wake`] is called. Each thread has a detector of its
    /// own, with these settings.
    pub fn set_heavy_hitters(&mut self, settings: Option<HeavyHitterSettings>) {
        for worker in 0..self.threads.len() {
            // A thread that has ended states so in its last report.
            let _ = self.plans.queue_task(worker, Task::HeavyHitters(settings));
        }
    }

    /// Queues the addresses of the host that UEs can reach until [`WorkerHandle::wake`] is called.
    pub fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        for worker in 0..self.threads.len() {
            // A thread that has ended states so in its last report.
            let _ = self.plans.queue_task(worker, Task::Host(Arc::clone(host)));
        }
    }

    /// Queues settings until [`WorkerHandle::wake`] is called. `begins`: paths are supervised from now on, and were not
    /// before. `others`: what [`PlanQueue::paths_of_others`] of each further queue says then; those queues rest meanwhile.
    pub fn set_settings(&mut self, settings: &Arc<Settings>, begins: bool, others: Vec<GtpuPath>) {
        // The first thread alone supervises paths.
        let echo = EchoConfig { interval: Span::ZERO, ..settings.echo };
        let of_others = Arc::new(Settings { echo, ..Settings::clone(settings) });
        for worker in 0..self.threads.len() {
            let own = if worker == FIRST_WORKER { settings } else { &of_others };
            // A thread that has ended states so in its last report.
            let _ = self.plans.queue_task(worker, Task::Settings(Arc::clone(own)));
        }
        self.plans.supervise_paths(!settings.echo.interval.is_zero());
        if !begins {
            return;
        }
        let paths = [self.plans.paths_of_others(), others].concat();
        for some in paths.chunks(PATHS_PER_COMMAND) {
            let news = NewPaths { old: Vec::new(), new: some.to_vec() };
            let _ = self.plans.queue_task(FIRST_WORKER, Task::Follow(news));
        }
    }

    /// Queues a new relation of wall clock and monotonic clock until [`WorkerHandle::wake`] is called.
    pub fn set_wall_clock(&mut self, clock: WallClock) {
        for worker in 0..self.threads.len() {
            // A thread that has ended states so in its last report.
            let _ = self.plans.queue_task(worker, Task::WallClock(clock));
        }
    }

    /// Queues a request for snapshots of the usage of sessions of which packets have arrived at these times or later, until [`WorkerHandle::wake`] is
    /// called. Returns the number of threads that will each send [`Report::Usage`].
    pub(crate) fn ask_for_usage(&mut self, sessions: &Arc<[(Seid, Time)]>) -> usize {
        let workers = 0..self.threads.len();
        workers
            .filter(|worker| self.plans.queue_task(*worker, Task::UsageSnapshots(Arc::clone(sessions))))
            .count()
    }

    /// Queues usage of sessions that was measured elsewhere, until [`WorkerHandle::wake`] is called. Returns the number of threads that will
    /// each send [`Report::UsageRestored`] for the sessions that they have.
    pub(crate) fn restore_usage(&mut self, usage: &Arc<[RestoredUsage]>) -> usize {
        let workers = 0..self.threads.len();
        workers.filter(|worker| self.plans.queue_task(*worker, Task::RestoreUsage(Arc::clone(usage)))).count()
    }

    /// Notifies the threads of queued commands, as [`PlanQueue::wake`] does.
    pub fn wake(&mut self) {
        self.plans.wake();
    }

    /// Stops the threads. `false` when they have ended.
    pub fn stop(&mut self) -> bool {
        let stopped = self.threads.iter().filter(|thread| thread.stop());
        stopped.count() > 0
    }

    /// The next report; `None` when a thread has ended without a reason, or all have ended and all reports were read.
    pub async fn report(&mut self) -> Option<Report<K>> {
        loop {
            if let Some(report) = self.plans.own_report() {
                return Some(report);
            }
            let message = self.reports.as_mut()?.next().await?;
            if let Some(report) = self.handle_message(message) {
                return Some(report);
            }
        }
    }

    /// The next report, if one is queued.
    pub fn report_now(&mut self) -> Option<Report<K>> {
        loop {
            if let Some(report) = self.plans.own_report() {
                return Some(report);
            }
            let message = self.reports.as_mut()?.next_now()?;
            if let Some(report) = self.handle_message(message) {
                return Some(report);
            }
        }
    }

    /// The report of a message from a thread. Later ones of N4 in the threads wait until this is called.
    pub(crate) fn handle_message(&mut self, message: WorkerMessage<K>) -> Option<Report<K>> {
        match message {
            WorkerMessage::Report(Report::Applied(key, result)) => {
                self.plans.completed(key, result.is_ok());
                if self.has_n4 {
                    self.awaited.fetch_sub(1, Ordering::Relaxed);
                }
                Some(Report::Applied(key, result))
            }
            WorkerMessage::Report(Report::Stopped(Ok(last))) => {
                self.last = mem::take(&mut self.last).with(&last);
                self.running = self.running.saturating_sub(1);
                (self.running == 0).then(|| Report::Stopped(Ok(Box::new(self.last.clone()))))
            }
            WorkerMessage::Report(Report::Event(event)) => {
                self.awaited.fetch_sub(1, Ordering::Relaxed);
                Some(Report::Event(event))
            }
            WorkerMessage::Report(other) => Some(other),
            WorkerMessage::Panicked => {
                // The control plane is notified by the end of the reports.
                self.reports = None;
                None
            }
        }
    }

    /// The threads, for the watchdog.
    pub(crate) fn watched(&self) -> Vec<WatchedThread> {
        self.threads.iter().map(PacketThread::watched).collect()
    }

    /// Access to the counters, which does not delay the end of the threads.
    pub fn snapshot_client(&self) -> SnapshotClient {
        SnapshotClient(self.threads.iter().map(PacketThread::questions).collect())
    }
}

impl<K> Drop for WorkerHandle<K> {
    fn drop(&mut self) {
        // A thread may be blocked by a full queue of reports that has no reader any more.
        self.reports = None;
        // All threads are notified before the first is joined.
        for thread in &self.threads {
            thread.stop();
        }
    }
}
