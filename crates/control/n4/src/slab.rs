//! Things in places that have numbers.

use std::ops::Range;

use causeway_rules::{PrefaultFn, Prefaulter, ReleaseOf, Tail, fit};

/// How many things lie in one piece beyond the first: more come without the others being moved.
const CHUNK: usize = 256;

/// Places behind the last thing from which on they are too many.
const LOOSE: u32 = 1024;

/// Things whose places are numbered, and stay as long as the things do.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    /// The first things: as many as there is memory for that was asked for in the beginning.
    first: Vec<Option<T>>,
    reserved: usize,
    /// All others.
    pieces: Vec<Vec<Option<T>>>,
    /// Places that were left, the last first. Some may be lost since, but for the last.
    free: Vec<u32>,
    /// There is no place from this one on yet, or any more.
    end: u32,
    len: usize,
    ahead: Prefaulter,
    tail: Tail<Option<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            reserved: 0,
            pieces: Vec::new(),
            free: Vec::new(),
            end: 0,
            len: 0,
            ahead: Prefaulter::new(None),
            tail: Tail::new(None),
        }
    }
}

impl<T> Slab<T> {
    /// Nothing, and so many places that lie together, if the system has that much memory. What was never used is never touched.
    pub(crate) fn with_capacity(places: usize) -> Self {
        let mut first = Vec::new();
        let reserved = if first.try_reserve_exact(places).is_ok() { places } else { 0 };
        Self { first, reserved, ..Self::default() }
    }

    /// The memory of the places that lie together is prepared so from now on, before it is used.
    pub(crate) const fn prepare_with(&mut self, prepare: PrefaultFn) {
        self.ahead = Prefaulter::new(Some(prepare));
    }

    /// Memory of the places that lie together is given back so from now on, when nothing is there any more.
    pub(crate) fn release_with(&mut self, release: ReleaseOf<Option<T>>) {
        self.tail = Tail::new(Some(release));
    }

    /// Most places are vacant, those at the end among them: [`Slab::shorten`] has something to do.
    #[inline]
    pub(crate) fn is_loose(&self) -> bool {
        let is_vacant = |last: Option<&Option<T>>| last.is_some_and(Option::is_none);
        let last = || self.pieces.last().map_or(self.first.last(), |piece| piece.last());
        (self.len() as u32).saturating_add(LOOSE) < self.end / 2 && is_vacant(last())
    }

    /// Takes away vacant places at the end, so many at most.
    #[cold]
    #[inline(never)]
    pub(crate) fn shorten(&mut self, most: usize) {
        let mut left = most;
        while left > 0
            && let Some(piece) = self.pieces.last_mut()
            && piece.pop_if(|last| last.is_none()).is_some()
        {
            left -= 1;
            if piece.is_empty() {
                self.pieces.pop();
            }
        }
        if self.pieces.is_empty() {
            left -= self.tail.shorten(&mut self.first, left, Option::is_none);
            self.ahead.retreat(self.first.as_ptr_range().end.cast());
        }
        self.end -= (most - left) as u32;
        self.drop_lost();
        fit(&mut self.free);
    }

    /// Keeps the last of the places that were left one that there is.
    fn drop_lost(&mut self) {
        while self.free.pop_if(|last| *last >= self.end).is_some() {}
    }

    /// The memory of the places that lie together.
    pub(crate) fn memory(&self) -> Range<*const u8> {
        let start = self.first.as_ptr();
        start.cast()..start.wrapping_add(self.reserved).cast()
    }

    /// How many things there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// There is no place from this one on.
    pub(crate) const fn end(&self) -> u32 {
        self.end
    }

