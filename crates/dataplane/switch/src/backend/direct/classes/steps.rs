//! The steps of adding and removing classes.

use std::collections::BTreeSet;

use causeway_types::Seid;

use super::{Class, Classes, Filters, Stage, Task};
use crate::backend::direct::filter::{ClassTable, Filter};

/// The step in progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Sessions are being written again, before the entries of new classes.
    Announced { requesters: BTreeSet<Seid>, since: u64, waits: BTreeSet<Seid> },
    /// Their entries are being written.
    Inserting { requesters: BTreeSet<Seid>, background_write: u64 },
    /// Entries are being removed.
    Deleting { background_write: u64 },
    /// They are removed, and sessions still have entries for these numbers.
    Removed { since: u64, numbers: Vec<u16>, waits: BTreeSet<Seid> },
}

impl Classes {
    /// The next task; `None` while there is none, or the step is waiting.
    pub(in crate::backend) fn poll(&mut self, is_written: impl Fn(u64) -> bool) -> Option<Task> {
        match self.step.take() {
            None => return self.start(),
            Some(Step::Announced { requesters, waits, .. }) if waits.is_empty() => {
                self.step = Some(Step::Inserting { requesters, background_write: u64::MAX });
                let rows = self.rows(Stage::Inserting);
                return Some(Task::Insert(rows));
            }
            Some(Step::Inserting { requesters, background_write: write }) if is_written(write) => {
                let coming = self.known.values_mut().filter(|class| class.stage == Stage::Inserting);
                coming.for_each(|class| class.stage = Stage::Installed);
                return Some(Task::Rewrite(requesters));
            }
            Some(Step::Deleting { background_write: write }) if is_written(write) => {
                return Some(self.clear(Stage::Deleting));
            }
            Some(Step::Removed { numbers, waits, .. }) if waits.is_empty() => {
                self.free.extend(numbers);
                return self.start();
            }
            waiting => self.step = waiting,
        }
        None
    }

    /// The task of [`Classes::poll`] is the background batch with this number.
    pub(in crate::backend) fn enqueued(&mut self, number: u64) {
        if let Some(
            Step::Inserting { background_write: write, .. } | Step::Deleting { background_write: write },
        ) = &mut self.step
        {
            *write = number;
        }
    }

    /// Whether the background batch writes entries of new classes.
    pub(in crate::backend) fn inserts_by(&self, number: u64) -> bool {
        matches!(self.step, Some(Step::Inserting { background_write: write, .. }) if write == number)
    }

    pub(super) const fn is_inserting(&self) -> bool {
        matches!(self.step, Some(Step::Inserting { .. }))
    }

    /// The switch has no space for them: they are not added, nor are more classes than exist now in the future.
    pub(in crate::backend) fn refused(&mut self) -> Option<Task> {
        let step = self.step.take_if(|step| matches!(step, Step::Inserting { .. }));
        let Some(Step::Inserting { requesters, .. }) = step else { return None };
        let ways: BTreeSet<ClassTable> =
            self.rows(Stage::Inserting).iter().map(|(filter, _)| filter.way).collect();
        for way in ways {
            let of_way =
                |(filter, class): &(&Filter, &Class)| filter.way == way && class.stage == Stage::Installed;
            let there = self.known.iter().filter(of_way).count();
            self.sizes.insert(way, there);
        }
        for wisher in requesters {
            let promised = self.promises.remove(&wisher).unwrap_or_default();
            self.leave(wisher, &promised);
        }
        Some(self.clear(Stage::Inserting))
    }

    /// Requests classes for a session in the software, which then leaves it.
    pub(in crate::backend) fn request_classes(&mut self, seid: Seid, filters: Filters) {
        let is_on_its_way =
            |filter| self.known.get(filter).is_some_and(|class| class.stage != Stage::Deleting);
        let are_on_their_way = filters.iter().all(is_on_its_way);
        match &mut self.step {
            Some(Step::Announced { requesters, .. } | Step::Inserting { requesters, .. })
                if are_on_their_way =>
            {
                requesters.insert(seid);
                self.hold_filters(seid, filters);
            }
            _ => self.wishes.push_back((seid, filters)),
        }
    }

