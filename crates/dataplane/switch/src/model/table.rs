//! One table.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::key::{Matched, Packed};
use crate::Count;
use crate::driver::{self, Entry, EntryKey, MatchKind, Program, WriteError};

/// The entries of a table. Entries with the same mask stand together, so that a packet asks once for each mask.
#[derive(Clone, Debug)]
pub(super) struct Table {
    info: driver::Table,
    is_counted: bool,
    groups: BTreeMap<Packed, Group>,
    len: usize,
}

/// Entries of one mask by their bits: those with the same bits by priority, highest first.
type Group = HashMap<Packed, Vec<Row>, RandomState>;

/// An entry without its bits.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// What decides if several match: the priority, or the length of the prefix.
    rank: i32,
    /// The entry.
    pub(super) entry: Entry,
    /// What its packets count.
    pub(super) count: Count,
}

impl Table {
    pub(super) fn new(program: &Program, info: &driver::Table) -> Self {
        Self {
            info: info.clone(),
            is_counted: program.has_counters(info.id),
            groups: BTreeMap::new(),
            len: 0,
        }
    }

    /// The row that wins for packets with these keys, counted if the table counts.
    pub(super) fn look_up(&mut self, keys: &[u128], packets: Count) -> Option<&Row> {
        let packed = Packed::of_packet(&self.info, keys);
        let matching = self.groups.iter_mut().filter_map(|(mask, group)| group.get_mut(&packed.masked(mask)));
        let row = matching.filter_map(|rows| rows.first_mut()).max_by_key(|row| row.rank)?;
        if self.is_counted {
            row.count += packets;
        }
        Some(row)
    }

    /// A new entry.
    pub(super) fn insert(&mut self, program: &Program, entry: Entry) -> Result<(), WriteError> {
        program.check_action(&self.info, entry.action, &entry.parameters)?;
        let matched = self.matched(&entry.key)?;
        if self.len >= self.info.size {
            return Err(WriteError::Full { table: self.info.name.clone(), size: self.info.size });
        }
        let rank = self.rank(&entry.key, &matched);
        let rows = self.groups.entry(matched.mask).or_default().entry(matched.value).or_default();
        if rows.iter().any(|row| row.rank == rank) {
            return Err(WriteError::Exists(self.info.name.clone()));
        }
        let place = rows.partition_point(|row| row.rank > rank);
        rows.insert(place, Row { rank, entry, count: Count::ZERO });
        self.len += 1;
        Ok(())
    }

    /// Another action; returns the entry as it was.
    pub(super) fn modify(&mut self, program: &Program, entry: Entry) -> Result<Entry, WriteError> {
        program.check_action(&self.info, entry.action, &entry.parameters)?;
        let row = self.row_mut(&entry.key)?;
        Ok(std::mem::replace(&mut row.entry, entry))
    }

    /// Removes an entry; returns it with its counter.
    pub(super) fn delete(&mut self, key: &EntryKey) -> Result<Row, WriteError> {
        let matched = self.matched(key)?;
        let rank = self.rank(key, &matched);
        let missing = || WriteError::Missing(self.info.name.clone());
        let group = self.groups.get_mut(&matched.mask).ok_or_else(missing)?;
        let rows = group.get_mut(&matched.value).ok_or_else(missing)?;
        let place = rows.iter().position(|row| row.rank == rank).ok_or_else(missing)?;
        let row = rows.remove(place);
        if rows.is_empty() {
            group.remove(&matched.value);
        }
        if group.is_empty() {
            self.groups.remove(&matched.mask);
        }
        self.len -= 1;
        Ok(row)
    }

    /// Puts an entry back as it was, with its counter.
    pub(super) fn restore(&mut self, row: Row) {
        if let Ok(matched) = self.matched(&row.entry.key) {
            let rows = self.groups.entry(matched.mask).or_default().entry(matched.value).or_default();
            let place = rows.partition_point(|other| other.rank > row.rank);
            rows.insert(place, row);
            self.len += 1;
        }
    }

    /// The counter of an entry.
    pub(super) fn count(&self, key: &EntryKey) -> Option<Count> {
        let matched = self.matched(key).ok()?;
        let rank = self.rank(key, &matched);
        let rows = self.groups.get(&matched.mask)?.get(&matched.value)?;
        rows.iter().find(|row| row.rank == rank).map(|row| row.count)
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.groups.values().flat_map(HashMap::values).flatten().map(|row| &row.entry)
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.len = 0;
    }

    fn row_mut(&mut self, key: &EntryKey) -> Result<&mut Row, WriteError> {
        let matched = self.matched(key)?;
        let rank = self.rank(key, &matched);
        let name = &self.info.name;
        let rows = self.groups.get_mut(&matched.mask).and_then(|group| group.get_mut(&matched.value));
        let row = rows.and_then(|rows| rows.iter_mut().find(|row| row.rank == rank));
        row.ok_or_else(|| WriteError::Missing(name.clone()))
    }

    fn matched(&self, key: &EntryKey) -> Result<Matched, WriteError> {
        self.info.check_key(key)?;
        Ok(Matched::new(&self.info, &key.fields))
    }

    fn rank(&self, key: &EntryKey, matched: &Matched) -> i32 {
        let by_prefix = self.info.keys.iter().any(|key| key.kind == MatchKind::Lpm);
        if by_prefix { i32::from(matched.prefix) } else { key.priority }
    }
}
