//! Where things are that are found by something in them.

use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use foldhash::fast::RandomState;

/// Places in one bucket, which is a cache line.
const SLOTS_PER_BUCKET: usize = 7;

/// Words of a bucket: a half of hashes, the last of which is a count, and a half of places, the last of which says which lanes are
/// used.
const WORDS: usize = 16;
const COUNT: usize = SLOTS_PER_BUCKET;
const PLACES: usize = WORDS / 2;
const USED: usize = PLACES + SLOTS_PER_BUCKET;

/// Octets of a cache line.
const LINE: usize = 64;

/// Tenths of the lanes that are used at most before there are more buckets.
const FULL: usize = 7;

/// Hundredths of the lanes from which on the next buckets are made ready.
const NEARLY_FULL: usize = FULL * 10 - 5;

/// Entries that there is room for at first, at most.
const FIRST: usize = 1 << 14;

/// Buckets that are moved for each entry that comes, while there are more than one table of them.
const STEP: usize = 2;

/// The same for each entry that goes: whatever there is has moved before none is left.
const STEP_BACK: usize = 8;

/// Buckets that may always be there.
const LEAST: usize = 1 << 13;

/// Memory that will be used soon: for whoever gets that from the system before.
pub type PrefaultFn = fn(Range<*const u8>);

/// Numbers of places in a table elsewhere, by a hash of the key of what is there; the key itself is there, too.
///
/// What a key leads to is nearly always in one cache line, and there is no access to the other table but for what is likely to be
/// right: not even when this one grows. It grows by few entries at a time. Memory that was never used is never touched. Seeded anew
/// each time one is made, since peers choose the keys.
#[derive(Debug, Default)]
pub struct HashIndex {
    hasher: RandomState,
    buckets: Buckets,
    /// What is not in `buckets` yet since they have become more, if there is anything.
    old: Option<Box<OldBuckets>>,
    /// What `buckets` will be next, if that is near.
    next: Option<Box<Buckets>>,
    /// As many buckets as are needed for all that were expected: more come only where more do.
    expected: usize,
    prepare: Option<PrefaultFn>,
    len: usize,
    /// From so many entries on something is to be done when another one comes, and below so many when one goes.
    due: usize,
    low: usize,
    /// Entries that the last one that came has moved.
    #[cfg(test)]
    moved: usize,
}

/// Buckets that entries move out of.
#[derive(Debug)]
struct OldBuckets {
    buckets: Buckets,
    /// Those before this one are empty.
    at: usize,
}

/// The buckets, from a word on that begins a line. Each has the lower halves of hashes, how many entries are further on because
/// it was full, places, and which lanes have both: a bit each.
#[derive(Debug, Default)]
struct Buckets {
    words: Vec<u32>,
    start: usize,
    count: usize,
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

impl HashIndex {
    /// None. Where no more come than so many, it takes no more memory than for those.
    pub fn with_capacity(capacity: usize) -> Self {
        let needed = |entries: usize| entries.saturating_mul(10) / (SLOTS_PER_BUCKET * FULL) + 1;
        let mut places = Self { expected: needed(capacity), ..Self::default() };
        if capacity > 0 {
            places.buckets = Buckets::new(needed(capacity.min(FIRST)));
        }
        (places.due, places.low) = (places.next_due(), places.next_low());
        places
    }