    /// The place that the next thing comes to.
    #[inline]
    pub(crate) fn vacant_index(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.end)
    }

    /// Puts something in a place of its own, and returns the number of that.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        let index = self.vacant_index();
        self.insert_at(index, item);
        index
    }

    /// Puts something in a place that was [`Slab::vacant_index`], since when nothing has come. O(what has gone since then).
    pub(crate) fn insert_at(&mut self, index: u32, item: T) {
        if index >= self.end {
            if index > self.end || !self.free.is_empty() {
                self.bring_back(index);
            }
            self.append(Some(item));
            self.len += 1;
            return;
        }
        let at = self.free.iter().rposition(|free| *free == index);
        if let (Some(at), Some(slot)) = (at, self.slot(index)) {
            *slot = Some(item);
            self.free.remove(at);
            self.len += 1;
            self.drop_lost();
        }
    }

    /// Places before this one were lost since it was vacant: they are there again, and vacant.
    #[cold]
    #[inline(never)]
    fn bring_back(&mut self, index: u32) {
        let end = self.end;
        self.free.retain(|free| *free < end);
        for unanswered in end..index {
            self.append(None);
            self.free.push(unanswered);
        }
    }

    // Inlined, so that the thing is not copied once more.
    #[inline(always)]
    fn append(&mut self, item: Option<T>) {
        self.end += 1;
        if self.first.len() < self.reserved {
            let Range { end: used, .. } = self.first.as_ptr_range();
            self.ahead.advance(used.cast(), self.memory().end);
            return self.first.push(item);
        }
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < CHUNK => piece.push(item),
            _ => {
                let mut piece = Vec::with_capacity(CHUNK);
                piece.push(item);
                self.pieces.push(piece);
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.get_place(index)?.as_ref()
    }

    /// A place that was used at least once.
    #[inline]
    pub(crate) fn get_place(&self, index: u32) -> Option<&Option<T>> {
        match (index as usize).checked_sub(self.reserved) {
            None => self.first.get(index as usize),
            Some(beyond) => self.pieces.get(beyond / CHUNK)?.get(beyond % CHUNK),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slot(index)?.as_mut()
    }

    /// Takes out what is there.
    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.slot(index)?.take()?;
        self.free.push(index);
        self.len -= 1;
        Some(item)
    }

    /// All things in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.pieces.iter().flatten()).flatten()
    }

    /// The same, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(self.pieces.iter_mut().flatten()).flatten()
    }

    #[inline]
    fn slot(&mut self, index: u32) -> Option<&mut Option<T>> {
        match (index as usize).checked_sub(self.reserved) {
            None => self.first.get_mut(index as usize),
            Some(beyond) => self.pieces.get_mut(beyond / CHUNK)?.get_mut(beyond % CHUNK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thousand things, with room for none, some and all of them together; every third is taken out, twice; as many others come.
    // Output: each stays in its place; the others take those that were left.
    #[test]
    fn indexes_are_reused() {
        for together in [0, 700, 5000] {
            let mut slab = Slab::with_capacity(together);
            let places: Vec<_> = (0..1000).map(|item| slab.insert(item)).collect();
            assert!(places.iter().copied().eq(0..1000) && slab.iter().copied().eq(0..1000));
            let left: Vec<_> = places.iter().copied().step_by(3).collect();
            for index in &left {
                assert_eq!(slab.remove(*index), Some(*index));
                assert_eq!((slab.remove(*index), slab.get(*index)), (None, None));
            }
            assert_eq!((slab.len(), slab.iter().count()), (666, 666));
            let again: Vec<_> = left.iter().map(|_| slab.insert(7)).collect();
            assert_eq!(again, left.iter().rev().copied().collect::<Vec<_>>());
            assert_eq!(
                (slab.get(1), slab.get(0), slab.get(1000), slab.len()),
                (Some(&1), Some(&7), None, 1000)
            );
        }
    }

    // Input:  as many things as lie together and twice as many, which go in their order but for one; then that one, too; then others come.
    // Output: nothing is taken away while one is there at the end; then all places, a few at a time; a place that was vacant before is there
    //         again when something comes to it, and so are those before it.
    #[test]
    fn places_at_the_end_go() {
        for together in [20_000, 5000] {
            let mut slab = Slab::with_capacity(together);
            for item in 0..20_000 {
                slab.insert(item);
            }
            for index in 0..19_999 {
                slab.remove(index);
            }
            let unused = slab.vacant_index();
            slab.shorten(100);
            assert!(!slab.is_loose() && slab.end() == 20_000 && slab.len() == 1);
            assert_eq!(slab.remove(19_999), Some(19_999));
            let mut steps = 0;
            while slab.is_loose() {
                slab.shorten(1000);
                steps += 1;
            }
            assert!((15..=20).contains(&steps) && slab.end() <= 2 * LOOSE, "{steps}");
            slab.shorten(usize::MAX);
            assert_eq!((slab.end(), slab.len(), slab.vacant_index(), slab.get(5)), (0, 0, 0, None));
            slab.insert_at(unused, 7);
            assert_eq!((slab.get(unused), slab.len(), slab.end()), (Some(&7), 1, unused + 1));
            let others: Vec<_> = (0..u64::from(unused) + 5).map(|_| slab.insert(8)).collect();
            let mut sorted = others.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(sorted.len() == others.len() && !others.contains(&unused));
            assert_eq!((slab.len(), slab.iter().count()), (others.len() + 1, others.len() + 1));
        }
    }

    // Input:  a place that is vacant; others are left before something comes to it, which is done once more with a place that was never used.
    // Output: it comes there, and the others are vacant as before.
    #[test]
    fn a_vacant_index_stays_vacant() {
        let mut slab = Slab::with_capacity(4);
        assert!((0..6).map(|item| slab.insert(item)).eq(0..6));
        let unused = slab.vacant_index();
        assert_eq!((unused, slab.remove(2)), (6, Some(2)));
        slab.insert_at(unused, 60);
        let left = slab.vacant_index();
        assert_eq!((left, slab.remove(5), slab.remove(0)), (2, Some(5), Some(0)));
        slab.insert_at(left, 20);
        assert_eq!((slab.get(2), slab.get(6), slab.len()), (Some(&20), Some(&60), 5));
        assert_eq!((slab.insert(1), slab.insert(2), slab.insert(3)), (0, 5, 7));
        slab.insert_at(0, 99);
        assert_eq!((slab.get(0), slab.len()), (Some(&1), 8));
    }
}
