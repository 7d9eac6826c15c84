//! How the control plane talks to the packet thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::{io, thread};

use causeway_dataplane::{Applied, ApplyError, Counters, Event, Plan};
use causeway_ports::{PortError, Waker};
use causeway_rules::Applications;
use tokio::sync::{mpsc, oneshot};

use super::engine::Engine;
use super::packets::Packets;
use super::ports::PortSet;
use super::schedule::Schedule;
use crate::clock::Clock;

/// Reports that wait for the control plane. When it falls behind that far, the packet thread waits for it:
/// a flood of events fills a socket buffer, not the memory.
const REPORTS: usize = 4096;

/// What the control plane asks of the packet thread. `K` names a plan.
#[derive(Debug)]
pub enum Command<K> {
    /// Carry out a plan and send [`Report::Applied`] with the same key.
    Apply(K, Plan),
    /// Detect these applications from now on.
    Provision(Arc<Applications>),
    /// Answer with the counters as they are.
    Snapshot(oneshot::Sender<Snapshot>),
    /// Stop.
    Stop,
}

/// What the packet thread tells the control plane.
#[derive(Debug)]
pub enum Report<K> {
    /// A plan was carried out, or not.
    Applied(K, Result<Applied, ApplyError>),
    /// The data plane has seen something. Comes before the [`Report::Applied`] of any later plan.
    Event(Event),
    /// The thread has ended, and why: a command, or a port that is lost.
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
}

/// The packet thread, as the control plane holds it. Dropped, the thread stops.
#[derive(Debug)]
pub struct WorkerHandle<K> {
    commands: Sender<Command<K>>,
    reports: mpsc::Receiver<Report<K>>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl<K: Send + 'static> WorkerHandle<K> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread or no descriptor left, or the thread may not run where it should.
    pub fn spawn(engine: Engine, ports: PortSet, clock: Clock, schedule: Schedule) -> io::Result<Self> {
        let (commands, received): (_, Receiver<Command<K>>) = channel();
        let (reported, reports) = mpsc::channel(REPORTS);
        let waker = Waker::new()?;
        let packets = Packets::new(engine, ports, clock, waker.try_clone()?, schedule.busy_poll);
        let (placed, place) = channel();
        let run = move || {
            let in_place = schedule.take_place();
            let is_in_place = in_place.is_ok();
            // Whoever started the thread waits for it.
            let _ = placed.send(in_place);
            if is_in_place {
                packets.run(&received, &reported);
            }
        };
        let thread = Some(thread::Builder::new().name("packets".into()).spawn(run)?);
        let worker = Self { commands, reports, waker, thread };
        place.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(worker)
    }

    /// Sends a command and wakes the thread. `false` when it has ended.
    pub fn send(&self, command: Command<K>) -> bool {
        let sent = self.queue(command);
        self.wake();
        sent
    }

    /// Lets a command wait for [`WorkerHandle::wake`]: many cost one system call. `false` when the thread has ended.
    pub fn queue(&self, command: Command<K>) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Has the thread carry out the commands that wait.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// The next report; `None` when the thread has ended and everything was reported.
    pub async fn report(&mut self) -> Option<Report<K>> {
        self.reports.recv().await
    }

    /// The next report, if it has come already.
    pub fn report_now(&mut self) -> Option<Report<K>> {
        self.reports.try_recv().ok()
    }

    /// Another way to the counters, which the thread does not wait for when it stops.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(crate) fn snapshot_client(&self) -> io::Result<SnapshotClient> {
        let (commands, waker) = (self.commands.clone(), self.waker.try_clone()?);
        Ok(SnapshotClient(Box::new(move |reply| {
            // When it fails the thread has ended, and the answer says so.
            let _ = commands.send(Command::Snapshot(reply));
            waker.wake();
        })))
    }
}

impl<K> Drop for WorkerHandle<K> {
    fn drop(&mut self) {
        // The thread may be waiting for room for a report that nobody will read.
        self.reports.close();
        // It fails only when the thread has ended.
        let _ = self.commands.send(Command::Stop);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic there has been written to standard error already.
            let _ = thread.join();
        }
    }
}

/// Asks the packet thread for its counters, from any thread or task.
pub(crate) struct SnapshotClient(Box<dyn Fn(oneshot::Sender<Snapshot>) + Send + Sync>);

impl SnapshotClient {
    /// The counters now; `None` when the thread has ended.
    pub(crate) async fn snapshot(&self) -> Option<Snapshot> {
        let (reply, snapshot) = oneshot::channel();
        (self.0)(reply);
        snapshot.await.ok()
    }
}
