//! What leads to a session is brought near before it is needed.

use causeway_types::{FSeid, Seid};

use super::Sessions;
use crate::session::Session;

impl Sessions {
    /// Reads where a new session is found, so that it is near when it is needed. What this says means nothing.
    pub(crate) fn touch(&self, seid: Seid, cp: &FSeid) -> u32 {
        let ends = cp.addr.iter().map(|ip| self.by_cp.touch((cp.seid, ip)));
        ends.fold(self.by_seid.touch(seid), |all, end| all ^ end)
    }

    /// The memory of the tables that lead to sessions.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &[u32]> {
        [self.by_seid.memory(), self.by_cp.memory()].into_iter()
    }

    /// Says where one is found.
    pub(crate) fn foresee(&self, seid: Seid, fetch: impl Fn(&[u32], usize)) {
        let (words, at) = self.by_seid.home_of(self.by_seid.probe(seid));
        fetch(words, at);
    }

    /// Says where a new session will be found.
    pub(crate) fn foresee_new(&self, seid: Seid, cp: &FSeid, fetch: impl Fn(&[u32], usize)) {
        for ip in cp.addr.iter() {
            let (words, at) = self.by_cp.home_of(self.by_cp.probe((cp.seid, ip)));
            fetch(words, at);
        }
        self.foresee(seid, fetch);
    }

    /// The same of one that is to leave, and of the one that gets its number.
    pub(crate) fn touch_leaving(&self, session: &Session) -> u32 {
        let heir = self.members.last(session.association).and_then(|place| self.all.get(place));
        let member = self.members.of(session.association).get(session.number as usize);
        self.touch(session.seid, &session.cp)
            ^ heir.map_or(0, |heir| heir.number)
            ^ member.copied().unwrap_or(0)
    }
}
