//! Which part a session belongs to.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use causeway_types::{FSeid, Seid};

use crate::seid::SeidShare;

/// The number of a part, and of all parts.
///
/// The SEID of the UPF says to which part a session belongs, and that of the SMF in which part it is established: whoever
/// establishes a session with the CP F-SEID of another one finds it there. The few sessions in other parts than their CP F-SEID
/// says, since it changed, are known to all parts.
#[derive(Clone, Debug)]
pub(crate) struct PartNumber {
    share: SeidShare,
    elsewhere: Arc<CpsOfOthers>,
}

/// CP F-SEIDs of sessions that are in other parts than those that establish sessions with such SEIDs, each with the number of
/// the last part that had one.
#[derive(Debug, Default)]
pub(crate) struct CpsOfOthers {
    all: Mutex<BTreeMap<(Seid, IpAddr), usize>>,
    count: AtomicUsize,
}

impl CpsOfOthers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Seid, IpAddr), usize>> {
        // A panic while it was locked ends the process.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part that has a session with this CP F-SEID.
    fn part(&self, cp: &FSeid) -> Option<usize> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let all = self.lock();
        cp.addr.iter().find_map(|ip| all.get(&(cp.seid, ip)).copied())
    }
}

impl PartNumber {
    /// Those of so many parts: that of the first one, and those of the others.
    pub(crate) fn all(parts: NonZeroU8) -> (Self, Vec<Self>) {
        let elsewhere = Arc::default();
        let number = |part| Self { share: SeidShare::of(part, parts), elsewhere: Arc::clone(&elsewhere) };
        (number(0), (1..parts.get()).map(number).collect())
    }

    /// The number of the part, from 0.
    pub(crate) const fn part(&self) -> usize {
        self.share.part() as usize
    }

    /// The number of parts.
    pub(crate) const fn parts(&self) -> usize {
        self.share.parts() as usize
    }

    /// The sessions with this SEID of the UPF are of this part.
    pub(crate) const fn has(&self, seid: Seid) -> bool {
        self.share.has(seid)
    }

    /// The number of the part with the sessions that have such SEIDs of the UPF.
    pub(crate) const fn part_of(&self, seid: Seid) -> usize {
        self.share.part_of(seid)
    }

    /// The number of the part that establishes sessions with this CP F-SEID.
    pub(crate) const fn part_of_cp(&self, cp: &FSeid) -> usize {
        self.share.establishing(cp.seid)
    }

    /// The number of the part that has a session with this CP F-SEID, if one has it.
    pub(crate) fn holder_of_cp(&self, cp: &FSeid) -> usize {
        self.elsewhere.part(cp).unwrap_or_else(|| self.part_of_cp(cp))
    }

    /// Only this part may have a session with this CP F-SEID.
    pub(crate) fn has_cp(&self, cp: &FSeid) -> bool {
        self.parts() == 1 || self.share.establishes(cp.seid) && self.elsewhere.part(cp).is_none()
    }

    /// A session of this part has this CP F-SEID now.
    pub(crate) fn note_cp(&self, seid: Seid, ip: IpAddr) {
        let is_elsewhere = self.parts() > 1 && !self.share.establishes(seid);
        if !is_elsewhere && self.elsewhere.count.load(Relaxed) == 0 {
            return;
        }
        let mut all = self.elsewhere.lock();
        match is_elsewhere {
            true => drop(all.insert((seid, ip), self.part())),
            false => drop(all.remove(&(seid, ip))),
        }
        self.elsewhere.count.store(all.len(), Relaxed);
    }

    /// It does not have it any more.
    pub(crate) fn forget_cp(&self, seid: Seid, ip: IpAddr) {
        if self.parts() == 1 || self.share.establishes(seid) {
            return;
        }
        let mut all = self.elsewhere.lock();
        if all.get(&(seid, ip)) == Some(&self.part()) {
            all.remove(&(seid, ip));
        }
        self.elsewhere.count.store(all.len(), Relaxed);
    }
}
