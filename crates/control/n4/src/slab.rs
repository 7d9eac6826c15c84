//! A slab: items with stable indices.

use std::ops::Range;

use causeway_collections::{PrefaultFn, Prefaulter, ReleaseOf, Tail, fit};

/// Items in one chunk beyond the first: the slab grows without moving items.
const CHUNK: usize = 256;

/// Unused slots behind the last item from which on memory is released.
const SPARSE: u32 = 1024;

/// Items with indices that do not change while the items exist.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    /// The first items: as many as the capacity requested at creation, if memory permits.
    first: Vec<Option<T>>,
    reserved: usize,
    /// All other items, in chunks.
    pieces: Vec<Vec<Option<T>>>,
    /// Vacant indices, the last freed first. Some but the last may have been cut off since.
    free: Vec<u32>,
    /// No slot exists at or beyond this index.
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
    /// An empty slab with so many contiguous slots, if the system has that much memory. Unused memory is never touched.
    pub(crate) fn with_capacity(places: usize) -> Self {
        let mut first = Vec::new();
        let reserved = if first.try_reserve_exact(places).is_ok() { places } else { 0 };
        Self { first, reserved, ..Self::default() }
    }

    /// Prepares memory of the contiguous slots with this function before its first use.
    pub(crate) const fn prepare_with(&mut self, prepare: PrefaultFn) {
        self.ahead = Prefaulter::new(Some(prepare));
    }

    /// Releases memory of the contiguous slots with this function when it holds no items.
    pub(crate) fn release_with(&mut self, release: ReleaseOf<Option<T>>) {
        self.tail = Tail::new(Some(release));
    }

    /// Most slots are vacant, including those at the end: [`Slab::shorten`] has work to do.
    #[inline]
    pub(crate) fn is_sparse(&self) -> bool {
        let is_vacant = |last: Option<&Option<T>>| last.is_some_and(Option::is_none);
        let last = || self.pieces.last().map_or(self.first.last(), |piece| piece.last());
        (self.len() as u32).saturating_add(SPARSE) < self.end / 2 && is_vacant(last())
    }

    /// Removes vacant slots at the end, so many at most.
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

    /// Ensures that the last vacant index is that of an existing slot.
    fn drop_lost(&mut self) {
        while self.free.pop_if(|last| *last >= self.end).is_some() {}
    }

    /// The memory of the contiguous slots.
    pub(crate) fn memory(&self) -> Range<*const u8> {
        let start = self.first.as_ptr();
        start.cast()..start.wrapping_add(self.reserved).cast()
    }

    /// The number of items.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// No slot exists at or beyond this index.
    pub(crate) const fn end(&self) -> u32 {
        self.end
    }

    /// The index of the next inserted item.
    #[inline]
    pub(crate) fn vacant_index(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.end)
    }

    /// Inserts an item at a vacant index, and returns the index.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        let index = self.vacant_index();
        self.insert_at(index, item);
        index
    }

    /// Inserts an item at an index that was [`Slab::vacant_index`]; no other item was inserted since. O(items removed
    /// since).
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

    /// Inserts an item at an index not before [`Slab::end`], with vacant slots in between. Nothing was ever removed. O(slots in between).
    pub(crate) fn insert_behind(&mut self, index: u32, item: T) {
        for vacant in self.end..index {
            self.append(None);
            self.free.push(vacant);
        }
        self.append(Some(item));
        self.len += 1;
    }

    /// Restores slots before this index that were cut off since, as vacant.
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

    // Inlined to avoid one more copy of the item.
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

    /// A slot that was used at least once.
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

    /// Removes the item at an index.
    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.slot(index)?.take()?;
        self.free.push(index);
        self.len -= 1;
        Some(item)
    }

    /// All items in the order of their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.pieces.iter().flatten()).flatten()
    }

    /// The same, mutable.
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

    // Input:  a thousand items, with capacity for none, some and all of them in the first chunk; every third is
    // removed, twice; as many others are inserted.
    // Output: each keeps its index; the others reuse the vacant ones.
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

    // Input:  as many items as the first chunk holds and twice as many, removed in order but for one; then that one,
    // too; then others are inserted.
    // Output: nothing is cut off while an item is at the end; then all slots, a few at a time; a vacant slot that was
    // cut off is restored when an item is inserted there, and so are those before it.
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
            assert!(!slab.is_sparse() && slab.end() == 20_000 && slab.len() == 1);
            assert_eq!(slab.remove(19_999), Some(19_999));
            let mut steps = 0;
            while slab.is_sparse() {
                slab.shorten(1000);
                steps += 1;
            }
            assert!((15..=20).contains(&steps) && slab.end() <= 2 * SPARSE, "{steps}");
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

    // Input:  a vacant index; others become vacant before an item is inserted there; the same with an index that was
    // never used.
    // Output: the item is there, and the others are vacant as before.
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
