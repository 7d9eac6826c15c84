//! Compares the desired state of the switch with its present state.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use causeway_types::{PdrId, Seid};
use foldhash::fast::RandomState;

use super::background_writes::template_entry;
use super::direct::rank;
use super::layout::Profile;
use super::notice::ReconcileResult;
use super::operation::Operation;
use super::session_change::Change;
use super::session_state::{MeterKey, PlacedRule};
use super::switch::Switch;
use crate::driver::{Entry, EntryKey, Rates, SwitchDriver, Update};
use crate::pendulum::{Partition, Side};
use crate::{Count, SwitchPdr};

/// The entries of a switch, by their keys.
pub(super) type ReadEntries = HashMap<EntryKey, Entry, RandomState>;

/// Deletions of one batch.
const CHUNK: usize = 500;

/// Writes that must be made at one moment.
#[derive(Clone, Debug)]
pub(super) struct AtomicUpdate {
    pub(super) of: WriteOwner,
    pub(super) updates: Vec<Update>,
}

/// The owner of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteOwner {
    /// No owner.
    Foreign,
    /// Entries that belong to no session.
    Base,
    /// A session's.
    Session,
    /// A session as an operation changes it, whose outcome is unknown.
    Operation(Operation),
}

impl<D: SwitchDriver> Switch<D> {
    /// The writes for a switch with these entries. An operation whose outcome is unknown is completed.
    pub(super) fn differences(
        &mut self,
        mut found: ReadEntries,
        is_emptied: bool,
        report: &mut ReconcileResult,
    ) -> VecDeque<AtomicUpdate> {
        let mut units = VecDeque::new();
        // Templates are compared with their final state.
        self.background_writes.forget();
        let base: Vec<Entry> = self.fixed.iter().chain(&self.closed).cloned().chain(self.shared()).collect();
        // A switch without any of these entries was empty, whatever the driver reports.
        let was_emptied = is_emptied;
        let is_emptied =
            is_emptied || !base.is_empty() && base.iter().all(|entry| !found.contains_key(&entry.key));
        // Counts of another controller may remain on a switch without entries of its own.
        let counts_anew = was_emptied || is_emptied && !self.bases.is_new();
        if counts_anew && self.layout.profile == Profile::Direct {
            report.counters += self.restart_cells();
        }
        let mut first = missing(base, &mut found);
        let in_doubt = self.in_doubt();
        let mut seids: Vec<Seid> = self.sessions.keys().copied().collect();
        seids.sort_unstable();
        for seid in seids {
            let operation = in_doubt.get(&seid).copied();
            let updates = self.session_updates(seid, operation, is_emptied, &mut found, report);
            let of = operation.map_or(WriteOwner::Session, WriteOwner::Operation);
            if !updates.is_empty() || operation.is_some() {
                units.push_back(AtomicUpdate { of, updates });
            }
        }
        report.sessions += units.len();
        let is_shared = |key: &EntryKey| is_shared(self.layout.name(key.table));
        let (mut old, mut foreign): (Vec<EntryKey>, Vec<EntryKey>) = found.into_keys().partition(is_shared);
        // Classes of filters that contain others are removed first.
        old.sort_by_key(|key| key.priority);
        if self.layout.profile == Profile::Direct {
            foreign.sort_by_key(|key| std::cmp::Reverse(rank(&self.layout, key.table)));
        }
        report.removed += old.len() + foreign.len();
        // Deletions come first, to free space.
        first.splice(0..0, old.into_iter().map(Update::Delete));
        units.push_front(AtomicUpdate { of: WriteOwner::Base, updates: first });
        for keys in foreign.rchunks(CHUNK) {
            let updates = keys.iter().cloned().map(Update::Delete).collect();
            units.push_front(AtomicUpdate { of: WriteOwner::Foreign, updates });
        }
        let written = |unit: &AtomicUpdate| unit.updates.iter().filter(|update| writes_entry(update)).count();
        report.written += units.iter().map(written).sum::<usize>();
        units
    }

    /// The desired templates and classes of filters.
    fn shared(&self) -> Vec<Entry> {
        match self.layout.profile {
            Profile::Direct => {
                let mut entries = self.classes.entries(&self.layout);
                entries.extend(self.numbers.templates(&self.layout));
                entries
            }
            _ => self.ranges.entries().filter_map(|entry| template_entry(&self.layout, &entry)).collect(),
        }
    }

    /// All counters by index start from zero. Returns how many had unread usage.
    fn restart_cells(&mut self) -> usize {
        self.access.all_restarted();
        self.bases.reset();
        let mut counters = 0;
        for rule in self.rules.values_mut() {
            rule.last = [Count::ZERO; 2];
            counters += rule.is_final.iter().filter(|is_final| !**is_final).count();
        }
        counters
    }

    /// Operations that may have been partly done.
    fn in_doubt(&self) -> HashMap<Seid, Operation, RandomState> {
        let pending = self.unwritten.iter().filter_map(|id| Some((*id, self.operations.get(id)?)));
        pending.filter(|(_, it)| it.is_uncertain).map(|(id, it)| (it.session, id)).collect()
    }

