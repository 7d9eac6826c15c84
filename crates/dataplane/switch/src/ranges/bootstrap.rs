//! The placement of the bootstrap's ranges.

use super::owners::TemplateId;
use super::tree::{Leaf, Owner};
use super::{Block, Cover};

/// The block of number zero.
const ZERO: Block = Block::around(0, 0);

/// Places the ranges of a cover among the numbers of `bits` bits: the largest at the top, each next one below it, so
/// that all are aligned; number zero is withheld, and the rest has no owner. The leaves are in order, and none could be
/// merged with its buddy.
///
/// The cover has at most `2^bits - 1` numbers, and one count for each template.
pub(super) fn layout(bits: u8, templates: &[TemplateId], cover: &Cover) -> Vec<Leaf> {
    let mut ranges: Vec<(u8, TemplateId)> = Vec::new();
    for (template, count) in templates.iter().zip(&cover.counts) {
        ranges.extend((0..bits).filter(|bit| count >> bit & 1 != 0).map(|bit| (bit, *template)));
    }
    ranges.sort_by_key(|(bits, template)| (std::cmp::Reverse(*bits), *template));

    let mut leaves = Vec::new();
    let mut lowest = 1_u32 << bits;
    for (bits, template) in ranges {
        lowest -= 1 << bits;
        leaves.push(Leaf { block: Block::around(lowest, bits), owner: Owner::Template(template) });
    }
    leaves.extend(aligned(1, lowest).map(|block| Leaf { block, owner: Owner::Free }));
    leaves.push(Leaf { block: ZERO, owner: Owner::Withheld });
    leaves.sort_by_key(|leaf| leaf.block);
    leaves
}

/// The fewest aligned blocks that make up the numbers from `start` (not zero) up to before `end`.
fn aligned(start: u32, end: u32) -> impl Iterator<Item = Block> {
    let mut start = start;
    std::iter::from_fn(move || {
        let remaining = end.checked_sub(start)?.checked_ilog2()?;
        let block = Block::around(start, remaining.min(start.trailing_zeros()) as u8);
        start += block.size();
        Some(block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::owners::TemplateOwners;

    // Input:  the example of the paper, 4 bits, minima of 2 and 9, as the fewest numbers serve it: 2, and 8 + 1.
    // Output: 8 to 15 and 5 for the second template, 6 to 7 for the first, 1 to 4 for nobody, zero withheld.
    #[test]
    fn the_example_of_the_paper() {
        let mut owners = TemplateOwners::default();
        let templates = [owners.add(0, 2), owners.add(0, 9)];
        let leaves = layout(4, &templates, &Cover { counts: vec![2, 9] });
        let shown: Vec<(u32, u32, Owner)> =
            leaves.iter().map(|leaf| (leaf.block.base(), leaf.block.last(), leaf.owner)).collect();
        let [first, second] = templates.map(Owner::Template);
        let expected = [
            (0, 0, Owner::Withheld),
            (1, 1, Owner::Free),
            (2, 3, Owner::Free),
            (4, 4, Owner::Free),
            (5, 5, second),
            (6, 7, first),
            (8, 15, second),
        ];
        assert_eq!(shown, expected);
    }
}
