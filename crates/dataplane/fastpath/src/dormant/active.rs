//! Sessions that could rest again, in the order in which they woke.

use std::collections::BTreeMap;

use causeway_rules::{PartitionedMap, ProfiledSession};
use causeway_types::{Seid, Time};

/// How many such sessions are awake at most, if they can rest: they take five times as much memory as those that rest.
const DEFAULT_MAX_ACTIVE: usize = 1 << 18;

/// Sessions that have rested and are awake.
#[derive(Debug)]
pub(crate) struct ActiveSessions {
    max_active: usize,
    sessions: PartitionedMap<Seid, (u64, DormancyCandidate)>,
    /// By their turns.
    order: BTreeMap<u64, Seid>,
    sequence: u64,
}

/// A session as it was established, but for changes that others had, too.
#[derive(Clone, Debug)]
pub(crate) struct DormancyCandidate {
    pub(crate) since: Time,
    pub(crate) profiled: ProfiledSession,
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
    /// No more than so many are to be awake.
    pub(crate) const fn limit(&mut self, most: usize) {
        self.max_active = most;
    }

    /// A session is awake: the latest one.
    pub(crate) fn add(&mut self, seid: Seid, candidate: DormancyCandidate) {
        self.sequence += 1;
        if let Some((before, _)) = self.sessions.insert(seid, (self.sequence, candidate)) {
            self.order.remove(&before);
        }
        self.order.insert(self.sequence, seid);
    }

    /// A session is awake for good, or no longer. What was known of it.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<DormancyCandidate> {
        let (turn, candidate) = self.sessions.remove(&seid)?;
        self.order.remove(&turn);
        Some(candidate)
    }

    /// Takes out the one that has been awake for longest, if there are too many.
    pub(crate) fn pop(&mut self) -> Option<(Seid, DormancyCandidate)> {
        if self.sessions.len() <= self.max_active {
            return None;
        }
        let (_, seid) = self.order.pop_first()?;
        Some((seid, self.sessions.remove(&seid)?.1))
    }
}