    /// The writes of a session.
    fn session_updates(
        &mut self,
        seid: Seid,
        operation: Option<Operation>,
        is_emptied: bool,
        found: &mut ReadEntries,
        report: &mut ReconcileResult,
    ) -> Vec<Update> {
        let Some(state) = self.sessions.get(&seid) else { return Vec::new() };
        let pending = operation.and_then(|operation| self.operations.get(&operation));
        let (mut wanted, meters) = match pending {
            None => (self.entries_of(&state.placed, &state.guards, &state.meters), &state.meters),
            Some(pending) => {
                let Change { placed, guards, meters, .. } = &pending.change;
                (self.entries_of(placed, guards, meters), meters)
            }
        };
        let meters: Vec<(MeterKey, (u32, Rates))> = meters.iter().map(|(of, meter)| (*of, *meter)).collect();
        let mut leaving = Vec::new();
        if let Some(pending) = pending {
            let added = pending.change.add.iter();
            let added = added.flat_map(|number| self.counters_at(*number, pending.partitions));
            wanted.splice(0..0, added.collect::<Vec<_>>());
            let before = self.entries_of(&state.placed, &state.guards, &state.meters);
            let kept: HashSet<&EntryKey, RandomState> = wanted.iter().map(|entry| &entry.key).collect();
            let before = before.into_iter().map(|entry| entry.key);
            leaving.extend(before.filter(|key| !kept.contains(key)));
        }
        let counters = self.counters_held(&state.numbers);
        // Counters come first: where only a part of a batch is made, every packet is counted.
        let mut updates = Vec::new();
        for (number, side, entry, is_read) in counters {
            if found.remove(&entry.key).is_some() || is_read {
                continue;
            }
            updates.push(Update::Insert(entry));
            self.access.restarted(side, number);
            if let Some(rule) = self.rules.get_mut(&number) {
                rule.last[side as usize] = Count::ZERO;
            }
            report.counters += 1;
        }
        updates.extend(missing(wanted, found));
        let gone = leaving.into_iter().filter(|key| found.remove(key).is_some());
        updates.extend(gone.map(Update::Delete));
        if is_emptied || operation.is_some() || !updates.is_empty() {
            let set = |(of, (number, rates)): (MeterKey, (u32, Rates))| {
                let (meter, index) = self.layout.meters(of.is_simple).cell(number)?;
                Some(Update::SetMeter { meter, index, rates: Some(rates) })
            };
            updates.extend(meters.into_iter().filter_map(set));
        }
        updates
    }

    /// The entries of a session's rules.
    fn entries_of(
        &self,
        placed: &BTreeMap<PdrId, PlacedRule>,
        guards: &[Entry],
        meters: &BTreeMap<MeterKey, (u32, Rates)>,
    ) -> Vec<Entry> {
        let mut entries = guards.to_vec();
        for placed in placed.values() {
            let index = placed.meter().and_then(|of| meters.get(&of)).map_or(0, |(index, _)| *index);
            // They were made before, so there are no errors.
            entries.extend(self.number_entries(placed, index).unwrap_or_default());
            let rows = placed.wanted.rows.iter();
            entries.extend(rows.filter_map(|row| self.row_entry(placed, row, index).ok()));
        }
        if self.layout.profile == Profile::Direct {
            entries.sort_by_key(|entry| rank(&self.layout, entry.key.table));
        }
        entries
    }

    /// The entries in which numbers are counted, and whether their last reading is done.
    fn counters_held(&self, numbers: &BTreeSet<SwitchPdr>) -> Vec<(SwitchPdr, Side, Entry, bool)> {
        let mut counters = Vec::new();
        for number in numbers {
            let Some(rule) = self.rules.get(number) else { continue };
            for (side, place) in Side::ALL.into_iter().zip(self.access.partitions_of(*number)) {
                let Some(Partition(partition)) = place else { continue };
                let entry = self.layout.accounting_entry(side as usize, partition.into(), number.0);
                counters.extend(entry.map(|entry| (*number, side, entry, rule.is_final[side as usize])));
            }
        }
        counters
    }

    fn counters_at(&self, number: SwitchPdr, places: [Partition; 2]) -> Vec<Entry> {
        let entry =
            |(side, place): (usize, Partition)| self.layout.accounting_entry(side, place.0.into(), number.0);
        places.into_iter().enumerate().filter_map(entry).collect()
    }
}

/// Whether sessions share the entries of the table.
fn is_shared(table: &str) -> bool {
    table.ends_with("_template") || table.starts_with("filters_")
}

/// The desired entries that are missing or different.
fn missing(wanted: Vec<Entry>, found: &mut ReadEntries) -> Vec<Update> {
    let update = |entry: Entry| match found.remove(&entry.key) {
        Some(state) if state == entry => None,
        Some(_) => Some(Update::Modify(entry)),
        None => Some(Update::Insert(entry)),
    };
    wanted.into_iter().filter_map(update).collect()
}

const fn writes_entry(update: &Update) -> bool {
    matches!(update, Update::Insert(_) | Update::Modify(_))
}
