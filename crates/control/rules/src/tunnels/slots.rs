//! The TEIDs that the UPF gives out.

use std::collections::VecDeque;

use causeway_types::Teid;

use super::{TeidScheme, pools};

/// The largest number of slots. Slot 0 is never used, so that no TEID is zero.
pub(super) const MAX_SLOTS: u32 = TeidScheme::MAX_SLOT;

/// TEIDs made of a slot (1 to capacity) and a generation.
///
/// A data plane may use the slot as an index. The generation grows with each use of the slot, so a late
/// packet of an earlier tunnel does not reach the next one. Slots never used come first, then those
/// given back, the oldest first: reuse is as late as it can be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slots {
    capacity: u32,
    scheme: TeidScheme,
    /// The largest TEID that is given out.
    largest: u32,
    /// The slot of index 0, less one.
    start: u32,
    first_generation: u8,
    /// Slots that were used at least once, in the order of their first use.
    used: Vec<Slot>,
    /// Indexes given back, the oldest first.
    free: VecDeque<u32>,
    /// Indexes of undone takes, the latest last; they come before all others.
    undone: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    generation: u8,
    taken: bool,
}

impl Slots {
    /// `capacity` is cut to [`MAX_SLOTS`]; `seed` decides the first slot and its generation.
    pub(super) fn new(capacity: u32, seed: u64) -> Self {
        let capacity = capacity.min(MAX_SLOTS);
        Self {
            capacity,
            scheme: TeidScheme::default(),
            largest: u32::MAX,
            start: (seed % u64::from(capacity.max(1))) as u32,
            first_generation: (seed >> 56) as u8,
            used: Vec::new(),
            free: VecDeque::new(),
            undone: Vec::new(),
        }
    }

    /// The same, with TEIDs made so. Before the first take.
    pub(super) fn made_by(self, scheme: TeidScheme) -> Self {
        Self { scheme, ..self }
    }

    /// The same, with TEIDs that are nothing but slots. Before the first take.
    pub(super) fn short(self) -> Self {
        let capacity = self.capacity.min(pools::FIRST - 1);
        let start = self.start % capacity.max(1);
        Self { capacity, start, scheme: TeidScheme::default(), largest: TeidScheme::MAX_SLOT, ..self }
    }

    /// Takes the next TEID that is `usable`; `None` when there is none.
    pub(super) fn take(&mut self, usable: impl Fn(Teid) -> bool) -> Option<Teid> {
        for _ in 0..self.available() {
            let index = self.next_index()?;
            let last = self.used.get(index as usize)?.generation;
            let fit = (1..=u8::MAX).chain([0]).find_map(|step| {
                let generation = last.wrapping_add(step);
                let fits = |teid: &Teid| teid.value() <= self.largest && usable(*teid);
                self.teid(index, generation).filter(fits).map(|teid| (generation, teid))
            });
            if let Some((generation, teid)) = fit {
                self.used[index as usize] = Slot { generation, taken: true };
                return Some(teid);
            }
            self.free.push_back(index);
        }
        None
    }

    /// Gives back a TEID. One that was not taken is left alone.
    pub(super) fn give_back(&mut self, teid: Teid) {
        if let Some(index) = self.index_if_taken(teid) {
            self.used[index as usize].taken = false;
            self.free.push_back(index);
        }
    }

    /// Undoes the latest [`Slots::take`]: the same TEID comes next.
    pub(super) fn undo_take(&mut self, teid: Teid) {
        if let Some(index) = self.index_if_taken(teid) {
            let generation = self.used[index as usize].generation.wrapping_sub(1);
            self.used[index as usize] = Slot { generation, taken: false };
            self.undone.push(index);
        }
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
        self.used.push(Slot { generation: self.first_generation.wrapping_sub(1), taken: false });
        Some(fresh)
    }

    fn teid(&self, index: u32, generation: u8) -> Option<Teid> {
        let slot = (u64::from(self.start) + u64::from(index)) % u64::from(self.capacity) + 1;
        self.scheme.teid(slot as u32, generation)
    }

