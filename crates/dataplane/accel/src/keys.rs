//! Tables of keys that others choose: CP F-SEIDs, UE addresses, TEIDs of SMFs.
//!
//! A key has two buckets of four entries, by two hash functions. It goes into the one with more free entries and never
//! moves: a switch can do that in one pass (two arrays, each with its index). With half of the entries in use, no place
//! is left for fewer than one key in a hundred thousand. A session whose key has no place goes to N4; it displaces
//! nobody. N4's keys that have no place are counted at their buckets: only a key of the same two buckets may be one of them.

use std::fmt::Debug;

/// Entries of a bucket.
const WAYS: usize = 4;

/// A session by its index, or N4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Session(u32),
    N4,
}

/// The representation of [`Owner`], and of none.
const NONE: u32 = u32::MAX;
const OF_N4: u32 = u32::MAX - 1;

impl Owner {
    const fn number(self) -> u32 {
        match self {
            Self::Session(index) => index,
            Self::N4 => OF_N4,
        }
    }

    const fn from_number(number: u32) -> Option<Self> {
        match number {
            NONE => None,
            OF_N4 => Some(Self::N4),
            index => Some(Self::Session(index)),
        }
    }
}

/// A key.
pub(crate) trait Key: Copy + Eq + Default + Debug {
    /// The key as two words, which differ if keys do.
    fn words(&self) -> [u64; 2];
}

impl Key for u32 {
    fn words(&self) -> [u64; 2] {
        [(*self).into(), 0]
    }
}

/// A CP SEID, and the generation of its SMF.
impl Key for (u32, u64) {
    fn words(&self) -> [u64; 2] {
        [self.1, self.0.into()]
    }
}

/// Aligned so that a bucket of short keys is in one cache line, and one of long keys in two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Bucket<K> {
    keys: [K; WAYS],
    owners: [u32; WAYS],
}

/// Neither bucket of the key has a free entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Collision;

#[derive(Clone, Debug)]
pub(crate) struct KeyTable<K> {
    buckets: Box<[Bucket<K>]>,
    seed: u64,
    used: usize,
    /// Keys of N4 without a place, by their first bucket, and by their second one.
    missing: Box<[[u32; 2]]>,
    all_missing: usize,
}

impl<K: Key> KeyTable<K> {
    /// With at least two entries for each of `keys`; `seed` makes the hash functions unpredictable.
    pub(crate) fn new(keys: u32, seed: u64) -> Self {
        let buckets = (keys as usize * 2).div_ceil(WAYS).next_power_of_two();
        let empty = Bucket { keys: [K::default(); WAYS], owners: [NONE; WAYS] };
        let missing = vec![[0; 2]; buckets].into();
        Self { buckets: vec![empty; buckets].into(), seed, used: 0, missing, all_missing: 0 }
    }

    /// Entries in all.
    pub(crate) fn entries(&self) -> usize {
        self.buckets.len() * WAYS
    }

    /// Entries in use.
    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// An owner of the key.
    pub(crate) fn find(&self, key: K) -> Option<Owner> {
        self.owners(key).next()
    }

    /// All owners of the key, at most eight.
    pub(crate) fn owners(&self, key: K) -> impl Iterator<Item = Owner> {
        let [first, second] = self.buckets_of(key);
        let second = (second != first).then_some(second);
        let buckets = std::iter::once(first).chain(second).map(|at| &self.buckets[at]);
        buckets.flat_map(move |bucket| {
            let owners = bucket.keys.iter().zip(bucket.owners);
            owners.filter(move |(it, _)| **it == key).filter_map(|(_, owner)| Owner::from_number(owner))
        })
    }

    /// Reads both buckets of a key, so that they are in the cache when it is looked up. Reads of several keys overlap.
    pub(crate) fn touch(&self, key: K) -> bool {
        self.buckets_of(key).into_iter().fold(false, |any, at| {
            let Bucket { keys, owners } = &self.buckets[at];
            any | (keys[0] == key) | (owners[WAYS - 1] == NONE)
        })
    }

