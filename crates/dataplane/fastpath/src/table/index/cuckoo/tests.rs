use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::table::index::{AddressKey, PrefixKey, TunnelKey};

const SECRET: [u64; 4] =
    [0x0123_4567_89ab_cdef, 0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00, 0x0f1e_2d3c_4b5a_6978];

/// A table with a known hash, the keys of its values, and the model that it must agree with.
struct CuckooModel {
    table: Cuckoo<PrefixKey>,
    lines: Vec<PrefixKey>,
    model: HashMap<PrefixKey, u32>,
}

impl CuckooModel {
    fn new(capacity: usize) -> Self {
        let table = Cuckoo::with_hash(capacity, KeyedHash::new(SECRET)).unwrap();
        Self { table, lines: Vec::new(), model: HashMap::new() }
    }

    fn look_up(&self, key: &PrefixKey) -> Option<u32> {
        self.table.find(self.table.probe(key), |value| self.lines[value as usize] == *key)
    }

    fn insert(&mut self, key: PrefixKey) -> Result<(), Full> {
        let value = self.lines.len() as u32;
        self.table.insert(&key, value)?;
        self.lines.push(key);
        self.model.insert(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &PrefixKey) -> bool {
        let value = self.model.remove(key);
        self.table.remove(key, value.unwrap_or(0))
    }

    fn assert_equal(&self) {
        assert_eq!(self.table.len(), self.model.len());
        for (key, value) in &self.model {
            assert_eq!(self.look_up(key), Some(*value));
        }
    }

    /// Checks the count of displaced entries in every bucket.
    fn assert_consistent(&self) {
        let mut displaced = vec![0_u32; self.table.buckets.len()];
        for (number, bucket) in self.table.buckets.iter().enumerate() {
            for entry in (0..SLOTS_PER_BUCKET)
                .map(|slot| bucket.clone().take(slot))
                .filter(|entry| entry.tag != 0 && entry.away)
            {
                displaced[self.table.other(number as u32, entry.tag) as usize] += 1;
            }
        }
        let counted = self.table.buckets.iter().map(Bucket::displaced);
        assert!(counted.eq(displaced));
    }
}

fn key(number: u64) -> PrefixKey {
    PrefixKey { prefix: number, network: (number >> 62) as u32 }
}

// Input:  a table of 10000 slots or more, filled to the last insertion that succeeds; then emptied.
// Output: every key is found all along; the load is 90 % at least, `Full` contains the number of entries and changes
//         nothing, and after all are removed the table is empty.
#[test]
fn fills_to_nine_tenths_and_reports_full() {
    let mut bench = CuckooModel::new(if cfg!(miri) { 50 } else { 10_000 });
    let slots = bench.table.slots();
    let full = (0..).find_map(|number| bench.insert(key(number)).err()).unwrap();
    assert_eq!(full, Full { entries: bench.model.len(), slots });
    assert!(full.entries * 10 >= slots * 9, "{full}");
    bench.assert_equal();
    bench.assert_consistent();
    for number in 0..full.entries as u64 {
        assert!(bench.remove(&key(number)), "{number}");
        assert_eq!(bench.look_up(&key(number)), None);
    }
    assert!(bench.table.is_empty());
    bench.assert_consistent();
}

// Input:  as many keys as the requested capacity, where that is just below a power of two of buckets.
// Output: all fit.
#[test]
fn the_requested_capacity_fits() {
    for capacity in if cfg!(miri) { &[1, 14, 28][..] } else { &[1, 14, 900, 7_372] } {
        let mut bench = CuckooModel::new(*capacity);
        (0..*capacity as u64).try_for_each(|number| bench.insert(key(number))).unwrap();
        bench.assert_equal();
    }
}

// Input:  an attacker who knows the hash and chooses keys with the same two buckets and the same tag.
// Output: sixteen fit, each is found by its value; the seventeenth is refused after few steps, and others still fit.
//         Removing one of the keys leaves the others.
#[test]
#[cfg_attr(miri, ignore = "takes long: searches millions of keys")]
fn colliding_keys_are_distinguished_by_their_entries() {
    let mut bench = CuckooModel::new(100);
    let wanted = bench.table.probe(&key(0));
    let same = |number: &u64| {
        let probe = bench.table.probe(&key(*number));
        let buckets = [wanted.bucket, bench.table.second(wanted)];
        probe.tag == wanted.tag && buckets.contains(&probe.bucket)
    };
    let crowd: Vec<_> = (0..).filter(same).take(17).collect();
    for number in &crowd[..16] {
        bench.insert(key(*number)).unwrap();
    }
    assert_eq!(bench.insert(key(crowd[16])).unwrap_err().entries, 16);
    bench.assert_equal();
    assert_eq!(bench.look_up(&key(crowd[16])), None);
    let other = (0..).find(|number| !crowd.contains(number) && bench.insert(key(*number)).is_ok());
    assert!(other.is_some());
    for number in &crowd[..8] {
        assert!(bench.remove(&key(*number)));
    }
    bench.assert_equal();
    bench.assert_consistent();
    bench.insert(key(crowd[16])).unwrap();
    bench.assert_equal();
}

// Input:  an unknown key, and a known one with another value.
// Output: nothing is removed.
#[test]
fn removal_of_an_absent_key_changes_nothing() {
    let mut bench = CuckooModel::new(10);
    bench.insert(key(1)).unwrap();
    assert!(!bench.table.remove(&key(2), 0) && !bench.table.remove(&key(1), 1));
    bench.assert_equal();
}

// Input:  two tables with the same keys.
// Output: the slots differ, as each has its own secret, and `Debug` does not show it.
#[test]
fn each_table_has_its_secret() {
    let tables = [(); 2].map(|()| Cuckoo::<TunnelKey>::new(1000).unwrap());
    let key = TunnelKey { teid: 7, local: 0 };
    assert_ne!(tables[0].probe(&key), tables[1].probe(&key));
    assert!(!format!("{:?}", tables[0]).contains("hash"));
}

// Input:  every kind of key, with adjacent ones.
// Output: different keys have different words.
#[test]
fn different_keys_have_different_words() {
    let mut words: Vec<[u64; 2]> = Vec::new();
    for (one, other) in [(0, 0), (0, 1), (1, 0), (1, 1), (u32::MAX, 0), (0, u32::MAX)] {
        let tunnel = TunnelKey { teid: one, local: other }.words();
        let address = AddressKey { address: one, network: other }.words();
        assert_eq!(tunnel, address);
        words.push(tunnel);
    }
    words.extend([1_u64 << 33, 1 << 63].map(|prefix| PrefixKey { prefix, network: 5 }.words()));
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 8);
}

