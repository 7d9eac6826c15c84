//! The classes that filters need, and the sessions concerned.

use std::collections::BTreeSet;

use causeway_types::Seid;

use super::{Classes, Filters, MAX_NEW, MAX_SESSIONS};
use crate::backend::direct::filter::Filter;

impl Classes {
    /// The classes that these filters need beside the existing ones; `None`: more than allowed.
    pub(super) fn missing(&self, filters: &Filters) -> Option<Filters> {
        let mut missing = Filters::new();
        for filter in filters {
            if self.known.contains_key(filter) || missing.contains(filter) {
                continue;
            }
            let known = self.known.keys().chain(&missing);
            let mut more: Vec<Filter> = known.filter_map(|other| filter.intersect(other)).collect();
            more.push(filter.clone());
            more.retain(|filter| !self.known.contains_key(filter));
            missing.extend(more);
            if missing.len() > MAX_NEW {
                return None;
            }
        }
        let fits = |(way, size): (&super::ClassTable, &usize)| {
            let of_way = |filter: &&Filter| filter.way == *way;
            let new = missing.iter().filter(of_way).count();
            new == 0 || self.known.keys().filter(of_way).count() + new <= *size
        };
        self.sizes.iter().all(fits).then_some(missing)
    }

    /// The classes that are removed with an unused filter: those that are the intersection of no other filters.
    pub(super) fn only_for(&self, filter: &Filter) -> Filters {
        let is_needed = |class: &Filter| {
            let others = self.held.keys().filter(|other| *other != filter && other.contains(class));
            let met = others.cloned().reduce(|met, other| met.intersect(&other).unwrap_or(met));
            met.as_ref() == Some(class)
        };
        let classes = self.known.keys().filter(|class| filter.contains(class));
        classes.filter(|class| !is_needed(class)).cloned().collect()
    }

    /// Sessions with filters that contain some of these.
    pub(super) fn concerned(&self, classes: &Filters) -> BTreeSet<Seid> {
        let mut concerned = BTreeSet::new();
        for (filter, holders) in &self.held {
            if classes.iter().any(|class| filter.contains(class)) {
                concerned.extend(holders.keys().copied());
            }
        }
        concerned
    }

    /// Whether it concerns more sessions than allowed.
    pub(super) fn concerns_many(&self, classes: &Filters) -> bool {
        let is_concerned = |filter: &Filter| classes.iter().any(|class| filter.contains(class));
        let holders = self.held.iter().filter(|(filter, _)| is_concerned(filter));
        let mut seen = BTreeSet::new();
        for seid in holders.flat_map(|(_, holders)| holders.keys()) {
            seen.insert(*seid);
            if seen.len() > MAX_SESSIONS {
                return true;
            }
        }
        false
    }
}
