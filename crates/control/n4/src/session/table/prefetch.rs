//! Prefetch of sessions and their index entries.

use std::ops::Range;

use causeway_collections::{PrefaultFn, Release};
use causeway_types::{FSeid, Seid};

use super::Sessions;
use crate::session::Session;

/// The most vacant slots removed at a time.
const AT_ONCE: usize = 1024;

/// Octets of a cache line.
const LINE: usize = 64;

impl Sessions {
    /// The memory of the session tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Range<*const u8>> {
        let ends = self.by_cp.memory().as_ptr_range();
        [self.all.memory(), ends.start.cast()..ends.end.cast()].into_iter()
    }

    /// Prepares memory of the session tables with this function before its first use.
    pub(crate) const fn prepare_with(&mut self, prepare: PrefaultFn) {
        self.all.prepare_with(prepare);
        self.by_cp.set_prefault(prepare);
    }

    /// Releases unused memory of the session tables with `R`.
    pub(crate) fn release_with<R: Release>(&mut self) {
        self.all.release_with(R::release::<Option<Session>>);
    }

    /// The end of the table has unused memory.
    #[inline]
    pub(crate) fn are_sparse(&self) -> bool {
        self.all.is_sparse()
    }

    /// Releases some of it.
    pub(crate) fn shrink(&mut self) {
        self.all.shorten(AT_ONCE);
    }

    /// Calls `fetch` with the addresses of a session, if it exists.
    pub(crate) fn prefetch(&self, seid: Seid, fetch: impl Fn(*const u8)) {
        if let Some(session) = self.all.get_place(self.seids.index_of_seid(seid)) {
            let octets = std::ptr::from_ref(session).cast::<u8>();
            (0..size_of_val(session)).step_by(LINE).for_each(|at| fetch(octets.wrapping_add(at)));
        }
    }

    /// Calls `fetch` with the addresses of the index entry of a new session.
    pub(crate) fn prefetch_new(&self, cp: &FSeid, fetch: impl Fn(*const u8)) {
        for ip in cp.addr.iter() {
            let (words, at) = self.by_cp.home_bucket(self.by_cp.probe((cp.seid, ip)));
            fetch(words.as_ptr().wrapping_add(at).cast());
        }
    }

    /// Reads the index entries of a session that is to be removed, and of the one that gets its number. The result has
    /// no meaning.
    pub(crate) fn prefetch_removal(&self, session: &Session) -> u32 {
        let successor = self.members.last(session.association).and_then(|index| self.all.get(index));
        let member = self.members.of(session.association).get(session.number as usize);
        let ends = session.cp.addr.iter().map(|ip| self.by_cp.prefetch((session.cp.seid, ip)));
        ends.fold(0, |all, end| all ^ end)
            ^ successor.map_or(0, |successor| successor.number)
            ^ member.copied().unwrap_or(0)
    }
}
