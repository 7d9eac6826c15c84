//! Sessions whose state is in cold storage.
//!
//! A session that has been active and has been idle for long keeps in memory what finds it and says its rules: the
//! record of a dormant session. Its flow entries are free, and the measurements of its packets are a record of the
//! store. The first packet or plan that concerns it loads the record. A packet does not wait for a disk in the packet thread: it is held, with those
//! behind it, until another thread has read the record. A plan is in flight until then, with those behind it.

mod held;
mod load;
mod move_out;
mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::task::Waker;

use causeway_cold::ColdStore;
use causeway_dataplane::ColdStorageState;
use causeway_types::{Seid, Span, Time};

use crate::FastPath;
use held::HeldPackets;
use waiting::WaitingPlans;

/// The shortest time between two steps of the search for idle sessions.
const STEP: Span = Span::from_millis(10);

/// What an operator should know of cold storage.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ColdNotice {
    /// The state of a session cannot be read now. Its packets are dropped and its plans refused until it can, or until
    /// it is given up.
    Unreadable {
        /// The session.
        session: Seid,
        /// What the system says.
        error: String,
    },
    /// The state of a session is lost: its record is damaged, or could not be read for ten seconds. The session goes
    /// on; usage since its last report is not reported, and its quotas count anew.
    Lost {
        /// The session.
        session: Seid,
        /// Why.
        error: String,
    },
}

impl fmt::Display for ColdNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { session, error } => {
                write!(f, "the idle session {session} cannot be loaded from cold storage: {error}")
            }
            Self::Lost { session, error } => write!(
                f,
                "usage of session {session} is lost, since its state cannot be loaded from cold storage: {error}"
            ),
        }
    }
}

/// The store of a data plane, and the search for idle sessions.
#[derive(Debug)]
pub(crate) struct ColdStorage {
    store: Box<dyn ColdStore>,
    /// How long a session is without packets before it moves to the store.
    idle_after: Span,
    notice: fn(&ColdNotice),
    /// The next step of the search, and where it continues.
    next_step: Time,
    round: Round,
    /// Sessions that could not be read: since when, and when that was last tried.
    unreadable: BTreeMap<Seid, (Time, Time)>,
    /// Packets of sessions whose record is being read, and the session of each slot that is.
    held: HeldPackets,
    reading: HashMap<u32, Seid>,
    /// Plans of such sessions.
    waiting: WaitingPlans,
    evictions: u64,
    loads: u64,
    read_errors: u64,
    lost: u64,
}

/// One search through all sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Time,
    /// The next slot of a dormant session.
    slot: u32,
    /// The active sessions up to this sequence number have been looked at.
    active: u64,
}

/// The state of a session cannot be read now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unreadable;

/// Why a session has no state in memory for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotLoaded {
    Unreadable,
    /// The state of this session is being read.
    Reading(Seid),
}

impl FastPath {
    /// Moves the state of sessions without packets for `idle_after` into a store; zero: as soon as no packet or plan
    /// is processed. `notice` is called when a session cannot be loaded.
    ///
    /// A session stays in memory if a timer of it expires within `idle_after`, if it has buffered packets, or other state than usage, token
    /// buckets and timers, and if it cannot be dormant.
    #[must_use]
    pub fn with_cold_storage(
        mut self,
        store: Box<dyn ColdStore>,
        idle_after: Span,
        notice: fn(&ColdNotice),
    ) -> Self {
        self.cold = Some(Box::new(ColdStorage {
            store,
            idle_after,
            notice,
            next_step: Time::default(),
            round: Round::default(),
            unreadable: BTreeMap::new(),
            held: HeldPackets::default(),
            reading: HashMap::new(),
            waiting: WaitingPlans::default(),
            evictions: 0,
            loads: 0,
            read_errors: 0,
            lost: 0,
        }));
        self
    }

    /// The sessions in cold storage, and what has moved.
    pub(crate) fn cold_storage_state(&self) -> Option<ColdStorageState> {
        let cold = self.cold.as_deref()?;
        let (store, in_store) = (cold.store.state(), self.dormant.cold());
        Some(ColdStorageState {
            in_memory: (self.slow_path.sessions() + self.dormant.len() - in_store) as u64,
            cold: in_store as u64,
            evictions: cold.evictions,
            loads: cold.loads,
            waiting: store.waiting,
            write_errors: store.write_errors,
            read_errors: cold.read_errors,
            lost: cold.lost,
            load_times: store.read_times,
            held_packets: cold.held.len() as u64,
        })
    }

    /// Sets what is called when a record has been read.
    pub(crate) fn set_cold_waker(&mut self, waker: Waker) {
        if let Some(cold) = self.cold.as_deref_mut() {
            cold.store.set_waker(waker);
        }
    }

    /// The next step of the search for idle sessions.
    pub(crate) fn next_cold_step(&self) -> Option<Time> {
        let cold = self.cold.as_deref().filter(|cold| !cold.idle_after.is_zero())?;
        Some(cold.next_step)
    }
}