#[test]
fn a_table_beyond_the_address_space_is_refused() {
    for capacity in [usize::MAX, 1 << 40] {
        let refused = Cuckoo::<TunnelKey>::new(capacity).unwrap_err();
        assert!(matches!(refused, ArenaError::TooLarge { .. }), "{refused}");
    }
}

proptest! {
    // Input:  any order of inserting, removing and looking up few keys in a table that is nearly full at times.
    // Output: equal to the model, one by one and in batches; a refused key is not found.
    #[test]
    fn cuckoo_table_equals_its_model(steps in proptest::collection::vec((any::<bool>(), 0..40_u64), 0..400)) {
        let mut bench = CuckooModel::new(10);
        for (enter, number) in steps {
            let key = key(number);
            if !enter {
                let there = bench.model.contains_key(&key);
                prop_assert_eq!(bench.remove(&key), there);
            } else if !bench.model.contains_key(&key) && bench.insert(key).is_err() {
                prop_assert!(bench.model.len() >= bench.table.slots() * 3 / 4);
            }
            prop_assert_eq!(bench.look_up(&key), bench.model.get(&key).copied());
        }
        bench.assert_equal();
        bench.assert_consistent();
        let probes: [Probe; 40] = std::array::from_fn(|number| bench.table.probe(&key(number as u64)));
        probes.iter().for_each(|probe| bench.table.prefetch(*probe));
        let candidates = probes.map(|probe| bench.table.find(probe, |_| true));
        for (key, value) in &bench.model {
            let found = candidates[key.prefix as usize];
            prop_assert!(found.is_some());
            prop_assert!(found == Some(*value) || bench.lines[found.unwrap() as usize] != *key);
        }
    }
}
