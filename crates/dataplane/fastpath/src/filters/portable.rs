//! Sixteen lanes compared without vector instructions, in loops that a compiler may turn into some.
//!
//! All comparisons follow one scheme: a difference that is zero where a lane fits. Differences of all columns are
//! joined by or, and tested once.

use super::block::{Block, LANES, Numbers, Rest, Shifts};
use super::key::PacketKey;

/// The lanes of a block that a packet fits, but for their rest; lane 0 in the lowest bit.
pub(super) fn near(block: &Block, key: &PacketKey) -> u16 {
    let mut differences = [0; LANES];
    for (lane, difference) in differences.iter_mut().enumerate() {
        *difference = (block.word.0[lane] ^ key.word) & block.word_mask.0[lane]
            | beyond(key.ports, block.port_low.0[lane], block.port_width.0[lane]);
    }
    for (column, key) in block.columns.iter().zip(&block.shifts).zip(&key.columns) {
        join(&mut differences, column, *key);
    }
    zeros(&differences)
}

/// The lanes of a rest that a packet fits.
pub(super) fn far(rest: &Rest, key: &PacketKey) -> u16 {
    let mut differences = [0; LANES];
    let keys = key.columns.iter().skip(block_columns());
    for (column, key) in rest.columns.iter().zip(&rest.shifts).zip(keys) {
        join(&mut differences, column, *key);
    }
    zeros(&differences)
}

const fn block_columns() -> usize {
    super::block::NEAR
}

fn join(differences: &mut [u32; LANES], (column, shifts): (&Numbers, &Shifts), key: u32) {
    for (lane, difference) in differences.iter_mut().enumerate() {
        *difference |= (column.0[lane] ^ key).unbounded_shr(u32::from(shifts.0[lane]));
    }
}

/// How far two ports lie beyond their ranges.
const fn beyond(ports: u32, low: u32, width: u32) -> u32 {
    let remote = (ports as u16).wrapping_sub(low as u16).saturating_sub(width as u16);
    let local = ((ports >> 16) as u16).wrapping_sub((low >> 16) as u16).saturating_sub((width >> 16) as u16);
    remote as u32 | local as u32
}

fn zeros(differences: &[u32; LANES]) -> u16 {
    let bit = |(lane, difference): (usize, &u32)| u16::from(*difference == 0) << lane;
    differences.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
}
