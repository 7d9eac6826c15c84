//! User plane paths that fail and recover, and the SMFs that are notified (TS 29.244 clause 6.2.9).

use std::net::IpAddr;

use causeway_dataplane::Event;
use causeway_pfcp::Cause;
use causeway_types::Time;

use super::N4;
use crate::Notice;
use crate::association::AssociationId;
use crate::report::{PathState, PathUsers};
use crate::transaction::{Purpose, UnansweredRequest};

impl N4 {
    /// Handles an event of the data plane about a path.
    pub(super) fn path_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::PathDown { peer, .. } => self.path_changed(now, *peer, PathState::Failed),
            Event::PathUp { peer, .. } => self.path_changed(now, *peer, PathState::Recovered),
            Event::PathUnused { peer, .. } => {
                self.path_search.forget(*peer);
                self.first.reports.path_forgotten(*peer);
            }
            _ => {}
        }
    }

    fn path_changed(&mut self, now: Time, peer: IpAddr, state: PathState) {
        let is_idle = self.path_search.is_empty();
        self.path_search.add(peer, state);
        // Few sessions are examined at once; the others when it is their turn.
        if is_idle {
            self.search_path_users(now);
        }
    }

    /// Looks for the users of paths that have failed or recovered, in a few sessions, and reports those whose users are
    /// all known.
    pub(super) fn search_path_users(&mut self, now: Time) {
        if self.path_search.is_empty() {
            return;
        }
        let (end, count) = (self.session_index_end(), self.part_count() as u32);
        let Self { first, further, path_search, .. } = self;
        let known = path_search.step(end, |index, peers| {
            let mut parts = std::iter::once(&*first).chain(&*further);
            if let Some(part) = parts.nth((index % count) as usize) {
                part.sessions.add_users(index / count, peers);
            }
        });
        for (peer, (state, users)) in known {
            let notified = match state {
                PathState::Failed => self.first.reports.path_failed(peer, users, &mut self.first.out),
                PathState::Recovered => self.first.reports.path_recovered(peer, users, &mut self.first.out),
            };
            self.report_path(now, peer, notified, state);
        }
    }

    fn report_path(
        &mut self,
        now: Time,
        peer: IpAddr,
        users: Vec<(AssociationId, PathUsers)>,
        state: PathState,
    ) {
        let Self { node, first, .. } = self;
        for (id, ways) in users {
            if let Some(association) = node.associations.get(id) {
                let to = (id, association.peer());
                let (transactions, out) = (&mut first.transactions, &mut first.out);
                first.reports.report_path(now, to, (peer, &ways), state, transactions, out);
            }
        }
    }

    pub(crate) fn path_report_answered(&mut self, id: AssociationId, cause: Cause) {
        let Some(association) = self.node.associations.get(id).filter(|_| !cause.is_accepted()) else {
            return;
        };
        let node = association.node().clone();
        self.first.out.notice(Notice::NodeReportRefused { node, cause });
    }

    /// The last retransmission of a report got no response. It is kept and repeated after pauses, until it gets a
    /// response or is obsolete, or the association ends.
    pub(crate) fn path_report_unanswered(
        &mut self,
        now: Time,
        id: AssociationId,
        unanswered: UnansweredRequest<Purpose>,
    ) {
        let Some(association) = self.node.associations.get(id) else { return };
        let node = association.node().clone();
        if unanswered.retained {
            return self.first.transactions.repeat_retained(now, unanswered, false, &mut self.first.out);
        }
        self.first.out.notice(Notice::NodeReportUnanswered { node, to: unanswered.to });
        self.first.transactions.retain(now, unanswered);
    }
}
