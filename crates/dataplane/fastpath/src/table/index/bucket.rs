//! A bucket of the cuckoo table: one cache line.

use zerocopy::FromZeros;

use super::arch::equal;

/// Slots in a bucket.
pub(super) const SLOTS_PER_BUCKET: usize = 8;

/// Eight slots, each for a tag and the number of a flow entry. Tag zero is an empty slot.
#[derive(Clone, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    tags: [u16; SLOTS_PER_BUCKET],
    lines: [u32; SLOTS_PER_BUCKET],
    /// The number of entries with this bucket as their first choice that are stored in their second.
    displaced: u32,
    /// A bit for each slot: its entry is in its second choice.
    away: u8,
}

/// The content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) tag: u16,
    pub(super) value: u32,
    /// It is in its second choice.
    pub(super) away: bool,
}

/// Some slots of a bucket: two bits for each, as the vector comparison yields them.
#[derive(Clone, Copy)]
pub(super) struct SlotMask(u32);

impl Iterator for SlotMask {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() / 2;
        self.0 &= !(3 << (2 * slot));
        Some(slot as usize)
    }
}

impl Bucket {
    /// The slots with this tag.
    #[inline]
    pub(super) fn slots_with_tag(&self, tag: u16) -> SlotMask {
        SlotMask(equal(&self.tags, tag))
    }

    /// The value in a slot.
    #[inline]
    pub(super) const fn value(&self, slot: usize) -> u32 {
        self.lines[slot % SLOTS_PER_BUCKET]
    }

    /// Whether an entry with this bucket as first choice is stored elsewhere.
    #[inline]
    pub(super) const fn has_displaced(&self) -> bool {
        self.displaced != 0
    }

    /// An empty slot.
    pub(super) fn empty_slot(&self) -> Option<usize> {
        self.slots_with_tag(0).next()
    }

    /// The tag in a slot; zero if it is empty.
    pub(super) const fn tag(&self, slot: usize) -> u16 {
        self.tags[slot % SLOTS_PER_BUCKET]
    }

    /// The slot with exactly this entry.
    pub(super) fn slot_of_entry(&self, entry: Entry) -> Option<usize> {
        self.slots_with_tag(entry.tag).find(|slot| self.entry(*slot) == entry)
    }

    const fn entry(&self, slot: usize) -> Entry {
        Entry { tag: self.tags[slot], value: self.lines[slot], away: self.away >> slot & 1 == 1 }
    }

    /// Stores an entry in an empty slot.
    pub(super) fn put(&mut self, slot: usize, entry: Entry) {
        debug_assert!(self.tags[slot] == 0 && entry.tag != 0);
        self.tags[slot] = entry.tag;
        self.lines[slot] = entry.value;
        self.away |= u8::from(entry.away) << slot;
    }

    /// Empties a slot.
    pub(super) fn take(&mut self, slot: usize) -> Entry {
        let entry = self.entry(slot);
        self.tags[slot] = 0;
        self.lines[slot] = 0;
        self.away &= !(1 << slot);
        entry
    }

    #[cfg(test)]
    pub(super) const fn displaced(&self) -> u32 {
        self.displaced
    }

    /// Counts one more, or one fewer, entry that is stored elsewhere.
    pub(super) fn count_displaced(&mut self, more: bool) {
        self.displaced = if more { self.displaced + 1 } else { self.displaced - 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an empty bucket, an entry stored and removed.
    // Output: one cache line; the entry is found by its tag and as a whole, then no more.
    #[test]
    fn a_bucket_is_one_cache_line_and_finds_its_entries() {
        assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
        let places = |bucket: &Bucket, tag| bucket.slots_with_tag(tag).collect::<Vec<_>>();
        let mut bucket = Bucket::new_zeroed();
        let entry = Entry { tag: 0xffff, value: 0, away: true };
        bucket.put(7, entry);
        assert_eq!((places(&bucket, 0xffff), places(&bucket, 1)), (vec![7], vec![]));
        assert_eq!(
            (bucket.slot_of_entry(entry), bucket.slot_of_entry(Entry { away: false, ..entry })),
            (Some(7), None)
        );
        assert_eq!((places(&bucket, 0), bucket.empty_slot()), ((0..7).collect(), Some(0)));
        assert_eq!(bucket.take(7), entry);
        assert_eq!((places(&bucket, 0), bucket.away), ((0..8).collect(), 0));
    }
}
