//! Sixteen lanes as columns, in the form in which they are compared.
//!
//! What nearly every filter is about stands in a [`Block`] of seven cache lines: protocol, type of service, QFI and flags in
//! one word, ports, and the first 32 bits of both addresses, which is all of IPv4. The [`Rest`] (longer IPv6 prefixes, SPI, flow
//! label) is looked at only for blocks that have one, when a lane fits so far.

use super::lane::{COLUMNS, Lane, word};

/// Lanes in a block.
pub(super) const LANES: usize = 16;

/// Columns in a block; the others are in its rest.
pub(super) const NEAR: usize = 2;

/// Columns in a rest.
pub(super) const FAR: usize = COLUMNS - NEAR;

/// One number of each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(super) struct Numbers(pub(super) [u32; LANES]);

/// How many low bits of each lane's number do not count, 0 to 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(16))]
pub(super) struct Shifts(pub(super) [u8; LANES]);

/// The parts of sixteen lanes that every block has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Block {
    pub(super) word: Numbers,
    pub(super) word_mask: Numbers,
    pub(super) port_low: Numbers,
    pub(super) port_width: Numbers,
    pub(super) columns: [Numbers; NEAR],
    pub(super) shifts: [Shifts; NEAR],
    /// The rule of each lane.
    pub(super) rules: [u8; LANES],
    /// Where the rest of the block is; [`Block::NO_REST`] where all lanes are here.
    pub(super) rest: u32,
    /// In the first block of a set only.
    pub(super) head: Head,
}

/// Where the blocks of a set are, counted from its first one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Head {
    /// Blocks for IPv4 packets, from the first one on.
    pub(super) v4: u8,
    /// The first block for IPv6 packets.
    pub(super) v6_at: u8,
    /// Blocks for IPv6 packets.
    pub(super) v6: u8,
}

impl Block {
    /// In place of a rest.
    pub(super) const NO_REST: u32 = u32::MAX;

    /// Sixteen lanes that fit no packet.
    pub(super) const EMPTY: Self = Self {
        word: Numbers([word::NEVER; LANES]),
        word_mask: Numbers([word::NEVER; LANES]),
        port_low: Numbers([0; LANES]),
        port_width: Numbers([0; LANES]),
        columns: [Numbers([0; LANES]); NEAR],
        shifts: [Shifts([0; LANES]); NEAR],
        rules: [0; LANES],
        rest: Self::NO_REST,
        head: Head { v4: 0, v6_at: 0, v6: 0 },
    };

    /// At most sixteen lanes, without their rest.
    pub(super) fn of(lanes: &[&Lane]) -> Self {
        let mut block = Self::EMPTY;
        for (at, lane) in lanes.iter().take(LANES).enumerate() {
            block.word.0[at] = lane.word.value;
            block.word_mask.0[at] = lane.word.mask;
            block.port_low.0[at] = lane.ports.low;
            block.port_width.0[at] = lane.ports.width;
            block.rules[at] = lane.rule;
            for column in 0..NEAR {
                block.columns[column].0[at] = lane.columns[column].value;
                block.shifts[column].0[at] = lane.columns[column].shift;
            }
        }
        block
    }
}

/// The parts of sixteen lanes that few blocks need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Rest {
    pub(super) columns: [Numbers; FAR],
    pub(super) shifts: [Shifts; FAR],
}

impl Rest {
    /// Sixteen lanes that ask for nothing more.
    pub(super) const ANY: Self =
        Self { columns: [Numbers([0; LANES]); FAR], shifts: [Shifts([32; LANES]); FAR] };

    /// The rest of at most sixteen lanes; `None` where none of them has one.
    pub(super) fn of(lanes: &[&Lane]) -> Option<Self> {
        let mut rest = Self::ANY;
        for (at, lane) in lanes.iter().take(LANES).enumerate() {
            for (column, from) in lane.columns.iter().skip(NEAR).enumerate() {
                rest.columns[column].0[at] = from.value;
                rest.shifts[column].0[at] = from.shift;
            }
        }
        (rest != Self::ANY).then_some(rest)
    }
}
