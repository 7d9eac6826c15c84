//! Classes of filters, shared by all sessions.
//!
//! The set of filters with classes is closed under intersection. So for each packet that matches any of them, one
//! matching filter is contained in all others that match; it compares the most bits, and is the packet's class. The
//! session's rule of a class follows from the filters that contain it, without examining packets.
//!
//! A session's entries for a class are written before the class's own entry, and removed after it. So a filter is
//! announced first; then sessions with overlapping filters are written again; then its entries are written, those that
//! compare more bits first; and then the sessions that requested it leave the software. Only one announcement or
//! removal is in progress at a time.

mod closure;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use causeway_types::Seid;

use super::filter::{ClassTable, Filter};
use crate::backend::layout::Layout;
use crate::driver::Entry;
use steps::Step;

/// The most new classes for one change of a session.
pub(super) const MAX_NEW: usize = 64;

/// The most sessions that may have to be written again when they are added or removed.
pub(super) const MAX_SESSIONS: usize = 256;

/// Numbers have twelve bits, and 0 is no class.
const NUMBERS: u16 = 1 << 12;

/// Filters of a session.
pub(in crate::backend) type Filters = BTreeSet<Filter>;

/// All classes.
#[derive(Debug)]
pub(in crate::backend) struct Classes {
    /// The filters that sessions use, and how often each session does. All others are intersections of these.
    held: BTreeMap<Filter, BTreeMap<Seid, u32>>,
    /// All filters for which sessions must have entries.
    known: BTreeMap<Filter, Class>,
    sizes: BTreeMap<ClassTable, usize>,
    next: u16,
    free: BTreeSet<u16>,
    /// Sessions in the software whose filters have no classes yet.
    wishes: VecDeque<(Seid, Filters)>,
    /// Filters that are held for sessions until their next change begins.
    promises: BTreeMap<Seid, Filters>,
    step: Option<Step>,
    /// The number of changes of `known`.
    version: u64,
    /// A filter is no longer used.
    has_idle: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    number: u16,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Its entry is not written.
    Inserting,
    /// It is written, so sessions may rely on it.
    Installed,
    /// It is being removed.
    Deleting,
}

/// The next task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum Task {
    /// Writes entries of classes, one after the other.
    Insert(Vec<(Filter, u16)>),
    /// Removes them.
    Delete(Vec<Filter>),
    /// Compiles these sessions again.
    Rewrite(BTreeSet<Seid>),
}

impl Classes {
    pub(in crate::backend) fn new(layout: &Layout) -> Self {
        Self::with_sizes(|way| layout.table(way.table()).map_or(0, |table| table.size))
    }

    fn with_sizes(size: impl Fn(ClassTable) -> usize) -> Self {
        Self {
            held: BTreeMap::new(),
            known: BTreeMap::new(),
            sizes: ClassTable::ALL.into_iter().map(|way| (way, size(way))).collect(),
            next: 1,
            free: BTreeSet::new(),
            wishes: VecDeque::new(),
            promises: BTreeMap::new(),
            step: None,
            version: 0,
            has_idle: false,
        }
    }

    /// All filters for which a session must have an entry, if one of its filters contains them.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Filter, u16)> {
        self.known.iter().map(|(filter, class)| (filter, class.number))
    }

    /// The version of [`Classes::all`] for a change that begins now.
    pub(in crate::backend) const fn version(&self) -> u64 {
        self.version
    }

    /// Whether a session may rely on entries for all of these.
    pub(in crate::backend) fn has(&self, filters: &Filters) -> bool {
        let is_there = |filter| self.known.get(filter).is_some_and(|class| class.stage == Stage::Installed);
        filters.iter().all(is_there)
    }

    /// A session uses these filters, which have classes.
    pub(in crate::backend) fn hold(&mut self, seid: Seid, filters: &Filters) {
        for filter in filters {
            *self.held.entry(filter.clone()).or_default().entry(seid).or_default() += 1;
        }
    }

    /// A session no longer uses them.
    pub(in crate::backend) fn leave(&mut self, seid: Seid, filters: &Filters) {
        for filter in filters {
            let Some(holders) = self.held.get_mut(filter) else { continue };
            let Some(times) = holders.get_mut(&seid) else { continue };
            *times -= 1;
            if *times == 0 {
                holders.remove(&seid);
                self.has_idle |= holders.is_empty();
            }
        }
    }

    /// A change of the session begins: its pending request is discarded. Returns the filters that were held for it
    /// until now.
    pub(in crate::backend) fn begin(&mut self, seid: Seid) -> Filters {
        self.wishes.retain(|(other, _)| *other != seid);
        self.promises.remove(&seid).unwrap_or_default()
    }

    /// The entries of classes on the switch, in the order in which they are written.
    pub(in crate::backend) fn entries(&self, layout: &Layout) -> Vec<Entry> {
        let is_written = |stage| match stage {
            Stage::Inserting => self.is_inserting(),
            Stage::Installed => true,
            Stage::Deleting => false,
        };
        let mut rows: Vec<(&Filter, &Class)> =
            self.known.iter().filter(|(_, class)| is_written(class.stage)).collect();
        rows.sort_by_key(|(filter, _)| std::cmp::Reverse(filter.priority()));
        rows.into_iter().filter_map(|(filter, class)| filter.entry(layout, class.number)).collect()
    }

    fn allocate_class(&mut self) -> Option<u16> {
        if let Some(number) = self.free.pop_first() {
            return Some(number);
        }
        let number = self.next;
        (number < NUMBERS).then(|| self.next += 1)?;
        Some(number)
    }
}
