//! Things in places that have numbers.

/// How many things lie in one piece: more come without the others being moved.
const PIECE: usize = 256;

/// Things whose places are numbered, and stay as long as the things do.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    pieces: Vec<Vec<Option<T>>>,
    /// Places that were left, the last first.
    free: Vec<u32>,
    /// Places from this one on were never used.
    end: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), free: Vec::new(), end: 0 }
    }
}

impl<T> Slab<T> {
    /// How many things there are.
    pub(crate) fn len(&self) -> usize {
        self.end as usize - self.free.len()
    }

    /// Puts something in a place of its own, and returns the number of that.
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            if let Some(slot) = self.slot(place) {
                *slot = Some(thing);
            }
            return place;
        }
        let place = self.end;
        if (place as usize).is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(Some(thing));
        }
        self.end += 1;
        place
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.pieces.get(place as usize / PIECE)?.get(place as usize % PIECE)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.slot(place)?.as_mut()
    }

    /// Takes out what is there.
    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let thing = self.slot(place)?.take()?;
        self.free.push(place);
        Some(thing)
    }

    /// All things in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten().flatten()
    }

    /// The same, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten().flatten()
    }

    #[inline]
    fn slot(&mut self, place: u32) -> Option<&mut Option<T>> {
        self.pieces.get_mut(place as usize / PIECE)?.get_mut(place as usize % PIECE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thousand things; every third is taken out, twice; as many others come.
    // Output: each stays in its place; the others take those that were left.
    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let places: Vec<_> = (0..1000).map(|thing| slab.insert(thing)).collect();
        let left: Vec<_> = places.iter().copied().step_by(3).collect();
        for place in &left {
            assert_eq!(slab.remove(*place), Some(*place));
            assert_eq!((slab.remove(*place), slab.get(*place)), (None, None));
        }
        assert_eq!((slab.len(), slab.iter().count()), (666, 666));
        let again: Vec<_> = left.iter().map(|_| slab.insert(7)).collect();
        assert_eq!(again, left.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!((slab.get(1), slab.get(0), slab.get(1000), slab.len()), (Some(&1), Some(&7), None, 1000));
    }
}
