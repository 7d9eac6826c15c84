//! Sessions that ask for the class of their traffic.
//!
//! Flow entries count their packets as those of any session; a packet costs nothing more. A timer ends windows, before the packets of a
//! batch: it takes these counts first, so that no packet of a batch changes a class. The slow path sees the first packet of a direction
//! after a pause. A session whose class has changed is compiled anew.

use causeway_types::{Seid, Time};

use crate::engine::FastPath;

impl FastPath {
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
            if !self.stale_classes.contains_key(&seid) {
                let has_no_overlap = self.has_no_overlap(seid);
                self.remove_session(seid);
                self.stale_classes.insert(seid, has_no_overlap);
            }
        }
    }

    /// They are written into it again, but for those that a plan has written meanwhile.
    #[cold]
    pub(crate) fn insert_sessions_with_class(&mut self, now: Time) {
        for (seid, has_no_overlap) in std::mem::take(&mut self.stale_classes) {
            if !self.leases.contains_key(&seid) {
                self.insert_session(seid, has_no_overlap, now);
            }
        }
    }
}
