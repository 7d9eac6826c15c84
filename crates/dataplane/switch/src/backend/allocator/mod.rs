//! What sessions share on the switch: rule numbers and their ranges, templates, classes of filters, meters, lookup
//! keys, and the space of tables. A change of a session gets all that it needs here, or is refused.

mod by_index;
mod filters;
mod meters;
mod session_change;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use causeway_dataplane::ApplyError;
use causeway_types::Seid;
use foldhash::fast::RandomState;

use super::compile_session::LookupKey;
use super::config::Config;
use super::direct::{Classes, Numbers};
use super::layout::{Layout, Profile, TEMPLATES};
use super::sessions::{Replaced, Sessions};
use super::template::Template;
use super::writer::{BackgroundWrites, template_entry, template_updates};
use crate::SwitchPdr;
use crate::driver::{Entry, Update};
use crate::ranges::{AllocateError, Ranges};
use meters::MeterNumbers;

pub(super) use session_change::Change;

/// Allocates what a session's entries need.
#[derive(Debug)]
pub(super) struct Allocator {
    layout: Arc<Layout>,
    config: Arc<Config>,
    ranges: Ranges<Template>,
    /// Numbers and classes of filters of profile `direct`.
    numbers: Numbers,
    classes: Classes,
    meters: MeterNumbers,
    /// The session of each lookup key.
    keys: HashMap<LookupKey, Seid, RandomState>,
    /// The number of entries in each table, and of those that changes in flight will add.
    used: HashMap<u32, usize, RandomState>,
    reserved: HashMap<u32, usize, RandomState>,
}

impl Allocator {
    /// An allocator for a switch with these ranges, and with these entries that belong to no session.
    pub(super) fn new(
        layout: &Arc<Layout>,
        config: &Arc<Config>,
        ranges: Ranges<Template>,
        fixed: &[Entry],
    ) -> Self {
        let mut used: HashMap<u32, usize, RandomState> = HashMap::default();
        for entry in fixed {
            *used.entry(entry.key.table).or_default() += 1;
        }
        Self {
            numbers: Numbers::new(layout, &config.guards),
            classes: Classes::new(layout),
            layout: Arc::clone(layout),
            config: Arc::clone(config),
            ranges,
            meters: MeterNumbers::default(),
            keys: HashMap::default(),
            used,
            reserved: HashMap::default(),
        }
    }

    /// Whether packets with this key belong to a session.
    pub(super) fn has_key(&self, key: &LookupKey) -> bool {
        self.keys.contains_key(key)
    }

    /// The entries of a table that belong to sessions, or to the configuration.
    pub(super) fn entries_of(&self, table: u32) -> usize {
        self.used.get(&table).copied().unwrap_or_default()
    }

    /// The desired templates and classes of filters, which sessions share.
    pub(super) fn shared_entries(&self) -> Vec<Entry> {
        match self.layout.profile {
            Profile::Direct => {
                let mut entries = self.classes.entries(&self.layout);
                entries.extend(self.numbers.templates(&self.layout));
                entries
            }
            _ => self.ranges.entries().filter_map(|entry| template_entry(&self.layout, &entry)).collect(),
        }
    }

    /// Releases the number for another rule.
    pub(super) fn release(&mut self, number: SwitchPdr, background: &mut BackgroundWrites) {
        if self.layout.profile == Profile::Direct {
            return self.numbers.release(number);
        }
        if let Ok(writes) = self.ranges.release(number)
            && self.layout.profile == Profile::Hip4
        {
            background.push(template_updates(&self.layout, &writes));
        }
    }

    /// Releases the resources of a change that failed. Numbers under which packets may have been counted are not used
    /// again where counters do not start at zero with an insertion.
    pub(super) fn give_back(
        &mut self,
        seid: Seid,
        change: &Change,
        is_clean: bool,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) {
        self.free_space(change);
        self.give_back_unreserved(seid, change, is_clean, sessions, background);
    }

    fn give_back_unreserved(
        &mut self,
        seid: Seid,
        change: &Change,
        is_clean: bool,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) {
        let is_by_index = self.layout.profile == Profile::Direct;
        for (_, number) in change.fresh.iter().filter(|_| is_clean || !is_by_index) {
            self.release(*number, background);
        }
        self.classes.leave(seid, &change.filters);
        self.meters.release(&change.taken);
        self.leave_templates(&change.taken_templates, background);
        change.taken_sessions.iter().for_each(|session| self.numbers.release_session_number(*session));
        let kept = sessions.get(seid).map(|state| &state.keys);
        for key in change.keys.iter().filter(|key| kept.is_none_or(|kept| !kept.contains(key))) {
            if self.keys.get(key) == Some(&seid) {
                self.keys.remove(key);
            }
        }
    }

    /// The change is written.
    pub(super) fn written(&mut self, seid: Seid, change: &Change, background: &mut BackgroundWrites) {
        self.free_space(change);
        for (table, more) in &change.tables {
            let used = self.used.entry(*table).or_default();
            *used = used.saturating_add_signed(isize::try_from(*more).unwrap_or_default());
        }
        self.classes.written(seid, change.classes, !change.filters.is_empty());
        self.meters.release(&change.freed);
        self.leave_templates(&change.left_templates, background);
        change.left_sessions.iter().for_each(|session| self.numbers.release_session_number(*session));
    }

    /// The session no longer has these keys and filters.
    pub(super) fn leave(&mut self, seid: Seid, replaced: &Replaced) {
        for key in &replaced.keys {
            self.keys.remove(key);
        }
        self.classes.leave(seid, &replaced.filters);
    }

    /// Insertions precede deletions, so the tables must have space for them.
    fn check_insertions(&self, updates: &[Update]) -> Result<(), ApplyError> {
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        for update in updates {
            if let Update::Insert(entry) = update {
                *wanted.entry(entry.key.table).or_default() += 1;
            }
        }
        for (table, more) in wanted {
            let size = self.layout.program.table(table).map_or(0, |table| table.size);
            let count =
                |counts: &HashMap<u32, usize, RandomState>| counts.get(&table).copied().unwrap_or_default();
            if count(&self.used) + count(&self.reserved) + more > size {
                return Err(ApplyError::Full { table: self.layout.name(table), capacity: size as u64 });
            }
        }
        Ok(())
    }

    /// Reserves space for the entries that a change adds.
    fn reserve_space(&mut self, change: &Change) {
        for (table, more) in added(change) {
            *self.reserved.entry(table).or_default() += more;
        }
    }

    fn free_space(&mut self, change: &Change) {
        for (table, more) in added(change) {
            let reserved = self.reserved.entry(table).or_default();
            *reserved = reserved.saturating_sub(more);
        }
    }

    /// Meters by kind that were allocated and are free again.
    #[cfg(test)]
    pub(super) fn free_meters(&self) -> [usize; 2] {
        self.meters.free()
    }
}

/// The entries that a change adds, by table.
fn added(change: &Change) -> impl Iterator<Item = (u32, usize)> {
    change.tables.iter().filter_map(|(table, more)| Some((*table, usize::try_from(*more).ok()?)))
}

/// The error for a number that cannot be allocated.
fn full_numbers(error: &AllocateError) -> ApplyError {
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

/// Sessions whose entries must be compiled again.
pub(super) type Rewrites = BTreeSet<Seid>;