    /// Holds the filters until the session's next change begins.
    fn hold_filters(&mut self, seid: Seid, filters: Filters) {
        self.hold(seid, &filters);
        if let Some(before) = self.promises.insert(seid, filters) {
            self.leave(seid, &before);
        }
    }

    /// The session's change that began at this version is written; or it has no filters on the switch any more.
    pub(in crate::backend) fn written(&mut self, seid: Seid, version: u64, is_filtered: bool) {
        if let Some(Step::Announced { since, waits, .. } | Step::Removed { since, waits, .. }) =
            &mut self.step
            && (version >= *since || !is_filtered)
        {
            waits.remove(&seid);
        }
    }

    fn start(&mut self) -> Option<Task> {
        if std::mem::take(&mut self.has_idle)
            && let Some(task) = self.remove_idle()
        {
            return Some(task);
        }
        while let Some((seid, filters)) = self.wishes.pop_front() {
            if let Some(task) = self.begin_insert(seid, filters) {
                return Some(task);
            }
        }
        None
    }

    /// Removes unused filters.
    fn remove_idle(&mut self) -> Option<Task> {
        let idle = self.held.iter().filter(|(_, holders)| holders.is_empty());
        let idle: Vec<Filter> = idle.map(|(filter, _)| filter.clone()).collect();
        for filter in idle {
            let going = self.only_for(&filter);
            if self.concerns_many(&going) {
                continue;
            }
            self.held.remove(&filter);
            if going.is_empty() {
                continue;
            }
            self.has_idle = true;
            for class in &going {
                self.known.entry(class.clone()).and_modify(|class| class.stage = Stage::Deleting);
            }
            self.step = Some(Step::Deleting { background_write: u64::MAX });
            let rows = self.rows(Stage::Deleting).into_iter().rev();
            return Some(Task::Delete(rows.map(|(filter, _)| filter).collect()));
        }
        None
    }

    fn begin_insert(&mut self, seid: Seid, filters: Filters) -> Option<Task> {
        let missing = self.missing(&filters)?;
        if self.concerns_many(&missing) {
            return None;
        }
        let mut classes = Vec::new();
        for filter in &missing {
            let Some(number) = self.allocate_class() else {
                self.free.extend(classes.into_iter().map(|(_, class): (_, Class)| class.number));
                return None;
            };
            classes.push((filter.clone(), Class { number, stage: Stage::Inserting }));
        }
        let waits = self.concerned(&missing);
        self.hold_filters(seid, filters);
        if missing.is_empty() {
            return Some(Task::Rewrite(BTreeSet::from([seid])));
        }
        self.known.extend(classes);
        self.version += 1;
        self.step = Some(Step::Announced {
            requesters: BTreeSet::from([seid]),
            since: self.version,
            waits: waits.clone(),
        });
        Some(Task::Rewrite(waits))
    }

    /// Removes classes. Their numbers are free when no session has entries for them.
    fn clear(&mut self, stage: Stage) -> Task {
        let gone: Vec<(Filter, u16)> = self.rows(stage);
        let numbers = gone.iter().map(|(_, number)| *number).collect();
        let gone: Filters = gone.into_iter().map(|(filter, _)| filter).collect();
        self.known.retain(|filter, _| !gone.contains(filter));
        let known = &self.known;
        self.held.retain(|filter, holders| !holders.is_empty() || known.contains_key(filter));
        self.version += 1;
        let waits = self.concerned(&gone);
        self.step = Some(Step::Removed { since: self.version, numbers, waits: waits.clone() });
        Task::Rewrite(waits)
    }

    /// Classes of a stage, those that compare the most bits first.
    fn rows(&self, stage: Stage) -> Vec<(Filter, u16)> {
        let of_stage = self.known.iter().filter(|(_, class)| class.stage == stage);
        let mut rows: Vec<(Filter, u16)> =
            of_stage.map(|(filter, class)| (filter.clone(), class.number)).collect();
        rows.sort_by_key(|(filter, _)| std::cmp::Reverse(filter.priority()));
        rows
    }
}
