//! One cache line of a cuckoo table.

use zerocopy::FromZeros;

/// Places in a bucket.
pub(super) const PLACES: usize = 8;

/// Eight places, each for a tag and the number of a line. Tag zero is an empty place.
#[derive(Clone, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    tags: [u16; PLACES],
    lines: [u32; PLACES],
    /// Entries whose first choice this bucket is, and that are in their second.
    displaced: u32,
    /// A bit for each place: the entry in it is in its second choice.
    away: u8,
}

/// What a place holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) tag: u16,
    pub(super) line: u32,
    /// It is in its second choice.
    pub(super) away: bool,
}

impl Bucket {
    /// A bit for each place with this tag.
    #[inline]
    pub(super) fn places_of(&self, tag: u16) -> u32 {
        let same = self.tags.iter().enumerate().map(|(place, known)| u32::from(*known == tag) << place);
        same.fold(0, |places, place| places | place)
    }

    /// The line at a place.
    #[inline]
    pub(super) const fn line(&self, place: usize) -> u32 {
        self.lines[place % PLACES]
    }

    /// Some entry whose first choice this bucket is, is elsewhere.
    #[inline]
    pub(super) const fn has_displaced(&self) -> bool {
        self.displaced != 0
    }

    /// A place for another entry.
    pub(super) fn empty_place(&self) -> Option<usize> {
        self.tags.iter().position(|tag| *tag == 0)
    }

    /// The tag at a place; zero if it is empty.
    pub(super) const fn tag(&self, place: usize) -> u16 {
        self.tags[place % PLACES]
    }

    /// Where exactly this entry is.
    pub(super) fn place_of(&self, entry: Entry) -> Option<usize> {
        (0..PLACES).find(|place| self.entry(*place) == entry)
    }

    const fn entry(&self, place: usize) -> Entry {
        Entry { tag: self.tags[place], line: self.lines[place], away: self.away >> place & 1 == 1 }
    }

    /// Puts an entry into an empty place.
    pub(super) fn put(&mut self, place: usize, entry: Entry) {
        debug_assert!(self.tags[place] == 0 && entry.tag != 0);
        self.tags[place] = entry.tag;
        self.lines[place] = entry.line;
        self.away |= u8::from(entry.away) << place;
    }

    /// Empties a place.
    pub(super) fn take(&mut self, place: usize) -> Entry {
        let entry = self.entry(place);
        self.tags[place] = 0;
        self.lines[place] = 0;
        self.away &= !(1 << place);
        entry
    }

    #[cfg(test)]
    pub(super) const fn displaced(&self) -> u32 {
        self.displaced
    }

    /// One of its entries more, or fewer, is elsewhere.
    pub(super) fn count_displaced(&mut self, more: bool) {
        self.displaced = if more { self.displaced + 1 } else { self.displaced - 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an empty bucket, an entry put and taken.
    // Output: one cache line; the entry is found by its tag and as a whole, then no more.
    #[test]
    fn a_bucket_is_one_line_and_finds_what_it_was_given() {
        assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
        let mut bucket = Bucket::new_zeroed();
        let entry = Entry { tag: 0xffff, line: 0, away: true };
        bucket.put(7, entry);
        assert_eq!((bucket.places_of(0xffff), bucket.places_of(1), bucket.empty_place()), (0x80, 0, Some(0)));
        assert_eq!(
            (bucket.place_of(entry), bucket.place_of(Entry { away: false, ..entry })),
            (Some(7), None)
        );
        assert_eq!(bucket.take(7), entry);
        assert_eq!((bucket.places_of(0), bucket.away), (0xff, 0));
    }
}
