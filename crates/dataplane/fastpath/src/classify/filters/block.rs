//! Sixteen lanes as columns, in the form in which they are compared.
//!
//! The fields that nearly every filter compares are in a [`Block`] of seven cache lines: protocol, type of service, QFI
//! and flags in one word, ports, and the first 32 bits of the remote address, which is all of it in IPv4. The other
//! columns (longer IPv6 prefixes, the local address, SPI, flow label) exist only for blocks in which a lane uses them.

use super::lane::{COLUMNS, Lane, Masked, REMOTE, word};

/// Lanes in a block.
pub(super) const LANES: usize = 16;

/// One number of each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(super) struct LaneWords(pub(super) [u32; LANES]);

impl LaneWords {
    const ZERO: Self = Self([0; LANES]);
}

/// A number that each lane compares under a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Column {
    pub(super) value: LaneWords,
    pub(super) mask: LaneWords,
}

impl Column {
    /// No lane compares anything.
    pub(super) const ANY: Self = Self { value: LaneWords::ZERO, mask: LaneWords::ZERO };

    fn of<'l>(lanes: &[&'l Lane], part: impl Fn(&'l Lane) -> Masked) -> Self {
        let mut column = Self::ANY;
        for ((value, mask), lane) in column.value.0.iter_mut().zip(&mut column.mask.0).zip(lanes) {
            Masked { value: *value, mask: *mask } = part(lane);
        }
        column
    }
}

/// The columns of sixteen lanes that every block has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Block {
    pub(super) word: Column,
    pub(super) port_low: LaneWords,
    pub(super) port_width: LaneWords,
    /// The first word of the remote address.
    pub(super) remote: Column,
    /// The rule of each lane.
    pub(super) rules: [u8; LANES],
    /// The position of the block's other columns among those of all sets.
    pub(super) others_at: u32,
    /// Which columns these are, in ascending order: a bit for each.
    pub(super) others: u16,
    /// In the first block of a set only.
    pub(super) head: BlockLayout,
}

/// The positions of the blocks of a set, relative to its first one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct BlockLayout {
    /// Blocks for IPv4 packets, from the first one on.
    pub(super) v4: u8,
    /// The first block for IPv6 packets.
    pub(super) v6_at: u8,
    /// Blocks for IPv6 packets.
    pub(super) v6: u8,
    /// The number of lanes for IPv4 packets, where they are in one block without other columns. Else
    /// [`BlockLayout::MANY`] or [`BlockLayout::OTHER`].
    pub(super) few: u8,
}

impl BlockLayout {
    /// They are in several blocks without other columns.
    pub(super) const MANY: u8 = u8::MAX;

    /// Some lanes compare fields outside the packet key.
    pub(super) const OTHER: u8 = u8::MAX - 1;
}

impl Block {
    /// Sixteen lanes that match no packet.
    pub(super) const EMPTY: Self = Self {
        word: Column { value: LaneWords([word::NEVER; LANES]), mask: LaneWords([word::NEVER; LANES]) },
        port_low: LaneWords::ZERO,
        port_width: LaneWords::ZERO,
        remote: Column::ANY,
        rules: [0; LANES],
        others_at: 0,
        others: 0,
        head: BlockLayout { v4: 0, v6_at: 0, v6: 0, few: BlockLayout::OTHER },
    };

    /// At most sixteen lanes, and the columns beyond those of the block itself, which will be stored at `others_at`.
    pub(super) fn of(lanes: &[&Lane], others_at: u32) -> (Self, Vec<Column>) {
        let mut block =
            Self { remote: Column::of(lanes, |lane| lane.columns[REMOTE[0]]), others_at, ..Self::EMPTY };
        for (at, lane) in lanes.iter().take(LANES).enumerate() {
            block.word.value.0[at] = lane.word.value;
            block.word.mask.0[at] = lane.word.mask;
            block.port_low.0[at] = lane.ports.low;
            block.port_width.0[at] = lane.ports.width;
            block.rules[at] = lane.rule;
        }
        let mut others = Vec::new();
        for at in (0..COLUMNS).filter(|at| *at != REMOTE[0]) {
            let column = Column::of(lanes, |lane| lane.columns[at]);
            if column != Column::ANY {
                block.others |= 1 << at;
                others.push(column);
            }
        }
        (block, others)
    }
}

const _: () = assert!(size_of::<Block>() == 7 * 64 && COLUMNS <= 16);
