//! Recovery of a batch whose outcome is unknown: the tables are read, and the missing updates are written.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::driver::{Entry, EntryKey, Update};

/// Tables that are read to find out which updates of a batch were made.
#[derive(Debug, Default)]
pub(super) struct ReadBack {
    /// Tables that have not been read.
    pub(super) left: Vec<u32>,
    found: HashMap<EntryKey, Entry, RandomState>,
}

impl ReadBack {
    /// For all tables of these updates.
    pub(super) fn of(updates: &[Update]) -> Self {
        let table = |update: &Update| match update {
            Update::Insert(entry) | Update::Modify(entry) => Some(entry.key.table),
            Update::Delete(key) => Some(key.table),
            Update::SetMeter { .. } | Update::SetRegister { .. } => None,
        };
        let mut remaining: Vec<u32> = updates.iter().filter_map(table).collect();
        remaining.sort_unstable();
        remaining.dedup();
        Self { left: remaining, found: HashMap::default() }
    }

    /// Stores the entries of a table.
    pub(super) fn read(&mut self, table: u32, entries: Vec<Entry>) {
        self.left.retain(|other| *other != table);
        self.found.extend(entries.into_iter().map(|entry| (entry.key.clone(), entry)));
    }

    /// The updates that have not been made.
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
            // The setting of a meter cannot be read; setting it again is harmless. Packets change registers.
            Update::SetMeter { .. } | Update::SetRegister { .. } => Some(update.clone()),
        }
    }
}
