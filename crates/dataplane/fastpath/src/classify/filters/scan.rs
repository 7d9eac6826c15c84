//! Finds the first lane of a set that a packet matches.
//!
//! Written once for all implementations: always inlined, so that each one is compiled for its instruction set.

use super::block::{Block, Column, LANES};
use super::key::{FullPacketKey, PacketKey};
use super::lane::COLUMNS;

/// The number of blocks that are compared before the results are tested: four masks of sixteen lanes are one word, and
/// a test of each would cost a mispredicted branch more often than it saves a comparison.
const GROUP: usize = 4;

/// The blocks and other columns of all sets of a worker.
#[derive(Clone, Copy)]
pub(super) struct Memory<'m> {
    pub(super) blocks: &'m [Block],
    pub(super) columns: &'m [Column],
}

/// A computation that needs the comparison of packets with blocks.
pub(crate) trait WithComparator {
    /// Runs it. `fits` returns the lanes of a block that a packet matches, other columns excluded, lane 0 in the lowest
    /// bit. Must always be inlined.
    fn run(self, fits: impl Fn(&Block, PacketKey) -> u16);
}

/// The rule of the first lane that matches, in the set whose first block is `first`.
///
/// `fits` compares a block without its other columns, `fits_others` the other columns of a group of blocks, and
/// `of_group` is [`first_of_group`]. The last two are functions of their own, which keeps the path of a single block
/// short.
#[inline(always)]
pub(super) fn first_fit<'m>(
    blocks: &'m [Block],
    first: u32,
    key: &FullPacketKey,
    fits: impl Fn(&Block) -> u16,
    fits_others: impl Fn(&'m [Block]) -> u64,
    of_group: impl Fn(&'m [Block]) -> Option<u8>,
) -> Option<u8> {
    let run = blocks.get(first as usize..)?;
    let head = run.first()?.head;
    // A branch, not a sum, so that the first block is loaded before its head is known.
    let (run, len) = if key.is_v6 { (run.get(usize::from(head.v6_at)..)?, head.v6) } else { (run, head.v4) };
    match run.get(..usize::from(len))? {
        [_] => first_of_group(run.get(..1)?, fits, fits_others),
        run => run.chunks(GROUP).find_map(of_group),
    }
}

/// The rule of the first lane that matches, of the lanes of a few blocks.
#[inline(always)]
pub(super) fn first_of_group<'m>(
    group: &'m [Block],
    fits: impl Fn(&Block) -> u16,
    fits_others: impl Fn(&'m [Block]) -> u64,
) -> Option<u8> {
    let (mut found, mut others) = (0, 0);
    for (at, block) in group.iter().enumerate() {
        found |= u64::from(fits(block)) << (at * LANES);
        others |= block.others;
    }
    if others != 0 {
        found &= fits_others(group);
    }
    rule_of(group, found)
}

/// The rule of the first lane that a packet matches, in the set whose first block is `first`, whose blocks for IPv4
/// have no other columns.
#[inline(always)]
pub(super) fn first_of_many(blocks: &[Block], first: u32, fits: impl Fn(&Block) -> u16) -> Option<u8> {
    let run = blocks.get(first as usize..)?;
    run.get(..usize::from(run.first()?.head.v4))?.chunks(GROUP).find_map(|group| {
        let mut found = 0;
        for (at, block) in group.iter().enumerate() {
            found |= u64::from(fits(block)) << (at * LANES);
        }
        rule_of(group, found)
    })
}

/// The rule of the first matching lane of a group.
#[inline(always)]
fn rule_of(group: &[Block], found: u64) -> Option<u8> {
    if found == 0 {
        return None;
    }
    let lane = found.trailing_zeros() as usize;
    group.get(lane / LANES).map(|block| block.rules[lane % LANES])
}

/// The lanes of a group of blocks whose other columns match. `fits` compares a column with a number of the packet.
#[inline(always)]
pub(super) fn fits_others(
    group: &[Block],
    columns: &[Column],
    key: &FullPacketKey,
    fits: impl Fn(&Column, u32) -> u16,
) -> u64 {
    let masks = group.iter().enumerate().map(|(at, block)| {
        let columns = columns.get(block.others_at as usize..).unwrap_or_default();
        let lanes =
            asked(block.others).zip(columns).map(|(at, column)| fits(column, key.columns[at % COLUMNS]));
        u64::from(lanes.fold(u16::MAX, |all, lanes| all & lanes)) << (at * LANES)
    });
    masks.fold(0, |all, mask| all | mask)
}

/// The bits that are set, in ascending order.
#[inline(always)]
fn asked(mut others: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = others.trailing_zeros() as usize;
        (others != 0).then(|| {
            others &= others - 1;
            at
        })
    })
}
