//! How the control plane talks to the packet threads.

use std::collections::VecDeque;
use std::hash::Hash;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Counters, Event, Plan, Topology};
use causeway_ports::{PortError, Waker};
use causeway_rules::Applications;
use causeway_types::Seid;
use tokio::sync::{mpsc, oneshot};

use super::directory::Directory;
use super::engine::Engine;
use super::packets::{Packets, frame_size};
use super::placement::Placement;
use super::ports::PortSet;
use super::schedule::Schedule;
use super::team::{FIRST, team};
use super::thread::{PacketThread, Said, channel};
use crate::clock::Clock;

/// What the control plane asks of a packet thread. `K` names a plan.
#[derive(Debug)]
pub(super) enum Command<K> {
    /// Carry out a plan and send [`Report::Applied`] with the same key.
    Apply(K, Plan),
    /// Detect these applications from now on.
    Provision(Arc<Applications>),
    /// Supervise these paths for a session of another worker.
    Follow(Seid, Vec<(IpAddr, IpAddr)>),
    /// Answer with the counters as they are.
    Snapshot(oneshot::Sender<Snapshot>),
    /// Stop.
    Stop,
}

/// What the packet threads tell the control plane.
#[derive(Debug)]
pub enum Report<K> {
    /// A plan was carried out, or not.
    Applied(K, Result<Applied, ApplyError>),
    /// The data plane has seen something. Comes before the [`Report::Applied`] of any later plan of its session.
    Event(Event),
    /// The threads have ended, and why: a command, or a port that is lost.
    Stopped(Result<Box<Snapshot>, PortError>),
}

/// The counters at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Those of the data plane.
    pub counters: Counters,
    /// Packets that the data plane sent to an address or network without a port.
    pub unroutable: u64,
    /// Packets that the hot lines of the fast path have decided.
    pub hot: u64,
    /// Packets that the slow room of the fast path has decided.
    pub slow: u64,
    /// Packets that one worker has received and handed to another, whose they are.
    pub handed: u64,
    /// Packets that one worker has received for another, and dropped since the way to it was full.
    pub handed_in_vain: u64,
}

impl Snapshot {
    /// The sum of both: of two workers.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            counters: self.counters.with(&other.counters),
            unroutable: self.unroutable + other.unroutable,
            hot: self.hot + other.hot,
            slow: self.slow + other.slow,
            handed: self.handed + other.handed,
            handed_in_vain: self.handed_in_vain + other.handed_in_vain,
        }
    }
}

/// A data plane with the ports of one worker, and where its thread runs.
pub struct Seat {
    /// The data plane, empty.
    pub engine: Engine,
    /// The ports: those of the first worker make the surroundings, the others have further queues of them.
    pub ports: PortSet,
    /// How the thread runs.
    pub schedule: Schedule,
}

/// The packet threads, as the control plane holds them. Dropped, they stop.
#[derive(Debug)]
pub struct WorkerHandle<K> {
    threads: Vec<PacketThread<K>>,
    reports: mpsc::Receiver<Said<K>>,
    /// Which thread has which session; `None`: there is but one.
    placement: Option<Placement<K>>,
    /// What the control side answers in the place of a thread.
    own: VecDeque<Report<K>>,
    /// Threads that have not ended, and the last counters of those that have.
    running: usize,
    last: Snapshot,
}

