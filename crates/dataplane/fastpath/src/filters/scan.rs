//! The first lane of a set that a packet fits.

use super::block::{Block, LANES, Rest};
use super::key::PacketKey;

/// Blocks compared before their results are looked at: four masks of sixteen lanes are one word, and looking at
/// each would cost a mispredicted branch more often than it saves a comparison.
const GROUP: usize = 4;

/// The blocks of a set that can fit a packet of this family.
#[inline(always)]
pub(super) fn blocks_for<'b>(blocks: &'b [Block], first: u32, key: &PacketKey) -> &'b [Block] {
    let Some(run) = blocks.get(first as usize..) else { return &[] };
    let Some(head) = run.first().map(|block| block.head) else { return &[] };
    let (at, len) = if key.is_v6 { (head.v6_at, head.v6) } else { (0, head.v4) };
    run.get(usize::from(at)..usize::from(at) + usize::from(len)).unwrap_or_default()
}

/// The rule of the first lane that fits, `near` and `far` comparing the lanes of a block and of its rest.
///
/// Always inlined, so that it is compiled for the instruction set of its caller.
#[inline(always)]
pub(super) fn first_fit(
    blocks: &[Block],
    rests: &[Rest],
    near: impl Fn(&Block) -> u16,
    far: impl Fn(&Rest) -> u16,
) -> Option<u8> {
    for group in blocks.chunks(GROUP) {
        let mut fits = 0_u64;
        for (at, block) in group.iter().enumerate() {
            let mut lanes = near(block);
            if block.rest != Block::NO_REST && lanes != 0 {
                lanes &= rests.get(block.rest as usize).map_or(0, &far);
            }
            fits |= u64::from(lanes) << (at * LANES);
        }
        if fits != 0 {
            let lane = fits.trailing_zeros() as usize;
            return group.get(lane / LANES).map(|block| block.rules[lane % LANES]);
        }
    }
    None
}
