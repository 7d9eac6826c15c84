//! A hash table from keys to the numbers of flow entries, with at most two bucket accesses per lookup.

use std::fmt;
use std::marker::PhantomData;

use arrayvec::ArrayVec;

use super::arch::prefetch;
use super::arena::{Arena, ArenaError};
use super::bucket::{Bucket, Entry, SLOTS_PER_BUCKET};
use super::hash::KeyedHash;
use super::key::TableKey;

/// The maximum of buckets that an insertion visits.
const MAX_SEARCH: usize = 512;

/// The maximum load, in percent, of a table with the requested capacity.
const LOAD: usize = 90;

/// An exact-match table from keys to numbers of flow entries, with a fixed number of slots.
///
/// It is a bucketised cuckoo table: an entry is in one of two buckets of eight slots, each a cache line, and moves to
/// the other to make space for another entry. Entries contain 16-bit tags of keys, not keys: the caller compares the
/// key with that of the flow entry found. About one in 8000 lookups of a full table finds a wrong flow entry first. The
/// hash is keyed at random, so that no sender can choose keys that collide.
///
/// Lookups have stages for batches: [`Cuckoo::probe`], [`Cuckoo::prefetch`], [`Cuckoo::find`].
pub struct Cuckoo<K> {
    buckets: Arena<Bucket>,
    hash: KeyedHash,
    /// The number of buckets, a power of two, less one.
    mask: u32,
    entries: usize,
    key: PhantomData<fn(K)>,
}

/// The candidate buckets of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Probe {
    bucket: u32,
    tag: u16,
}

/// A bucket reached in the search for an empty slot. The first two are those of the new entry.
#[derive(Clone, Copy)]
struct Step {
    bucket: u32,
    /// The step before it.
    before: u16,
    /// The slot in that step's bucket whose entry may move here.
    place: u8,
}

type Steps = ArrayVec<Step, MAX_SEARCH>;

/// No slot can be made free for another entry. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the hash table is full: {entries} entries in {slots} slots")]
pub struct Full {
    /// Entries in the table.
    pub entries: usize,
    /// Slots in the table.
    pub slots: usize,
}

impl<K: TableKey> Cuckoo<K> {
    /// An empty table with capacity for at least this many entries, at most about twice as many.
    ///
    /// # Errors
    /// As for [`Arena::new`].
    pub fn new(capacity: usize) -> Result<Self, ArenaError> {
        Self::with_hash(capacity, KeyedHash::random())
    }

    fn with_hash(capacity: usize, hash: KeyedHash) -> Result<Self, ArenaError> {
        let too_large = ArenaError::TooLarge { len: capacity, size: size_of::<Bucket>() };
        let slots = capacity.checked_mul(100).ok_or(too_large)?.div_ceil(LOAD);
        let buckets = slots.div_ceil(SLOTS_PER_BUCKET).max(2).next_power_of_two();
        let mask = u32::try_from(buckets - 1).map_err(|_| too_large)?;
        Ok(Self { buckets: Arena::sparse(buckets)?, hash, mask, entries: 0, key: PhantomData })
    }

    /// Computes the candidate buckets of a key.
    #[inline]
    pub fn probe(&self, key: &K) -> Probe {
        let hash = self.hash.hash(key.words());
        Probe { bucket: hash as u32 & self.mask, tag: ((hash >> 48) as u16).max(1) }
    }

    /// Prefetches the bucket that [`Cuckoo::find`] reads first.
    #[inline]
    pub fn prefetch(&self, probe: Probe) {
        prefetch(&self.buckets, probe.bucket as usize);
    }

    /// The first candidate value that `matches` accepts. If `matches` accepts every candidate, the value is that of the
    /// key in all but about one in 8000 cases, given that the key is in the table.
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

    /// Inserts a key that is not in the table. Visits at most 512 buckets, and moves few entries.
    ///
    /// # Errors
    /// [`Full`] when no slot was found; nothing has changed then.
    pub fn insert(&mut self, key: &K, value: u32) -> Result<(), Full> {
        let Probe { bucket, tag } = self.probe(key);
        let full = Full { entries: self.entries, slots: self.slots() };
        let (at, slot) = self.displace([bucket, self.other(bucket, tag)]).ok_or(full)?;
        let away = at != bucket;
        self.bucket_mut(at).put(slot, Entry { tag, value, away });
        if away {
            self.bucket_mut(bucket).count_displaced(true);
        }
        self.entries += 1;
        Ok(())
    }

    /// Removes a key with this value. `false` if there is none.
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

    /// An empty slot in one of two buckets, if necessary by moving entries along the shortest path to an empty slot.
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

    /// Moves each entry on the path to `last`, which has this empty slot, one step on. No bucket is on the path twice:
    /// the search visits the neighbours of a bucket's first occurrence before those of a later one.
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

    /// Moves an entry to an empty slot in its other bucket.
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

    /// The other bucket of an entry, from either one. They always differ.
    #[inline]
    const fn other(&self, bucket: u32, tag: u16) -> u32 {
        bucket ^ ((tag as u32).wrapping_mul(0x9e37_79b1) | 1) & self.mask
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.buckets.len() * SLOTS_PER_BUCKET
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are no entries.
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
