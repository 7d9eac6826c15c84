//! A hash index of entries that are stored elsewhere.

use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use foldhash::fast::RandomState;

/// Entries of one bucket, which is a cache line.
const SLOTS_PER_BUCKET: usize = 7;

/// Words of a bucket: one half has hashes, the last of which is the overflow count; the other half has indexes, the
/// last of which is the bit mask of used lanes.
const WORDS: usize = 16;
const COUNT: usize = SLOTS_PER_BUCKET;
const PLACES: usize = WORDS / 2;
const USED: usize = PLACES + SLOTS_PER_BUCKET;

/// Octets of a cache line.
const LINE: usize = 64;

/// Maximum tenths of the lanes in use before the table grows.
const FULL: usize = 7;

/// Hundredths of the lanes in use from which on the next buckets are prefaulted.
const NEARLY_FULL: usize = FULL * 10 - 5;

/// Maximum initial capacity in entries.
const FIRST: usize = 1 << 14;

/// Buckets that are moved at each insertion, while there is more than one table.
const STEP: usize = 2;

/// The same for each removal: all buckets have moved before the table is empty.
const STEP_BACK: usize = 8;

/// Buckets that are always kept.
const LEAST: usize = 1 << 13;

/// Prefaults memory that will be used soon.
pub type PrefaultFn = fn(Range<*const u8>);

/// An index into a table elsewhere, by a hash of the key of its entries; the key itself is stored in that table.
///
/// The indexes of a key are nearly always in one cache line. The other table is accessed only for likely matches,
/// even while this one grows. It grows by few entries at a time. Unused memory is never touched. Each index has a
/// random seed, since peers choose the keys.
#[derive(Debug, Default)]
pub struct HashIndex {
    hasher: RandomState,
    buckets: Buckets,
    /// The buckets that are still to be moved to `buckets`, during growth or shrinking.
    old: Option<Box<OldBuckets>>,
    /// The next `buckets`, if growth is near.
    next: Option<Box<Buckets>>,
    /// The buckets for the expected capacity: the table exceeds them only if there are more entries.
    expected: usize,
    prepare: Option<PrefaultFn>,
    len: usize,
    /// The number of entries at which the next insertion acts, and below which the next removal does.
    due: usize,
    low: usize,
    /// Entries that the last insertion moved.
    #[cfg(test)]
    moved: usize,
}

/// Buckets that are being moved.
#[derive(Debug)]
struct OldBuckets {
    buckets: Buckets,
    /// Buckets before this one are empty.
    at: usize,
}

/// The buckets, from a word that starts a cache line. Each has the lower halves of hashes, the number of its
/// entries that overflowed to other buckets, indexes, and a bit for each lane in use.
#[derive(Debug, Default)]
struct Buckets {
    words: Vec<u32>,
    start: usize,
    count: usize,
}

type Bucket = [u32; WORDS];

/// The hash of a key in one table, computed once for several operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe(u32);

/// The lanes in use that equal `value`, one bit each; `from` is 0 for hashes and [`PLACES`] for indexes. All words
/// of the half are compared, since eight are compared at a time; the last one is never a lane in use.
#[inline(always)]
fn lanes(bucket: &Bucket, from: usize, value: u32) -> u32 {
    // Most buckets have none, which is quicker to find than the lane.
    let mut is_there = false;
    for lane in 0..PLACES {
        is_there |= bucket[from + lane] == value;
    }
    if !is_there {
        return 0;
    }
    let mut found = 0;
    for lane in 0..PLACES {
        found |= u32::from(bucket[from + lane] == value) << lane;
    }
    found & bucket[USED]
}

/// The first of these lanes.
#[inline(always)]
const fn first(lanes: u32) -> usize {
    lanes.trailing_zeros() as usize % PLACES
}