    /// Inserts a key, whoever else has it.
    pub(crate) fn insert(&mut self, key: K, owner: Owner) -> Result<(), Collision> {
        let [first, second] = self.buckets_of(key);
        let free = |bucket: usize| self.buckets[bucket].owners.iter().filter(|owner| **owner == NONE).count();
        let bucket = if free(second) > free(first) { second } else { first };
        let Bucket { keys, owners } = &mut self.buckets[bucket];
        let way = owners.iter().position(|owner| *owner == NONE).ok_or(Collision)?;
        (keys[way], owners[way]) = (key, owner.number());
        self.used += 1;
        Ok(())
    }

    /// The key passes from one owner to another. False: the first one did not have it.
    pub(crate) fn pass(&mut self, key: K, from: Owner, to: Owner) -> bool {
        let Some((bucket, way)) = self.place_of(key, |owner| owner == from.number()) else { return false };
        self.buckets[bucket].owners[way] = to.number();
        true
    }

    /// Removes a key of this owner. False: the owner did not have it.
    pub(crate) fn remove(&mut self, key: K, owner: Owner) -> bool {
        let Some((bucket, way)) = self.place_of(key, |it| it == owner.number()) else { return false };
        self.buckets[bucket].owners[way] = NONE;
        self.used -= 1;
        true
    }

    /// N4 has this key, which found no place.
    pub(crate) fn miss(&mut self, key: K) {
        let [first, second] = self.buckets_of(key);
        self.missing[first][0] += 1;
        self.missing[second][1] += 1;
        self.all_missing += 1;
    }

    /// N4 no longer has a key that found no place. No effect if none is missing in its buckets.
    pub(crate) fn no_longer_miss(&mut self, key: K) {
        if self.may_miss(key) {
            let [first, second] = self.buckets_of(key);
            self.missing[first][0] -= 1;
            self.missing[second][1] -= 1;
            self.all_missing -= 1;
        }
    }

    /// The key may be one that N4 has, and that found no place.
    pub(crate) fn may_miss(&self, key: K) -> bool {
        if self.all_missing == 0 {
            return false;
        }
        let [first, second] = self.buckets_of(key);
        self.missing[first][0] > 0 && self.missing[second][1] > 0
    }

    fn place_of(&self, key: K, is_it: impl Fn(u32) -> bool) -> Option<(usize, usize)> {
        self.buckets_of(key).into_iter().find_map(|at| {
            let bucket = &self.buckets[at];
            let way = (0..WAYS).find(|way| {
                let owner = bucket.owners[*way];
                owner != NONE && bucket.keys[*way] == key && is_it(owner)
            })?;
            Some((at, way))
        })
    }

    /// Two halves of one hash of 64 bits: a table has at most 2^32 buckets.
    fn buckets_of(&self, key: K) -> [usize; 2] {
        let [low, high] = key.words();
        let hash = mix(mix(low ^ self.seed).wrapping_add(high) ^ self.seed.rotate_left(32));
        let mask = self.buckets.len() - 1;
        [hash as usize & mask, (hash >> 32) as usize & mask]
    }
}

