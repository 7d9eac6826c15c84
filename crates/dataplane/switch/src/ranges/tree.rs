//! The division of all numbers into leaves.

use std::collections::{BTreeMap, BTreeSet};

use super::Block;
use super::live::NumberSet;
use super::owners::TemplateId;

/// The owner of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// No owner; no number is in use.
    Free,
    /// Never allocated: number zero.
    Withheld,
    /// A template, which has an entry for the leaf.
    Template(TemplateId),
}

/// A block that is not divided further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leaf {
    pub(super) block: Block,
    pub(super) owner: Owner,
}

/// The leaves: a strict binary tree without its inner nodes, which follow from them.
///
/// No two buddies have the same owner: they would be one leaf. The part that the bootstrap gave to a template is its
/// home. An empty leaf of a template lies in its home.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    bits: u8,
    leaves: BTreeMap<u32, Leaf>,
    /// Unowned leaves, by size.
    free: BTreeSet<(u8, u32)>,
    /// The leaves of the bootstrap, in order.
    homes: Vec<Leaf>,
    pub(super) live: NumberSet,
}

impl Tree {
    /// The tree of the bootstrap, whose leaves divide all numbers of so many bits, in order.
    pub(super) fn new(bits: u8, homes: Vec<Leaf>) -> Self {
        let mut live = NumberSet::new(bits);
        let withheld = homes.iter().filter(|home| home.owner == Owner::Withheld);
        for number in withheld.flat_map(|home| home.block.base()..=home.block.last()) {
            live.insert(number);
        }
        let mut tree = Self { bits, leaves: BTreeMap::new(), free: BTreeSet::new(), homes, live };
        tree.homes.clone().into_iter().for_each(|home| tree.put(home));
        tree
    }

    /// The bits of a number.
    pub(super) const fn bits(&self) -> u8 {
        self.bits
    }

    /// All leaves, in order.
    pub(super) fn leaves(&self) -> impl Iterator<Item = Leaf> {
        self.leaves.values().copied()
    }

    /// The leaf of a number.
    pub(super) fn leaf_of(&self, number: u32) -> Option<Leaf> {
        let (_, leaf) = self.leaves.range(..=number).next_back()?;
        leaf.block.contains(number).then_some(*leaf)
    }

    /// The leaf that is exactly this block.
    pub(super) fn leaf(&self, block: Block) -> Option<Leaf> {
        self.leaves.get(&block.base()).filter(|leaf| leaf.block == block).copied()
    }

    /// The largest unowned leaf.
    pub(super) fn largest_free(&self) -> Option<Leaf> {
        let (_, base) = self.free.last()?;
        self.leaves.get(base).copied()
    }

    /// The largest unowned leaf that would merge with a leaf of this template.
    pub(super) fn free_beside(&self, template: TemplateId) -> Option<Leaf> {
        let beside = |block: Block| self.leaf(block.buddy()).map(|leaf| leaf.owner);
        let leaves = self.free.iter().rev().filter_map(|(_, base)| self.leaves.get(base).copied());
        leaves.into_iter().find(|leaf| beside(leaf.block) == Some(Owner::Template(template)))
    }

    /// The homes that lie in the block, or the one that contains the block.
    pub(super) fn homes_of(&self, block: Block) -> &[Leaf] {
        let first = self.homes.partition_point(|home| home.block.last() < block.base());
        let end = self.homes.partition_point(|home| home.block.base() <= block.last());
        self.homes.get(first..end).unwrap_or_default()
    }

    /// The numbers of the block that are in the home of the template.
    pub(super) fn at_home(&self, block: Block, template: TemplateId) -> u32 {
        let own = self.own_homes(block, template);
        own.map(|home| home.block.size().min(block.size())).sum()
    }

    /// The most entries that a leaf may need: one, or as many as there are homes of its owner in it, since an empty
    /// leaf is divided into these.
    pub(super) fn cost(&self, leaf: Leaf) -> usize {
        match leaf.owner {
            Owner::Template(template) => self.own_homes(leaf.block, template).count().max(1),
            Owner::Free | Owner::Withheld => 0,
        }
    }

    pub(super) fn put(&mut self, leaf: Leaf) {
        self.leaves.insert(leaf.block.base(), leaf);
        if leaf.owner == Owner::Free {
            self.free.insert((leaf.block.bits(), leaf.block.base()));
        }
    }

    pub(super) fn take(&mut self, leaf: Leaf) {
        self.leaves.remove(&leaf.block.base());
        self.free.remove(&(leaf.block.bits(), leaf.block.base()));
    }

    fn own_homes(&self, block: Block, template: TemplateId) -> impl Iterator<Item = &Leaf> {
        self.homes_of(block).iter().filter(move |home| home.owner == Owner::Template(template))
    }
}
