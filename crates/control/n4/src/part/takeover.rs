//! Sessions that move to another SMF of a set (TS 29.244 clause 5.22).

use std::net::IpAddr;

use causeway_pfcp::SessionReportResponse;
use causeway_types::{Seid, Time};

use super::Turn;
use crate::Notice;
use crate::association::AssociationId;
use crate::session::{ChangedReceivers, PurgeFilter, Session, SessionSets, Takeover};
use crate::transaction::RequestRefusal;

impl Turn<'_> {
    /// Hands these sessions of an association over to another one of its set, with their reports: the SMF that assigned their F-SEIDs cannot
    /// be reached, or does not know them any more.
    pub(crate) fn hand_over(
        &mut self,
        now: Time,
        from: AssociationId,
        to: AssociationId,
        which: &PurgeFilter,
    ) -> usize {
        let mut sessions = self.part.sessions.seids_of(from);
        sessions.retain(|seid| self.part.sessions.get(*seid).is_some_and(|session| which.covers(session)));
        let receiver = self.node.associations.get(to).map(|association| association.peer().ip());
        for seid in &sessions {
            self.join_association(*seid, to);
            receiver.into_iter().for_each(|ip| self.redirect_reports(*seid, ip));
        }
        sessions.iter().for_each(|seid| self.send_reports(now, *seid));
        sessions.len()
    }

    /// Redirects the reports of those sessions of an association that the changes are about. Returns their number.
    pub(crate) fn redirect_sessions(&mut self, id: AssociationId, changes: &ChangedReceivers) -> usize {
        let mut moved = 0;
        for seid in self.part.sessions.seids_of(id) {
            let to = self.part.sessions.get(seid).and_then(|session| changes.of_session(session));
            moved += usize::from(to.is_some());
            to.into_iter().for_each(|to| self.redirect_reports(seid, to));
        }
        moved
    }

    /// The change is applied.
    pub(crate) fn take_over(&mut self, now: Time, seid: Seid, takeover: Takeover) {
        let Takeover { cp, association, membership } = takeover;
        if let Some(membership) = membership {
            self.part.sessions.set_membership(seid, membership);
        }
        let is_another =
            association.is_some_and(|association| self.move_to_association(now, seid, association));
        if let Some(cp) = cp {
            self.move_session(seid, cp, is_another);
        }
    }

    /// The takeover in a report response.
    pub(crate) fn take_over_from_response(
        &mut self,
        now: Time,
        seid: Seid,
        from: IpAddr,
        answer: &SessionReportResponse<'_>,
    ) {
        let Some(held) = self.part.sessions.get(seid).map(Session::association) else { return };
        self.take_membership(seid, answer);
        let named = answer.node_id.as_ref().and_then(|node| self.node.associations.of_node(&node.to_owned()));
        let able = named.filter(|id| self.node.associations.are_of_one_set(held, *id));
        let is_another = able.is_some_and(|id| self.move_to_association(now, seid, id));
        let Some(cp) = answer.cp_f_seid else { return };
        match self.node.associations.end_of(able.unwrap_or(held), from, cp) {
            Ok(cp) => self.move_session(seid, cp, is_another),
            Err(RequestRefusal { reason, .. }) => {
                self.part.out.notice(Notice::InstructionsFailed { session: seid, reason });
            }
        }
    }

    /// Applies the session sets in a report response, if there is memory for them.
    fn take_membership(&mut self, seid: Seid, answer: &SessionReportResponse<'_>) {
        let taken = match self.part.sessions.membership_after(seid, answer) {
            Ok(None) => return,
            Ok(Some(membership)) => {
                let more = self.more_for_sets(seid, Some(&membership));
                let checked = self.node.memory.check_session(self.needed(), more);
                checked.map(|()| self.part.sessions.set_membership(seid, membership))
            }
            Err(error) => Err(error.into()),
        };
        if let Err(RequestRefusal { reason, .. }) = taken {
            self.part.out.refusal(&reason);
            self.part.out.notice(Notice::InstructionsFailed { session: seid, reason });
        }
    }

    /// Octets that these session sets need beyond those that the session has.
    pub(super) fn more_for_sets(&self, seid: Seid, sets: Option<&SessionSets>) -> usize {
        let held = self.part.sessions.get(seid).and_then(Session::membership).map_or(0, SessionSets::octets);
        sets.map_or(0, |sets| sets.octets().saturating_sub(held))
    }

    /// Moves a session to an association, with its reports in flight. Returns whether it had another: other sessions of
    /// that one may report then, and it may have been the last one that a release waits for.
    pub(super) fn move_to_association(&mut self, now: Time, seid: Seid, id: AssociationId) -> bool {
        let Some(before) = self.join_association(seid, id) else { return false };
        self.wake_ready_sessions(now, before);
        self.note_end(before);
        true
    }

    /// The same for a session whose reports are sent later. Returns the association that it had, if it was another.
    fn join_association(&mut self, seid: Seid, id: AssociationId) -> Option<AssociationId> {
        let (before, counts) = self.part.sessions.move_to_association(seid, id)?;
        if counts {
            let part = self.part.number.part();
            self.node.associations.uncount_session(before, part);
            self.node.associations.count_session(id, part);
        }
        if before == id {
            return None;
        }
        self.part.reports.join(seid, id, &mut self.part.transactions);
        Some(before)
    }
}
