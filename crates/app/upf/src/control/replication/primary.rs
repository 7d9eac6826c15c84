//! The takeover of a chain, and what its primary does from then on: the order of its steps.
//!
//! N4 is given the records of the earlier primary before any datagram. When the data plane has all sessions, it is given their usage; when it has
//! that, the host may take the service addresses.

use std::collections::VecDeque;
use std::net::SocketAddr;

use causeway_n4::{ApplyId, N4, Output};
use causeway_types::{Seid, Span, Time};
use tokio::sync::{mpsc, oneshot};

use super::{Identity, Replication};
use crate::chain::{ChainHead, ChainStatus};
use crate::clock::Clock;
use crate::worker::WorkerHandle;

/// The chain whose primary this is, as the control thread gets it.
pub(crate) struct ChainInputs {
    pub(crate) head: ChainHead,
    /// What its primaries have in common.
    pub(crate) identity: Identity,
    /// Told when all sessions of an earlier primary are in the data plane.
    pub(crate) restored: oneshot::Sender<()>,
}

/// What of an earlier primary the data plane is being given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Restoring {
    /// It has all of it.
    No,
    Sessions,
    /// The usage of the sessions: answers that are awaited, and the sessions that go on with theirs.
    Usage {
        awaited: usize,
        sessions: usize,
    },
}

/// The primary of a chain.
pub(in crate::control) struct Primary {
    /// What the standby gets.
    replication: Replication,
    identity: Identity,
    /// Told once no plan of a restored session is in flight.
    restored: Option<oneshot::Sender<()>>,
    restoring: Restoring,
}

impl Primary {
    /// `usage_interval`: how often usage is recorded; zero: never.
    pub(in crate::control) fn new(inputs: ChainInputs, usage_interval: Span) -> Self {
        let ChainInputs { head, identity, restored } = inputs;
        Self {
            replication: Replication::new(head, usage_interval),
            identity,
            restored: Some(restored),
            restoring: Restoring::No,
        }
    }

    /// As [`Replication::acknowledgements`].
    pub(in crate::control) fn acknowledgements(&mut self) -> mpsc::UnboundedReceiver<u64> {
        self.replication.acknowledgements()
    }

    /// Begins with the records of the earlier primary.
    pub(in crate::control) fn begin(&mut self, now: Time, n4: &mut N4) {
        self.replication.begin(now, n4, self.identity);
        self.restoring = Restoring::Sessions;
    }

    /// Records what has changed in N4, and takes its outputs, which come behind `outputs`. Nothing is sent before.
    pub(in crate::control) fn replicate(
        &mut self,
        clock: Clock,
        n4: &mut N4,
        worker: &mut WorkerHandle<ApplyId>,
        outputs: &mut VecDeque<Output>,
    ) {
        // Before the outputs are taken: reports have waited for it.
        if self.restoring == Restoring::Sessions && n4.plans_in_flight() == 0 {
            let usage = self.replication.record_changes(clock.now(), n4);
            let awaited = usage.iter().map(|some| worker.restore_usage(some)).sum();
            self.restoring = Restoring::Usage { awaited, sessions: 0 };
        }
        let mut looks_at_associations = false;
        while let Some(output) = n4.poll_output() {
            looks_at_associations |= matches!(output, Output::Send { .. } | Output::Notice(_));
            outputs.push_back(output);
        }
        self.replication.follow(n4, looks_at_associations);
        // No datagram has been received before.
        if let Restoring::Usage { awaited: 0, sessions } = self.restoring {
            self.restoring = Restoring::No;
            self.replication.restored(sessions);
            if let Some(restored) = self.restored.take() {
                // The owner may have ended.
                let _ = restored.send(());
            }
        }
    }

    /// A packet thread goes on with usage of so many sessions of the earlier primary.
    pub(in crate::control) fn usage_restored(&mut self, count: usize) {
        if let Restoring::Usage { awaited, sessions } = &mut self.restoring {
            *awaited = awaited.saturating_sub(1);
            *sessions += count;
        }
    }

    /// When the packet threads are asked for usage next.
    pub(in crate::control) fn next_usage_step(&self) -> Option<Time> {
        if self.restoring == Restoring::No { self.replication.next_usage_step() } else { None }
    }

    /// Asks the packet threads for usage, if it is time.
    pub(in crate::control) fn ask_for_usage(
        &mut self,
        now: Time,
        n4: &N4,
        worker: &mut WorkerHandle<ApplyId>,
    ) {
        if self.restoring != Restoring::No {
            return;
        }
        let sessions = self.replication.ask_for_usage(now, n4);
        if !sessions.is_empty() {
            self.replication.asked_for_usage(worker.ask_for_usage(&sessions));
        }
    }

    /// As [`Replication::usage_measured`].
    pub(in crate::control) fn usage_measured(&mut self, n4: &N4, snapshots: Vec<(Seid, Vec<u8>)>) {
        self.replication.usage_measured(n4, snapshots);
    }

    /// As [`Replication::hold`].
    pub(in crate::control) fn hold(
        &mut self,
        to: SocketAddr,
        octets: Vec<u8>,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        self.replication.hold(to, octets)
    }

    /// The standby has so many changes. Returns the datagrams that waited for them.
    pub(in crate::control) fn acknowledged(
        &mut self,
        changes: u64,
    ) -> impl Iterator<Item = (SocketAddr, Vec<u8>)> {
        self.replication.acknowledged(changes);
        std::iter::from_fn(move || self.replication.release())
    }

    /// The state of the chain.
    pub(in crate::control) fn status(&self) -> ChainStatus {
        self.replication.status()
    }
}
