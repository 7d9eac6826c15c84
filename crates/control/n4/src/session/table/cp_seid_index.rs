//! Lookup of sessions by CP F-SEID.

use std::net::IpAddr;

use causeway_collections::Probe;
use causeway_types::{FSeid, Seid};

use super::Sessions;
use crate::session::Session;

impl Sessions {
    /// The session with this CP F-SEID.
    pub(crate) fn by_cp_f_seid(&self, cp: &FSeid) -> Option<Seid> {
        let index = cp.addr.iter().find_map(|ip| self.index_of_cp(cp.seid, ip))?;
        self.all.get(index).map(|session| session.seid)
    }

    fn index_of_cp(&self, seid: Seid, ip: IpAddr) -> Option<u32> {
        self.index_at(self.by_cp.probe((seid, ip)), seid, ip)
    }

    fn index_at(&self, probe: Probe, seid: Seid, ip: IpAddr) -> Option<u32> {
        let is_it = |session: &Session| session.cp.seid == seid && session.cp.addr.contains(ip);
        self.by_cp.find_at(probe, |index| self.all.get(index).is_some_and(is_it))
    }

    /// Each CP F-SEID maps to one session: the last one that had it.
    pub(super) fn index_cp(&mut self, cp: &FSeid, index: u32) {
        for ip in cp.addr.iter() {
            let probe = self.by_cp.probe((cp.seid, ip));
            if let Some(other) = self.index_at(probe, cp.seid, ip) {
                self.by_cp.remove_at(probe, other);
            }
            self.by_cp.insert_at(probe, index);
        }
    }

    /// Changes the CP F-SEID of a session.
    pub(crate) fn set_cp(&mut self, seid: Seid, cp: FSeid) {
        self.forget_cp(seid);
        let Some(index) = self.index_of(seid) else { return };
        if let Some(session) = self.all.get_mut(index) {
            session.cp = cp;
        }
        self.index_cp(&cp, index);
    }

    /// Removes the CP F-SEID of a session from the index: the SMF may assign it to another session.
    pub(crate) fn forget_cp(&mut self, seid: Seid) {
        let Some(index) = self.index_of(seid) else { return };
        let Some(session) = self.all.get(index) else { return };
        for ip in session.cp.addr.iter() {
            self.by_cp.remove((session.cp.seid, ip), index);
        }
    }
}
