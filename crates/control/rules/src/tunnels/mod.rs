//! Local tunnels and their sessions.

mod addresses;
mod outside;
mod pools;
mod reservation;
mod slots;

use causeway_collections::{PartitionedMap, SmallList, SortedSet};
use causeway_types::{FTeid, IdCipher, NetworkInstance, Seid, Teid, TeidScheme};

use outside::OutsideSlots;
pub(crate) use pools::OwnUe;
pub use pools::TeidPool;
pub(crate) use reservation::Reservation;
use slots::Slots;

/// The tunnels that end at this UPF: those it chose (CHOOSE) and those that SMFs assigned.
///
/// One tunnel, a TEID at an address, belongs to one session at most. A TEID chosen by the UPF consists of a slot, 1
/// to the capacity, and a generation: it is never zero, and its reuse is as late as possible.
/// [`Tunnels::scrambled`] hides both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tunnels {
    slots: Slots,
    /// UE subnets whose TEIDs end like the UE addresses.
    pools: Vec<TeidPool>,
    /// One tunnel of each TEID that is not in a slot: of SMFs, and of pools.
    outside: OutsideSlots,
    /// All but one of the tunnels of a TEID.
    further: PartitionedMap<Teid, SmallList<Claim>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Claim {
    session: Seid,
    tunnel: FTeid,
}

/// The tunnels that a change of one session takes and releases. Pass it to [`Tunnels::commit`] once the data plane
/// has applied the plan, or to [`Tunnels::abandon`] if it has not.
#[must_use = "tunnels stay allocated until the change is committed or abandoned"]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunnelChange {
    session: Seid,
    taken: Vec<FTeid>,
    released: Vec<FTeid>,
}

impl TunnelChange {
    /// Nothing is taken or released.
    pub(crate) const fn empty(session: Seid) -> Self {
        Self { session, taken: Vec::new(), released: Vec::new() }
    }

    /// These are taken already.
    pub(crate) const fn taking(session: Seid, taken: Vec<FTeid>) -> Self {
        Self { session, taken, released: Vec::new() }
    }

    /// All are released.
    pub(crate) fn releasing_all(session: Seid, tunnels: &SortedSet<FTeid>) -> Self {
        Self { session, taken: Vec::new(), released: tunnels.iter().copied().collect() }
    }
}

impl Tunnels {
    /// No tunnels. `capacity` is the number of TEIDs that can be chosen at a time, at most 2^24 - 1; `seed` decides
    /// where the choice starts, so that a restarted UPF does not allocate the TEIDs of its last run.
    pub fn new(capacity: u32, seed: u64) -> Self {
        Self {
            slots: Slots::new(capacity, seed),
            pools: Vec::new(),
            outside: OutsideSlots::default(),
            further: PartitionedMap::default(),
        }
    }

    /// The same, with TEIDs that do not follow from others.
    pub fn scrambled(self, scramble: IdCipher) -> Self {
        Self { slots: self.slots.made_by(TeidScheme::hidden(scramble)), ..self }
    }

    /// The same, with TEIDs of at most 24 bits, for a data plane whose tables have no longer ones; UEs in pools
    /// have TEIDs of these pools. The TEIDs are predictable.
    pub fn short(self, pools: Vec<TeidPool>) -> Self {
        Self { slots: self.slots.short(TeidPool::end_of_small(&pools)), pools, ..self }
    }

    /// The change is in force: the tunnels it releases are free.
    pub fn commit(&mut self, change: TunnelChange) {
        self.release(change.session, &change.released);
    }

    /// The change is not in force: the tunnels it took are free.
    pub fn abandon(&mut self, change: TunnelChange) {
        self.release(change.session, &change.taken);
    }

    /// Some TEIDs depend on the UE that they are chosen for.
    pub(crate) const fn follow_ues(&self) -> bool {
        !self.pools.is_empty()
    }

    /// The data network of a UE with this TEID, if it is of a pool.
    pub(crate) fn network_of(&self, teid: Teid) -> Option<&NetworkInstance> {
        self.pools.iter().find(|pool| pool.has(teid))?.network.as_ref()
    }

    /// The number of TEIDs that can still be chosen.
    pub fn available(&self) -> u32 {
        self.slots.available()
    }

    /// The number of tunnels in use.
    pub fn in_use(&self) -> usize {
        let further = self.further.values().map(|claims| claims.iter().count()).sum::<usize>();
        self.slots.claims() + self.outside.len() + further
    }

    /// The tunnels of a TEID. O(found).
    fn claims(&self, teid: Teid) -> impl Iterator<Item = Claim> {
        let further = if self.further.is_empty() { None } else { self.further.get(&teid) };
        let further = further.into_iter().flat_map(SmallList::iter).copied();
        further.chain(self.outside.claimed(teid)).chain(self.slots.claimed(teid))
    }

    /// A tunnel has this TEID, other than that of its slot.
    fn is_outside_slots(&self, teid: Teid) -> bool {
        self.outside.has(teid) || (!self.further.is_empty() && self.further.contains_key(&teid))
    }

    /// The local tunnels with this TEID, and their sessions. O(found).
    pub fn with_teid(&self, teid: Teid) -> impl Iterator<Item = (Seid, FTeid)> {
        self.claims(teid).map(|claim| (claim.session, claim.tunnel))
    }

    /// Another session has this TEID at one of these addresses.
    fn is_foreign(&self, session: Seid, tunnel: FTeid) -> bool {
        let overlaps = |claim: &Claim| claim.tunnel.addr.iter().any(|ip| tunnel.addr.contains(ip));
        self.claims(tunnel.teid).any(|claim| claim.session != session && overlaps(&claim))
    }

    fn claim(&mut self, session: Seid, tunnel: FTeid) {
        let claim = Claim { session, tunnel };
        if !self.slots.claim(&claim) && !self.outside.claim(&claim) {
            self.further.get_or_insert_with(tunnel.teid, SmallList::default).push(claim);
        }
    }

    /// Takes tunnels that the SMF chose. `false`: another session has one of them, and nothing is taken.
    pub(crate) fn try_claim(&mut self, session: Seid, tunnels: impl Iterator<Item = FTeid> + Clone) -> bool {
        let are_free = !tunnels.clone().any(|tunnel| self.is_foreign(session, tunnel));
        if are_free {
            tunnels.for_each(|tunnel| self.claim(session, tunnel));
        }
        are_free
    }

    pub(crate) fn release(&mut self, session: Seid, tunnels: &[FTeid]) {
        for tunnel in tunnels {
            self.release_one(&Claim { session, tunnel: *tunnel });
        }
    }

    fn release_one(&mut self, claim: &Claim) {
        let teid = claim.tunnel.teid;
        let is_last = if self.slots.undo_claim(claim) {
            !self.is_outside_slots(teid)
        } else {
            let is_removed = self.outside.undo_claim(claim) || self.undo_further(claim);
            is_removed && !self.is_outside_slots(teid) && self.slots.claimed(teid).is_none()
        };
        if is_last {
            self.slots.give_back(teid);
        }
    }

    /// Removes a further tunnel of a TEID. `false`: it is none.
    fn undo_further(&mut self, claim: &Claim) -> bool {
        let Some(claims) = self.further.get_mut(&claim.tunnel.teid) else { return false };
        let is_removed = claims.remove(claim);
        if claims.is_empty() {
            self.further.remove(&claim.tunnel.teid);
        }
        is_removed
    }
}

#[cfg(test)]
mod tests;
