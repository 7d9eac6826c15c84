//! Requests about session sets (TS 29.244 clause 5.22.4), and sessions that move to another SMF of a set.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_pfcp::{
    AlternativeSmfIpAddress, Cause, FqCsid, Ie, OffendingIe, SessionChangeInfo, SessionReportResponse,
    SessionSetDeletionRequest, SessionSetDeletionResponse, SessionSetModificationRequest,
    SessionSetModificationResponse,
};
use causeway_types::{Seid, Time};

use super::N4;
use crate::association::AssociationId;
use crate::session::{ChangedReceivers, PendingRequests, PurgeFilter, Session, SessionSets, Takeover, named};
use crate::transaction::{RequestKey, RequestRefusal};
use crate::{Notice, RefusalReason};

impl N4 {
    /// Removes the sessions of session sets that failed, without reports (TS 23.007 clause 23).
    pub(crate) fn session_set_deletion(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionSetDeletionRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        if request.fq_csids.is_empty() {
            return self.refuse_set(now, key, RefusalReason::NoFqCsid);
        }
        let sets = named(&request.fq_csids);
        let removed = self.purge_sessions(
            now,
            self.associations.ids_of_set(id),
            PurgeFilter::In(sets),
            PendingRequests::Answer,
        );
        self.sessions.notify_purged(
            removed,
            Notice::SessionSetDeleted { from: key.from, sessions: 0 },
            &mut self.out,
        );
        let config = Arc::clone(&self.config);
        let node = (&config.node).into();
        let response = SessionSetDeletionResponse::new(node, Cause::RequestAccepted);
        self.accept(now, key, &response.into());
        for id in self.associations.ids_of_set(id) {
            self.wake_ready_sessions(now, id);
        }
    }

    /// Redirects the reports of session sets to another SMF (clause 5.22.4). One pass over the sessions of the SMF and its
    /// set, whatever the number of changes; of several changes about one session the last counts.
    pub(crate) fn session_set_modification(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionSetModificationRequest<'_>,
    ) {
        let Some(id) = self.association_named(now, key, &request.node_id) else { return };
        let names_none = |info: SessionChangeInfo<'_>| {
            info.fq_csids.is_empty() && info.group_ids.is_empty() && info.cp_ip_addresses.is_empty()
        };
        if request.session_change_info.iter().any(names_none) {
            return self.refuse_set(now, key, RefusalReason::NoSessionIds);
        }
        let receivers = request
            .session_change_info
            .iter()
            .filter_map(|it| it.alternative_smf_ip_address.addr.preferred())
            .collect::<BTreeSet<_>>();
        if let Some(foreign) = receivers.into_iter().find(|ip| !self.associations.is_host_of(id, *ip)) {
            let refusal = RequestRefusal {
                offending_ie: Some(OffendingIe(AlternativeSmfIpAddress::TYPE)),
                ..RequestRefusal::new(Cause::MandatoryIeIncorrect, RefusalReason::UnknownSmf(foreign))
            };
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        let changes = ChangedReceivers::of(&request.session_change_info);
        let mut moved = 0;
        for id in self.associations.ids_of_set(id) {
            for seid in self.sessions.seids_of(id) {
                let to = self.sessions.get(seid).and_then(|session| changes.of_session(session));
                moved += usize::from(to.is_some());
                to.into_iter().for_each(|to| self.redirect_reports(seid, to));
            }
        }
        self.out.notice(Notice::SessionSetModified { from: key.from, sessions: moved });
        let config = Arc::clone(&self.config);
        let node = (&config.node).into();
        let response = SessionSetModificationResponse::new(node, Cause::RequestAccepted);
        self.accept(now, key, &response.into());
    }

    fn refuse_set(&mut self, now: Time, key: RequestKey, reason: RefusalReason) {
        let refusal = RequestRefusal {
            offending_ie: Some(OffendingIe(FqCsid::TYPE)),
            ..RequestRefusal::new(Cause::ConditionalIeMissing, reason)
        };
        self.transactions.refuse_node(now, key, refusal, &mut self.out);
    }