/// Steele, Lea and Flood's SplitMix64 finalizer: a bijection of 64 bits.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    // Input:  65,536 random keys and as many consecutive ones, into tables of 131,072 entries, with five seeds.
    // Output: at most one in a thousand finds no place (AccelUPF figure 8 has under 10 % with two entries a bucket).
    #[test]
    fn a_half_full_table_has_places() {
        for seed in 1..=5 {
            let mut random = fastrand::Rng::with_seed(seed);
            let scattered: Vec<u32> = (0..65_536).map(|_| random.u32(..)).collect();
            for keys in [scattered, (0x0a00_0000..0x0a01_0000).collect()] {
                let mut table = KeyTable::<u32>::new(65_536, random.u64(..));
                assert_eq!(table.entries(), 131_072);
                let failed =
                    keys.iter().filter(|key| table.insert(**key, Owner::Session(1)).is_err()).count();
                assert!(failed <= 65, "seed {seed}: {failed} without a place");
                assert_eq!(table.len(), keys.len() - failed);
            }
        }
    }

    thread_local! {
        static COMPARED: Cell<u32> = const { Cell::new(0) };
    }

    /// A key that counts how often it is compared with another.
    #[derive(Clone, Copy, Default, Debug)]
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Key for Counted {
        fn words(&self) -> [u64; 2] {
            [self.0, 0]
        }
    }

    // Input:  65,536 keys that someone who knows the seed has chosen so that all have the same two buckets, of sessions and of N4, in a table with ten
    //         others; each is inserted, found, and removed.
    // Output: eight find a place, and no operation compares more keys than these. Those of N4 without a place are missing in these two buckets alone,
    //         until N4 has them no longer. The others stay.
    #[test]
    fn a_flood_of_collisions_has_two_buckets() {
        let mut table = KeyTable::<Counted>::new(32, 7);
        let target = table.buckets_of(Counted(0));
        assert_ne!(target[0], target[1]);
        let is_apart = |key: &Counted| table.buckets_of(*key).iter().all(|bucket| !target.contains(bucket));
        let others: Vec<_> = (1 << 63..).map(Counted).filter(is_apart).take(10).collect();
        let flood: Vec<_> =
            (0..).map(Counted).filter(|key| table.buckets_of(*key) == target).take(65_536).collect();
        others.iter().for_each(|key| assert_eq!(table.insert(*key, Owner::Session(1)), Ok(())));
        let most = |at_most: u32| assert!(COMPARED.replace(0) <= at_most);
        let mut placed = 0;
        for (number, key) in (2..).zip(&flood) {
            let owner = if number % 2 == 0 { Owner::N4 } else { Owner::Session(number) };
            most(8);
            match table.insert(*key, owner) {
                Ok(()) => placed += 1,
                Err(Collision) if owner == Owner::N4 => table.miss(*key),
                Err(Collision) => {}
            }
            assert_eq!(table.find(*key).is_some(), number < 10);
        }
        assert_eq!((placed, table.len()), (8, 18));
        assert!(flood.iter().all(|key| table.may_miss(*key)));
        COMPARED.set(0);
        for (number, key) in (2..).zip(&flood) {
            assert!(!others.iter().any(|other| table.may_miss(*other)));
            let owner = if number % 2 == 0 { Owner::N4 } else { Owner::Session(number) };
            if !table.remove(*key, owner) && owner == Owner::N4 {
                table.no_longer_miss(*key);
            }
            most(8);
        }
        assert!(!flood.iter().any(|key| table.may_miss(*key)));
        assert!(others.iter().all(|key| table.find(*key) == Some(Owner::Session(1))));
        assert_eq!(table.len(), 10);
    }

    proptest! {
        // Input:  few keys inserted, passed on and removed in any order by three sessions and N4, in a table with free entries.
        // Output: as a map of keys to owners has it.
        #[test]
        fn a_table_is_a_map(steps in proptest::collection::vec((0..4_u8, 0..12_u32, 0..4_u32, 0..4_u32), 0..200)) {
            let owner = |number| if number == 3 { Owner::N4 } else { Owner::Session(number) };
            let mut table = KeyTable::<u32>::new(64, 1);
            let mut map = BTreeMap::<u32, Owner>::new();
            for (action, key, one, other) in steps {
                match action {
                    0 if map.contains_key(&key) => {}
                    0 => {
                        prop_assert_eq!(table.insert(key, owner(one)), Ok(()));
                        map.insert(key, owner(one));
                    }
                    1 => {
                        let is_its = map.get(&key) == Some(&owner(one));
                        prop_assert_eq!(table.pass(key, owner(one), owner(other)), is_its);
                        if is_its {
                            map.insert(key, owner(other));
                        }
                    }
                    2 => {
                        let is_its = map.get(&key) == Some(&owner(one));
                        prop_assert_eq!(table.remove(key, owner(one)), is_its);
                        if is_its {
                            map.remove(&key);
                        }
                    }
                    _ => prop_assert_eq!(table.find(key), map.get(&key).copied()),
                }
                prop_assert_eq!(table.len(), map.len());
            }
        }
    }
}
