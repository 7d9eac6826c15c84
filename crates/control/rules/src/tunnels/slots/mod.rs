//! The TEIDs that the UPF allocates.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use causeway_types::{DualIp, FTeid, Seid, Teid, TeidScheme};

use super::addresses::NumberedAddresses;
use super::{Claim, pools};

/// The largest number of slots. Slot 0 is never used, so that no TEID is zero.
pub(super) const MAX_SLOTS: u32 = TeidScheme::MAX_SLOT;

/// TEIDs made of a slot (1 to capacity) and a generation.
///
/// A data plane may use the slot as an index. The generation grows with each use of the slot, so a late packet of
/// an earlier tunnel does not reach the next one. Unused slots come first, then released ones, the oldest first:
/// reuse is as late as possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slots {
    capacity: u32,
    scheme: TeidScheme,
    /// The largest TEID that is allocated.
    largest: u32,
    /// Slots up to this one have no index.
    base: u32,
    /// The slot of index 0, less one.
    start: u32,
    first_generation: u8,
    /// Slots that were used at least once, in the order of their first use.
    used: Vec<Slot>,
    /// Released indexes, the oldest first.
    free: VecDeque<u32>,
    /// Indexes of undone takes, the latest last; they come before all others.
    undone: Vec<u32>,
    /// The addresses at which slots have tunnels.
    addrs: NumberedAddresses,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    generation: u8,
    taken: bool,
    /// The number of the tunnel's address; `None`: no tunnel has the TEID.
    addr: Option<NonZeroU16>,
    /// The session of the tunnel.
    session: Seid,
}

impl Slot {
    /// Without a session.
    const fn new(generation: u8, taken: bool) -> Self {
        Self { generation, taken, addr: None, session: Seid(0) }
    }
}

impl Slots {
    /// `capacity` is limited to [`MAX_SLOTS`]; `seed` decides the first slot and its generation.
    pub(super) fn new(capacity: u32, seed: u64) -> Self {
        let capacity = capacity.min(MAX_SLOTS);
        Self {
            capacity,
            scheme: TeidScheme::default(),
            largest: u32::MAX,
            base: 0,
            start: (seed % u64::from(capacity.max(1))) as u32,
            first_generation: (seed >> 56) as u8,
            used: Vec::new(),
            free: VecDeque::new(),
            undone: Vec::new(),
            addrs: NumberedAddresses::default(),
        }
    }

    /// The same, with TEIDs of this scheme. Before the first take.
    pub(super) fn made_by(self, scheme: TeidScheme) -> Self {
        Self { scheme, ..self }
    }

    /// The same, with TEIDs that are slots only, from this one on. Before the first take.
    pub(super) fn short(self, first: u32) -> Self {
        let base = first.max(1) - 1;
        let capacity = self.capacity.min(pools::FIRST - 1 - base);
        let start = self.start % capacity.max(1);
        Self { capacity, start, base, scheme: TeidScheme::default(), largest: TeidScheme::MAX_SLOT, ..self }
    }

    /// Takes the next TEID that is `usable`; `None` when there is none.
    #[cfg(test)]
    pub(super) fn take(&mut self, usable: impl Fn(Teid) -> bool) -> Option<Teid> {
        self.take_at(usable).map(|(_, teid)| teid)
    }

    /// Takes the next TEID that is `usable`, and returns its index; `None` if there is none.
    pub(super) fn take_at(&mut self, usable: impl Fn(Teid) -> bool) -> Option<(u32, Teid)> {
        for _ in 0..self.available() {
            let index = self.next_index()?;
            let last = self.used.get(index as usize)?.generation;
            let fit = |step| {
                let generation = last.wrapping_add(step);
                let fits = |teid: &Teid| teid.value() <= self.largest && usable(*teid);
                self.teid(index, generation).filter(fits).map(|teid| (generation, teid))
            };
            let fit = fit(1).or_else(|| (2..=u8::MAX).chain([0]).find_map(fit));
            if let Some((generation, teid)) = fit {
                self.used[index as usize] = Slot::new(generation, true);
                return Some((index, teid));
            }
            self.free.push_back(index);
        }
        None
    }

