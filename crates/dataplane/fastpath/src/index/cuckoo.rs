//! A table from keys to the numbers of lines, two memory accesses from the line at worst.

use std::fmt;
use std::marker::PhantomData;

use arrayvec::ArrayVec;

use super::arch::prefetch;
use super::arena::{Arena, ArenaError};
use super::bucket::{Bucket, Entry, SLOTS_PER_BUCKET};
use super::hash::KeyedHash;
use super::key::TableKey;

/// Buckets that an insertion looks at before it gives up.
const MAX_SEARCH: usize = 512;

/// How full a table of the capacity asked for is at most, in percent.
const LOAD: usize = 90;

/// An exact-match table from keys to numbers of lines, with a fixed number of places.
///
/// It is a bucketised cuckoo table: an entry is in one of two buckets of eight, each a cache line, and moves to the other
/// when that helps another entry in. Entries are 16-bit tags of keys, not keys: whoever looks up compares the key with that
/// in the line found. A wrong line comes with one in about 8000 lookups of a full table. The hash is keyed at random, so
/// that nobody can choose keys that crowd.
///
/// Looking up is made in stages for batches: [`Cuckoo::probe`], [`Cuckoo::prefetch`], [`Cuckoo::find`].
pub struct Cuckoo<K> {
    buckets: Arena<Bucket>,
    hash: KeyedHash,
    /// The number of buckets, a power of two, less one.
    mask: u32,
    entries: usize,
    key: PhantomData<fn(K)>,
}

/// Where a key may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Probe {
    bucket: u32,
    tag: u16,
}

/// A bucket reached in the search for an empty place. The first two are those of the new entry.
#[derive(Clone, Copy)]
struct Step {
    bucket: u32,
    /// The step before it.
    before: u16,
    /// Where in that step's bucket the entry is that may move here.
    place: u8,
}

type Steps = ArrayVec<Step, MAX_SEARCH>;

/// No place can be made for another entry. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no place for another entry: {entries} are in {places} places")]
pub struct Full {
    /// Entries in the table.
    pub entries: usize,
    /// Places in the table.
    pub places: usize,
}

impl<K: TableKey> Cuckoo<K> {
    /// An empty table in which so many entries fit; by chance a few more, or up to twice as many.
    ///
    /// # Errors
    /// As for [`Arena::new`].
    pub fn new(capacity: usize) -> Result<Self, ArenaError> {
        Self::with_hash(capacity, KeyedHash::random())
    }

    fn with_hash(capacity: usize, hash: KeyedHash) -> Result<Self, ArenaError> {
        let too_large = ArenaError::TooLarge { len: capacity, size: size_of::<Bucket>() };
        let places = capacity.checked_mul(100).ok_or(too_large)?.div_ceil(LOAD);
        let buckets = places.div_ceil(SLOTS_PER_BUCKET).max(2).next_power_of_two();
        let mask = u32::try_from(buckets - 1).map_err(|_| too_large)?;
        Ok(Self { buckets: Arena::sparse(buckets)?, hash, mask, entries: 0, key: PhantomData })
    }

    /// Where to look for a key.
    #[inline]
    pub fn probe(&self, key: &K) -> Probe {
        let hash = self.hash.hash(key.words());
        Probe { bucket: hash as u32 & self.mask, tag: ((hash >> 48) as u16).max(1) }
    }

    /// Brings nearer what [`Cuckoo::find`] will read first.
    #[inline]
    pub fn prefetch(&self, probe: Probe) {
        prefetch(&self.buckets, probe.bucket as usize);
    }

    /// The first line that the key may have and `matches` says yes to. When it says so to any, the line is that of the key, if
    /// the key is in the table, but for about one in 8000.
    #[inline]
    pub fn find(&self, probe: Probe, mut matches: impl FnMut(u32) -> bool) -> Option<u32> {
        let first = self.bucket(probe.bucket);
        let found = Self::find_in(first, probe.tag, &mut matches);
        if found.is_some() || !first.has_displaced() {
            return found;
        }
        Self::find_in(self.bucket(self.second(probe)), probe.tag, &mut matches)
    }

    #[inline]
    fn find_in(bucket: &Bucket, tag: u16, matches: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        bucket.slots_with_tag(tag).map(|slot| bucket.value(slot)).find(|value| matches(*value))
    }

