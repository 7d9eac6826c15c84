//! The words of a request: its octets, but for what is its session's own.

use causeway_types::FSeid;

use super::slots::{SlotValues, Slots};

/// The words of requests that are told apart by nothing but what they have in the holes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct MessageTemplate {
    /// A mark in the holes, by which requests with other holes have another hash.
    octets: Box<[u8]>,
    /// Zero in the holes, all ones elsewhere.
    mask: Box<[u8]>,
    slots: Slots,
}

impl MessageTemplate {
    /// Of the body of an establishment: with the policy as one of the words, and, if there is one, without it. `None`: as for [`Slots::of`].
    pub(super) fn of(body: &[u8]) -> Option<(Self, Option<Self>)> {
        let slots = Slots::of(body)?;
        if slots.slots.is_empty() {
            return Some((Self::with(slots, body)?, None));
        }
        Some((Self::with(slots.without_policy(), body)?, Some(Self::with(slots, body)?)))
    }

    /// Of the body of a modification. `None`: as for [`Slots::of_update`].
    pub(super) fn of_update(body: &[u8]) -> Option<Self> {
        Self::with(Slots::of_update(body)?, body)
    }

    fn with(slots: Slots, body: &[u8]) -> Option<Self> {
        let (mut octets, mut mask) = (Box::<[u8]>::from(body), vec![u8::MAX; body.len()].into_boxed_slice());
        for slot in &slots.all {
            octets.get_mut(slot.at.clone())?.fill(slot.marker());
            mask.get_mut(slot.at.clone())?.fill(0);
        }
        Some(Self { octets, mask, slots })
    }

    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(super) const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The SMF's end, if a body is in these words, of which it need not be.
    pub(super) fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        if body.len() == self.octets.len() { self.slots.peek_cp_f_seid(body) } else { None }
    }

    /// What a body in these words has in the holes; `None`: it is in others. O(octets), without a branch for each.
    pub(super) fn slot_values(&self, body: &[u8]) -> Option<SlotValues> {
        if body.len() != self.octets.len() {
            return None;
        }
        let both = body.iter().zip(&self.octets).zip(&self.mask);
        let differs = both.fold(0, |differs, ((one, other), mask)| differs | ((one ^ other) & mask));
        if differs == 0 { self.slots.slot_values(body) } else { None }
    }
}