    /// Releases a TEID. One that was not taken is ignored.
    pub(super) fn give_back(&mut self, teid: Teid) {
        if let Some(index) = self.index_if_taken(teid) {
            let generation = self.used[index as usize].generation;
            self.used[index as usize] = Slot::new(generation, false);
            self.free.push_back(index);
        }
    }

    /// Undoes the latest [`Slots::take_at`]: the same TEID comes next.
    pub(super) fn undo_take(&mut self, teid: Teid) {
        if let Some(index) = self.index_if_taken(teid) {
            let generation = self.used[index as usize].generation.wrapping_sub(1);
            self.used[index as usize] = Slot::new(generation, false);
            self.undone.push(index);
        }
    }

    /// Records the tunnel of a TEID that is taken. `false`: it is not taken, or another tunnel has it, or there are
    /// too many addresses.
    pub(super) fn claim(&mut self, claim: &Claim) -> bool {
        let index = self.index_if_taken(claim.tunnel.teid);
        index.is_some_and(|index| self.claim_at_index(index, claim.session, claim.tunnel.addr))
    }

    /// The same for the TEID that [`Slots::take_at`] took at this index.
    pub(super) fn claim_at_index(&mut self, index: u32, session: Seid, addr: DualIp) -> bool {
        let Some(slot) = self.used.get_mut(index as usize).filter(|slot| slot.addr.is_none()) else {
            return false;
        };
        let Some(addr) = self.addrs.number_of(addr) else { return false };
        (slot.addr, slot.session) = (Some(addr), session);
        true
    }

    /// The recorded tunnel of a TEID.
    pub(super) fn claimed(&self, teid: Teid) -> Option<Claim> {
        self.claim_at(self.index_if_taken(teid)?, teid)
    }

    fn claim_at(&self, index: u32, teid: Teid) -> Option<Claim> {
        let slot = self.used.get(index as usize)?;
        let addr = self.addrs.get(slot.addr?)?;
        Some(Claim { session: slot.session, tunnel: FTeid { teid, addr } })
    }

    /// Removes a recorded tunnel. `false`: it was not recorded.
    pub(super) fn undo_claim(&mut self, claim: &Claim) -> bool {
        let Some(index) = self.index_if_taken(claim.tunnel.teid) else { return false };
        let is_noted = self.claim_at(index, claim.tunnel.teid) == Some(*claim);
        if let Some(slot) = self.used.get_mut(index as usize).filter(|_| is_noted) {
            *slot = Slot::new(slot.generation, true);
        }
        is_noted
    }

    /// The number of recorded tunnels.
    pub(super) fn claims(&self) -> usize {
        self.used.iter().filter(|slot| slot.addr.is_some()).count()
    }

    /// How many can still be taken.
    pub(super) fn available(&self) -> u32 {
        self.capacity - self.used.len() as u32 + self.free.len() as u32 + self.undone.len() as u32
    }

    fn next_index(&mut self) -> Option<u32> {
        let fresh = self.used.len() as u32;
        if let Some(index) = self.undone.pop() {
            return Some(index);
        }
        if fresh == self.capacity {
            return self.free.pop_front();
        }
        self.used.push(Slot::new(self.first_generation.wrapping_sub(1), false));
        Some(fresh)
    }

    fn teid(&self, index: u32, generation: u8) -> Option<Teid> {
        // Both are below the capacity, which is no more than 2^24, and so is the base with it.
        let slot = self.start + index;
        let slot = if slot < self.capacity { slot } else { slot - self.capacity };
        self.scheme.teid(self.base + slot + 1, generation)
    }

    fn index_if_taken(&self, teid: Teid) -> Option<u32> {
        let (slot, generation) = self.scheme.parts(teid);
        let slot = slot.saturating_sub(self.base);
        if slot == 0 || slot > self.capacity {
            return None;
        }
        let behind = slot - 1 + self.capacity - self.start;
        let index = if behind < self.capacity { behind } else { behind - self.capacity };
        let held = self.used.get(index as usize)?;
        (held.taken && held.generation == generation).then_some(index)
    }
}

#[cfg(test)]
mod tests;
