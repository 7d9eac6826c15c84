//! One cache line of a cuckoo table.

use zerocopy::FromZeros;

use super::machine::equal;

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

/// Some places of a bucket: two bits for each, which is what the comparison of vectors yields.
#[derive(Clone, Copy)]
pub(super) struct Places(u32);

impl Iterator for Places {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let place = self.0.trailing_zeros() / 2;
        self.0 &= !(3 << (2 * place));
        Some(place as usize)
    }
}

impl Bucket {
    /// The places with this tag.
    #[inline]
    pub(super) fn places_of(&self, tag: u16) -> Places {
        Places(equal(&self.tags, tag))
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
        self.places_of(0).next()
    }

    /// The tag at a place; zero if it is empty.
    pub(super) const fn tag(&self, place: usize) -> u16 {
        self.tags[place % PLACES]
    }

    /// Where exactly this entry is.
    pub(super) fn place_of(&self, entry: Entry) -> Option<usize> {
        self.places_of(entry.tag).find(|place| self.entry(*place) == entry)
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
        let places = |bucket: &Bucket, tag| bucket.places_of(tag).collect::<Vec<_>>();
        let mut bucket = Bucket::new_zeroed();
        let entry = Entry { tag: 0xffff, line: 0, away: true };
        bucket.put(7, entry);
        assert_eq!((places(&bucket, 0xffff), places(&bucket, 1)), (vec![7], vec![]));
        assert_eq!(
            (bucket.place_of(entry), bucket.place_of(Entry { away: false, ..entry })),
            (Some(7), None)
        );
        assert_eq!((places(&bucket, 0), bucket.empty_place()), ((0..7).collect(), Some(0)));
        assert_eq!(bucket.take(7), entry);
        assert_eq!((places(&bucket, 0), bucket.away), ((0..8).collect(), 0));
    }
}
