//! Where things are that are found by something in them.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;

/// Places in one bucket, which is a cache line.
const LANES: usize = 7;

/// Words of a bucket: a half of hashes, the last of which is a count, and a half of places, the last of which says which lanes are
/// used.
const WORDS: usize = 16;
const COUNT: usize = LANES;
const PLACES: usize = WORDS / 2;
const USED: usize = PLACES + LANES;

/// Octets of a cache line.
const LINE: usize = 64;

/// Tenths of the lanes that are used at most before there are more buckets.
const FULL: usize = 7;

/// Numbers of places in a table elsewhere, by a hash of the key of what is there; the key itself is there, too.
///
/// What a key leads to is nearly always in one cache line, and there is no access to the other table but for what is likely to be
/// right: not even when this one grows. Memory that was never used is never touched. Seeded anew each time one is made, since
/// peers choose the keys.
#[derive(Debug, Default)]
pub struct Places {
    hasher: RandomState,
    /// The buckets, from a word on that begins a line. Each has the lower halves of hashes, how many entries are further on because
    /// it was full, places, and which lanes have both: a bit each.
    words: Vec<u32>,
    start: usize,
    buckets: usize,
    len: usize,
}

type Bucket = [u32; WORDS];

/// A key as one table looks for it, worked out once for all that is done with it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe(u32);

