//! Writes that precede others and belong to no session: initial entries and templates.

use std::collections::VecDeque;

use causeway_dataplane::ApplyError;

use super::read_back::ReadBack;
use crate::backend::layout::{Layout, TEMPLATES};
use crate::backend::template::Template;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::ranges::{self, Write};

/// A queue of batches.
#[derive(Debug, Default)]
pub(in crate::backend) struct BackgroundWrites {
    queue: VecDeque<Vec<Update>>,
    enqueued: u64,
    written: u64,
    /// The first batch is being written or read back.
    is_in_flight: bool,
    read_back: Option<ReadBack>,
    /// The switch has refused a write, and the reason: operations that need it cannot be written until it is accepted.
    refused: Option<ApplyError>,
}

impl BackgroundWrites {
    /// Enqueues a batch, unless it is empty.
    pub(in crate::backend) fn push(&mut self, updates: Vec<Update>) {
        if !updates.is_empty() {
            self.queue.push_back(updates);
            self.enqueued += 1;
        }
    }

    /// The number of batches enqueued: that of the last one.
    pub(in crate::backend) const fn enqueued(&self) -> u64 {
        self.enqueued
    }

    /// The number of batches written.
    pub(in crate::backend) const fn written(&self) -> u64 {
        self.written
    }

    /// Why the switch refuses a write, as long as it does.
    pub(in crate::backend) const fn refused(&self) -> Option<&ApplyError> {
        self.refused.as_ref()
    }

    /// The switch refuses a write. Returns whether it did not before.
    pub(super) fn refuse(&mut self, error: ApplyError) -> bool {
        self.refused.replace(error).is_none()
    }

    /// The switch has accepted what it had refused.
    pub(in crate::backend) fn accepted(&mut self) {
        self.refused = None;
    }

    /// The first batch, if it is to be written now.
    pub(super) fn begin(&mut self) -> Option<Vec<Update>> {
        let updates = self.queue.front().filter(|_| !self.is_in_flight)?.clone();
        self.is_in_flight = true;
        Some(updates)
    }

    /// The first batch is to be written again.
    pub(super) const fn restart(&mut self) {
        self.is_in_flight = false;
    }

    /// All of it is written by other means.
    pub(in crate::backend) fn forget(&mut self) {
        self.queue.clear();
        self.written = self.enqueued;
        self.is_in_flight = false;
    }

    /// The first batch is over.
    pub(in crate::backend) fn done(&mut self) {
        if self.queue.pop_front().is_some() {
            self.written += 1;
        }
        self.is_in_flight = false;
    }

    /// It is unknown which updates of the first batch were made: returns the tables to read.
    pub(super) fn read_back(&mut self) -> Vec<u32> {
        let read_back = ReadBack::of(self.queue.front().map_or(&[], Vec::as_slice));
        let tables = read_back.left.clone();
        self.read_back = Some(read_back);
        tables
    }

    /// The tables that are being read.
    pub(super) const fn read_back_mut(&mut self) -> Option<&mut ReadBack> {
        self.read_back.as_mut()
    }

    /// Tables are no longer read.
    pub(super) fn forget_read_back(&mut self) {
        self.read_back = None;
    }

    /// All tables were read: the rest of the first batch is to be written.
    pub(super) fn read_back_done(&mut self) {
        let Some(read_back) = self.read_back.take() else { return };
        let rest = self.queue.front().map(|updates| read_back.rest(updates)).unwrap_or_default();
        if rest.is_empty() {
            return self.done();
        }
        if let Some(front) = self.queue.front_mut() {
            *front = rest;
        }
        self.is_in_flight = false;
    }
}

/// The updates of template tables that ranges require. Empty where the profile has no templates.
pub(in crate::backend) fn template_updates(layout: &Layout, writes: &[Write<Template>]) -> Vec<Update> {
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

pub(in crate::backend) fn template_entry(layout: &Layout, entry: &ranges::Entry<Template>) -> Option<Entry> {
    let table = layout.table(TEMPLATES.get(ranges::Template::table(&entry.template))?)?;
    let field = FieldMatch::Ternary { value: entry.value().into(), mask: entry.mask(24).into() };
    let key = EntryKey { table: table.id, fields: vec![field], priority: entry.priority() };
    let (action, parameters) = entry.template.action.action();
    layout.entry(key, action, &parameters)
}
