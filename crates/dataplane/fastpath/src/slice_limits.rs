//! Limits of network slices that begin or end while sessions have traffic.
//!
//! Flow entries know no limit of a slice: the slow path has the packets of a limited slice. The sessions of a slice whose limit begins
//! or ends are compiled again, so many at a time, so that no packet waits for all of them.

use causeway_types::{SNssai, Seid, Time};

use crate::engine::FastPath;

/// Sessions that are compiled again at a time.
const AT_A_TIME: usize = 256;

/// Sessions whose flow entries do not follow the limit of their slice yet.
#[derive(Debug, Default)]
pub(crate) struct OutdatedSessions(Vec<Seid>);

impl OutdatedSessions {
    /// There are some.
    #[inline]
    pub(crate) const fn are_some(&self) -> bool {
        !self.0.is_empty()
    }
}

impl FastPath {
    /// The limits of these slices have begun or ended in the topology. Takes O(sessions with flow entries); those of the slices are
    /// compiled again later, but for the first of them.
    #[cold]
    pub(crate) fn compile_slices_again(&mut self, slices: &[SNssai], now: Time) {
        for held in self.profile_cache.clear() {
            self.compiler().release_profile(held);
        }
        let is_of = |seid: &Seid| {
            let slice = self.slow_path.rules_of(*seid).and_then(|rules| rules.slice);
            slice.is_some_and(|slice| slices.contains(&slice))
        };
        let active = self.leases.iter().map(|(seid, _)| *seid).filter(is_of);
        let mut sessions: Vec<Seid> = active.chain(self.dormant.with_entries_of(slices)).collect();
        sessions.append(&mut self.outdated.0);
        self.outdated = OutdatedSessions(sessions);
        self.compile_outdated(now);
    }

    /// Compiles some of these sessions again. Those that ended are skipped.
    #[cold]
    pub(crate) fn compile_outdated(&mut self, now: Time) {
        let left = self.outdated.0.len().saturating_sub(AT_A_TIME);
        for seid in self.outdated.0.split_off(left) {
            // A session that cannot be loaded has no flow entries.
            if self.activate(seid, now).is_ok() {
                self.compile_again(seid, now);
            }
        }
    }
}