    /// Hands these sessions of an association over to another one of its set, with their reports: the SMF that assigned their F-SEIDs cannot
    /// be reached, or does not know them any more.
    pub(crate) fn hand_over(
        &mut self,
        now: Time,
        from: AssociationId,
        to: AssociationId,
        which: &PurgeFilter,
    ) -> usize {
        let mut sessions = self.sessions.seids_of(from);
        sessions.retain(|seid| self.sessions.get(*seid).is_some_and(|session| which.covers(session)));
        let receiver = self.associations.get(to).map(|association| association.peer().ip());
        for seid in &sessions {
            self.join_association(*seid, to);
            receiver.into_iter().for_each(|ip| self.redirect_reports(*seid, ip));
        }
        sessions.iter().for_each(|seid| self.send_reports(now, *seid));
        sessions.len()
    }

    /// The change is applied.
    pub(crate) fn take_over(&mut self, now: Time, seid: Seid, takeover: Takeover) {
        let Takeover { cp, association, membership } = takeover;
        if let Some(membership) = membership {
            self.sessions.set_membership(seid, membership);
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
        let Some(held) = self.sessions.get(seid).map(Session::association) else { return };
        self.take_membership(seid, answer);
        let named = answer.node_id.as_ref().and_then(|node| self.associations.of_node(&node.to_owned()));
        let able = named.filter(|id| self.associations.are_of_one_set(held, *id));
        let is_another = able.is_some_and(|id| self.move_to_association(now, seid, id));
        let Some(cp) = answer.cp_f_seid else { return };
        match self.associations.end_of(able.unwrap_or(held), from, cp) {
            Ok(cp) => self.move_session(seid, cp, is_another),
            Err(RequestRefusal { reason, .. }) => {
                self.out.notice(Notice::InstructionsFailed { session: seid, reason });
            }
        }
    }

    /// Applies the session sets in a report response, if there is memory for them.
    fn take_membership(&mut self, seid: Seid, answer: &SessionReportResponse<'_>) {
        let taken = match self.sessions.membership_after(seid, answer) {
            Ok(None) => return,
            Ok(Some(membership)) => {
                let more = self.more_for_sets(seid, Some(&membership));
                let checked = self.memory.check_session(self.sessions.needed(), more, &mut self.out);
                checked.map(|()| self.sessions.set_membership(seid, membership))
            }
            Err(error) => Err(error.into()),
        };
        if let Err(RequestRefusal { reason, .. }) = taken {
            self.out.notice(Notice::InstructionsFailed { session: seid, reason });
        }
    }

    /// Octets that these session sets need beyond those that the session has.
    pub(super) fn more_for_sets(&self, seid: Seid, sets: Option<&SessionSets>) -> usize {
        let held = self.sessions.get(seid).and_then(Session::membership).map_or(0, SessionSets::octets);
        sets.map_or(0, |sets| sets.octets().saturating_sub(held))
    }

    /// Moves a session to an association, with its reports in flight. Returns whether it had another: other sessions of
    /// that one may report then, and it may have been the last one that a release waits for.
    pub(super) fn move_to_association(&mut self, now: Time, seid: Seid, id: AssociationId) -> bool {
        let Some(before) = self.join_association(seid, id) else { return false };
        self.wake_ready_sessions(now, before);
        self.associations.check_graceful_release(now, before, &mut self.transactions, &mut self.out);
        true
    }

    /// The same for a session whose reports are sent later. Returns the association that it had, if it was another.
    fn join_association(&mut self, seid: Seid, id: AssociationId) -> Option<AssociationId> {
        let (before, counts) = self.sessions.move_to_association(seid, id)?;
        if counts {
            self.associations.uncount_session(before);
            self.associations.count_session(id);
        }
        if before == id {
            return None;
        }
        self.reports.join(seid, id, &mut self.transactions);
        Some(before)
    }
}
