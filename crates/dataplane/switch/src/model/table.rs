//! One table.

use super::groups::Groups;
use super::key::Packed;
use crate::Count;
use crate::driver::{self, Entry, EntryKey, Program, WriteError};

/// The entries of a table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    info: driver::Table,
    is_counted: bool,
    rows: Rows,
    len: usize,
}

/// Rows by key width: most tables of the UPF have narrow keys, and are large.
#[derive(Clone, Debug)]
enum Rows {
    Narrow(Groups<u64>),
    Wide(Groups<Packed>),
}

/// An entry with its counter.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The precedence between several matches: the priority, or the length of the prefix.
    pub(super) rank: i32,
    /// The entry.
    pub(super) entry: Entry,
    /// The count of its packets.
    pub(super) count: Count,
}

impl Table {
    pub(super) fn new(program: &Program, info: &driver::Table) -> Self {
        let bits: u32 = info.keys.iter().map(|key| u32::from(key.width)).sum();
        let rows = if bits <= 64 { Rows::Narrow(Groups::new()) } else { Rows::Wide(Groups::new()) };
        Self { info: info.clone(), is_counted: program.has_counters(info.id), rows, len: 0 }
    }

    /// The row that wins for packets with these keys; it counts them if the table has counters.
    pub(super) fn look_up(&mut self, keys: &[u128], packets: Count) -> Option<&Row> {
        let row = match &mut self.rows {
            Rows::Narrow(groups) => groups.look_up(&self.info, keys),
            Rows::Wide(groups) => groups.look_up(&self.info, keys),
        }?;
        if self.is_counted {
            row.count += packets;
        }
        Some(row)
    }

    /// Inserts an entry.
    pub(super) fn insert(&mut self, program: &Program, entry: Entry) -> Result<(), WriteError> {
        program.check_action(&self.info, entry.action, &entry.parameters)?;
        self.info.check_key(&entry.key)?;
        if self.len >= self.info.size {
            return Err(WriteError::Full { table: self.info.name.clone(), size: self.info.size });
        }
        if self.row(&entry.key).is_some() {
            return Err(WriteError::Exists(self.info.name.clone()));
        }
        self.restore(Row { rank: 0, entry, count: Count::ZERO });
        Ok(())
    }

    /// Sets another action; returns the entry as it was.
    pub(super) fn modify(&mut self, program: &Program, entry: Entry) -> Result<Entry, WriteError> {
        program.check_action(&self.info, entry.action, &entry.parameters)?;
        self.info.check_key(&entry.key)?;
        let row = match &mut self.rows {
            Rows::Narrow(groups) => groups.row_mut(&self.info, &entry.key),
            Rows::Wide(groups) => groups.row_mut(&self.info, &entry.key),
        };
        let row = row.ok_or_else(|| WriteError::Missing(self.info.name.clone()))?;
        Ok(std::mem::replace(&mut row.entry, entry))
    }

    /// Removes an entry; returns it with its counter.
    pub(super) fn delete(&mut self, key: &EntryKey) -> Result<Row, WriteError> {
        self.info.check_key(key)?;
        let row = match &mut self.rows {
            Rows::Narrow(groups) => groups.take(&self.info, key),
            Rows::Wide(groups) => groups.take(&self.info, key),
        };
        let row = row.ok_or_else(|| WriteError::Missing(self.info.name.clone()))?;
        self.len -= 1;
        Ok(row)
    }

    /// Restores an entry, with its counter.
    pub(super) fn restore(&mut self, row: Row) {
        match &mut self.rows {
            Rows::Narrow(groups) => groups.put(&self.info, row),
            Rows::Wide(groups) => groups.put(&self.info, row),
        }
        self.len += 1;
    }

    /// The counter of an entry.
    pub(super) fn count(&self, key: &EntryKey) -> Option<Count> {
        self.info.check_key(key).ok()?;
        self.row(key).map(|row| row.count)
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let (narrow, wide) = match &self.rows {
            Rows::Narrow(groups) => (Some(groups), None),
            Rows::Wide(groups) => (None, Some(groups)),
        };
        let narrow = narrow.into_iter().flat_map(Groups::all);
        narrow.chain(wide.into_iter().flat_map(Groups::all)).map(|row| &row.entry)
    }

    pub(super) fn clear(&mut self) {
        match &mut self.rows {
            Rows::Narrow(groups) => groups.clear(),
            Rows::Wide(groups) => groups.clear(),
        }
        self.len = 0;
    }

    fn row(&self, key: &EntryKey) -> Option<&Row> {
        match &self.rows {
            Rows::Narrow(groups) => groups.row(&self.info, key),
            Rows::Wide(groups) => groups.row(&self.info, key),
        }
    }
}