    /// Enters a key that is not in the table. At most 512 buckets are looked at, and few entries moved.
    ///
    /// # Errors
    /// [`Full`] when no place was found; nothing has changed then.
    pub fn insert(&mut self, key: &K, value: u32) -> Result<(), Full> {
        let Probe { bucket, tag } = self.probe(key);
        let full = Full { entries: self.entries, places: self.places() };
        let (at, slot) = self.displace([bucket, self.other(bucket, tag)]).ok_or(full)?;
        let away = at != bucket;
        self.bucket_mut(at).put(slot, Entry { tag, value, away });
        if away {
            self.bucket_mut(bucket).count_displaced(true);
        }
        self.entries += 1;
        Ok(())
    }

    /// Takes out a key that was entered with this line. `false` if there is none.
    pub fn remove(&mut self, key: &K, value: u32) -> bool {
        let Probe { bucket, tag } = self.probe(key);
        for (at, away) in [(bucket, false), (self.other(bucket, tag), true)] {
            let Some(slot) = self.bucket(at).slot_of_entry(Entry { tag, value, away }) else { continue };
            self.bucket_mut(at).take(slot);
            if away {
                self.bucket_mut(bucket).count_displaced(false);
            }
            self.entries -= 1;
            return true;
        }
        false
    }

    /// An empty place in one of two buckets, if need be by moving entries along the shortest way to an empty place.
    fn displace(&mut self, ends: [u32; 2]) -> Option<(u32, usize)> {
        let mut steps: Steps = ends.map(|bucket| Step { bucket, before: 0, place: 0 }).into_iter().collect();
        let mut at = 0;
        while let Some(Step { bucket, .. }) = steps.get(at).copied() {
            let looked_at = self.bucket(bucket);
            if let Some(slot) = looked_at.empty_slot() {
                return Some(self.shift(&steps, at, slot));
            }
            let onward = (0..SLOTS_PER_BUCKET).map(|slot| Step {
                bucket: self.other(bucket, looked_at.tag(slot)),
                before: at as u16,
                place: slot as u8,
            });
            let room = steps.remaining_capacity();
            steps.extend(onward.take(room));
            at += 1;
        }
        None
    }

    /// Moves each entry on the way to `last`, which has this empty place, one step on. No bucket is on the way twice: the
    /// steps from where it is first had been looked at before those from where it is next.
    fn shift(&mut self, steps: &Steps, last: usize, slot: usize) -> (u32, usize) {
        let (mut step, mut empty) = (last, (steps[last].bucket, slot));
        while step > 1 {
            let before = usize::from(steps[step].before);
            let full = (steps[before].bucket, usize::from(steps[step].place));
            self.relocate(full, empty);
            (step, empty) = (before, full);
        }
        empty
    }

    /// Moves an entry to an empty place in its other bucket.
    fn relocate(&mut self, from: (u32, usize), to: (u32, usize)) {
        let entry = self.bucket_mut(from.0).take(from.1);
        self.bucket_mut(to.0).put(to.1, Entry { away: !entry.away, ..entry });
        let first_choice = if entry.away { to.0 } else { from.0 };
        self.bucket_mut(first_choice).count_displaced(!entry.away);
    }

    #[inline]
    fn bucket(&self, number: u32) -> &Bucket {
        // The mask makes the index one of the arena's.
        &self.buckets[(number & self.mask) as usize]
    }

    fn bucket_mut(&mut self, number: u32) -> &mut Bucket {
        &mut self.buckets[(number & self.mask) as usize]
    }

    /// The second choice of a key.
    #[inline]
    fn second(&self, probe: Probe) -> u32 {
        self.other(probe.bucket, probe.tag)
    }

    /// The other bucket of an entry, from either. It never is the same.
    #[inline]
    const fn other(&self, bucket: u32, tag: u16) -> u32 {
        bucket ^ ((tag as u32).wrapping_mul(0x9e37_79b1) | 1) & self.mask
    }

    /// How many places there are, for entries.
    pub fn places(&self) -> usize {
        self.buckets.len() * SLOTS_PER_BUCKET
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.entries
    }

    /// There is no entry.
    pub const fn is_empty(&self) -> bool {
        self.entries == 0
    }
}

impl<K> fmt::Debug for Cuckoo<K> {
    /// Without entries, and without the secret of the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuckoo")
            .field("entries", &self.entries)
            .field("buckets", &self.buckets)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
