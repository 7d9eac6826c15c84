//! Allocation of numbers to templates, which are known by id.

use super::change::Change;
use super::entry::ordered;
use super::owners::{TemplateId, TemplateOwners};
use super::tree::{Leaf, Owner, Tree};
use super::{AllocateError, Entry, NotInUse, Write};
use crate::SwitchPdr;

/// The division of the numbers, and the owner of each part.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    pub(super) tree: Tree,
    pub(super) owners: TemplateOwners,
    tables: Vec<Table>,
}

/// A template table.
#[derive(Clone, Copy, Debug, Default)]
struct Table {
    /// The table's size.
    limit: usize,
    /// The most entries that the leaves of its templates may need.
    used: usize,
}

impl Table {
    /// Usable entries: one is kept free for the time between the write of a replacement and the removal of the replaced
    /// entry.
    const fn room(self) -> usize {
        self.limit.saturating_sub(1)
    }
}

impl Allocator {
    /// Starts with the leaves of the bootstrap.
    pub(super) fn new(tree: Tree, owners: TemplateOwners, limits: &[usize]) -> Self {
        let tables = limits.iter().map(|limit| Table { limit: *limit, used: 0 }).collect();
        let mut allocator = Self { tree, owners, tables };
        let leaves: Vec<Leaf> = allocator.tree.leaves().collect();
        leaves.into_iter().for_each(|leaf| allocator.book_leaf(leaf, true));
        allocator
    }

