//! Blocks of counters, meters and action data of entries.

use crate::architecture::Architecture;
use crate::table::{Counter, Meter};

/// The spare block of two-port memories beside those for their content, for writes during reads.
const SPARE_BLOCK: u32 = 1;

/// SRAM blocks (and as many map RAMs) of `entries` counters; 0 for none.
pub(super) fn counters(arch: &Architecture, entries: u32) -> u32 {
    two_port(entries.div_ceil(arch.sram_words * Counter::PER_WORD))
}

/// SRAM blocks (and as many map RAMs) of `entries` meters; 0 for none.
pub(super) fn meters(arch: &Architecture, entries: u32) -> u32 {
    two_port(entries.div_ceil(arch.sram_words))
}

/// Map RAMs for the colours of `entries` meters.
pub(super) fn colors(arch: &Architecture, entries: u32) -> u32 {
    entries.div_ceil(arch.sram_words * Meter::COLORS_PER_WORD)
}

/// SRAM blocks of action data, `octets` (a power of two, or none) for each entry.
pub(super) fn action_data(arch: &Architecture, entries: u32, octets: u32) -> u32 {
    let word = arch.sram_bits / 8;
    match octets {
        0 => 0,
        octets if octets > word => entries.div_ceil(arch.sram_words) * (octets / word),
        octets => entries.div_ceil(arch.sram_words * (word / octets)),
    }
}

const fn two_port(blocks: u32) -> u32 {
    if blocks == 0 { 0 } else { blocks + SPARE_BLOCK }
}
