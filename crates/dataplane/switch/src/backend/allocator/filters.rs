//! Sessions with filters: on the switch if there are classes for them, else in the software until there are.

use std::collections::BTreeSet;

use causeway_dataplane::ApplyError;
use causeway_model::RuleSet;
use causeway_types::{Seid, UrrId};

use super::{Allocator, Change, Rewrites};
use crate::backend::application_classes::ClassView;
use crate::backend::compile_session::compile;
use crate::backend::direct::{Filter, Task};
use crate::backend::layout::Profile;
use crate::backend::sessions::Sessions;
use crate::backend::writer::BackgroundWrites;
use crate::driver::Update;

impl Allocator {
    /// Compiles a session, and allocates what it needs: with its filters on the switch if possible, and if there is
    /// space.
    pub(in crate::backend) fn change_session(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
        view: ClassView<'_>,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        let promised = self.classes.begin(seid);
        let made = match self.with_filters(seid, rules, exhausted, view, sessions, background) {
            Some(made) => Ok(made),
            None => compile(rules, exhausted, &self.layout, &self.config, None, view)
                .and_then(|session| self.prepare(seid, session, sessions, background)),
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
        view: ClassView<'_>,
        sessions: &Sessions,
        background: &mut BackgroundWrites,
    ) -> Option<(Change, Vec<Update>)> {
        let has_filters = rules.pdrs.values().any(|pdr| !pdr.pdi.filters.is_empty());
        let is_for_switch = self.layout.profile == Profile::Direct && !view.is_in_software();
        if !is_for_switch || !self.config.falls_back || !has_filters {
            return None;
        }
        // The software handles sessions that cannot be classified, or exceed a table.
        let session =
            compile(rules, exhausted, &self.layout, &self.config, Some(&self.classes), view).ok()?;
        if self.classes.has(&session.filters) {
            return self.prepare(seid, session, sessions, background).ok();
        }
        self.classes.request_classes(seid, session.filters);
        None
    }

    /// Adds and removes classes, one step after the other: returns the sessions that must be compiled again for this
    /// step, after their other operations. `None`: there is no step now.
    pub(in crate::backend) fn advance_classes(
        &mut self,
        background: &mut BackgroundWrites,
    ) -> Option<Rewrites> {
        let (written, is_refused) = (background.written(), background.refused().is_some());
        let task = self.classes.poll(|write| write <= written && !is_refused)?;
        Some(self.carry_out(task, background))
    }

    /// Entries of new classes were refused: returns the sessions that must be compiled again. `None`: the refused write
    /// was another one.
    pub(in crate::backend) fn refuse_classes(
        &mut self,
        background: &mut BackgroundWrites,
    ) -> Option<Rewrites> {
        if !self.classes.inserts_by(background.written() + 1) {
            return None;
        }
        background.done();
        let task = self.classes.refused();
        Some(task.map(|task| self.carry_out(task, background)).unwrap_or_default())
    }

    fn carry_out(&mut self, task: Task, background: &mut BackgroundWrites) -> Rewrites {
        let updates: Vec<Update> = match task {
            Task::Rewrite(sessions) => return sessions,
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
        background.push(updates);
        self.classes.enqueued(background.enqueued());
        Rewrites::new()
    }

    /// A session that had to be compiled again no longer exists.
    pub(in crate::backend) fn forget_classes(&mut self, seid: Seid) {
        let promised = self.classes.begin(seid);
        self.classes.leave(seid, &promised);
        self.classes.written(seid, self.classes.version(), false);
    }
}
