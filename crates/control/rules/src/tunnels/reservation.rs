//! Choosing tunnels for a change that may still be rejected.

use std::net::Ipv4Addr;

use causeway_types::{DualIp, FTeid, Seid, Teid};

use super::{TunnelChange, Tunnels, pools};
use crate::SortedSet;

/// TEIDs chosen for a change that is being made. Dropped, it gives them back as if they had not been taken.
pub(crate) struct Reservation<'a> {
    tunnels: &'a mut Tunnels,
    session: Seid,
    chosen: Vec<Teid>,
}

impl<'a> Reservation<'a> {
    pub(crate) fn new(tunnels: &'a mut Tunnels, session: Seid) -> Self {
        Self { tunnels, session, chosen: Vec::new() }
    }

    /// A new tunnel at these addresses, of this UE if that is known; `None` when all TEIDs are in use.
    pub(crate) fn choose(&mut self, addr: DualIp, ue: Option<Ipv4Addr>) -> Option<FTeid> {
        let Tunnels { slots, pools, claims } = &mut *self.tunnels;
        let is_free = |teid| !claims.contains_key(&teid);
        let is_new = |teid| is_free(teid) && !self.chosen.contains(&teid);
        let of_ue = ue.and_then(|ue| pools::choose(pools, ue, self.session, is_new));
        let teid = of_ue.or_else(|| slots.take(is_free))?;
        self.chosen.push(teid);
        Some(FTeid { teid, addr })
    }

    /// The tunnels of `new` that are not in `old`, which the session has already, can be taken.
    ///
    /// # Errors
    /// The first tunnel that another session uses.
    pub(crate) fn check(&self, old: &SortedSet<FTeid>, new: &SortedSet<FTeid>) -> Result<(), FTeid> {
        let is_foreign = |tunnel: &&FTeid| self.tunnels.is_foreign(self.session, **tunnel);
        new.difference(old).find(is_foreign).map_or(Ok(()), |foreign| Err(*foreign))
    }

    /// Takes the tunnels of `new` that are not in `old`. They were checked.
    pub(crate) fn keep(mut self, old: &SortedSet<FTeid>, new: &SortedSet<FTeid>) -> TunnelChange {
        let taken: Vec<_> = new.difference(old).copied().collect();
        for tunnel in &taken {
            self.tunnels.claim(self.session, *tunnel);
        }
        self.chosen.retain(|teid| !taken.iter().any(|tunnel| tunnel.teid == *teid));
        let released = old.difference(new).copied().collect();
        TunnelChange { session: self.session, taken, released }
    }

    /// Takes these, which were chosen for the session.
    pub(crate) fn keep_all(mut self, chosen: impl Iterator<Item = FTeid>) {
        chosen.for_each(|tunnel| self.tunnels.claim(self.session, tunnel));
        self.chosen.clear();
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        for teid in self.chosen.drain(..).rev() {
            self.tunnels.slots.undo_take(teid);
        }
    }
}
