//! Changes of the division, computed before anything is changed.

use super::Block;
use super::owners::{TemplateId, TemplateOwners};
use super::tree::{Leaf, Owner, Tree};

/// Removed leaves, and their replacements.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) gone: Vec<Leaf>,
    pub(super) made: Vec<Leaf>,
}

impl Change {
    /// Gives an unowned leaf to the template.
    pub(super) fn hand_over(tree: &Tree, leaf: Leaf, template: TemplateId) -> Self {
        let made = vec![Leaf { block: leaf.block, owner: Owner::Template(template) }];
        Self { gone: vec![leaf], made }.settled(tree)
    }

    /// Returns an empty leaf to its owners at bootstrap; numbers that another template lent become unowned until they
    /// merge with a leaf of the lender. `None` if the leaf lies in its owner's home.
    pub(super) fn vacate(tree: &Tree, leaf: Leaf) -> Option<Self> {
        let Owner::Template(owner) = leaf.owner else { return None };
        if tree.at_home(leaf.block, owner) == leaf.block.size() {
            return None;
        }
        Some(Self { gone: vec![leaf], made: as_at_first(tree, leaf.block, owner) }.settled(tree))
    }

    /// Divides a leaf of one template so that a block of it without numbers in use goes to another one. `None` if its
    /// owner can spare none.
    pub(super) fn split(
        tree: &Tree,
        owners: &TemplateOwners,
        leaf: Leaf,
        template: TemplateId,
    ) -> Option<Self> {
        let Owner::Template(owner) = leaf.owner else { return None };
        let spare = spare(tree, leaf.block, owner, owners.at(owner).slack())?;
        let mut made = vec![Leaf { block: spare, owner: Owner::Template(template) }];
        let mut block = spare;
        while block != leaf.block {
            let buddy = block.buddy();
            if tree.live.count(buddy) > 0 {
                made.push(Leaf { block: buddy, owner: leaf.owner });
            } else {
                made.extend(as_at_first(tree, buddy, owner));
            }
            block = block.parent();
        }
        Some(Self { gone: vec![leaf], made }.settled(tree))
    }

    /// Makes one leaf of any two that may be one.
    fn settled(mut self, tree: &Tree) -> Self {
        let mut settled: Vec<Leaf> = Vec::with_capacity(self.made.len());
        for mut leaf in self.made {
            while leaf.block.bits() < tree.bits() {
                let buddy = leaf.block.buddy();
                let made = settled.iter().position(|other| other.block == buddy);
                let there = tree.leaf(buddy).filter(|other| !self.gone.contains(other));
                let other = made.and_then(|index| settled.get(index).copied()).or(there);
                let Some((other, owner)) = other.and_then(|other| Some((other, joint(tree, leaf, other)?)))
                else {
                    break;
                };
                match made {
                    Some(index) => drop(settled.swap_remove(index)),
                    None => self.gone.push(other),
                }
                leaf = Leaf { block: leaf.block.parent(), owner };
            }
            settled.push(leaf);
        }
        Self { gone: self.gone, made: settled }
    }
}

/// The owner of two buddies as one leaf; `None` if they stay two.
fn joint(tree: &Tree, one: Leaf, other: Leaf) -> Option<Owner> {
    match (one.owner, other.owner) {
        (Owner::Withheld, _) | (_, Owner::Withheld) => None,
        (one, other) if one == other => Some(one),
        (Owner::Template(owner), Owner::Free) | (Owner::Free, Owner::Template(owner)) => {
            let parent = one.block.parent();
            (tree.at_home(parent, owner) == parent.size()).then_some(Owner::Template(owner))
        }
        (_, _) => None,
    }
}

/// What becomes of a block without numbers in use that a template had.
fn as_at_first(tree: &Tree, block: Block, template: TemplateId) -> Vec<Leaf> {
    let homes = tree.homes_of(block).iter();
    homes
        .map(|home| {
            let own = home.owner == Owner::Template(template);
            let owner = if own { home.owner } else { Owner::Free };
            let part = if block.covers(home.block) { home.block } else { block };
            Leaf { block: part, owner }
        })
        .collect()
}

/// A block without numbers in use of which at most `slack` are in the owner's home, as large as it is found first: each block is
/// searched in the half with fewer numbers in use, the upper one if they are equal, since numbers are given from below.
fn spare(tree: &Tree, block: Block, owner: TemplateId, slack: u32) -> Option<Block> {
    let at_home = tree.at_home(block, owner);
    if tree.live.is_full(block) || (slack == 0 && at_home == block.size()) {
        return None;
    }
    if tree.live.count(block) == 0 && at_home <= slack {
        return Some(block);
    }
    let (lower, upper) = block.halves()?;
    let lower_first = tree.live.count(lower) < tree.live.count(upper);
    let (first, second) = if lower_first { (lower, upper) } else { (upper, lower) };
    spare(tree, first, owner, slack).or_else(|| spare(tree, second, owner, slack))
}
