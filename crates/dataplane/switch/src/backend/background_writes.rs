//! Writes that come before others and belong to no session: what there is from the start, and templates.

use std::collections::VecDeque;

use causeway_dataplane::ApplyError;

use super::recovery::ReadBack;
use super::template::Template;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::ranges::{self, Write};

use super::layout::{Layout, TEMPLATES};

/// Batches that are written one after the other.
#[derive(Debug, Default)]
pub(super) struct BackgroundWrites {
    queue: VecDeque<Vec<Update>>,
    /// How many were lined up, and how many of these were written.
    pub(super) enqueued: u64,
    pub(super) written: u64,
    /// The one at the front is being written or read back.
    pub(super) is_under_way: bool,
    pub(super) read_back: Option<ReadBack>,
    /// The switch has refused something, and why: nothing that needs it can be written until it does not.
    pub(super) refused: Option<ApplyError>,
}

impl BackgroundWrites {
    /// Lines up a batch; none, if it is empty.
    pub(super) fn push(&mut self, updates: Vec<Update>) {
        if !updates.is_empty() {
            self.queue.push_back(updates);
            self.enqueued += 1;
        }
    }

    /// What is to be written next.
    pub(super) fn front(&self) -> Option<&Vec<Update>> {
        self.queue.front()
    }

    /// What is left of the batch at the front.
    pub(super) fn set_front(&mut self, updates: Vec<Update>) {
        if let Some(front) = self.queue.front_mut() {
            *front = updates;
        }
    }

    /// All of it is written in another way.
    pub(super) fn forget(&mut self) {
        self.queue.clear();
        self.written = self.enqueued;
        self.is_under_way = false;
    }

    /// The batch at the front is written.
    pub(super) fn done(&mut self) {
        if self.queue.pop_front().is_some() {
            self.written += 1;
        }
        self.is_under_way = false;
    }
}

/// The updates of template tables that ranges ask for. None where the profile has no templates.
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
