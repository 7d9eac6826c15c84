//! Writes that precede others and belong to no session: initial entries and templates.

use std::collections::VecDeque;

use causeway_dataplane::ApplyError;

use super::recovery::ReadBack;
use super::template::Template;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::ranges::{self, Write};

use super::layout::{Layout, TEMPLATES};

/// A queue of batches.
#[derive(Debug, Default)]
pub(super) struct BackgroundWrites {
    queue: VecDeque<Vec<Update>>,
    /// The number of batches enqueued, and of those written.
    pub(super) enqueued: u64,
    pub(super) written: u64,
    /// The first batch is being written or read back.
    pub(super) is_under_way: bool,
    pub(super) read_back: Option<ReadBack>,
    /// The switch has refused a write, and the reason: operations that need it cannot be written until it is accepted.
    pub(super) refused: Option<ApplyError>,
}

impl BackgroundWrites {
    /// Enqueues a batch, unless it is empty.
    pub(super) fn push(&mut self, updates: Vec<Update>) {
        if !updates.is_empty() {
            self.queue.push_back(updates);
            self.enqueued += 1;
        }
    }

    /// The next batch to write.
    pub(super) fn front(&self) -> Option<&Vec<Update>> {
        self.queue.front()
    }

    /// Replaces the first batch by its unwritten updates.
    pub(super) fn set_front(&mut self, updates: Vec<Update>) {
        if let Some(front) = self.queue.front_mut() {
            *front = updates;
        }
    }

    /// All of it is written by other means.
    pub(super) fn forget(&mut self) {
        self.queue.clear();
        self.written = self.enqueued;
        self.is_under_way = false;
    }

    /// The first batch is written.
    pub(super) fn done(&mut self) {
        if self.queue.pop_front().is_some() {
            self.written += 1;
        }
        self.is_under_way = false;
    }
}

/// The updates of template tables that ranges require. Empty where the profile has no templates.
pub(super) fn template_updates(layout: &Layout, writes: &[Write<Template>]) -> Vec<Update> {
    let update = |write: &Write<Template>| {
        let entry = template_entry(layout, write.entry())?;
        Some(match write {
            Write::Insert(_) => Update::Insert(entry),
            Write::Modify(_) => Update::Modify(entry),
            Write::Delete(_) => Update::Delete(entry.key),
        })
    };
    writes.iter().filter_map(update).collect()
}

pub(super) fn template_entry(layout: &Layout, entry: &ranges::Entry<Template>) -> Option<Entry> {
    let table = layout.table(TEMPLATES.get(ranges::Template::table(&entry.template))?)?;
    let field = FieldMatch::Ternary { value: entry.value().into(), mask: entry.mask(24).into() };
    let key = EntryKey { table: table.id, fields: vec![field], priority: entry.priority() };
    let (action, parameters) = entry.template.action.action();
    layout.entry(key, action, &parameters)
}
