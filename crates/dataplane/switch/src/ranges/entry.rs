//! Entries of the template tables, and the order in which they are written.

use std::collections::HashSet;

use super::Block;

/// One ternary entry: numbers of this block have the action of this template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry<T> {
    /// The numbers that match.
    pub block: Block,
    /// The template whose action they have; it determines the table.
    pub template: T,
}

impl<T> Entry<T> {
    /// The value that a number must have in the bits of [`Entry::mask`].
    pub const fn value(&self) -> u32 {
        self.block.base()
    }

    /// Which bits are compared, of a key of `width` bits (at most 32).
    pub const fn mask(&self, width: u8) -> u32 {
        let all = if width >= 32 { u32::MAX } else { (1 << width) - 1 };
        all >> self.block.bits() << self.block.bits()
    }

    /// Smaller blocks have higher priority: while a block is replaced by its parts or by a larger one, the part wins.
    /// Always above zero, as P4Runtime requires.
    pub const fn priority(&self) -> i32 {
        33 - self.block.bits() as i32
    }
}

/// One write to a template table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Write<T> {
    /// A new entry.
    Insert(Entry<T>),
    /// Another action for the entry of the same block in the same table. No number of it is in use.
    Modify(Entry<T>),
    /// Removes the entry.
    Delete(Entry<T>),
}

impl<T> Write<T> {
    /// The entry that is written or removed.
    pub const fn entry(&self) -> &Entry<T> {
        match self {
            Self::Insert(entry) | Self::Modify(entry) | Self::Delete(entry) => entry,
        }
    }

    /// The same write with another type of template.
    pub(super) fn renamed<U>(&self, name: impl FnOnce(&T) -> Option<U>) -> Option<Write<U>> {
        let entry = self.entry();
        let entry = Entry { block: entry.block, template: name(&entry.template)? };
        Some(match self {
            Self::Insert(_) => Write::Insert(entry),
            Self::Modify(_) => Write::Modify(entry),
            Self::Delete(_) => Write::Delete(entry),
        })
    }
}

/// Orders the writes that turn the entries `gone` into the entries `wanted`, so that no number in use ever misses or
/// has the action of another template, and so that the tables hold at most one entry more than before or after.
///
/// Entries that no number in use matches are removed first and inserted last. Between them a number in use is matched
/// by its old entry, by both, or by its new one, all of the same template. `is_used` returns whether a block has
/// numbers in use, `table` the table of a template's entries: an entry of the same block in the same table is modified.
pub(super) fn ordered<T: Clone>(
    gone: &[Entry<T>],
    made: &[Entry<T>],
    is_used: impl Fn(Block) -> bool,
    table: impl Fn(&T) -> usize,
) -> Vec<Write<T>> {
    let key = |entry: &Entry<T>| (entry.block, table(&entry.template));
    let olds: HashSet<(Block, usize)> = gone.iter().map(key).collect();
    let news: HashSet<(Block, usize)> = made.iter().map(key).collect();
    let write = |new: &Entry<T>| {
        let replaces = olds.contains(&key(new));
        if replaces { Write::Modify(new.clone()) } else { Write::Insert(new.clone()) }
    };
    let leaving = gone.iter().filter(|entry| !news.contains(&key(entry))).cloned();
    let (used_gone, unused_gone): (Vec<_>, Vec<_>) = leaving.partition(|entry| is_used(entry.block));
    let (used_made, unused_made): (Vec<_>, Vec<_>) = made.iter().partition(|entry| is_used(entry.block));

    let mut writes = Vec::with_capacity(gone.len() + made.len());
    writes.extend(unused_gone.into_iter().map(Write::Delete));
    writes.extend(used_made.into_iter().map(write));
    writes.extend(used_gone.into_iter().map(Write::Delete));
    writes.extend(unused_made.into_iter().map(write));
    writes
}
