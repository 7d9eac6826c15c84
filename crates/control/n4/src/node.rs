//! What the parts of N4 have in common, and only read while they work side by side.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use causeway_pfcp::UpFeatures;
use causeway_types::{NtpSeconds, Time, WallClock};

use crate::Config;
use crate::association::{AssociationId, Associations};
use crate::load::{LoadControl, LoadStatus};
use crate::memory::{MemoryLimit, Needed};

/// Sessions that a part may establish between two publications of its sums, at most.
pub(crate) const MAX_NEW_SESSIONS: usize = 64;

/// Octets of a session that few exceed.
const LARGE_SESSION: usize = 16 << 10;

/// The UPF as a node: its associations, its limits, and its state.
///
/// [`N4`](crate::N4) changes it while it has all parts. A part that works alone only reads it; what it counts of an
/// association, it counts for itself.
#[derive(Debug)]
pub struct Node {
    pub(crate) config: Arc<Config>,
    /// The UP Function Features.
    pub(crate) features: UpFeatures,
    pub(crate) associations: Associations,
    pub(crate) memory: MemoryLimit,
    /// Locked only for SMFs that support load or overload control.
    load: Mutex<LoadControl>,
    /// New sessions are rejected.
    pub(crate) is_draining: bool,
    /// The UPF shuts down.
    pub(crate) is_stopping: bool,
    /// The clock of all times sent to SMFs.
    pub(crate) wall: WallClock,
    sums: Box<[Sums]>,
}

/// What the other parts know of the sessions of a part; in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Sums {
    sessions: AtomicUsize,
    octets: AtomicUsize,
}

impl Node {
    /// A node without associations, whose sessions are in so many parts.
    pub(crate) fn new(config: Arc<Config>, recovery: NtpSeconds, features: UpFeatures, parts: usize) -> Self {
        Self {
            features,
            associations: Associations::new(Arc::clone(&config), recovery, features, parts),
            memory: MemoryLimit::new(config.limits.memory),
            load: Mutex::new(LoadControl::new(&config, recovery.0)),
            is_draining: false,
            is_stopping: false,
            wall: WallClock::default(),
            sums: (0..parts).map(|_| Sums::default()).collect(),
            config,
        }
    }

    /// An association has this address. O(associations).
    pub fn is_smf(&self, ip: std::net::IpAddr) -> bool {
        self.associations.knows(ip)
    }

    /// Load information begins again with this number.
    pub(crate) fn number_load_from(&mut self, sequence: u32) {
        self.load = Mutex::new(LoadControl::new(&self.config, sequence));
    }

    /// Follows changed settings.
    pub(crate) fn reconfigure(&mut self, now: Time, config: Arc<Config>) {
        self.load.get_mut().unwrap_or_else(PoisonError::into_inner).reconfigure(&config);
        self.associations.reconfigure(now, Arc::clone(&config));
        self.config = config;
    }

    /// The information about the load to send to an SMF now; see [`LoadControl::status`].
    pub(crate) fn load_status(
        &self,
        now: Time,
        id: AssociationId,
        load: u8,
        fullness: impl FnOnce() -> u8,
    ) -> LoadStatus {
        // A panic while it was locked ends the process.
        let mut control = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        self.associations.load_status(now, id, &mut control, load, fullness)
    }

    /// The sessions of a part are so many now, and may need so much memory.
    pub(crate) fn publish(&self, part: usize, sessions: usize, needed: Needed) {
        if let Some(sums) = self.sums.get(part) {
            sums.sessions.store(sessions, Relaxed);
            sums.octets.store(needed.octets(), Relaxed);
        }
    }

    /// The sessions of all other parts than this one, and the octets that these may need, as last published.
    pub(crate) fn beside(&self, part: usize) -> (usize, usize) {
        let others = self.sums.iter().enumerate().filter(|(number, _)| *number != part);
        let of_all = others.map(|(_, sums)| (sums.sessions.load(Relaxed), sums.octets.load(Relaxed)));
        of_all.fold((0, 0), |(sessions, octets), (more, of_them)| (sessions + more, octets + of_them))
    }

    /// The same with those sessions that all parts may establish meanwhile.
    pub(crate) fn at_most_beside(&self, part: usize) -> (usize, usize) {
        let (sessions, octets) = self.beside(part);
        let new = MAX_NEW_SESSIONS * self.sums.len();
        (sessions + new, octets + new * LARGE_SESSION)
    }
}
