//! Which part has a session.

use causeway_types::{FSeid, Seid, spread};

use crate::PARTS;
use crate::fixture::Smf;

/// All parts.
pub(crate) fn parts() -> std::ops::Range<usize> {
    0..PARTS.into()
}

/// The part that establishes sessions with this CP F-SEID.
pub(crate) fn part_of_cp(cp: &FSeid) -> usize {
    spread(cp.seid.0 as u32, PARTS.into())
}

/// The part that has the session with this SEID of the UPF.
pub(crate) fn part_of(seid: Seid) -> usize {
    seid.0 as u32 as usize % usize::from(PARTS)
}

/// A new CP F-SEID of an SMF, with which this part establishes a session.
pub(crate) fn f_seid_in(smf: &mut Smf, part: usize) -> FSeid {
    std::iter::repeat_with(|| smf.f_seid()).find(|cp| part_of_cp(cp) == part).expect("there are many")
}
