//! The template of a request: its octets, except the slots.

use causeway_types::FSeid;

use super::slots::{RequestSlots, RequestValues};

/// Matches requests that differ only in the values of their slots.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestTemplate {
    /// The octets, with a marker in each slot: requests with other slots have another hash.
    octets: Box<[u8]>,
    /// Zero in slots, all ones elsewhere.
    mask: Box<[u8]>,
    slots: RequestSlots,
}

impl RequestTemplate {
    /// The template of an establishment body with bit rates and flow descriptions as fixed octets and, if it has any,
    /// one with these in slots. `None`: its variable values cannot be found with certainty.
    pub fn establishment(body: &[u8]) -> Option<(Self, Option<Self>)> {
        let slots = RequestSlots::establishment(body)?;
        if !slots.has_policy() {
            return Some((Self::with(slots, body)?, None));
        }
        Some((Self::with(slots.without_policy(), body)?, Some(Self::with(slots, body)?)))
    }

    /// The template of a modification body that updates FARs and PDRs, names the SMF and does nothing else. `None`: it is
    /// another one, or its variable values cannot be found with certainty.
    pub fn modification(body: &[u8]) -> Option<Self> {
        Self::with(RequestSlots::modification(body)?, body)
    }

    fn with(slots: RequestSlots, body: &[u8]) -> Option<Self> {
        let (mut octets, mut mask) = (Box::<[u8]>::from(body), vec![u8::MAX; body.len()].into_boxed_slice());
        for slot in slots.all() {
            octets.get_mut(slot.at().clone())?.fill(slot.marker());
            mask.get_mut(slot.at().clone())?.fill(0);
        }
        Some(Self { octets, mask, slots })
    }

    /// The octets, with a marker in each slot: for the hash of a template.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The slots.
    pub const fn slots(&self) -> &RequestSlots {
        &self.slots
    }

    /// The CP F-SEID of a body, if the body matches this template; the match is not checked.
    pub fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        if body.len() == self.octets.len() { self.slots.peek_cp_f_seid(body) } else { None }
    }

    /// The values of a body that matches this template; `None` if it does not match. O(octets), without a
    /// branch for each.
    pub fn values(&self, body: &[u8]) -> Option<RequestValues> {
        if body.len() != self.octets.len() {
            return None;
        }
        let both = body.iter().zip(&self.octets).zip(&self.mask);
        let differs = both.fold(0, |differs, ((one, other), mask)| differs | ((one ^ other) & mask));
        if differs == 0 { self.slots.values(body) } else { None }
    }
}
