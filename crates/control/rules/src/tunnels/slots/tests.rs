use std::collections::BTreeSet;

use proptest::prelude::*;

use causeway_types::IdCipher;

use super::*;

fn any_teid(_: Teid) -> bool {
    true
}

// Input:  three slots; all taken, two released, two taken again.
// Output: the slots are reused in the order of release, with the next generation.
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

// Input:  slots of a seed with a generation, for short TEIDs; one is taken, released and taken again.
// Output: both times the slot alone.
#[test]
fn short_teids_are_slots() {
    let mut slots = Slots::new(1, 0x2a << 56).short(0);
    for _ in 0..2 {
        let teid = slots.take(any_teid).unwrap();
        assert_eq!(teid.value(), 1);
        slots.give_back(teid);
    }
}

// Input:  slots for short TEIDs from one on; all are taken, one released and taken again.
// Output: TEIDs from that one on, and those of the first large pool are not reached.
#[test]
fn short_teids_begin_behind_those_of_small_pools() {
    let mut slots = Slots::new(3, 1).short(0x6_0000);
    let mut taken: Vec<_> = (0..3).filter_map(|_| slots.take(any_teid)).map(Teid::value).collect();
    slots.give_back(Teid::new(0x6_0001).unwrap());
    assert_eq!(slots.take(any_teid).map(Teid::value), Some(0x6_0001));
    taken.sort_unstable();
    assert_eq!((taken, slots.take(any_teid)), (vec![0x6_0000, 0x6_0001, 0x6_0002], None));
    assert_eq!(Slots::new(MAX_SLOTS, 0).short(0x6_0000).available(), pools::FIRST - 0x6_0000);
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

// Input:  a TEID released twice, one of an old generation, one never taken.
// Output: nothing happens: each slot is in the list once.
#[test]
fn only_claimed_prefixes_are_released() {
    let mut slots = Slots::new(2, 0);
    let teid = slots.take(any_teid).unwrap();
    slots.give_back(teid);
    let before = slots.clone();
    slots.give_back(teid);
    slots.give_back(Teid::new(2).unwrap());
    slots.give_back(Teid::new(0xff00_0000).unwrap());
    assert_eq!(slots, before);
}

// Input:  a slot all of whose generations an SMF uses.
// Output: it is skipped, and usable again afterwards.
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

// Input:  slots with a key, all taken, released, and taken again.
// Output: TEIDs without order that all differ; each is found again on release.
#[test]
fn scrambled_teids_find_their_slots() {
    let mut slots = Slots::new(1000, 0).made_by(TeidScheme::hidden(IdCipher::new([3, 4, 5])));
    let first: Vec<_> = (0..1000).filter_map(|_| slots.take(any_teid)).collect();
    assert_eq!((first.len(), slots.available()), (1000, 0));
    assert!(first.iter().filter(|teid| teid.value() <= 1000).count() < 3);
    first.iter().for_each(|teid| slots.give_back(*teid));
    assert_eq!(slots.available(), 1000);
    let again: Vec<_> = (0..1000).filter_map(|_| slots.take(any_teid)).collect();
    assert!(again.iter().all(|teid| !first.contains(teid)));
}

#[test]
fn without_slots_no_teid_is_chosen() {
    assert_eq!(Slots::new(0, 7).take(any_teid), None);
    assert_eq!(Slots::new(u32::MAX, 0).available(), MAX_SLOTS);
}

proptest! {
    // Input:  any order of taking, releasing and undoing on few slots.
    // Output: no TEID is taken twice, an undone one comes next, and all can be taken in the end.
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
        let quarantine = std::iter::from_fn(|| slots.take(any_teid)).count();
        prop_assert_eq!(quarantine + out.len(), CAPACITY as usize);
    }
}
