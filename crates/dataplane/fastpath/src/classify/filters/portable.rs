//! Compares sixteen lanes without explicit vector instructions, in loops that a compiler may vectorize.
//!
//! All comparisons follow one scheme: a difference that is zero where a lane matches. The differences of all columns
//! are combined by OR, and tested once.

use super::block::{Block, Column, LANES, LaneWords};
use super::key::{FullPacketKey, PacketKey};
use super::scan::{self, Memory};

/// The rule of the first lane that a packet matches, in the set whose first block is `first`.
pub(super) fn first_fit(memory: &Memory<'_>, first: u32, key: &FullPacketKey) -> Option<u8> {
    let fits = |block: &Block| fits(block, &key.key);
    let others = |group: &[Block]| scan::fits_others(group, memory.columns, key, fits_column);
    scan::first_fit(memory.blocks, first, key, fits, others, |group| {
        scan::first_of_group(group, fits, others)
    })
}

/// The lanes of a block that a packet matches, other columns excluded; lane 0 in the lowest bit.
pub(super) fn fits(block: &Block, packet_key: &PacketKey) -> u16 {
    let mut differences = beyond(packet_key.ports, &block.port_low, &block.port_width);
    join(&mut differences, &block.word, packet_key.word);
    join(&mut differences, &block.remote, packet_key.remote);
    zeros(&differences)
}

/// The lanes that have this number in a column.
fn fits_column(column: &Column, number: u32) -> u16 {
    let mut differences = [0; LANES];
    join(&mut differences, column, number);
    zeros(&differences)
}

fn join(differences: &mut [u32; LANES], column: &Column, number: u32) {
    for (lane, difference) in differences.iter_mut().enumerate() {
        *difference |= (column.value.0[lane] ^ number) & column.mask.0[lane];
    }
}

/// How far two ports are outside their ranges.
fn beyond(ports: u32, low: &LaneWords, width: &LaneWords) -> [u32; LANES] {
    let excess = |port: u16, low: u16, width: u16| u32::from(port.wrapping_sub(low).saturating_sub(width));
    std::array::from_fn(|lane| {
        let (low, width) = (low.0[lane], width.0[lane]);
        excess(ports as u16, low as u16, width as u16)
            | excess((ports >> 16) as u16, (low >> 16) as u16, (width >> 16) as u16)
    })
}

fn zeros(differences: &[u32; LANES]) -> u16 {
    let bit = |(lane, difference): (usize, &u32)| u16::from(*difference == 0) << lane;
    differences.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
}