impl HashIndex {
    /// An empty index. Up to `capacity` entries it takes no more memory than for those.
    pub fn with_capacity(capacity: usize) -> Self {
        let needed = |entries: usize| entries.saturating_mul(10) / (SLOTS_PER_BUCKET * FULL) + 1;
        let mut places = Self { expected: needed(capacity), ..Self::default() };
        if capacity > 0 {
            places.buckets = Buckets::new(needed(capacity.min(FIRST)));
        }
        (places.due, places.low) = (places.next_due(), places.next_low());
        places
    }

    /// Sets the function that prefaults memory.
    pub const fn set_prefault(&mut self, prepare: PrefaultFn) {
        self.prepare = Some(prepare);
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// There are no entries.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Inserts an index of a key, beside its others. O(indexes of the key).
    pub fn insert(&mut self, key: impl Hash, index: u32) {
        self.insert_at(self.probe(key), index);
    }

    /// The same with a [`HashIndex::probe`].
    #[inline]
    pub fn insert_at(&mut self, Probe(low): Probe, index: u32) {
        if self.len >= self.due {
            self.grow();
        }
        self.buckets.put(low, index);
        self.len += 1;
    }

    /// Computes the hash of a key.
    pub fn probe(&self, key: impl Hash) -> Probe {
        Probe(self.hasher.hash_one(key) as u32)
    }

    /// The memory of the table.
    pub fn memory(&self) -> &[u32] {
        &self.buckets.words
    }

    /// The memory of the table, and the offset of the bucket that nearly always has the key's indexes: for
    /// prefetching.
    pub fn home_bucket(&self, Probe(low): Probe) -> (&[u32], usize) {
        (&self.buckets.words, self.buckets.start + self.buckets.home_index(low) * WORDS)
    }

    /// Reads the bucket that nearly always has the key's indexes, as a prefetch. The result has no meaning.
    pub fn prefetch(&self, key: impl Hash) -> u32 {
        let (words, at) = self.home_bucket(self.probe(key));
        words.get(at).copied().unwrap_or_default()
    }

    /// Removes an index of a key.
    pub fn remove(&mut self, key: impl Hash, index: u32) {
        self.remove_at(self.probe(key), index);
    }

    /// The same with a [`HashIndex::probe`].
    pub fn remove_at(&mut self, probe: Probe, index: u32) {
        let _ = self.take_at(probe, index);
    }

    /// The same. Returns whether it was there.
    pub fn take_at(&mut self, Probe(low): Probe, index: u32) -> bool {
        let in_old =
            |old: &mut Option<Box<OldBuckets>>| old.as_mut().is_some_and(|old| old.buckets.take(low, index));
        let was_there = self.buckets.take(low, index) || in_old(&mut self.old);
        if was_there {
            self.len -= 1;
            if self.len < self.low {
                self.shrink();
            }
        }
        was_there
    }

    /// The index of a key; `is_it` tests each candidate.
    pub fn find(&self, key: impl Hash, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.find_at(self.probe(key), is_it)
    }

    /// The same with a [`HashIndex::probe`].
    #[inline]
    pub fn find_at(&self, Probe(low): Probe, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let found = self.buckets.find(low, &is_it);
        if found.is_some() || self.old.is_none() {
            return found;
        }
        self.find_in_old(low, &is_it)
    }

    #[cold]
    #[inline(never)]
    fn find_in_old(&self, low: u32, is_it: &impl Fn(u32) -> bool) -> Option<u32> {
        self.old.as_ref()?.buckets.find(low, is_it)
    }

    /// All candidate indexes of a key.
    pub fn all(&self, key: impl Hash) -> impl Iterator<Item = u32> {
        self.all_at(self.probe(key))
    }

    /// The same with a [`HashIndex::probe`].
    pub fn all_at(&self, Probe(low): Probe) -> impl Iterator<Item = u32> {
        self.buckets.all(low).chain(self.old.iter().flat_map(move |old| old.buckets.all(low)))
    }

    /// Moves some entries to the new buckets, and ensures capacity for another one.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.move_some(STEP);
        if self.len >= self.buckets.room() {
            let next = self.next.take().unwrap_or_else(|| self.allocate_next());
            // All have moved long ago if the new buckets are many more.
            self.move_some(usize::MAX);
            let buckets = std::mem::replace(&mut self.buckets, *next);
            self.old = (self.len > 0).then(|| Box::new(OldBuckets { buckets, at: 0 }));
        } else if self.next_due() == self.len {
            self.next = Some(self.allocate_next());
        }
        (self.due, self.low) = (self.next_due(), self.next_low());
    }

