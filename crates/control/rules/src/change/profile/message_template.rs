//! The message template of a request: its octets, except the slots.

use causeway_types::FSeid;

use super::slots::{SlotValues, Slots};

/// Matches requests that differ only in the values of their slots.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct MessageTemplate {
    /// The octets, with a marker in each slot: requests with other slots have another hash.
    octets: Box<[u8]>,
    /// Zero in slots, all ones elsewhere.
    mask: Box<[u8]>,
    slots: Slots,
}

impl MessageTemplate {
    /// The template of an establishment body with the policy as fixed octets and, if it has a policy, one with the
    /// policy in slots. `None`: as for [`Slots::of`].
    pub(super) fn of(body: &[u8]) -> Option<(Self, Option<Self>)> {
        let slots = Slots::of(body)?;
        if slots.slots.is_empty() {
            return Some((Self::with(slots, body)?, None));
        }
        Some((Self::with(slots.without_policy(), body)?, Some(Self::with(slots, body)?)))
    }

    /// The template of a modification body. `None`: as for [`Slots::of_update`].
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

    /// The CP F-SEID of a body, if the body matches this template; the match is not checked.
    pub(super) fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        if body.len() == self.octets.len() { self.slots.peek_cp_f_seid(body) } else { None }
    }

    /// The slot values of a body that matches this template; `None` if it does not match. O(octets), without a
    /// branch for each.
    pub(super) fn slot_values(&self, body: &[u8]) -> Option<SlotValues> {
        if body.len() != self.octets.len() {
            return None;
        }
        let both = body.iter().zip(&self.octets).zip(&self.mask);
        let differs = both.fold(0, |differs, ((one, other), mask)| differs | ((one ^ other) & mask));
        if differs == 0 { self.slots.slot_values(body) } else { None }
    }
}
