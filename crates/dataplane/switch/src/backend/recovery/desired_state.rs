//! Compares the desired state of the switch with its present state.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use causeway_p4::names::table;
use causeway_types::{PdrId, Seid};
use foldhash::fast::RandomState;

use crate::SwitchPdr;
use crate::backend::allocator::{Allocator, Change};
use crate::backend::direct::rank;
use crate::backend::firewall;
use crate::backend::layout::{Layout, Profile};
use crate::backend::notice::ReconcileResult;
use crate::backend::operation::Operation;
use crate::backend::reader::Reader;
use crate::backend::session_state::{MeterKey, PlacedRule};
use crate::backend::sessions::Sessions;
use crate::backend::writer::{PendingWrite, Writer};
use crate::driver::{Entry, EntryKey, Rates, Update};
use crate::pendulum::Partition;

/// The entries of a switch, by their keys.
pub(in crate::backend) type ReadEntries = HashMap<EntryKey, Entry, RandomState>;

/// Deletions of one batch.
const CHUNK: usize = 500;

/// Writes that must be made at one moment.
#[derive(Clone, Debug)]
pub(in crate::backend) struct AtomicUpdate {
    pub(in crate::backend) of: EntryOwner,
    pub(in crate::backend) updates: Vec<Update>,
}

/// The owner of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::backend) enum EntryOwner {
    /// No owner.
    Foreign,
    /// Entries that belong to no session.
    Base,
    /// A session's.
    Session,
    /// A session as an operation changes it, whose outcome is unknown.
    Operation(Operation),
}

/// The components that have the desired state.
#[derive(Debug)]
pub(in crate::backend) struct DesiredState<'a> {
    pub(in crate::backend) allocator: &'a Allocator,
    pub(in crate::backend) writer: &'a Writer,
    /// Its counters that the switch has lost start from zero; those of the reader likewise.
    pub(in crate::backend) sessions: &'a mut Sessions,
    pub(in crate::backend) reader: &'a mut Reader,
}

