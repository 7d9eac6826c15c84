//! Session messages that the packet threads answer themselves (`upf.pfcp.accelerate`).
//!
//! A packet thread receives N4 on its own socket. A request of the class of `causeway-accel` it parses, applies to its data
//! plane and answers in the same turn; everything else it passes to the control thread ([`N4Datagram`]), where N4 adopts
//! the sessions that it needs. Which side has a session or a key is decided in one place, the tables of `Direct`, under
//! a lock that user packets never take: each session has one owner at every moment.

mod figures;
mod keys;
mod ledger;
mod owner;
mod plans;
mod thread;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use causeway_accel::{Accel, Config as Tables, NotPossible};
use causeway_dataplane::{Capabilities, Topology};
use causeway_n4::DirectNumbers;
use causeway_types::{DualIp, NodeId, Seid};

use figures::ThreadFigures;
pub(crate) use figures::{DirectFigures, times_of};
pub(crate) use owner::{Adopter, By, DirectOwner};
pub use thread::DirectN4;
pub(crate) use thread::Turn;

/// The highest 16 bits of the SEIDs of these sessions.
const SEID_TAG: u16 = 0xacce;

/// Sessions that the packet threads establish themselves, at most: each takes about half a kilobyte from the start.
const MAX_SESSIONS: u32 = 262_144;

/// SMFs in the table, at most.
const SMFS: usize = 256;

/// Datagrams for the control thread, at most. What comes beyond is lost, as in a full socket buffer.
const MAX_QUEUED: u32 = 2048;

/// What the packet threads and the control thread share.
#[derive(Debug)]
pub(crate) struct Direct {
    numbers: DirectNumbers,
    accel: Mutex<Accel>,
    figures: Mutex<ThreadFigures>,
    /// Datagrams on their way to the control thread.
    queued: AtomicU32,
    /// Datagrams that found no place in that queue.
    lost: AtomicU64,
    /// The control thread is to be told of every answered request, for its log or its listeners.
    is_observed: AtomicBool,
}

/// A datagram that the control thread has to handle.
#[derive(Debug)]
pub struct N4Datagram {
    /// The number of the N4 address that it came to.
    pub(crate) socket: usize,
    pub(crate) from: SocketAddr,
    pub(crate) octets: Vec<u8>,
    /// Later messages of its sender wait for it ([`Accel::hold`]).
    pub(crate) is_held: bool,
}

/// A request that a packet thread answered, with the answer and what it did to its session.
#[derive(Debug)]
pub struct AnsweredRequest {
    pub(crate) from: SocketAddr,
    pub(crate) request: Vec<u8>,
    pub(crate) answer: Vec<u8>,
    pub(crate) change: Option<(Seid, Change)>,
}

/// What became of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was established.
    Established,
    /// Its rules changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// What the packet threads say to the control thread.
#[derive(Debug)]
pub enum DirectReport {
    /// It has to handle this.
    Datagram(N4Datagram),
    /// This was answered; only while it is wanted.
    Answered(Box<AnsweredRequest>),
}

impl Direct {
    /// For a UPF with this Node ID and N4 address, and at most so many sessions.
    ///
    /// # Errors
    /// The UPF has a topology or a data plane with which it is not possible.
    pub(crate) fn new(
        node: &NodeId,
        address: DualIp,
        topology: &Topology,
        capabilities: &Capabilities,
        max_sessions: u32,
        seed: u64,
    ) -> Result<Self, NotPossible> {
        let numbers = DirectNumbers { seid_tag: SEID_TAG, sessions: max_sessions.min(MAX_SESSIONS) };
        let last_slot_of_n4 = causeway_n4::last_teid_slot(max_sessions as usize, Some(numbers));
        let mut tables = Tables::new(node, address, &topology.endpoints(), capabilities)?;
        tables.sessions = numbers.sessions;
        // A session of N4 may have several addresses.
        tables.keys = max_sessions.saturating_mul(2);
        tables.smfs = SMFS;
        (tables.seid_tag, tables.first_slot) = (numbers.seid_tag, last_slot_of_n4 + 1);
        (tables.last_slot_of_n4, tables.teids, tables.seed) = (last_slot_of_n4, topology.teids, seed);
        let mut accel = Accel::new(tables)?;
        // N4 refuses those that are not associated, and says so in the log.
        accel.set_others(true);
        Ok(Self {
            numbers,
            accel: Mutex::new(accel),
            figures: Mutex::default(),
            queued: AtomicU32::new(0),
            lost: AtomicU64::new(0),
            is_observed: AtomicBool::new(false),
        })
    }

    /// The tables. Held for the time of one message or less.
    fn tables(&self) -> MutexGuard<'_, Accel> {
        self.accel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The figures of the packet threads.
    fn thread_figures(&self) -> MutexGuard<'_, ThreadFigures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers that N4 leaves to these sessions.
    pub(crate) fn numbers(&self) -> DirectNumbers {
        self.numbers
    }

    /// Whether the control thread wants to know of every answered request.
    pub(crate) fn observe(&self, is_observed: bool) {
        self.is_observed.store(is_observed, Ordering::Relaxed);
    }

    /// A place in the queue to the control thread. False: there is none, and the datagram is lost.
    fn take_place(&self) -> bool {
        let is_there = self.queued.load(Ordering::Relaxed) < MAX_QUEUED;
        match is_there {
            true => drop(self.queued.fetch_add(1, Ordering::Relaxed)),
            false => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
        }
        is_there
    }

    fn leave_place(&self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The SMF's host, if it has an IPv4 address.
const fn v4(from: SocketAddr) -> Option<SocketAddrV4> {
    match from {
        SocketAddr::V4(from) => Some(from),
        SocketAddr::V6(_) => None,
    }
}

/// The same of an address.
const fn host(ip: IpAddr) -> Option<Ipv4Addr> {
    match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}
