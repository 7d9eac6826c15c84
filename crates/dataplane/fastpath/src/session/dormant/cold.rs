//! Which dormant sessions have their state in cold storage, and which could.

use causeway_types::{Seid, Time};

use super::{DormantSessions, PriorState, VACANT};
use crate::table::FlowTable;

/// Slots of sessions in cold storage, one bit each.
#[derive(Debug, Default)]
pub(super) struct ColdSlots {
    words: Vec<u64>,
    count: usize,
}

impl ColdSlots {
    fn insert(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            let bit = 1 << (slot % 64);
            self.count += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Removes a slot. Returns whether it was there.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        let was_there = self.has(slot);
        if was_there && let Some(word) = self.words.get_mut(slot as usize / 64) {
            *word &= !(1 << (slot % 64));
            self.count -= 1;
        }
        was_there
    }

    #[inline]
    pub(super) fn has(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word & 1 << (slot % 64) != 0)
    }
}

impl DormantSessions {
    /// The number of sessions in cold storage.
    pub(crate) const fn cold(&self) -> usize {
        self.cold.count
    }

    /// The slot of a session in cold storage, and when the session was established. `None`: it is not there.
    pub(crate) fn cold_slot(&self, seid: Seid) -> Option<(u32, Time)> {
        let slot = self.slot_of(seid).filter(|slot| self.cold.has(*slot))?;
        Some((slot, self.records.get(slot as usize)?.since))
    }

    /// The state of this dormant session is in cold storage from now on. Returns its slot.
    pub(crate) fn mark_cold(&mut self, seid: Seid) -> Option<u32> {
        let slot = self.slot_of(seid)?;
        self.cold.insert(slot);
        Some(slot)
    }

    /// No packet or plan but handovers has concerned the session since its establishment.
    pub(super) fn is_never_active(&self, slot: u32) -> bool {
        self.records.get(slot as usize).is_some_and(|record| record.prior.is_none()) && !self.cold.has(slot)
    }

    /// The number of slots, vacant ones included.
    pub(crate) fn slots(&self) -> u32 {
        self.records.len() as u32
    }

    /// The session in this slot, and when its last packet arrived, if it has been active and its state is in memory.
    pub(crate) fn last_packet_in(&self, slot: u32, table: &FlowTable) -> Option<(Seid, Time)> {
        let record = self.records.get(slot as usize).filter(|record| record.profile != VACANT)?;
        let PriorState { lease, measured } = record.prior.as_deref()?;
        let forwarded = lease.as_ref().and_then(|lease| lease.last_arrival(table));
        Some((record.seid, record.since.max(forwarded.max(measured.last_packet()).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  some slots, one of them twice; one is removed, twice; one that is beyond all.
    // Output: the others are there.
    #[test]
    fn slots_are_counted_once() {
        let mut slots = ColdSlots::default();
        [0, 63, 64, 1000, 64].into_iter().for_each(|slot| slots.insert(slot));
        assert_eq!(slots.count, 4);
        assert_eq!((slots.remove(64), slots.remove(64), slots.remove(5000)), (true, false, false));
        let all: Vec<_> = (0..2000).filter(|slot| slots.has(*slot)).collect();
        assert_eq!((all, slots.count), (vec![0, 63, 1000], 3));
    }
}