impl DesiredState<'_> {
    /// The writes for a switch with these entries, which should have the base entries and those of the firewall. An operation
    /// whose outcome is unknown is completed.
    pub(super) fn differences(
        &mut self,
        layout: &Layout,
        (base, firewall): (Vec<Entry>, &[Entry]),
        mut found: ReadEntries,
        is_emptied: bool,
        report: &mut ReconcileResult,
    ) -> VecDeque<AtomicUpdate> {
        let mut units = VecDeque::new();
        let base: Vec<Entry> = base.into_iter().chain(self.allocator.shared_entries()).collect();
        // A switch without any of these entries was empty, whatever the driver reports.
        let was_emptied = is_emptied;
        let is_emptied =
            is_emptied || !base.is_empty() && base.iter().all(|entry| !found.contains_key(&entry.key));
        // Counts of another controller may remain on a switch without entries of its own.
        let counts_anew = was_emptied || is_emptied && !self.reader.has_unknown_bases();
        if counts_anew && layout.profile == Profile::Direct {
            self.reader.restart_counters();
            report.counters += self.sessions.restart_counters();
        }
        let mut first = missing(base, &mut found);
        let (of_firewall, rest): (ReadEntries, ReadEntries) =
            found.into_iter().partition(|(key, _)| firewall::is_its(layout.name(key.table)));
        let mut found = rest;
        let firewall = firewall::replacement(layout, of_firewall.values(), firewall);
        report.removed += firewall.iter().filter(|update| matches!(update, Update::Delete(_))).count();
        first.extend(firewall);
        let uncertain = self.writer.uncertain();
        let mut seids: Vec<Seid> = self.sessions.states().map(|(seid, _)| seid).collect();
        seids.sort_unstable();
        for seid in seids {
            let write = uncertain.get(&seid).copied();
            let updates =
                self.session_updates(layout, seid, write.map(|it| it.1), is_emptied, &mut found, report);
            let of = write.map_or(EntryOwner::Session, |(operation, _)| EntryOwner::Operation(operation));
            if !updates.is_empty() || write.is_some() {
                units.push_back(AtomicUpdate { of, updates });
            }
        }
        report.sessions += units.len();
        let is_shared = |key: &EntryKey| is_shared(layout.name(key.table));
        let (mut old, mut foreign): (Vec<EntryKey>, Vec<EntryKey>) = found.into_keys().partition(is_shared);
        // Classes of filters that contain others are removed first.
        old.sort_by_key(|key| key.priority);
        if layout.profile == Profile::Direct {
            foreign.sort_by_key(|key| std::cmp::Reverse(rank(layout, key.table)));
        }
        report.removed += old.len() + foreign.len();
        // Deletions come first, to free space.
        first.splice(0..0, old.into_iter().map(Update::Delete));
        units.push_front(AtomicUpdate { of: EntryOwner::Base, updates: first });
        for keys in foreign.rchunks(CHUNK) {
            let updates = keys.iter().cloned().map(Update::Delete).collect();
            units.push_front(AtomicUpdate { of: EntryOwner::Foreign, updates });
        }
        let written = |unit: &AtomicUpdate| unit.updates.iter().filter(|update| writes_entry(update)).count();
        report.written += units.iter().map(written).sum::<usize>();
        units
    }

    /// The writes of a session, which a write with unknown outcome may have changed.
    fn session_updates(
        &mut self,
        layout: &Layout,
        seid: Seid,
        pending: Option<&PendingWrite>,
        is_emptied: bool,
        found: &mut ReadEntries,
        report: &mut ReconcileResult,
    ) -> Vec<Update> {
        let Some(state) = self.sessions.get(seid) else { return Vec::new() };
        let before = || entries_of(layout, &state.placed, &state.guards, &state.meters);
        let mut leaving = Vec::new();
        let (wanted, meters) = match pending {
            None => (before(), &state.meters),
            Some(PendingWrite { change, partitions, .. }) => {
                let Change { placed, guards, meters, add, .. } = change;
                let counters = add.iter().flat_map(|number| counters_at(layout, number.0, *partitions));
                let rules = entries_of(layout, placed, guards, meters);
                let wanted: Vec<Entry> = counters.chain(rules).collect();
                let kept: HashSet<&EntryKey, RandomState> = wanted.iter().map(|entry| &entry.key).collect();
                let keys = before().into_iter().map(|entry| entry.key);
                leaving.extend(keys.filter(|key| !kept.contains(key)));
                (wanted, meters)
            }
        };
        let set = |(of, (number, rates)): (&MeterKey, &(u32, Rates))| {
            let (meter, index) = layout.meters(of.is_simple).cell(*number)?;
            Some(Update::SetMeter { meter, index, rates: Some(*rates) })
        };
        let meters: Vec<Update> = meters.iter().filter_map(set).collect();
        // Counters come first: where only a part of a batch is made, every packet is counted.
        let mut updates = self.missing_counters(seid, found);
        report.counters += updates.len();
        updates.extend(missing(wanted, found));
        let gone = leaving.into_iter().filter(|key| found.remove(key).is_some());
        updates.extend(gone.map(Update::Delete));
        if is_emptied || pending.is_some() || !updates.is_empty() {
            updates.extend(meters);
        }
        updates
    }

    /// The insertions of a session's counters that the switch has lost, unless their last reading is done: they start
    /// from zero.
    fn missing_counters(&mut self, seid: Seid, found: &mut ReadEntries) -> Vec<Update> {
        let numbers: Vec<_> = self.sessions.get(seid).map_or(Vec::new(), |state| {
            let rule = |number: &SwitchPdr| Some((*number, self.sessions.rule(*number)?.is_final));
            state.numbers.iter().filter_map(rule).collect()
        });
        let mut updates = Vec::new();
        for (number, is_final) in numbers {
            for (side, entry) in self.reader.entries_of(number) {
                if found.remove(&entry.key).is_some() || is_final[side as usize] {
                    continue;
                }
                updates.push(Update::Insert(entry));
                self.reader.restart_counter(side, number);
                self.sessions.restart_counter(number, side as usize);
            }
        }
        updates
    }
}

/// The entries of a session's rules.
fn entries_of(
    layout: &Layout,
    placed: &BTreeMap<PdrId, PlacedRule>,
    guards: &[Entry],
    meters: &BTreeMap<MeterKey, (u32, Rates)>,
) -> Vec<Entry> {
    let mut entries = guards.to_vec();
    for placed in placed.values() {
        let index = placed.meter().and_then(|of| meters.get(&of)).map_or(0, |(index, _)| *index);
        // They were made before, so there are no errors.
        entries.extend(placed.armed.and_then(|arming| layout.armed_entry(placed.number, arming)));
        entries.extend(layout.number_entries(placed, index).unwrap_or_default());
        let rows = placed.wanted.rows.iter();
        entries.extend(rows.filter_map(|row| layout.row_entry(placed, row, index).ok()));
    }
    if layout.profile == Profile::Direct {
        entries.sort_by_key(|entry| rank(layout, entry.key.table));
    }
    entries
}

fn counters_at(layout: &Layout, number: u32, places: [Partition; 2]) -> impl Iterator<Item = Entry> {
    let entry =
        move |(side, place): (usize, Partition)| layout.accounting_entry(side, place.0.into(), number);
    places.into_iter().enumerate().filter_map(entry)
}

/// Whether sessions share the entries of the table.
fn is_shared(table: &str) -> bool {
    matches!(
        table,
        table::UL_TEMPLATE
            | table::UL_TO_N6_TEMPLATE
            | table::UL_TO_N9_N3_TEMPLATE
            | table::DL_TEMPLATE
            | table::FILTERS_UL
            | table::FILTERS_UL_IPV6
            | table::FILTERS_DL
            | table::FILTERS_DL_IPV6
    )
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
