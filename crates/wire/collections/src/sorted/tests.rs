//! Tests of the sorted collections against those of the standard library.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{SortedMap, SortedSet};

/// One call.
#[derive(Clone, Copy, Debug)]
enum Call {
    Insert(u8, u16),
    GetOrInsert(u8, u16),
    Remove(u8),
    Change(u8),
    RetainAbove(u8),
}

fn call() -> impl Strategy<Value = Call> {
    let key = 0..12_u8;
    prop_oneof![
        4 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Call::Insert(key, value)),
        1 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Call::GetOrInsert(key, value)),
        2 => key.clone().prop_map(Call::Remove),
        2 => key.clone().prop_map(Call::Change),
        1 => key.prop_map(Call::RetainAbove),
    ]
}

proptest! {
    // Input:  any calls, made to a sorted map and to a `BTreeMap`.
    // Output: the same results, and the same entries in the same order.
    #[test]
    fn a_sorted_map_does_what_a_btree_map_does(calls in prop::collection::vec(call(), 0..60)) {
        let (mut map, mut model) = (SortedMap::new(), BTreeMap::new());
        for call in calls {
            match call {
                Call::Insert(key, value) => {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                }
                Call::GetOrInsert(key, value) => {
                    let held = *map.get_or_insert_with(key, || value);
                    prop_assert_eq!(held, *model.entry(key).or_insert(value));
                }
                Call::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                Call::Change(key) => {
                    map.get_mut(&key).into_iter().for_each(|value| *value ^= 1);
                    model.get_mut(&key).into_iter().for_each(|value| *value ^= 1);
                }
                Call::RetainAbove(least) => {
                    map.retain(|key, _| *key > least);
                    model.retain(|key, _| *key > least);
                }
            }
            prop_assert!(map.iter().eq(model.iter()) && map.keys().eq(model.keys()));
            prop_assert_eq!(map.len(), model.len());
            for key in 0..12 {
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.contains_key(&key), model.contains_key(&key));
            }
        }
        let entries: Vec<_> = model.clone().into_iter().rev().collect();
        prop_assert_eq!(&entries.into_iter().collect::<SortedMap<_, _>>(), &map);
        prop_assert!(map.into_iter().eq(model));
    }

    // Input:  any items, inserted into and removed from a sorted set and a `BTreeSet`.
    // Output: the same results, the same items in the same order, and the same difference to other sets.
    #[test]
    fn a_sorted_set_does_what_a_btree_set_does(
        calls in prop::collection::vec((any::<bool>(), 0..12_u8), 0..60),
        others in prop::collection::vec(0..12_u8, 0..12),
    ) {
        let (mut set, mut model) = (SortedSet::new(), BTreeSet::new());
        for (enters, item) in calls {
            if enters {
                prop_assert_eq!(set.insert(item), model.insert(item));
            } else {
                prop_assert_eq!(set.remove(&item), model.remove(&item));
            }
            prop_assert!(set.iter().eq(model.iter()) && set.first() == model.first());
            prop_assert_eq!(set.contains(&item), model.contains(&item));
        }
        let (other, known): (SortedSet<_>, BTreeSet<_>) = (others.iter().copied().collect(), others.into_iter().collect());
        prop_assert!(set.difference(&other).eq(model.difference(&known)));
    }
}
