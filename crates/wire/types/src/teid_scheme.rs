//! The parts of a TEID that the UPF chose.

use crate::{IdCipher, Teid};

const SLOT_BITS: u32 = 24;

/// A TEID as a slot (low 24 bits, never zero) and a generation (high 8 bits), encrypted or, by default, plain.
///
/// The allocator of TEIDs and the lookup of sessions by TEID share one scheme. A slot is an index and no proof:
/// every TEID has one, so the whole TEID must be compared with that of the session found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TeidScheme {
    scramble: Option<IdCipher>,
}

impl TeidScheme {
    /// The largest slot.
    pub const MAX_SLOT: u32 = (1 << SLOT_BITS) - 1;

    /// TEIDs that reveal neither slot nor generation, and are unpredictable.
    pub const fn hidden(scramble: IdCipher) -> Self {
        Self { scramble: Some(scramble) }
    }

    /// The TEID of a slot, 1 to [`TeidScheme::MAX_SLOT`], and a generation.
    pub fn teid(&self, slot: u32, generation: u8) -> Option<Teid> {
        let plain = u32::from(generation) << SLOT_BITS | slot;
        Teid::new(self.scramble.map_or(plain, |scramble| scramble.encrypt32(plain)))
    }

    /// The slot and the generation of a TEID.
    pub fn parts(&self, teid: Teid) -> (u32, u8) {
        let plain = self.scramble.map_or(teid.value(), |scramble| scramble.decrypt32(teid.value()));
        (plain & Self::MAX_SLOT, (plain >> SLOT_BITS) as u8)
    }

    /// The slots of these TEIDs, 0 to [`TeidScheme::MAX_SLOT`]; zero is slot 0, which no session has. For the
    /// packets of a batch: eight and more at a time cost a fraction of one by one.
    #[inline]
    pub fn slots<const N: usize>(&self, teids: &[u32; N]) -> [u32; N] {
        let mut plain = match &self.scramble {
            Some(scramble) => scramble.decrypt32_many(teids),
            None => *teids,
        };
        for plain in &mut plain {
            *plain &= Self::MAX_SLOT;
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  slots and generations, with and without a key.
    // Output: the TEID decodes to both, alone and in a batch; zero to no slot.
    #[test]
    fn a_teid_leads_to_its_slot() {
        for scheme in [TeidScheme::default(), TeidScheme::hidden(IdCipher::new([1, 2, 3]))] {
            let parts = [(1, 0), (TeidScheme::MAX_SLOT, 0xff), (0x12_3456, 0x78)];
            let teids = parts.map(|(slot, generation)| scheme.teid(slot, generation).unwrap());
            assert_eq!(teids.map(|teid| scheme.parts(teid)), parts);
            assert_eq!(scheme.slots(&teids.map(Teid::value)), parts.map(|(slot, _)| slot));
            assert_eq!(scheme.slots(&[0]), [0]);
        }
        assert_eq!(TeidScheme::default().teid(2, 1).map(Teid::value), Some(0x0100_0002));
    }
}
