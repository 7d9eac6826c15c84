//! Classes of filters, for all sessions at once.
//!
//! The filters that have classes are closed: where two overlap, their intersection is one, too. So each packet that any fits has one that all
//! others which it fits hold; that is the one whose row asks for the most bits, and its class. Which of a session's rules is the class's follows
//! from the filters that hold it, without a look at packets.
//!
//! A session's rows for a class are there before the class's own row is, and until that is gone. So a filter is announced first; then
//! sessions that have filters which overlap it are written again; then come its rows, those that ask for more bits first; and then
//! the sessions that asked for it leave the software. One announcement, or one removal, is under way at a time.

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

/// New classes that one change of a session may need.
pub(super) const MAX_NEW: usize = 64;

/// Sessions that may have to be written again for them, or when they go.
pub(super) const MAX_SESSIONS: usize = 256;

/// Numbers have twelve bits, and 0 is no class.
const NUMBERS: u16 = 1 << 12;

/// Filters of a session.
pub(in crate::backend) type Filters = BTreeSet<Filter>;

/// All classes.
#[derive(Debug)]
pub(in crate::backend) struct Classes {
    /// Those that sessions ask for, and which sessions, each so often. All others are intersections of these.
    held: BTreeMap<Filter, BTreeMap<Seid, u32>>,
    /// All that sessions must have rows for.
    known: BTreeMap<Filter, Class>,
    sizes: BTreeMap<ClassTable, usize>,
    next: u16,
    free: BTreeSet<u16>,
    /// Sessions in the software whose filters have no classes yet.
    wishes: VecDeque<(Seid, Filters)>,
    /// Filters that are held for sessions until their next change begins.
    promises: BTreeMap<Seid, Filters>,
    step: Option<Step>,
    /// How often `known` has changed.
    version: u64,
    /// A filter is asked for by nobody any more.
    has_idle: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    number: u16,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Its row is not written.
    Inserting,
    /// It is, so sessions may rely on it.
    Installed,
    /// It is being removed.
    Deleting,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) enum Task {
    /// To write rows of classes, one after the other.
    Insert(Vec<(Filter, u16)>),
    /// To remove them.
    Delete(Vec<Filter>),
    /// To make rows of these sessions again.
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

    /// All that a session must have a row for, if one of its filters holds it.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Filter, u16)> {
        self.known.iter().map(|(filter, class)| (filter, class.number))
    }

    /// What [`Classes::all`] was for a change that begins now.
    pub(in crate::backend) const fn version(&self) -> u64 {
        self.version
    }

    /// A session may rely on rows for all of these.
    pub(in crate::backend) fn has(&self, filters: &Filters) -> bool {
        let is_there = |filter| self.known.get(filter).is_some_and(|class| class.stage == Stage::Installed);
        filters.iter().all(is_there)
    }

    /// A session asks for these, which are there.
    pub(in crate::backend) fn hold(&mut self, seid: Seid, filters: &Filters) {
        for filter in filters {
            *self.held.entry(filter.clone()).or_default().entry(seid).or_default() += 1;
        }
    }

    /// It does so no longer.
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

    /// A change of the session begins: what it asked for and does not have is forgotten. Returns what was held for it until now.
    pub(in crate::backend) fn begin(&mut self, seid: Seid) -> Filters {
        self.wishes.retain(|(other, _)| *other != seid);
        self.promises.remove(&seid).unwrap_or_default()
    }

    /// The rows that belong on the switch, in the order in which they are written.
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
