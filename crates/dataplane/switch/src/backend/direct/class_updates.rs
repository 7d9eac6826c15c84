//! Sessions with filters: on the switch if there are classes for them, else in the software until there are.

use std::collections::BTreeSet;

use causeway_dataplane::ApplyError;
use causeway_model::RuleSet;
use causeway_types::{Seid, UrrId};

use super::classes::Task;
use super::filter::Filter;
use crate::backend::compile_session::compile;
use crate::backend::layout::Profile;
use crate::backend::session_change::Change;
use crate::backend::switch::Switch;
use crate::driver::{SwitchDriver, Update};

impl<D: SwitchDriver> Switch<D> {
    /// Compiles a session: with its filters on the switch if possible, and if there is space.
    pub(in crate::backend) fn come_to(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        let promised = self.classes.begin(seid);
        let made = match self.with_filters(seid, rules, exhausted) {
            Some(made) => Ok(made),
            None => compile(rules, exhausted, &self.layout, &self.config, None)
                .and_then(|session| self.prepare(seid, session)),
        };
        self.classes.leave(seid, &promised);
        made
    }

    /// The same with filters on the switch; `None`: the software has to classify its packets, at least for now, if any
    /// must be.
    fn with_filters(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
    ) -> Option<(Change, Vec<Update>)> {
        let has_filters = rules.pdrs.values().any(|pdr| !pdr.pdi.filters.is_empty());
        if self.layout.profile != Profile::Direct || !self.config.falls_back || !has_filters {
            return None;
        }
        // The software handles sessions that cannot be classified, or exceed a table.
        let session = compile(rules, exhausted, &self.layout, &self.config, Some(&self.classes)).ok()?;
        if self.classes.has(&session.filters) {
            return self.prepare(seid, session).ok();
        }
        self.classes.request_classes(seid, session.filters);
        None
    }

    /// Adds and removes classes.
    pub(in crate::backend) fn arrange_classes(&mut self) -> bool {
        let (written, is_refused) =
            (self.background_writes.written, self.background_writes.refused.is_some());
        let Some(task) = self.classes.poll(|write| write <= written && !is_refused) else { return false };
        self.carry_out(task);
        true
    }

    /// Entries of new classes were refused; `false`: the refused write was another one.
    pub(in crate::backend) fn classes_refused(&mut self) -> bool {
        if !self.classes.inserts_by(self.background_writes.written + 1) {
            return false;
        }
        self.background_writes.done();
        let task = self.classes.refused();
        task.into_iter().for_each(|task| self.carry_out(task));
        true
    }

    fn carry_out(&mut self, task: Task) {
        let updates: Vec<Update> = match task {
            Task::Rewrite(sessions) => return sessions.into_iter().for_each(|seid| self.rewrite_after(seid)),
            Task::Insert(rows) => {
                let entry = |(filter, class): &(Filter, u16)| filter.entry(&self.layout, *class);
                rows.iter().filter_map(entry).map(Update::Insert).collect()
            }
            Task::Delete(filters) => filters
                .iter()
                .filter_map(|filter| filter.key(&self.layout).ok())
                .map(Update::Delete)
                .collect(),
        };
        self.background_writes.push(updates);
        self.classes.enqueued(self.background_writes.enqueued);
    }

    /// Compiles a session's entries again, after its other operations.
    fn rewrite_after(&mut self, seid: Seid) {
        if self.sessions.contains_key(&seid) {
            self.enqueue(seid, None);
            return;
        }
        let promised = self.classes.begin(seid);
        self.classes.leave(seid, &promised);
        self.classes.written(seid, self.classes.version(), false);
    }
}