    fn index_if_taken(&self, teid: Teid) -> Option<u32> {
        let (slot, generation) = self.scheme.parts(teid);
        if slot == 0 || slot > self.capacity {
            return None;
        }
        let index = (slot - 1 + self.capacity - self.start) % self.capacity;
        let held = self.used.get(index as usize)?;
        (held.taken && held.generation == generation).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Scramble;

    fn any_teid(_: Teid) -> bool {
        true
    }

    // Input:  three slots; all taken, two given back, two taken again.
    // Output: the slots come back in the order they were given back, with the next generation.
    #[test]
    fn the_slot_that_rested_longest_is_reused_first() {
        let mut slots = Slots::new(3, 0);
        let first: Vec<_> = (0..3).filter_map(|_| slots.take(any_teid)).map(Teid::value).collect();
        assert_eq!(first, [1, 2, 3]);
        assert_eq!(slots.take(any_teid), None);
        for raw in [2, 1] {
            slots.give_back(Teid::new(raw).unwrap());
        }
        let again: Vec<_> = (0..2).filter_map(|_| slots.take(any_teid)).map(Teid::value).collect();
        assert_eq!(again, [0x0100_0002, 0x0100_0001]);
    }

    // Input:  slots of a seed with a generation, for short TEIDs; one is taken, given back and taken again.
    // Output: both times the slot alone.
    #[test]
    fn short_teids_are_slots() {
        let mut slots = Slots::new(1, 0x2a << 56).short();
        for _ in 0..2 {
            let teid = slots.take(any_teid).unwrap();
            assert_eq!(teid.value(), 1);
            slots.give_back(teid);
        }
    }

    // Input:  two seeds.
    // Output: different first TEIDs, so that a restarted UPF does not repeat itself.
    #[test]
    fn the_seed_decides_where_to_start() {
        let first = |seed| Slots::new(1000, seed).take(any_teid).map(Teid::value);
        assert_eq!(first(999), Some(1000));
        assert_ne!(first(1), first(2));
        assert_eq!(first(1).map(|raw| raw >> 24), Some(0));
        assert_eq!(first(0x2a << 56).map(|raw| raw >> 24), Some(0x2a));
    }

    // Input:  a TEID given back twice, one of an old generation, one never taken.
    // Output: nothing happens: each slot is in the list once.
    #[test]
    fn what_was_not_taken_is_not_given_back() {
        let mut slots = Slots::new(2, 0);
        let teid = slots.take(any_teid).unwrap();
        slots.give_back(teid);
        let before = slots.clone();
        slots.give_back(teid);
        slots.give_back(Teid::new(2).unwrap());
        slots.give_back(Teid::new(0xff00_0000).unwrap());
        assert_eq!(slots, before);
    }

    // Input:  a slot all of whose generations are used by an SMF.
    // Output: it is skipped, and usable again when they are not.
    #[test]
    fn a_blocked_slot_is_skipped_and_not_lost() {
        let mut slots = Slots::new(2, 0);
        let not_slot_1 = |teid: Teid| teid.value() & MAX_SLOTS != 1;
        assert_eq!(slots.take(not_slot_1).map(Teid::value), Some(2));
        assert_eq!(slots.take(not_slot_1), None);
        assert!(slots.take(any_teid).is_some());
    }

    // Input:  the last use of generation 255.
    // Output: generation 0 follows; slot 1 makes the TEID non-zero.
    #[test]
    fn the_generation_wraps() {
        let mut slots = Slots::new(1, 0xff << 56);
        let last = slots.take(any_teid).unwrap();
        slots.give_back(last);
        assert_eq!((last.value(), slots.take(any_teid).map(Teid::value)), (0xff00_0001, Some(1)));
    }

    // Input:  slots under a key, all taken, given back, and taken again.
    // Output: TEIDs without order that all differ; each is found again when it is given back.
    #[test]
    fn scrambled_teids_find_their_slots() {
        let mut slots = Slots::new(1000, 0).made_by(TeidScheme::hidden(Scramble::new([3, 4, 5])));
        let first: Vec<_> = (0..1000).filter_map(|_| slots.take(any_teid)).collect();
        assert_eq!((first.len(), slots.available()), (1000, 0));
        assert!(first.iter().filter(|teid| teid.value() <= 1000).count() < 3);
        first.iter().for_each(|teid| slots.give_back(*teid));
        assert_eq!(slots.available(), 1000);
        let again: Vec<_> = (0..1000).filter_map(|_| slots.take(any_teid)).collect();
        assert!(again.iter().all(|teid| !first.contains(teid)));
    }

    #[test]
    fn no_slots_no_teid() {
        assert_eq!(Slots::new(0, 7).take(any_teid), None);
        assert_eq!(Slots::new(u32::MAX, 0).available(), MAX_SLOTS);
    }

    proptest! {
        // Input:  any order of taking, giving back and undoing on few slots.
        // Output: no TEID is out twice, an undone one comes next, and all can be taken in the end.
        #[test]
        fn none_twice_none_lost(seed: u64, steps in proptest::collection::vec((0..3_u8, any::<usize>()), 0..200)) {
            const CAPACITY: u32 = 7;
            let mut slots = Slots::new(CAPACITY, seed);
            let mut out: Vec<Teid> = Vec::new();
            for (step, pick) in steps {
                match step {
                    0 => match slots.take(any_teid) {
                        Some(teid) => out.push(teid),
                        None => prop_assert_eq!(out.len(), CAPACITY as usize),
                    },
                    1 if !out.is_empty() => slots.give_back(out.swap_remove(pick % out.len())),
                    _ => if let Some(teid) = slots.take(any_teid) {
                        slots.undo_take(teid);
                        prop_assert_eq!(slots.take(any_teid), Some(teid));
                        slots.undo_take(teid);
                    },
                }
                let distinct: BTreeSet<_> = out.iter().map(|teid| teid.value() & MAX_SLOTS).collect();
                prop_assert_eq!(distinct.len(), out.len());
                prop_assert_eq!(slots.available() + out.len() as u32, CAPACITY);
            }
            let rest = std::iter::from_fn(|| slots.take(any_teid)).count();
            prop_assert_eq!(rest + out.len(), CAPACITY as usize);
        }
    }
}