    /// Moves some entries to the new buckets, or starts to move to fewer buckets.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        if self.old.is_some() {
            self.move_some(STEP_BACK);
        } else {
            self.next = None;
            let fewer = Buckets::new(self.buckets.count / 4);
            let buckets = std::mem::replace(&mut self.buckets, fewer);
            self.old = Some(Box::new(OldBuckets { buckets, at: 0 }));
        }
        (self.due, self.low) = (self.next_due(), self.next_low());
    }

    /// The number of entries below which a removal acts: during a move, any number.
    const fn next_low(&self) -> usize {
        match &self.old {
            Some(_) => usize::MAX,
            None if self.buckets.count > LEAST => self.buckets.room() / 8,
            None => 0,
        }
    }

    /// The number of entries at which an insertion acts: during a move, any number.
    fn next_due(&self) -> usize {
        let is_ready = self.next.is_some() || self.buckets.count >= self.expected;
        match &self.old {
            Some(_) => 0,
            None if is_ready => self.buckets.room(),
            None => self.len.max(self.buckets.count * SLOTS_PER_BUCKET * NEARLY_FULL / 100),
        }
    }

    /// The next, larger buckets, to be prefaulted.
    fn allocate_next(&self) -> Box<Buckets> {
        let twice = (self.buckets.count * 2).max(1);
        let enough = if self.buckets.count < self.expected { self.expected } else { usize::MAX };
        let buckets = Buckets::new(twice.min(enough));
        self.prepare.into_iter().for_each(|prepare| prepare(buckets.memory()));
        Box::new(buckets)
    }

    /// Moves the entries of this many buckets.
    fn move_some(&mut self, buckets: usize) {
        #[cfg(test)]
        (self.moved = 0);
        let Some(old) = &mut self.old else { return };
        let end = old.at.saturating_add(buckets).min(old.buckets.count);
        for at in old.at..end {
            let Some(bucket) = old.buckets.bucket_mut(at) else { continue };
            // The overflow count stays: overflowed entries are still looked up through it.
            let used = std::mem::take(&mut bucket[USED]);
            for lane in (0..SLOTS_PER_BUCKET).filter(|lane| used >> lane & 1 == 1) {
                self.buckets.put(bucket[lane], bucket[PLACES + lane]);
                #[cfg(test)]
                (self.moved += 1);
            }
        }
        old.at = end;
        if end == old.buckets.count {
            self.old = None;
        }
    }
}

impl Buckets {
    /// This many empty buckets.
    fn new(count: usize) -> Self {
        // Zeroed, so that the system allocates the memory at its first use.
        let words = vec![0; count * WORDS + LINE / size_of::<u32>()];
        let start = words.as_ptr().align_offset(LINE).min(LINE / size_of::<u32>());
        Self { words, start, count }
    }

    /// The number of entries up to which the buckets are not too full.
    const fn room(&self) -> usize {
        self.count * SLOTS_PER_BUCKET * FULL / 10
    }

    fn memory(&self) -> Range<*const u8> {
        let Range { start, end } = self.words.as_ptr_range();
        start.cast()..end.cast()
    }

    /// The home bucket of a hash.
    const fn home_index(&self, low: u32) -> usize {
        ((low as u64 * self.count as u64) >> 32) as usize
    }

