//! Reserves tunnels for a change that may still be rejected.

use causeway_collections::SortedSet;
use causeway_types::{DualIp, FTeid, Seid, Teid};

use super::{OwnUe, TunnelChange, Tunnels, pools};

/// TEIDs chosen for a change that is being prepared. If dropped, it returns them as if they had not been taken.
pub(crate) struct Reservation<'a> {
    tunnels: &'a mut Tunnels,
    session: Seid,
    chosen: Vec<Teid>,
}

impl<'a> Reservation<'a> {
    pub(crate) fn new(tunnels: &'a mut Tunnels, session: Seid) -> Self {
        Self { tunnels, session, chosen: Vec::new() }
    }

    /// Some TEIDs depend on the UE that they are chosen for.
    pub(crate) const fn follows_ues(&self) -> bool {
        self.tunnels.follow_ues()
    }

    /// A new tunnel at these addresses, of this UE if it is known; `None` if all TEIDs are in use.
    pub(crate) fn choose(&mut self, addr: DualIp, ue: Option<OwnUe<'_>>) -> Option<FTeid> {
        let Self { tunnels, session, chosen } = self;
        let teid = tunnels.choose(*session, ue, |teid| chosen.contains(&teid))?;
        chosen.push(teid);
        Some(FTeid { teid, addr })
    }

    /// Checks that the tunnels of `new` that are not in `old`, which the session has already, are free.
    ///
    /// # Errors
    /// The first tunnel that another session uses.
    pub(crate) fn check(&self, old: &SortedSet<FTeid>, new: &SortedSet<FTeid>) -> Result<(), FTeid> {
        let is_foreign = |tunnel: &&FTeid| self.tunnels.is_foreign(self.session, **tunnel);
        new.difference(old).find(is_foreign).map_or(Ok(()), |foreign| Err(*foreign))
    }

    /// Claims the tunnels of `new` that are not in `old`. They were checked.
    pub(crate) fn claim_changes(mut self, old: &SortedSet<FTeid>, new: &SortedSet<FTeid>) -> TunnelChange {
        let taken: Vec<_> = new.difference(old).copied().collect();
        for tunnel in &taken {
            self.tunnels.claim(self.session, *tunnel);
        }
        self.chosen.retain(|teid| !taken.iter().any(|tunnel| tunnel.teid == *teid));
        let released = old.difference(new).copied().collect();
        TunnelChange { session: self.session, taken, released }
    }
}

impl Tunnels {
    /// A TEID without a tunnel, of this UE if it is known; `None` if all are in use. `is_chosen`: the TEID was
    /// chosen before, and is not claimed yet.
    fn choose(
        &mut self,
        session: Seid,
        ue: Option<OwnUe<'_>>,
        is_chosen: impl Fn(Teid) -> bool,
    ) -> Option<Teid> {
        self.choose_at(session, ue, is_chosen).map(|(_, teid)| teid)
    }

    /// The same, with its index in the slots, if it has one.
    fn choose_at(
        &mut self,
        session: Seid,
        ue: Option<OwnUe<'_>>,
        is_chosen: impl Fn(Teid) -> bool,
    ) -> Option<(Option<u32>, Teid)> {
        let Self { slots, pools, outside, further } = self;
        let is_free = |teid| !outside.has(teid) && (further.is_empty() || !further.contains_key(&teid));
        let is_new = |teid| is_free(teid) && !is_chosen(teid);
        if let Some(of_ue) = ue.and_then(|ue| pools::choose(pools, ue, session, is_new)) {
            return Some((None, of_ue));
        }
        slots.take_at(is_free).map(|(index, teid)| (Some(index), teid))
    }

    /// Chooses TEIDs of one session for tunnels at these addresses, each of a UE if it is known, and claims them.
    /// `None`: there are not enough, and nothing is taken.
    pub(crate) fn take_all<const N: usize>(
        &mut self,
        session: Seid,
        wanted: [Option<(DualIp, Option<OwnUe<'_>>)>; N],
    ) -> Option<[Option<Teid>; N]> {
        let (mut chosen, mut indexes) = ([None; N], [None; N]);
        for (at, wanted) in wanted.iter().enumerate() {
            let Some((_, ue)) = *wanted else { continue };
            let before = chosen;
            let Some((index, teid)) = self.choose_at(session, ue, |teid| before.contains(&Some(teid))) else {
                chosen.into_iter().rev().flatten().for_each(|teid| self.slots.undo_take(teid));
                return None;
            };
            (chosen[at], indexes[at]) = (Some(teid), index);
        }
        for ((wanted, teid), index) in wanted.into_iter().zip(chosen).zip(indexes) {
            let (Some((addr, _)), Some(teid)) = (wanted, teid) else { continue };
            let is_noted = index.is_some_and(|index| self.slots.claim_at_index(index, session, addr));
            if !is_noted {
                self.claim(session, FTeid { teid, addr });
            }
        }
        Some(chosen)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        for teid in self.chosen.drain(..).rev() {
            self.tunnels.slots.undo_take(teid);
        }
    }
}
