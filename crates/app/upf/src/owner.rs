//! What a daemon and its owner exchange: requests of operators, and the totals of a run.

use std::fmt;

use tokio::sync::{mpsc, oneshot};

use crate::config::{ConfigErrors, Level, Reloaded};
use crate::worker::Snapshot;

/// The most requests of operators that wait for the owner.
const OWNER_REQUESTS: usize = 4;

/// A request of an operator, over the management API, that the owner of the daemon carries out: it knows the file of the
/// configuration, and owns the logs of the process.
#[derive(Debug)]
pub enum OwnerRequest {
    /// Read the configuration again and pass it to [`Daemon::reload`](crate::Daemon::reload).
    Reload {
        /// Where to say what became of it.
        reply: oneshot::Sender<Result<Reloaded, ConfigErrors>>,
    },
    /// Set the level of the logs, until the next start or reload.
    LogLevel {
        /// The least severe level that is logged.
        level: Level,
        /// Where to confirm it.
        reply: oneshot::Sender<()>,
    },
}

/// The requests of operators to the owner of a daemon.
#[derive(Debug)]
pub struct OwnerRequests(mpsc::Receiver<OwnerRequest>);

impl OwnerRequests {
    /// The sender of operators, and what the owner receives.
    pub(crate) fn channel() -> (mpsc::Sender<OwnerRequest>, Self) {
        let (sender, receiver) = mpsc::channel(OWNER_REQUESTS);
        (sender, Self(receiver))
    }

    /// The next one; without end after the daemon has ended.
    pub async fn next(&mut self) -> OwnerRequest {
        match self.0.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }
}

/// The traffic totals of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// The last counters of the data plane.
    pub data_plane: Snapshot,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = &self.data_plane.counters;
        let (gtpu, ip) = (
            counters.gtpu_received.packets,
            counters.ip_received.packets + counters.ethernet_received.packets,
        );
        let (forwarded, dropped) = (counters.forwarded, counters.total_drops());
        write!(f, "received {gtpu} packets on N3 and {ip} on N6, forwarded {forwarded}, dropped {dropped}")
    }
}

impl Totals {
    pub(crate) fn of(data_plane: Snapshot) -> Self {
        Self { data_plane }
    }
}