    const fn after(&self, at: usize) -> usize {
        if at + 1 < self.count { at + 1 } else { 0 }
    }

    #[inline(always)]
    fn bucket(&self, at: usize) -> Option<&Bucket> {
        self.words.get(self.start + at * WORDS..)?.first_chunk()
    }

    #[inline(always)]
    fn bucket_mut(&mut self, at: usize) -> Option<&mut Bucket> {
        self.words.get_mut(self.start + at * WORDS..)?.first_chunk_mut()
    }

    #[inline]
    fn find(&self, low: u32, is_it: &impl Fn(u32) -> bool) -> Option<u32> {
        let (mut at, mut left) = (self.home_index(low), self.count);
        while let Some(bucket) = self.bucket(at) {
            let mut found = lanes(bucket, 0, low);
            while found != 0 {
                let index = bucket[PLACES + first(found)];
                if is_it(index) {
                    return Some(index);
                }
                found &= found - 1;
            }
            left = left.saturating_sub(1);
            if bucket[COUNT] == 0 || left == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    fn all(&self, low: u32) -> Candidates<'_> {
        let at = self.home_index(low);
        let bucket = self.bucket(at);
        let found = bucket.map_or(0, |bucket| lanes(bucket, 0, low));
        Candidates { buckets: self, low, at, bucket, found, left: self.count }
    }

    /// Inserts an entry that does not exist. There is a free lane.
    #[inline]
    fn put(&mut self, low: u32, index: u32) {
        let mut at = self.home_index(low);
        while let Some(bucket) = self.bucket_mut(at) {
            let free = !bucket[USED] & ((1 << SLOTS_PER_BUCKET) - 1);
            if free != 0 {
                let lane = first(free);
                (bucket[lane], bucket[PLACES + lane]) = (low, index);
                bucket[USED] |= 1 << lane;
                return;
            }
            bucket[COUNT] += 1;
            at = self.after(at);
        }
    }

    /// Removes an entry. `false`: it does not exist.
    fn take(&mut self, low: u32, index: u32) -> bool {
        let home = self.home_index(low);
        let mut at = home;
        let mut left = self.count;
        while let Some(bucket) = self.bucket_mut(at).filter(|_| left > 0) {
            let both = lanes(bucket, 0, low) & lanes(bucket, PLACES, index);
            if both != 0 {
                bucket[USED] &= !(1 << first(both));
                self.decrement_overflow(home, at);
                return true;
            }
            left = if bucket[COUNT] == 0 { 0 } else { left - 1 };
            at = self.after(at);
        }
        false
    }

    /// An entry of the bucket `home` was removed from the bucket `at`: decrements the overflow counts between.
    fn decrement_overflow(&mut self, home: usize, at: usize) {
        let mut passed = home;
        while passed != at {
            if let Some(bucket) = self.bucket_mut(passed) {
                bucket[COUNT] -= 1;
            }
            passed = self.after(passed);
        }
    }
}

/// The remaining candidate indexes of a key.
struct Candidates<'a> {
    buckets: &'a Buckets,
    low: u32,
    at: usize,
    bucket: Option<&'a Bucket>,
    /// The lanes of the bucket that are still to be returned.
    found: u32,
    /// The number of buckets still to be searched, this one included.
    left: usize,
}

impl Iterator for Candidates<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            let bucket = self.bucket?;
            if self.found != 0 {
                let index = bucket[PLACES + first(self.found)];
                self.found &= self.found - 1;
                return Some(index);
            }
            self.left = self.left.saturating_sub(1);
            if bucket[COUNT] == 0 || self.left == 0 {
                self.bucket = None;
                return None;
            }
            self.at = self.buckets.after(self.at);
            self.bucket = self.buckets.bucket(self.at);
            self.found = self.bucket.map_or(0, |bucket| lanes(bucket, 0, self.low));
        }
    }
}

#[cfg(test)]
mod tests;
