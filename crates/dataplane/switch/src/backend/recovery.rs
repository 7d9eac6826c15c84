//! What to write after a batch of which nobody knows how much was done: what the tables hold is read, and the rest written.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::driver::{Entry, EntryKey, Update};

/// Tables that are read to learn what became of a batch.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    /// Tables that were not read yet.
    pub(super) left: Vec<u32>,
    found: HashMap<EntryKey, Entry, RandomState>,
}

impl ReadBack {
    /// For all tables that these updates are about.
    pub(super) fn of(updates: &[Update]) -> Self {
        let table = |update: &Update| match update {
            Update::Insert(entry) | Update::Modify(entry) => Some(entry.key.table),
            Update::Delete(key) => Some(key.table),
            Update::SetMeter { .. } => None,
        };
        let mut remaining: Vec<u32> = updates.iter().filter_map(table).collect();
        remaining.sort_unstable();
        remaining.dedup();
        Self { left: remaining, found: HashMap::default() }
    }

    /// A table has these entries.
    pub(super) fn read(&mut self, table: u32, entries: Vec<Entry>) {
        self.left.retain(|other| *other != table);
        self.found.extend(entries.into_iter().map(|entry| (entry.key.clone(), entry)));
    }

    /// What is still to be written of these updates.
    pub(super) fn rest(&self, updates: &[Update]) -> Vec<Update> {
        updates.iter().filter_map(|update| self.rest_of(update)).collect()
    }

    fn rest_of(&self, update: &Update) -> Option<Update> {
        match update {
            Update::Insert(entry) | Update::Modify(entry) => match self.found.get(&entry.key) {
                Some(found) if found == entry => None,
                Some(_) => Some(Update::Modify(entry.clone())),
                None => Some(Update::Insert(entry.clone())),
            },
            Update::Delete(key) => self.found.contains_key(key).then(|| update.clone()),
            // What a meter is set to cannot be read; to set it again does no harm.
            Update::SetMeter { .. } => Some(update.clone()),
        }
    }
}
