//! Capacity checks of tables.

use std::collections::BTreeMap;

use causeway_dataplane::ApplyError;

use super::layout::TEMPLATES;
use super::session_change::Change;
use super::switch::Switch;
use crate::driver::{SwitchDriver, Update};
use crate::ranges::AllocateError;

impl<D: SwitchDriver> Switch<D> {
    /// Insertions precede deletions, so the tables must have space for them.
    pub(super) fn check_insertions(&self, updates: &[Update]) -> Result<(), ApplyError> {
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        for update in updates {
            if let Update::Insert(entry) = update {
                *wanted.entry(entry.key.table).or_default() += 1;
            }
        }
        for (table, more) in wanted {
            let size = self.layout.program.table(table).map_or(0, |table| table.size);
            if self.used.get(&table).copied().unwrap_or_default() + self.reserved(table) + more > size {
                return Err(ApplyError::Full { table: self.layout.name(table), capacity: size as u64 });
            }
        }
        Ok(())
    }

    /// Entries that operations in flight will add.
    fn reserved(&self, table: u32) -> usize {
        let more = |change: &Change| change.tables.get(&table).copied().unwrap_or_default().max(0);
        let more = self
            .unwritten
            .iter()
            .filter_map(|id| self.operations.get(id))
            .map(|pending| more(&pending.change));
        usize::try_from(more.sum::<i64>()).unwrap_or_default()
    }
}

/// The error for a number that cannot be allocated.
pub(super) fn full_numbers(error: &AllocateError) -> ApplyError {
    match *error {
        AllocateError::Numbers { space, .. } => {
            ApplyError::Full { table: "PDR_ID", capacity: u64::from(space) }
        }
        AllocateError::Table { table, limit } => {
            let name = TEMPLATES.get(table).copied().unwrap_or("templates");
            ApplyError::Full { table: name, capacity: limit as u64 }
        }
    }
}
