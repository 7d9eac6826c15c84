//! What the control plane and the packet threads say to each other.

use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Counters, Event, HostReachability, Plan};
use causeway_ports::PortError;
use causeway_rules::Applications;
use causeway_types::WallClock;
use tokio::sync::oneshot;

use super::session_keys::NewPaths;

/// What the control plane asks of a packet thread. `K` names a plan.
#[derive(Debug)]
pub(super) enum Command<K> {
    /// Carry out a plan and send [`Report::Applied`] with the same key.
    Apply(K, Plan),
    /// Detect these applications from now on.
    Provision(Arc<Applications>),
    /// The machine has these addresses from now on.
    Host(Arc<HostReachability>),
    /// The wall clock says this from now on.
    WallClock(WallClock),
    /// Supervise other paths than before for a session of another worker.
    Follow(NewPaths),
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
        }
    }
}

/// Asks one packet thread for its counters.
pub(super) type SnapshotRequest = Box<dyn Fn(oneshot::Sender<Snapshot>) + Send + Sync>;

/// Asks the packet threads for their counters, from any thread or task.
pub struct SnapshotClient(pub(super) Vec<SnapshotRequest>);

impl SnapshotClient {
    /// The counters of each thread now, in the order of their numbers; `None` when one has ended.
    pub async fn snapshots(&self) -> Option<Vec<Snapshot>> {
        let ask = |request: &SnapshotRequest| {
            let (reply, snapshot) = oneshot::channel();
            request(reply);
            snapshot
        };
        // All are asked before the first answers.
        let asked: Vec<_> = self.0.iter().map(ask).collect();
        let mut snapshots = Vec::with_capacity(asked.len());
        for snapshot in asked {
            snapshots.push(snapshot.await.ok()?);
        }
        Some(snapshots)
    }

    /// The counters of all threads together now; `None` when one has ended.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let snapshots = self.snapshots().await?;
        Some(snapshots.iter().fold(Snapshot::default(), Snapshot::with))
    }
}
