//! Counts the packets of sessions that ask for the class of their traffic.
//!
//! A table beside the flow entries has the number of the session's windows. A timer ends windows, before the packets of a batch, so
//! that no packet of it changes a class. A session whose class has changed is compiled anew.

use std::collections::BTreeMap;

use causeway_types::{Seid, Time};

use crate::engine::FastPath;
use crate::table::index::prefetch;

/// The numbers of windows, by flow entry.
#[derive(Debug, Default)]
pub(crate) struct ClassNumbers {
    /// One more than the number; zero: the session does not ask. Empty until the first session asks.
    by_entry: Vec<u32>,
    /// Flow entries with a number.
    used: usize,
    /// Sessions to be compiled again, since there are other classes; whether no other has their UE addresses.
    pub(crate) stale: BTreeMap<Seid, bool>,
}

impl ClassNumbers {
    /// Whether some session asks.
    #[inline]
    pub(crate) const fn are_used(&self) -> bool {
        self.used > 0
    }

    /// Prefetches the numbers of flow entries.
    pub(crate) fn fetch(&self, entries: &[u32]) {
        entries.iter().for_each(|entry| prefetch(&self.by_entry, *entry as usize));
    }

    /// The number of a flow entry.
    #[inline]
    pub(crate) fn of(&self, entry: u32) -> Option<u32> {
        self.by_entry.get(entry as usize).copied().unwrap_or(0).checked_sub(1)
    }

    /// Sets the numbers of a session's flow entries, of which there are `capacity` in all.
    fn set(&mut self, entries: &[u32], number: u32, capacity: usize) {
        if self.by_entry.is_empty() {
            // Zero pages of the kernel until they are written.
            self.by_entry = vec![0; capacity];
        }
        for entry in entries {
            if let Some(place) = self.by_entry.get_mut(*entry as usize) {
                self.used += usize::from(*place == 0);
                *place = number + 1;
            }
        }
    }

    fn clear(&mut self, entries: &[u32]) {
        for entry in entries {
            if let Some(place) = self.by_entry.get_mut(*entry as usize) {
                self.used -= usize::from(*place != 0);
                *place = 0;
            }
        }
    }
}

impl FastPath {
    /// The session was written into the flow table.
    pub(crate) fn number_entries(&mut self, seid: Seid) {
        if let Some(number) = self.slow_path.class_pair(seid)
            && let Some(lease) = self.leases.get(&seid)
        {
            self.class_numbers.set(lease.entries(), number, self.table.capacity());
        }
    }

    /// The session will be removed from the flow table.
    pub(crate) fn forget_entries(&mut self, seid: Seid) {
        if self.class_numbers.are_used()
            && let Some(lease) = self.leases.get(&seid)
        {
            self.class_numbers.clear(lease.entries());
        }
    }

    /// Writes a session whose class has changed into the flow table anew.
    pub(crate) fn compile_again(&mut self, seid: Seid, now: Time) {
        if self.leases.contains_key(&seid) {
            let has_no_overlap = self.has_no_overlap(seid);
            self.remove_session(seid);
            self.insert_session(seid, has_no_overlap, now);
        }
    }

    /// The sessions that ask leave the flow table, since there will be other classes.
    pub(crate) fn remove_sessions_with_class(&mut self) {
        for seid in self.slow_path.sessions_with_class() {
            if !self.class_numbers.stale.contains_key(&seid) {
                let has_no_overlap = self.has_no_overlap(seid);
                self.remove_session(seid);
                self.class_numbers.stale.insert(seid, has_no_overlap);
            }
        }
    }

    /// They are written into it again, but for those that a plan has written meanwhile.
    #[cold]
    pub(crate) fn insert_sessions_with_class(&mut self, now: Time) {
        for (seid, has_no_overlap) in std::mem::take(&mut self.class_numbers.stale) {
            if !self.leases.contains_key(&seid) {
                self.insert_session(seid, has_no_overlap, now);
            }
        }
    }
}