impl<K: Copy + Eq + Hash + Send + 'static> WorkerHandle<K> {
    /// Starts one thread.
    ///
    /// # Errors
    /// The system has no thread or no descriptor left, or the thread may not run where it should.
    pub fn spawn(engine: Engine, ports: PortSet, clock: Clock, schedule: Schedule) -> io::Result<Self> {
        Self::start(vec![Seat { engine, ports, schedule }], clock, |_, _| Ok((None, Vec::new())))
    }

    /// Starts a thread for each seat, each the owner of a part of the sessions: of `most_sessions`, in these surroundings.
    ///
    /// # Errors
    /// As for [`WorkerHandle::spawn`].
    pub fn spawn_all(
        seats: Vec<Seat>,
        clock: Clock,
        topology: &Topology,
        most_sessions: usize,
    ) -> io::Result<Self> {
        if seats.len() == 1 {
            return Self::start(seats, clock, |_, _| Ok((None, Vec::new())));
        }
        Self::start(seats, clock, |wakers, frame_size| {
            let (directory, writer) = Directory::new(most_sessions.saturating_mul(ENTRIES_PER_SESSION));
            let teams = team(wakers, &directory, topology, frame_size)?;
            Ok((Some(Placement::new(topology.clone(), most_sessions, wakers.len(), writer)), teams))
        })
    }

    fn start(
        seats: Vec<Seat>,
        clock: Clock,
        assemble: impl FnOnce(&[Waker], usize) -> io::Result<(Option<Placement<K>>, Vec<super::team::Team>)>,
    ) -> io::Result<Self> {
        let (said, reports) = channel();
        let wakers = seats.iter().map(|_| Waker::new()).collect::<io::Result<Vec<_>>>()?;
        let frame_size = seats.iter().map(|seat| frame_size(&seat.ports)).max().unwrap_or(0);
        let (placement, teams) = assemble(&wakers, frame_size)?;
        let mut teams = teams.into_iter();
        let mut threads = Vec::new();
        for (number, (seat, waker)) in seats.into_iter().zip(wakers).enumerate() {
            let Seat { engine, ports, schedule } = seat;
            let packets =
                Packets::new(engine, ports, clock, waker.try_clone()?, schedule.busy_poll, teams.next());
            threads.push(PacketThread::spawn(number, packets, waker, schedule, said.clone())?);
        }
        let running = threads.len();
        Ok(Self { threads, reports, placement, own: VecDeque::new(), running, last: Snapshot::default() })
    }

    /// Lets a plan be carried out; [`Report::Applied`] with the same key says how that went. `false` when the thread has ended.
    pub fn apply(&mut self, key: K, plan: Plan) -> bool {
        match self.placement.as_mut().map_or(Ok(FIRST), |placement| placement.place(key, &plan)) {
            Ok(worker) => self.command(worker, Command::Apply(key, plan)),
            Err(error) => {
                self.own.push_back(Report::Applied(key, Err(error)));
                true
            }
        }
    }

    /// Lets these applications be detected from now on.
    pub fn provision(&mut self, applications: &Arc<Applications>) {
        for thread in &self.threads {
            thread.command(Command::Provision(Arc::clone(applications)));
        }
    }

    /// Stops the threads. `false` when they have ended.
    pub fn stop(&mut self) -> bool {
        let stopped = self.threads.iter().filter(|thread| thread.command(Command::Stop));
        stopped.count() > 0
    }

    fn command(&self, worker: usize, command: Command<K>) -> bool {
        self.threads.get(worker).is_some_and(|thread| thread.command(command))
    }

    /// The next report; `None` when a thread has ended without saying why, or all have and everything was reported.
    pub async fn report(&mut self) -> Option<Report<K>> {
        loop {
            if let Some(report) = self.own.pop_front() {
                return Some(report);
            }
            match self.reports.recv().await? {
                Said::Report(report) => {
                    if let Some(report) = self.hear(report) {
                        return Some(report);
                    }
                }
                Said::Panicked => return None,
            }
        }
    }

    /// What the control plane hears of a thread's report.
    fn hear(&mut self, report: Report<K>) -> Option<Report<K>> {
        match report {
            Report::Applied(key, result) => {
                let news =
                    self.placement.as_mut().and_then(|placement| placement.settle(key, result.is_ok()));
                if let Some((session, paths)) = news {
                    self.command(FIRST, Command::Follow(session, paths));
                }
                Some(Report::Applied(key, result))
            }
            Report::Stopped(Ok(last)) => {
                self.last = std::mem::take(&mut self.last).with(&last);
                self.running = self.running.saturating_sub(1);
                (self.running == 0).then(|| Report::Stopped(Ok(Box::new(self.last.clone()))))
            }
            other => Some(other),
        }
    }

    /// A way to the counters, which the threads do not wait for when they stop.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn snapshot_client(&self) -> io::Result<SnapshotClient> {
        self.threads.iter().map(PacketThread::snapshot_asker).collect::<io::Result<_>>().map(SnapshotClient)
    }
}

/// Entries of the directory that there is room for, for each session: a tunnel each way, an IPv4 and an IPv6 address.
const ENTRIES_PER_SESSION: usize = 4;

impl<K> Drop for WorkerHandle<K> {
    fn drop(&mut self) {
        // A thread may be waiting for room for a report that nobody will read.
        self.reports.close();
        // First all, then one after the other.
        for thread in &self.threads {
            thread.command(Command::Stop);
        }
    }
}

/// Asks one packet thread for its counters.
pub(super) type Asker = Box<dyn Fn(oneshot::Sender<Snapshot>) + Send + Sync>;

/// Asks the packet threads for their counters, from any thread or task.
pub struct SnapshotClient(Vec<Asker>);

impl SnapshotClient {
    /// The counters now; `None` when a thread has ended.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let ask = |asker: &Asker| {
            let (reply, snapshot) = oneshot::channel();
            asker(reply);
            snapshot
        };
        // All are asked before the first answers.
        let snapshots: Vec<_> = self.0.iter().map(ask).collect();
        let mut sum = Snapshot::default();
        for snapshot in snapshots {
            sum = sum.with(&snapshot.await.ok()?);
        }
        Some(sum)
    }
}
