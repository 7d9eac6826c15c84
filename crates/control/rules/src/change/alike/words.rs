//! The words of a request: its octets, but for what is its session's own.

use causeway_types::FSeid;

use super::holes::{Filling, Holes};

/// The words of requests that are told apart by nothing but what they have in the holes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Words {
    /// A mark in the holes, by which requests with other holes have another hash.
    octets: Box<[u8]>,
    /// Zero in the holes, all ones elsewhere.
    mask: Box<[u8]>,
    holes: Holes,
}

impl Words {
    /// Of the body of an establishment: with the policy as one of the words, and, if there is one, without it. `None`: as for [`Holes::of`].
    pub(super) fn of(body: &[u8]) -> Option<(Self, Option<Self>)> {
        let holes = Holes::of(body)?;
        if holes.slots.is_empty() {
            return Some((Self::with(holes, body)?, None));
        }
        Some((Self::with(holes.without_policy(), body)?, Some(Self::with(holes, body)?)))
    }

    /// Of the body of a modification. `None`: as for [`Holes::of_update`].
    pub(super) fn of_update(body: &[u8]) -> Option<Self> {
        Self::with(Holes::of_update(body)?, body)
    }

    fn with(holes: Holes, body: &[u8]) -> Option<Self> {
        let (mut octets, mut mask) = (Box::<[u8]>::from(body), vec![u8::MAX; body.len()].into_boxed_slice());
        for hole in &holes.all {
            octets.get_mut(hole.at.clone())?.fill(hole.mark());
            mask.get_mut(hole.at.clone())?.fill(0);
        }
        Some(Self { octets, mask, holes })
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(super) const fn holes(&self) -> &Holes {
        &self.holes
    }

    /// The SMF's end, if a body is in these words, of which it need not be.
    pub(super) fn guess_cp(&self, body: &[u8]) -> Option<FSeid> {
        if body.len() == self.octets.len() { self.holes.guess_cp(body) } else { None }
    }

    /// What a body in these words has in the holes; `None`: it is in others. O(octets), without a branch for each.
    pub(super) fn filling(&self, body: &[u8]) -> Option<Filling> {
        if body.len() != self.octets.len() {
            return None;
        }
        let both = body.iter().zip(&self.octets).zip(&self.mask);
        let differs = both.fold(0, |differs, ((one, other), mask)| differs | ((one ^ other) & mask));
        if differs == 0 { self.holes.filling(body) } else { None }
    }
}
