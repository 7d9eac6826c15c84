//! Passes what a change of a session's application class, or of the model, needs between the components.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::ApplyError;
use causeway_model::{Applications, RuleSet};
use causeway_types::{Seid, Time, UrrId};

use super::Switch;
use crate::backend::allocator::Change;
use crate::backend::application_classes::ClassView;
use crate::backend::layout::Profile;
use crate::backend::notice::Notice;
use crate::backend::session_treatments::is_for_switch;
use crate::classes;
use crate::driver::{Outcome, SwitchDriver, Update};

impl<D: SwitchDriver> Switch<D> {
    /// Compiles a session for the application class that it has: where the switch measures it, or else in the software.
    pub(super) fn change_in_view(
        &mut self,
        now: Time,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        if !self.classes.are_there() {
            return self.change_as(seid, rules, exhausted, ClassView::Unknown);
        }
        let fits = is_for_switch(rules, &self.config, self.layout.profile == Profile::Direct);
        let applications = self.classes.applications();
        let Some(measured) = self.classes.place_of(now, seid, rules, fits) else {
            return self.change_as(seid, rules, exhausted, ClassView::InSoftware);
        };
        let view = ClassView::Of {
            applications: &applications,
            class: measured.map_or(0, |measured| measured.class),
            place: measured.map(|measured| measured.place),
        };
        match self.change_as(seid, rules, exhausted, view) {
            Err(ApplyError::Full { table, .. }) if table == classes::MEMBER => {
                self.classes.exclude_full(seid);
                self.change_as(seid, rules, exhausted, ClassView::InSoftware)
            }
            made => made,
        }
    }

    fn change_as(
        &mut self,
        seid: Seid,
        rules: &RuleSet,
        exhausted: &BTreeSet<UrrId>,
        view: ClassView<'_>,
    ) -> Result<(Change, Vec<Update>), ApplyError> {
        let (sessions, background) = (&self.sessions, self.writer.background());
        self.allocator.change_session(seid, rules, exhausted, view, sessions, background)
    }

    /// The session's entries on the switch stay as they are from now on.
    pub(super) fn settle_class(&mut self, now: Time, seid: Seid) {
        let state = self.sessions.get(seid);
        let measured = state.and_then(|state| state.measured);
        let is_there = state.is_some_and(|state| !state.placed.is_empty());
        self.classes.settle(now, seid, measured, is_there);
    }

    /// The software has the rules of the session: packets that it gets match those of the class that the switch matches.
    pub(super) fn tell_class(&mut self, now: Time, seid: Seid) {
        if self.classes.are_there() {
            let measured = self.sessions.get(seid).and_then(|state| state.measured);
            self.software.set_class(now, seid, measured.map(|measured| measured.class));
        }
    }

    /// Writes the session again, if its class has changed since its entries were made.
    pub(super) fn update_for_class(&mut self, seid: Seid) {
        let made = self.sessions.get(seid).and_then(|state| state.measured);
        let class = self.classes.class_of(seid);
        if made.is_some_and(|made| class.is_some_and(|class| class != made.class)) {
            self.rewrite(seid);
        }
    }

    /// A copy of a packet says that its session has another class.
    pub(super) fn class_changed(&mut self, session: Option<Seid>, class: u16) {
        match session.filter(|seid| self.classes.class_changed(*seid, class)) {
            Some(seid) => self.update_for_class(seid),
            None => self.packet_io.ignore(),
        }
    }

    /// Classes were read, or the reading failed.
    pub(super) fn classes_read(&mut self, read: &[(Seid, u32)], outcome: Outcome) {
        match self.classes.reading_ended(read, outcome) {
            Ok(changed) => changed.into_iter().for_each(|seid| self.update_for_class(seid)),
            Err(reason) => self.notices.push_back(Notice::ClassesUnread { reason }),
        }
    }

    /// The next step of the replacement of a model, the next session that gets a place, or the next reading.
    pub(super) fn step_application_classes(&mut self, now: Time) -> bool {
        if !self.classes.are_there() {
            return false;
        }
        let written = self.writer.background().written();
        if let Some(rows) = self.classes.step(now, written) {
            let updates = self.recovery.set_class_rows(rows);
            self.writer.background().push(updates);
            return true;
        }
        if let Some(seid) = self.classes.next_waiting(now).filter(|seid| self.sessions.is_at_rest(*seid)) {
            self.classes.stop_waiting(seid);
            self.rewrite(seid);
            return true;
        }
        self.classes.start_reading(now, &mut self.requests)
    }

    /// Replaces the applications: the sessions whose rules name one are compiled again.
    pub(super) fn set_application_classes(&mut self, applications: &Arc<Applications>) {
        if !self.classes.are_there() || *self.classes.applications() == **applications {
            return;
        }
        let replaced = self.classes.set_applications(&self.layout.program, applications);
        let is_other = replaced.as_ref().is_ok_and(|is_other| *is_other);
        if let Err(refused) = &replaced {
            self.notices.push_back(Notice::Model { reason: refused.to_string() });
        }
        if is_other && applications.classes().is_some() && !self.classes.can_be_read() {
            let reason = "they are not in its P4Info".to_owned();
            self.notices.push_back(Notice::ClassesUnread { reason });
        }
        if is_other || replaced.is_err() {
            let rows = self.classes.begin_replacement(classes::cells_table(&self.layout.program));
            let updates = self.recovery.set_class_rows(rows);
            self.writer.background().push(updates);
            self.classes.replacement_began(self.writer.background().enqueued());
        }
        let names = self.sessions.states().filter(|(_, state)| state.names_application);
        let mut seids: Vec<Seid> = names.map(|(seid, _)| seid).collect();
        seids.sort_unstable();
        for seid in seids {
            self.enqueue(seid, None);
        }
    }
}