/// The lanes that are used and for which it is so, a bit each; those of the hashes are from 0 on, those of the places from
/// [`PLACES`] on. All words of the half are compared, since eight are compared at a time; the last one is no lane that is used.
#[inline(always)]
fn lanes(bucket: &Bucket, from: usize, value: u32) -> u32 {
    // In most buckets there is none, which is found out faster than which it is.
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

impl Places {
    /// None, and room for so many: the table grows no more.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut places = Self::default();
        if capacity > 0 {
            places.make(capacity.saturating_mul(10) / (LANES * FULL) + 1);
        }
        places
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// There is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Enters the place of a key, beside others of it. O(places of the key).
    pub fn insert(&mut self, key: impl Hash, place: u32) {
        self.insert_at(self.probe(key), place);
    }

    /// The same by what [`Places::probe`] says.
    #[inline]
    pub fn insert_at(&mut self, Probe(low): Probe, place: u32) {
        if (self.len + 1) * 10 > self.buckets * LANES * FULL {
            self.grow();
        }
        self.put(low, place);
        self.len += 1;
    }

    /// Works out how a key is looked for.
    pub fn probe(&self, key: impl Hash) -> Probe {
        Probe(self.hasher.hash_one(key) as u32)
    }

    /// The memory of the table.
    pub fn memory(&self) -> &[u32] {
        &self.words
    }

    /// The memory of the table, and where in it what a key leads to nearly always is: for whoever fetches that before it is needed.
    pub fn home_of(&self, Probe(low): Probe) -> (&[u32], usize) {
        (&self.words, self.start + self.home(low) * WORDS)
    }

    /// Reads what a key nearly always leads to, so that it is near when it is needed. What this says means nothing.
    pub fn touch(&self, key: impl Hash) -> u32 {
        let (words, at) = self.home_of(self.probe(key));
        words.get(at).copied().unwrap_or_default()
    }

    /// Takes a place of a key out.
    pub fn remove(&mut self, key: impl Hash, place: u32) {
        self.remove_at(self.probe(key), place);
    }

    /// The same by what [`Places::probe`] says.
    pub fn remove_at(&mut self, Probe(low): Probe, place: u32) {
        let home = self.home(low);
        let mut at = home;
        let mut left = self.buckets;
        while let Some(bucket) = self.bucket_mut(at).filter(|_| left > 0) {
            let both = lanes(bucket, 0, low) & lanes(bucket, PLACES, place);
            if both != 0 {
                bucket[USED] &= !(1 << first(both));
                return self.left(home, at);
            }
            left = if bucket[COUNT] == 0 { 0 } else { left - 1 };
            at = self.after(at);
        }
    }

    /// An entry has gone that belonged to `home`, and was in another bucket if that was full.
    fn left(&mut self, home: usize, at: usize) {
        self.len -= 1;
        let mut passed = home;
        while passed != at {
            if let Some(bucket) = self.bucket_mut(passed) {
                bucket[COUNT] -= 1;
            }
            passed = self.after(passed);
        }
    }

    /// The place of a key, where `is_it` says which of those that it may be.
    pub fn find(&self, key: impl Hash, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.find_at(self.probe(key), is_it)
    }

    /// The same by what [`Places::probe`] says.
    #[inline]
    pub fn find_at(&self, Probe(low): Probe, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let (mut at, mut left) = (self.home(low), self.buckets);
        while let Some(bucket) = self.bucket(at) {
            let mut found = lanes(bucket, 0, low);
            while found != 0 {
                let place = bucket[PLACES + first(found)];
                if is_it(place) {
                    return Some(place);
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

    /// All places that may be those of a key.
    pub fn all(&self, key: impl Hash) -> impl Iterator<Item = u32> {
        self.all_at(self.probe(key))
    }

    /// The same by what [`Places::probe`] says.
    pub fn all_at(&self, Probe(low): Probe) -> impl Iterator<Item = u32> {
        let at = self.home(low);
        let bucket = self.bucket(at);
        let found = bucket.map_or(0, |bucket| lanes(bucket, 0, low));
        Found { places: self, low, at, bucket, found, left: self.buckets }
    }

    /// Where a hash belongs.
    const fn home(&self, low: u32) -> usize {
        ((low as u64 * self.buckets as u64) >> 32) as usize
    }

    const fn after(&self, at: usize) -> usize {
        if at + 1 < self.buckets { at + 1 } else { 0 }
    }

    #[inline(always)]
    fn bucket(&self, at: usize) -> Option<&Bucket> {
        self.words.get(self.start + at * WORDS..)?.first_chunk()
    }

    #[inline(always)]
    fn bucket_mut(&mut self, at: usize) -> Option<&mut Bucket> {
        self.words.get_mut(self.start + at * WORDS..)?.first_chunk_mut()
    }

    /// Enters what is not there. There is a lane that is free.
    #[inline]
    fn put(&mut self, low: u32, place: u32) {
        let mut at = self.home(low);
        while let Some(bucket) = self.bucket_mut(at) {
            let free = !bucket[USED] & ((1 << LANES) - 1);
            if free != 0 {
                let lane = first(free);
                (bucket[lane], bucket[PLACES + lane]) = (low, place);
                bucket[USED] |= 1 << lane;
                return;
            }
            bucket[COUNT] += 1;
            at = self.after(at);
        }
    }

    /// So many buckets, all of them empty.
    fn make(&mut self, buckets: usize) {
        // Zero, so that the system need not give the memory before it is used.
        self.words = vec![0; buckets * WORDS + LINE / size_of::<u32>()];
        self.start = self.words.as_ptr().align_offset(LINE).min(LINE / size_of::<u32>());
        self.buckets = buckets;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let (words, start) = (std::mem::take(&mut self.words), self.start);
        let buckets = std::mem::take(&mut self.buckets);
        self.make((buckets * 2).max(1));
        let held = words.get(start..start + buckets * WORDS).unwrap_or_default();
        for bucket in held.as_chunks::<WORDS>().0 {
            for lane in 0..LANES {
                if bucket[USED] >> lane & 1 == 1 {
                    self.put(bucket[lane], bucket[PLACES + lane]);
                }
            }
        }
    }
}

/// What is left of the places that may be those of a key.
struct Found<'a> {
    places: &'a Places,
    low: u32,
    at: usize,
    bucket: Option<&'a Bucket>,
    /// The lanes of the bucket that are still to be told.
    found: u32,
    /// The buckets that are still to be looked at, this one included.
    left: usize,
}

impl Iterator for Found<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            let bucket = self.bucket?;
            if self.found != 0 {
                let place = bucket[PLACES + first(self.found)];
                self.found &= self.found - 1;
                return Some(place);
            }
            self.left = self.left.saturating_sub(1);
            if bucket[COUNT] == 0 || self.left == 0 {
                self.bucket = None;
                return None;
            }
            self.at = self.places.after(self.at);
            self.bucket = self.places.bucket(self.at);
            self.found = self.bucket.map_or(0, |bucket| lanes(bucket, 0, self.low));
        }
    }
}

#[cfg(test)]
mod tests;
