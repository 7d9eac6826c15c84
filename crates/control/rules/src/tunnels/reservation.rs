//! Choosing tunnels for a change that may still be rejected.

use causeway_types::{DualIp, FTeid, Seid, Teid};

use super::{TunnelChange, Tunnels};
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

    /// A new tunnel at these addresses; `None` when all TEIDs are in use.
    pub(crate) fn choose(&mut self, addr: DualIp) -> Option<FTeid> {
        let Tunnels { slots, claims } = &mut *self.tunnels;
        let teid = slots.take(|teid| !claims.contains_key(&teid))?;
        self.chosen.push(teid);
        Some(FTeid { teid, addr })
    }

    /// Takes the tunnels of `new` that are not in `old`, which the session has already.
    ///
    /// # Errors
    /// The first tunnel that another session uses; nothing is taken then.
    pub(crate) fn keep(
        mut self,
        old: &SortedSet<FTeid>,
        new: &SortedSet<FTeid>,
    ) -> Result<TunnelChange, FTeid> {
        let taken: Vec<_> = new.difference(old).copied().collect();
        if let Some(foreign) = taken.iter().find(|tunnel| self.tunnels.is_foreign(self.session, **tunnel)) {
            return Err(*foreign);
        }
        for tunnel in &taken {
            self.tunnels.claim(self.session, *tunnel);
        }
        self.chosen.retain(|teid| !taken.iter().any(|tunnel| tunnel.teid == *teid));
        let released = old.difference(new).copied().collect();
        Ok(TunnelChange { session: self.session, taken, released })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        for teid in self.chosen.drain(..).rev() {
            self.tunnels.slots.undo_take(teid);
        }
    }
}
