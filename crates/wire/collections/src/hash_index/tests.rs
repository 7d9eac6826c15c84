use super::*;

// Input:  a thousand entries with their remainder modulo 100 as key; those below 500 are removed.
// Output: each key leads to its remaining entries, and to no other.
#[test]
fn keys_find_their_indexes() {
    let mut places = HashIndex::default();
    (0..1000_u32).for_each(|place| places.insert(place % 100, place));
    (0..500_u32).for_each(|place| places.remove(place % 100, place));
    for key in 0..100_u32 {
        let mut found: Vec<_> = places.all(key).filter(|place| place % 100 == key).collect();
        found.sort_unstable();
        assert_eq!(found, (500..1000).filter(|place| place % 100 == key).collect::<Vec<_>>());
        assert_eq!(places.find(key, |place| place == 900 + key), Some(900 + key));
        assert_eq!(places.find(key, |place| place == key), None);
    }
    assert_eq!((places.len(), places.is_empty()), (500, false));
}

// Input:  ten thousand insertions and removals of few keys, so that many share a bucket, or overflow it; in a table
// that grows, and in one with capacity for all.
// Output: after each step the same indexes of the key as in a sorted map, and at the end of all keys; no overflow
// is counted that does not exist.
#[test]
fn nothing_is_lost_where_buckets_are_full() {
    for mut places in [HashIndex::default(), HashIndex::with_capacity(3000)] {
        let mut expected = std::collections::BTreeSet::new();
        let mut random = 1_u32;
        for step in 0..10_000_u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = (random >> 8) % 40;
            let key = if key < 30 { key } else { random >> 8 };
            let held = expected.range((key, 0)..=(key, u32::MAX)).next().copied();
            match held.filter(|_| random >> 30 == 0 || expected.len() > 2900) {
                Some((_, place)) => {
                    expected.remove(&(key, place));
                    let (words, at) = places.home_bucket(places.probe(key));
                    assert_eq!(places.prefetch(key), words[at]);
                    places.remove_at(places.probe(key), place);
                }
                None => {
                    expected.insert((key, step));
                    places.insert(key, step);
                }
            }
            // Neither exists.
            places.remove(key, u32::MAX - 1);
            places.remove(key + 1, 1 << 20);
            let mut found: Vec<_> =
                places.all(key).filter(|place| expected.contains(&(key, *place))).collect();
            found.sort_unstable();
            assert!(
                found.into_iter().eq(expected.range((key, 0)..=(key, u32::MAX)).map(|(_, place)| *place))
            );
            assert_eq!(places.len(), expected.len());
        }
        for (key, place) in expected {
            assert_eq!(places.find(key, |found| found == place), Some(place));
            places.remove(key, place);
        }
        assert!(places.is_empty());
        let words = &places.buckets.words[places.buckets.start..];
        let counts = words.as_chunks::<WORDS>().0.iter().take(places.buckets.count);
        assert!(counts.into_iter().all(|bucket| (bucket[COUNT], bucket[USED]) == (0, 0)));
    }
}

// Input:  three hundred thousand insertions into a table with no expected capacity, with exactly that, and with
// some more; interleaved with removals, and a lookup of each.
// Output: no insertion moves more than the entries of two buckets, and no removal more than those of eight; all are
// found, before and after; a table with expected capacity is little larger than that.
#[test]
fn an_insertion_moves_few_entries() {
    for expected in [0, 200_000, 400_000] {
        let mut places = HashIndex::with_capacity(expected);
        let mut most = 0;
        for key in 0..300_000_u32 {
            places.insert(key, key);
            most = most.max(std::mem::take(&mut places.moved));
            if key % 3 == 0 {
                places.remove(key / 3, key / 3);
                assert!(std::mem::take(&mut places.moved) <= STEP_BACK * SLOTS_PER_BUCKET);
            }
            for requested in [key, key / 2, key / 3, key / 3 + 1] {
                let found = places.find(requested, |place| place == requested);
                assert_eq!(found.is_some(), requested > key / 3 && requested <= key, "{requested} of {key}");
                assert_eq!(places.all(requested).any(|place| place == requested), found.is_some());
            }
        }
        assert!(0 < most && most <= STEP * SLOTS_PER_BUCKET, "{most}");
        assert_eq!(places.len(), 300_000 - 100_000);
        let room = places.buckets.room();
        assert!(expected == 0 || room <= expected + SLOTS_PER_BUCKET, "{room}");
    }
}

// Input:  three hundred thousand entries are inserted into a table for as many, all but a hundred are removed, and
// inserted again.
// Output: the capacity is small in between; no step moves many; all entries are found at any time.
#[test]
fn what_entries_leave_is_given_back() {
    let mut places = HashIndex::with_capacity(300_000);
    for round in 0..2 {
        (round * 100..300_000_u32).for_each(|place| places.insert(place, place));
        let full = places.memory().len();
        for place in 100..300_000_u32 {
            places.remove(place, place);
            assert!(places.moved <= STEP_BACK * SLOTS_PER_BUCKET, "{}", places.moved);
            if place % 10_000 == 0 {
                for other in [5, place + 1, 299_999] {
                    assert_eq!(places.find(other, |found| found == other), Some(other));
                }
            }
        }
        assert!(places.old.is_none() && places.memory().len() < full / 8, "{}", places.memory().len());
        assert!(places.len() == 100 && (0..100).all(|it| places.find(it, |found| found == it) == Some(it)));
    }
}
