//! The entries of one table, indexed by mask.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::key::{Bits, Matched, packed};
use super::table::Row;
use crate::driver::{EntryKey, MatchKind, Table};

/// Entries by their masks and bits. Those with the same mask are grouped, so that a packet needs one lookup for each
/// mask.
#[derive(Clone, Debug)]
pub(super) struct Groups<B>(BTreeMap<B, HashMap<B, Rows, RandomState>>);

/// Entries with the same mask and bits, highest rank first; nearly always one.
#[derive(Clone, Debug)]
struct Rows {
    first: Row,
    others: Vec<Row>,
}

impl<B: Bits> Groups<B> {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The entry that wins for packets with these keys.
    pub(super) fn look_up(&mut self, info: &Table, keys: &[u128]) -> Option<&mut Row> {
        let packed: B = packed(info, keys);
        let matching = self.0.iter_mut().filter_map(|(mask, group)| group.get_mut(&packed.masked(mask)));
        matching.map(|rows| &mut rows.first).max_by_key(|row| row.rank)
    }

    /// The stored row of an entry that fits the table.
    pub(super) fn row(&self, info: &Table, key: &EntryKey) -> Option<&Row> {
        let matched: Matched<B> = Matched::new(info, &key.fields);
        let rank = rank(info, key, matched.prefix);
        self.0.get(&matched.mask)?.get(&matched.value)?.all().find(|row| row.rank == rank)
    }

    /// As [`Groups::row`].
    pub(super) fn row_mut(&mut self, info: &Table, key: &EntryKey) -> Option<&mut Row> {
        let matched: Matched<B> = Matched::new(info, &key.fields);
        let rank = rank(info, key, matched.prefix);
        let rows = self.0.get_mut(&matched.mask)?.get_mut(&matched.value)?;
        std::iter::once(&mut rows.first).chain(&mut rows.others).find(|row| row.rank == rank)
    }

    /// Stores a row where there is none, and sets its rank.
    pub(super) fn put(&mut self, info: &Table, mut row: Row) {
        let matched: Matched<B> = Matched::new(info, &row.entry.key.fields);
        row.rank = rank(info, &row.entry.key, matched.prefix);
        let group = self.0.entry(matched.mask).or_default();
        match group.get_mut(&matched.value) {
            Some(rows) => rows.put(row),
            None => _ = group.insert(matched.value, Rows { first: row, others: Vec::new() }),
        }
    }

    /// Removes the row of an entry.
    pub(super) fn take(&mut self, info: &Table, key: &EntryKey) -> Option<Row> {
        let matched: Matched<B> = Matched::new(info, &key.fields);
        let rank = rank(info, key, matched.prefix);
        let group = self.0.get_mut(&matched.mask)?;
        let rows = group.get_mut(&matched.value)?;
        if let Some(place) = rows.others.iter().position(|row| row.rank == rank) {
            return Some(rows.others.remove(place));
        }
        if rows.first.rank != rank {
            return None;
        }
        if !rows.others.is_empty() {
            let next = rows.others.remove(0);
            return Some(std::mem::replace(&mut rows.first, next));
        }
        let gone = group.remove(&matched.value)?;
        if group.is_empty() {
            self.0.remove(&matched.mask);
        }
        Some(gone.first)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.0.values().flat_map(HashMap::values).flat_map(Rows::all)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Rows {
    fn all(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn put(&mut self, row: Row) {
        if row.rank > self.first.rank {
            self.others.insert(0, std::mem::replace(&mut self.first, row));
        } else {
            let place = self.others.partition_point(|other| other.rank > row.rank);
            self.others.insert(place, row);
        }
    }
}

/// The precedence between several matching entries: the priority, or the length of the prefix.
fn rank(info: &Table, key: &EntryKey, prefix: u8) -> i32 {
    let by_prefix = info.keys.iter().any(|key| key.kind == MatchKind::Lpm);
    if by_prefix { i32::from(prefix) } else { key.priority }
}