    /// Memory is prepared so from now on, before it is needed.
    pub const fn set_prefault(&mut self, prepare: PrefaultFn) {
        self.prepare = Some(prepare);
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
    pub fn insert(&mut self, key: impl Hash, index: u32) {
        self.insert_at(self.probe(key), index);
    }

    /// The same by what [`HashIndex::probe`] says.
    #[inline]
    pub fn insert_at(&mut self, Probe(low): Probe, index: u32) {
        if self.len >= self.due {
            self.grow();
        }
        self.buckets.put(low, index);
        self.len += 1;
    }

    /// Works out how a key is looked for.
    pub fn probe(&self, key: impl Hash) -> Probe {
        Probe(self.hasher.hash_one(key) as u32)
    }

    /// The memory of the table.
    pub fn memory(&self) -> &[u32] {
        &self.buckets.words
    }

    /// The memory of the table, and where in it what a key leads to nearly always is: for whoever fetches that before it is needed.
    pub fn home_bucket(&self, Probe(low): Probe) -> (&[u32], usize) {
        (&self.buckets.words, self.buckets.start + self.buckets.home_index(low) * WORDS)
    }

    /// Reads what a key nearly always leads to, so that it is near when it is needed. What this says means nothing.
    pub fn prefetch(&self, key: impl Hash) -> u32 {
        let (words, at) = self.home_bucket(self.probe(key));
        words.get(at).copied().unwrap_or_default()
    }

    /// Takes a place of a key out.
    pub fn remove(&mut self, key: impl Hash, index: u32) {
        self.remove_at(self.probe(key), index);
    }

    /// The same by what [`HashIndex::probe`] says.
    pub fn remove_at(&mut self, Probe(low): Probe, index: u32) {
        let in_old =
            |old: &mut Option<Box<OldBuckets>>| old.as_mut().is_some_and(|old| old.buckets.take(low, index));
        if self.buckets.take(low, index) || in_old(&mut self.old) {
            self.len -= 1;
            if self.len < self.low {
                self.shrink();
            }
        }
    }

    /// The place of a key, where `is_it` says which of those that it may be.
    pub fn find(&self, key: impl Hash, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        self.find_at(self.probe(key), is_it)
    }

    /// The same by what [`HashIndex::probe`] says.
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

    /// All places that may be those of a key.
    pub fn all(&self, key: impl Hash) -> impl Iterator<Item = u32> {
        self.all_at(self.probe(key))
    }

    /// The same by what [`HashIndex::probe`] says.
    pub fn all_at(&self, Probe(low): Probe) -> impl Iterator<Item = u32> {
        self.buckets.all(low).chain(self.old.iter().flat_map(move |old| old.buckets.all(low)))
    }

    /// Moves some entries to where they are to be, and sees to it that there is room for another one.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.move_some(STEP);
        if self.len >= self.buckets.room() {
            let next = self.next.take().unwrap_or_else(|| self.allocate_next());
            // All has moved long ago where the new ones are many more.
            self.move_some(usize::MAX);
            let buckets = std::mem::replace(&mut self.buckets, *next);
            self.old = (self.len > 0).then(|| Box::new(OldBuckets { buckets, at: 0 }));
        } else if self.next_due() == self.len {
            self.next = Some(self.allocate_next());
        }
        (self.due, self.low) = (self.next_due(), self.next_low());
    }

    /// Moves some entries to where they are to be, or begins to move them to where there is less room.
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

    /// Below how many entries something is to be done when one goes: in the middle of a move it is at once.
    const fn next_low(&self) -> usize {
        match &self.old {
            Some(_) => usize::MAX,
            None if self.buckets.count > LEAST => self.buckets.room() / 8,
            None => 0,
        }
    }

    /// When something is to be done next: in the middle of a move it is at once.
    fn next_due(&self) -> usize {
        let is_ready = self.next.is_some() || self.buckets.count >= self.expected;
        match &self.old {
            Some(_) => 0,
            None if is_ready => self.buckets.room(),
            None => self.len.max(self.buckets.count * SLOTS_PER_BUCKET * NEARLY_FULL / 100),
        }
    }

    /// More buckets than there are, which are made ready.
    fn allocate_next(&self) -> Box<Buckets> {
        let twice = (self.buckets.count * 2).max(1);
        let enough = if self.buckets.count < self.expected { self.expected } else { usize::MAX };
        let buckets = Buckets::new(twice.min(enough));
        self.prepare.into_iter().for_each(|prepare| prepare(buckets.memory()));
        Box::new(buckets)
    }

    /// Moves what is in so many buckets.
    fn move_some(&mut self, buckets: usize) {
        #[cfg(test)]
        (self.moved = 0);
        let Some(old) = &mut self.old else { return };
        let end = old.at.saturating_add(buckets).min(old.buckets.count);
        for at in old.at..end {
            let Some(bucket) = old.buckets.bucket_mut(at) else { continue };
            // How many entries of it are further on stays as it is: they are still looked for.
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
    /// So many, all of them empty.
    fn new(count: usize) -> Self {
        // Zero, so that the system need not give the memory before it is used.
        let words = vec![0; count * WORDS + LINE / size_of::<u32>()];
        let start = words.as_ptr().align_offset(LINE).min(LINE / size_of::<u32>());
        Self { words, start, count }
    }

    /// For so many entries they are not too full.
    const fn room(&self) -> usize {
        self.count * SLOTS_PER_BUCKET * FULL / 10
    }

    fn memory(&self) -> Range<*const u8> {
        let Range { start, end } = self.words.as_ptr_range();
        start.cast()..end.cast()
    }

    /// Where a hash belongs.
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

    /// Enters what is not there. There is a lane that is free.
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

    /// Takes an entry out. `false`: it is not there.
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

    /// An entry has gone that belonged to `home_index`, and was in another bucket if that was full.
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

/// What is left of the places that may be those of a key.
struct Candidates<'a> {
    buckets: &'a Buckets,
    low: u32,
    at: usize,
    bucket: Option<&'a Bucket>,
    /// The lanes of the bucket that are still to be told.
    found: u32,
    /// The buckets that are still to be looked at, this one included.
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
