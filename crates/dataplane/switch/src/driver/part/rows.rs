//! Rows that are the same for all parts that write them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::numbers::Part;
use crate::driver::{Entry, EntryKey, Update};

/// The rows without a rule's number, and which parts have written them.
#[derive(Debug, Default)]
pub(super) struct SharedRows(HashMap<EntryKey, Row, RandomState>);

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// A bit for each part that has it.
    holders: u64,
    /// The switch has it, as far as is known.
    is_there: bool,
    /// The last request that has changed that.
    changed: u64,
}

/// What an update has changed, in case that the switch refuses it.
#[derive(Debug)]
pub(super) struct RowChange {
    key: EntryKey,
    held: bool,
    was_there: bool,
    request: u64,
}

const fn bit(part: Part) -> u64 {
    1 << part.number()
}

impl SharedRows {
    /// The update that the switch gets for one of a part; `None`: none.
    pub(super) fn update(
        &mut self,
        part: Part,
        request: u64,
        update: Update,
        changes: &mut Vec<RowChange>,
    ) -> Option<Update> {
        let key = match &update {
            Update::Insert(Entry { key, .. }) | Update::Modify(Entry { key, .. }) | Update::Delete(key) => {
                key
            }
            Update::SetMeter { .. } | Update::SetRegister { .. } => return Some(update),
        };
        let row = self.0.entry(key.clone()).or_default();
        let held = row.holders & bit(part) != 0;
        let was_there = row.is_there;
        changes.push(RowChange { key: key.clone(), held, was_there, request });
        match update {
            Update::Delete(key) => {
                row.holders &= !bit(part);
                if row.holders != 0 {
                    return None;
                }
                (row.is_there, row.changed) = (false, request);
                Some(Update::Delete(key))
            }
            Update::Insert(entry) => {
                row.holders |= bit(part);
                (row.is_there, row.changed) = (true, request);
                // Another part has it, or its insertion is in flight.
                Some(if was_there { Update::Modify(entry) } else { Update::Insert(entry) })
            }
            other => Some(other),
        }
    }

    /// Nothing was done of these changes.
    pub(super) fn take_back(&mut self, part: Part, changes: Vec<RowChange>) {
        for RowChange { key, held, was_there, request } in changes.into_iter().rev() {
            let Some(row) = self.0.get_mut(&key) else { continue };
            row.holders = if held { row.holders | bit(part) } else { row.holders & !bit(part) };
            if row.changed == request {
                row.is_there = was_there;
            }
        }
    }

    /// These changes are made: rows that are gone are forgotten.
    pub(super) fn settle(&mut self, changes: &[RowChange]) {
        for RowChange { key, .. } in changes {
            if self.0.get(key).is_some_and(|row| !row.is_there && row.holders == 0) {
                self.0.remove(key);
            }
        }
    }

    /// The switch was emptied.
    pub(super) fn lost(&mut self) {
        self.0.values_mut().for_each(|row| row.is_there = false);
    }

    /// The rows of a table that a part has, of those that were read after so many requests. Part 0 also has those that no part has.
    pub(super) fn read(&mut self, part: Part, table: u32, after: u64, found: Vec<Entry>) -> Vec<Entry> {
        let known = self.0.iter_mut().filter(|(key, row)| key.table == table && row.changed <= after);
        known.for_each(|(_, row)| row.is_there = false);
        let mut own = Vec::new();
        for entry in found {
            let row = self.0.entry(entry.key.clone()).or_default();
            row.is_there |= row.changed <= after;
            if row.holders == 0 && part.number() == 0 {
                row.holders = bit(part);
            }
            if row.holders & bit(part) != 0 {
                own.push(entry);
            }
        }
        own
    }
}
