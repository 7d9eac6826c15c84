//! Active sessions that could become dormant again, in the order in which they became active.

use std::collections::BTreeMap;
use std::ops::Bound;

use causeway_collections::PartitionedMap;
use causeway_model::ProfiledSession;
use causeway_types::{Seid, Time};

/// The default maximum of active sessions among those that can be dormant: an active session takes five times the
/// memory of a dormant one.
const DEFAULT_MAX_ACTIVE: usize = 1 << 18;

/// Active sessions that could become dormant.
#[derive(Debug)]
pub(crate) struct ActiveSessions {
    max_active: usize,
    sessions: PartitionedMap<Seid, (u64, DormancyCandidate)>,
    /// By their sequence numbers.
    order: BTreeMap<u64, Seid>,
    sequence: u64,
}

/// A session that could become dormant.
#[derive(Clone, Debug)]
pub(crate) struct DormancyCandidate {
    /// When it was established.
    pub(crate) since: Time,
    /// When it became active.
    pub(crate) active_at: Time,
    /// Its profile, with the transitions applied to it. `None`: its profile is to be found by its rules.
    pub(crate) profiled: Option<ProfiledSession>,
}

impl Default for ActiveSessions {
    fn default() -> Self {
        Self {
            max_active: DEFAULT_MAX_ACTIVE,
            sessions: PartitionedMap::default(),
            order: BTreeMap::new(),
            sequence: 0,
        }
    }
}

impl ActiveSessions {
    /// Sets the maximum.
    pub(crate) const fn limit(&mut self, most: usize) {
        self.max_active = most;
    }

    /// Adds a session that has become active, as the latest one.
    pub(crate) fn add(&mut self, seid: Seid, candidate: DormancyCandidate) {
        self.sequence += 1;
        if let Some((before, _)) = self.sessions.insert(seid, (self.sequence, candidate)) {
            self.order.remove(&before);
        }
        self.order.insert(self.sequence, seid);
    }

    /// A session.
    pub(crate) fn get(&self, seid: Seid) -> Option<&DormancyCandidate> {
        self.sessions.get(&seid).map(|(_, candidate)| candidate)
    }

    /// The same, mutable.
    pub(crate) fn get_mut(&mut self, seid: Seid) -> Option<&mut DormancyCandidate> {
        self.sessions.get_mut(&seid).map(|(_, candidate)| candidate)
    }

    /// Removes a session that is dormant, or has ended. Returns its state.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<DormancyCandidate> {
        let (turn, candidate) = self.sessions.remove(&seid)?;
        self.order.remove(&turn);
        Some(candidate)
    }

    /// The sessions that became active after the one with this sequence number, in order, with theirs.
    pub(crate) fn behind(&self, sequence: u64) -> impl Iterator<Item = (u64, Seid, &DormancyCandidate)> {
        let behind = self.order.range((Bound::Excluded(sequence), Bound::Unbounded));
        behind.filter_map(|(sequence, seid)| Some((*sequence, *seid, &self.sessions.get(seid)?.1)))
    }

    /// Takes the session that has been active for longest, if there are too many.
    pub(crate) fn pop(&mut self) -> Option<(Seid, DormancyCandidate)> {
        if self.sessions.len() <= self.max_active {
            return None;
        }
        let (_, seid) = self.order.pop_first()?;
        Some((seid, self.sessions.remove(&seid)?.1))
    }
}