    /// Entries of all tables, in the order of their numbers.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<TemplateId>> {
        self.tree.leaves().filter_map(entry)
    }

    /// The first table whose size the bootstrap exceeds: its number, the entries needed, and its size.
    pub(super) fn exceeded(&self) -> Option<(usize, usize, usize)> {
        let over = self.tables.iter().enumerate().find(|(_, table)| table.used > table.room());
        over.map(|(number, table)| (number, table.used + 1, table.limit))
    }

    /// Allocates a number for a rule of the template, and returns the writes that must precede its use.
    pub(super) fn allocate(
        &mut self,
        template: TemplateId,
    ) -> Result<(u32, Vec<Write<TemplateId>>), AllocateError> {
        if let Some(number) = self.number(template) {
            return Ok((number, Vec::new()));
        }
        let change = self.room(template)?;
        let writes = self.commit(change);
        let number = self.number(template).ok_or_else(|| self.exhausted())?;
        Ok((number, writes))
    }

    /// Releases a number, and returns the writes.
    pub(super) fn release(&mut self, number: u32) -> Result<(TemplateId, Vec<Write<TemplateId>>), NotInUse> {
        let leaf = self.tree.leaf_of(number).ok_or(NotInUse(SwitchPdr(number)))?;
        let Owner::Template(template) = leaf.owner else { return Err(NotInUse(SwitchPdr(number))) };
        if !self.tree.live.remove(number) {
            return Err(NotInUse(SwitchPdr(number)));
        }
        let index = (self.is_foreign(leaf, template), leaf.block.base());
        let record = self.owners.of(template);
        record.live -= 1;
        record.open.insert(index);
        let empty = self.tree.live.count(leaf.block) == 0;
        let change = if empty { Change::vacate(&self.tree, leaf) } else { None };
        Ok((template, change.map(|change| self.commit(change)).unwrap_or_default()))
    }

    /// A free number from a leaf that the template owns.
    fn number(&mut self, template: TemplateId) -> Option<u32> {
        let index = *self.owners.at(template).open.first()?;
        let leaf = self.tree.leaf_of(index.1)?;
        let number = self.tree.live.first_free(leaf.block)?;
        self.tree.live.insert(number);
        let is_full = self.tree.live.is_full(leaf.block);
        let record = self.owners.of(template);
        if is_full {
            record.open.remove(&index);
        }
        record.live += 1;
        record.peak = record.peak.max(record.live);
        Some(number)
    }

    /// The change that gives the template a leaf with a free number: an unowned leaf, beside its own if possible, or
    /// else part of the divisible leaf with the most free numbers.
    fn room(&self, template: TemplateId) -> Result<Change, AllocateError> {
        let mut refused = None;
        let mut fitting = |change: Change| match self.lacking(&change) {
            None => Some(change),
            Some(error) => {
                refused = Some(error);
                None
            }
        };
        let free = [self.tree.free_beside(template), self.tree.largest_free()];
        let mut free = free.into_iter().flatten();
        if let Some(change) = free.find_map(|leaf| fitting(Change::hand_over(&self.tree, leaf, template))) {
            return Ok(change);
        }
        let split = |leaf: Leaf| Change::split(&self.tree, &self.owners, leaf, template);
        let split = self.leaves_by_free_numbers().into_iter().filter_map(split).find_map(fitting);
        split.ok_or_else(|| refused.unwrap_or_else(|| self.exhausted()))
    }

    /// The leaves with free numbers, those with the most first.
    fn leaves_by_free_numbers(&self) -> Vec<Leaf> {
        let free = |leaf: &Leaf| leaf.block.size() - self.tree.live.count(leaf.block);
        let mut leaves: Vec<(u32, Leaf)> = self.tree.leaves().map(|leaf| (free(&leaf), leaf)).collect();
        leaves.retain(|(free, _)| *free > 0);
        leaves.sort_by_key(|(free, leaf)| (std::cmp::Reverse(*free), leaf.block));
        leaves.into_iter().map(|(_, leaf)| leaf).collect()
    }

    /// The table that has no room for the change.
    fn lacking(&self, change: &Change) -> Option<AllocateError> {
        let cost = |leaves: &[Leaf], table: usize| -> usize {
            let of_table = leaves.iter().filter(|leaf| self.table_of(**leaf) == Some(table));
            of_table.map(|leaf| self.tree.cost(*leaf)).sum()
        };
        change.made.iter().find_map(|leaf| {
            let table = self.table_of(*leaf)?;
            let (less, more) = (cost(&change.gone, table), cost(&change.made, table));
            let Table { limit, used } = self.tables.get(table).copied().unwrap_or_default();
            let room = Table { limit, used }.room();
            (more > less && used + more - less > room).then_some(AllocateError::Table { table, limit })
        })
    }

    fn commit(&mut self, change: Change) -> Vec<Write<TemplateId>> {
        for leaf in &change.gone {
            self.book_leaf(*leaf, false);
            self.tree.take(*leaf);
        }
        for leaf in &change.made {
            self.tree.put(*leaf);
            self.book_leaf(*leaf, true);
        }
        let gone: Vec<_> = change.gone.into_iter().filter_map(entry).collect();
        let made: Vec<_> = change.made.into_iter().filter_map(entry).collect();
        self.writes(&gone, &made)
    }

    /// The writes that turn some entries into others.
    pub(super) fn writes(
        &self,
        gone: &[Entry<TemplateId>],
        made: &[Entry<TemplateId>],
    ) -> Vec<Write<TemplateId>> {
        let table = |template: &TemplateId| self.owners.at(*template).table;
        ordered(gone, made, |block| self.tree.live.count(block) > 0, table)
    }

    /// Books a leaf that its owner has from now on, or has no longer.
    fn book_leaf(&mut self, leaf: Leaf, comes: bool) {
        let Owner::Template(template) = leaf.owner else { return };
        let index = (self.is_foreign(leaf, template), leaf.block.base());
        let (held, cost) = (self.tree.at_home(leaf.block, template), self.tree.cost(leaf));
        let is_full = self.tree.live.is_full(leaf.block);
        let record = self.owners.of(template);
        let table = self.tables.get_mut(record.table);
        if comes {
            record.add_leaf(held, (!is_full).then_some(index));
            table.into_iter().for_each(|table| table.used += cost);
        } else {
            record.remove_leaf(held, index);
            table.into_iter().for_each(|table| table.used -= cost);
        }
    }

    fn is_foreign(&self, leaf: Leaf, template: TemplateId) -> bool {
        self.tree.at_home(leaf.block, template) != leaf.block.size()
    }

    fn table_of(&self, leaf: Leaf) -> Option<usize> {
        match leaf.owner {
            Owner::Template(template) => Some(self.owners.at(template).table),
            Owner::Free | Owner::Withheld => None,
        }
    }

    fn exhausted(&self) -> AllocateError {
        let (live, space) = self.in_use();
        AllocateError::Numbers { live, space }
    }

    /// Numbers in use, and all numbers except zero.
    pub(super) fn in_use(&self) -> (u32, u32) {
        let all = super::Block::around(0, self.tree.bits());
        (self.tree.live.count(all) - 1, all.size() - 1)
    }
}

fn entry(leaf: Leaf) -> Option<Entry<TemplateId>> {
    match leaf.owner {
        Owner::Template(template) => Some(Entry { block: leaf.block, template }),
        Owner::Free | Owner::Withheld => None,
    }
}
