//! State of each template.

use std::collections::BTreeSet;

/// A template, by its index among the owners.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TemplateId(u32);

/// One template.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The table of its entries.
    pub(super) table: usize,
    /// Numbers that are reserved for it.
    pub(super) minimum: u32,
    /// Numbers in its home that it owns; never below the minimum.
    pub(super) held: u32,
    /// Its numbers in use.
    pub(super) live: u32,
    /// The largest number ever in use at the same time.
    pub(super) peak: u32,
    /// Its leaves with free numbers: those wholly in its home come first.
    pub(super) open: BTreeSet<(bool, u32)>,
}

impl Record {
    /// Numbers of its home that other templates may take.
    pub(super) const fn slack(&self) -> u32 {
        self.held.saturating_sub(self.minimum)
    }

    /// Adds a leaf, with this many numbers of its home; `open` if a number is free.
    pub(super) fn add_leaf(&mut self, at_home: u32, open: Option<(bool, u32)>) {
        self.held += at_home;
        self.open.extend(open);
    }

    /// Removes a leaf.
    pub(super) fn remove_leaf(&mut self, at_home: u32, index: (bool, u32)) {
        self.held -= at_home;
        self.open.remove(&index);
    }

    /// It has no state that must be kept.
    pub(super) const fn is_idle(&self) -> bool {
        self.live == 0 && self.minimum == 0
    }
}

/// All templates.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplateOwners {
    records: Vec<Record>,
    vacant: Vec<TemplateId>,
}

impl TemplateOwners {
    /// A new template.
    pub(super) fn add(&mut self, table: usize, minimum: u32) -> TemplateId {
        let record = Record { table, minimum, ..Record::default() };
        if let Some(id) = self.vacant.pop() {
            *self.of(id) = record;
            return id;
        }
        self.records.push(record);
        TemplateId(u32::try_from(self.records.len() - 1).unwrap_or(u32::MAX))
    }

    /// Removes a template that is idle.
    pub(super) fn forget(&mut self, id: TemplateId) {
        self.vacant.push(id);
    }

    /// The record of a template.
    pub(super) fn of(&mut self, id: TemplateId) -> &mut Record {
        &mut self.records[id.place()]
    }

    /// The record of a template, to read.
    pub(super) fn at(&self, id: TemplateId) -> &Record {
        &self.records[id.place()]
    }
}

impl TemplateId {
    /// The index among the owners.
    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}
