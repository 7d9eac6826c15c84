//! Sessions that end without a request of their SMF: purged, or released with a report of their usage (TS 29.244 clause
//! 5.18.2).

use causeway_dataplane::{Applied, ApplyError};
use causeway_model::Usage;
use causeway_pfcp::{Cause, CpFeatures, MessageType, UpFeatures};
use causeway_rules::{PendingChange, packet_rate_reports};
use causeway_types::{Seid, Time, Volume};

use super::Turn;
use crate::association::AssociationId;
use crate::load::LoadStatus;
use crate::report::Report;
use crate::session::{
    InFlight, PendingRequests, PlanPurpose, PurgeCount, PurgeFilter, PurgeStep, QueuedRequest, QueuedWork,
    RemovalMode, Session,
};
use crate::transaction::{RequestKey, RequestRefusal, RequestState};
use crate::{Notice, RefusalReason, ReleaseReason};

/// Up to this number, sessions of an association are removed together without delaying others.
const PURGE_BATCH: usize = 64;

/// The most sessions examined in one turn.
const MAX_SCANNED: usize = 512;

/// The most purges at a time: each access to one of their sessions searches all of them.
const MAX_PURGES: usize = 16;

/// Purges.
impl Turn<'_> {
    /// Marks a session for removal: for SMFs it no longer exists, and the data plane removes it after its plan in
    /// flight. `open` is the treatment of its pending requests. Its UE addresses are released immediately.
    pub(crate) fn mark_for_removal(&mut self, now: Time, seid: Seid, open: PendingRequests) {
        self.part.sessions.set_time(now);
        let Some(session) = self.part.sessions.mark_for_removal(seid) else { return };
        let (has_ended, cp, association) = (session.has_ended(), session.cp().seid, session.association());
        let in_flight = session.plan();
        let (is_busy, request) = (in_flight.is_some(), in_flight.and_then(InFlight::request));
        // The changes for all sessions of its association have been made already.
        let is_uncounted = self.part.sessions.is_uncounted(seid);
        if let Some(key) = request {
            self.close_request(now, key, cp, self.part.sessions.open_request(seid, &key, open));
        }
        while let Some(waiting) = self.part.sessions.next_waiting(seid) {
            match waiting {
                QueuedWork::Request(QueuedRequest { key, .. }) => {
                    match self.part.sessions.open_request(seid, &key, open) {
                        PendingRequests::Answer => self.refuse_unknown(now, key, Some(seid)),
                        PendingRequests::Forget => self.part.transactions.forget(&key),
                    }
                }
                QueuedWork::Answer(_) => {}
            }
        }
        if is_uncounted {
            self.part.reports.remove(seid);
        } else {
            self.part.reports.cancel(seid, association, &mut self.part.transactions);
            self.node.associations.uncount_session(association, self.part.number.part());
        }
        if has_ended {
            self.part.sessions.remove(seid);
            self.note_end(association);
        } else if !is_busy {
            self.part.sessions.purge(seid, &mut self.part.out);
        }
    }

    /// Closes the request of a plan in flight of a session that ends now. A deletion that gets a response does so when
    /// the plan is applied.
    fn close_request(&mut self, now: Time, key: RequestKey, cp: Seid, open: PendingRequests) {
        let (cause, reason) = match (open, key.message) {
            (PendingRequests::Forget, _) => return self.part.transactions.forget(&key),
            (PendingRequests::Answer, MessageType::SessionDeletionRequest) => return,
            (PendingRequests::Answer, MessageType::SessionEstablishmentRequest) => {
                (Cause::RequestRejected, RefusalReason::EndsBeforeEstablishment)
            }
            (PendingRequests::Answer, _) => (Cause::SessionContextNotFound, RefusalReason::SessionEnded),
        };
        self.refuse(now, key, RequestRefusal::new(cause, reason).about(cp));
    }

    /// Removes sessions of these associations: for SMFs they no longer exist. A few are removed immediately, many in
    /// batches; the notice with their number follows at the end.
    pub(crate) fn purge_sessions(
        &mut self,
        now: Time,
        associations: &[AssociationId],
        unwanted: &PurgeFilter,
        open: PendingRequests,
    ) -> PurgeCount {
        let there: usize = associations.iter().map(|id| self.part.sessions.count_of(*id)).sum();
        if there <= PURGE_BATCH {
            let mut all: Vec<_> =
                associations.iter().flat_map(|id| self.part.sessions.seids_of(*id)).collect();
            all.retain(|seid| self.part.sessions.get(*seid).is_some_and(|session| unwanted.covers(session)));
            all.iter().for_each(|seid| self.mark_for_removal(now, *seid, open));
            return PurgeCount::Counted(all.len());
        }
        // However often an SMF restarts, the number of purges to search stays small.
        while self.part.sessions.has_purges() && self.part.sessions.purges_under_way() >= MAX_PURGES {
            self.purge_one(now);
        }
        let (mut purged, part) = (PurgeCount::Later, self.part.number.part());
        if *unwanted == PurgeFilter::All {
            let mut counted = 0;
            for id in associations {
                self.part.reports.cancel_all_of(*id, &mut self.part.transactions);
                counted += self.node.associations.uncount_all_sessions(*id, part);
            }
            if counted == 0 {
                return PurgeCount::Counted(0);
            }
            purged = PurgeCount::Counted(counted);
        }
        self.part.sessions.begin_purge(associations.to_vec(), unwanted.clone(), RemovalMode::Purged(open));
        self.part.sessions.continue_purge_at(now);
        purged
    }

    /// Ends all sessions of an association, each with its reports; many in batches.
    pub(crate) fn release_sessions(&mut self, now: Time, id: AssociationId) {
        if self.part.sessions.count_of(id) > PURGE_BATCH {
            self.part.sessions.begin_purge(vec![id], PurgeFilter::All, RemovalMode::Released);
            self.part.sessions.continue_purge_at(now);
            return;
        }
        for seid in self.part.sessions.seids_of(id) {
            self.release_session(now, seid, ReleaseReason::AssociationReleased);
        }
    }

    /// Continues the purges, up to the limit of removal plans in flight.
    pub(crate) fn continue_purging(&mut self, now: Time) {
        if !self.part.sessions.has_purges() {
            return;
        }
        for _ in 0..MAX_SCANNED {
            if !self.part.sessions.may_continue_purge() {
                break;
            }
            self.purge_one(now);
        }
        self.part.sessions.schedule_purge(now);
    }

    fn purge_one(&mut self, now: Time) {
        match self.part.sessions.next_purge_step() {
            Some(PurgeStep::Remove(seid, RemovalMode::Purged(open))) => {
                self.mark_for_removal(now, seid, open);
            }
            Some(PurgeStep::Remove(seid, RemovalMode::Released)) => {
                self.release_session(now, seid, ReleaseReason::AssociationReleased);
            }
            Some(PurgeStep::Keep) => {}
            None => {
                let over = self.part.sessions.end_purge();
                let purged = over.as_ref().map_or(0, |over| over.purged);
                if let Some(notice) = over.and_then(|over| over.tally).and_then(|tally| tally.end(purged)) {
                    self.part.out.notice(notice);
                }
                self.part.is_awaited_end |= self.node.is_stopping;
            }
        }
    }

    /// Ends a session that is part of a purge, or that its SMF no longer knows, before the others.
    pub(crate) fn remove_before_purge(&mut self, now: Time, seid: Seid) {
        let open = self.part.sessions.get(seid).and_then(|session| self.part.sessions.purge_mode(session));
        self.mark_for_removal(now, seid, open.unwrap_or(PendingRequests::Answer));
    }

    /// Handles the result of a plan whose session was marked for removal meanwhile, and continues the removal.
    pub(crate) fn continue_removal(
        &mut self,
        now: Time,
        seid: Seid,
        work: PlanPurpose,
        change: PendingChange,
        result: &Result<Applied, ApplyError>,
    ) {
        let was_there = matches!(result, Ok(_) | Err(ApplyError::UnknownSession(_)));
        let open = |key: &RequestKey| self.part.transactions.look_up(key) == RequestState::InProgress;
        match work {
            PlanPurpose::Delete(key) if was_there && open(&key) => {
                let applied = result.clone().unwrap_or_default();
                self.accept_deletion(now, seid, key, change, applied, LoadStatus::default());
            }
            PlanPurpose::Delete(_) | PlanPurpose::Purge | PlanPurpose::Release
                if was_there || self.node.is_stopping =>
            {
                self.part.sessions.free_resources(seid, change);
                self.drop_session(now, seid);
            }
            PlanPurpose::Purge | PlanPurpose::Release => {
                self.part.sessions.retry_removal(now, seid, change);
            }
            PlanPurpose::Establish(_) | PlanPurpose::Restore if result.is_err() => {
                self.part.sessions.abandon(seid, change);
                self.drop_session(now, seid);
            }
            PlanPurpose::Establish(_)
            | PlanPurpose::Modify(..)
            | PlanPurpose::Delete(_)
            | PlanPurpose::Instruct
            | PlanPurpose::Restore => {
                if let PlanPurpose::Delete(key) = &work
                    && open(key)
                {
                    self.refuse_unknown(now, *key, Some(seid));
                }
                match result {
                    Ok(_) => self.part.sessions.commit(seid, change),
                    Err(_) => self.part.sessions.abandon(seid, change),
                }
                self.part.sessions.purge(seid, &mut self.part.out);
            }
        }
    }

    /// Discards a session that is no longer in the data plane. Its queued requests are rejected.
    pub(crate) fn drop_session(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.part.sessions.remove(seid) else { return };
        self.part.reports.remove(seid);
        let is_counted = !session.is_marked_for_removal() && !self.part.sessions.does_not_count(&session);
        if is_counted {
            self.node.associations.uncount_session(session.association(), self.part.number.part());
        }
        self.note_end(session.association());
        for waiting in session.waiting() {
            if let QueuedWork::Request(request) = waiting {
                self.refuse_unknown(now, request.key, Some(seid));
            }
        }
    }
}

/// Release with reports.
impl Turn<'_> {
    /// Ends a session: for the SMF it no longer exists; the data plane removes it after its plan in flight. Then the
    /// SMF receives its usage and, if it supports that, the report of its end.
    pub(crate) fn release_session(&mut self, now: Time, seid: Seid, reason: ReleaseReason) {
        if self.part.sessions.is_seid_in_purge(seid) || !self.part.sessions.begin_release(seid) {
            return;
        }
        self.refuse_waiting(now, seid);
        self.part.out.notice(Notice::SessionReleased { session: seid, reason });
        self.part.sessions.continue_release(seid, &mut self.part.out);
    }

    fn refuse_waiting(&mut self, now: Time, seid: Seid) {
        while let Some(waiting) = self.part.sessions.next_waiting(seid) {
            if let QueuedWork::Request(request) = waiting {
                self.refuse_unknown(now, request.key, Some(seid));
            }
        }
    }

    /// The data plane has removed a session whose SMF has deleted it, and receives reports of its usage, which are
    /// queued.
    pub(super) fn end_with_reports(&mut self, now: Time, seid: Seid) {
        self.refuse_waiting(now, seid);
        if self.part.sessions.end_release(seid) {
            self.send_reports(now, seid);
            self.drop_if_reported(now, seid);
        }
    }

    /// The result of the data plane.
    pub(crate) fn released(
        &mut self,
        now: Time,
        seid: Seid,
        change: PendingChange,
        result: Result<Applied, ApplyError>,
    ) {
        let applied = match result {
            Ok(applied) => applied,
            Err(ApplyError::UnknownSession(_)) => Applied::default(),
            // The removal is retried; the usage is lost.
            Err(_) => {
                self.part.sessions.abandon(seid, change);
                return self.mark_for_removal(now, seid, PendingRequests::Answer);
            }
        };
        self.part.sessions.free_resources(seid, change);
        let reports_end = self.reports_session_end(seid);
        if !self.part.sessions.end_release(seid) {
            return;
        }
        let rates = packet_rate_reports(&applied.packet_rates);
        let used =
            in_parts(applied.usage).into_iter().filter(|parts| is_not_nothing(parts)).map(Report::Usage);
        let end = reports_end.then_some(Report::Ended);
        self.part.reports.push_last(seid, used.chain(end), rates);
        self.send_reports(now, seid);
        self.drop_if_reported(now, seid);
    }

    /// The SMF of the session supports the session end reports of the UPF (feature EPFAR).
    fn reports_session_end(&self, seid: Seid) -> bool {
        let association = self
            .part
            .sessions
            .get(seid)
            .and_then(|session| self.node.associations.get(session.association()));
        let both = self.node.features.contains(UpFeatures::EPFAR);
        both && association.is_some_and(|it| it.supports(CpFeatures::EPFAR))
    }

    /// Discards a session that has ended when all of its reports have been acknowledged.
    pub(crate) fn drop_if_reported(&mut self, now: Time, seid: Seid) {
        if self.part.sessions.get(seid).is_some_and(Session::has_ended) && self.part.reports.is_empty(seid) {
            self.drop_session(now, seid);
        }
    }
}

/// The parts of one URR's usage, which must be in one message.
fn in_parts(usage: Vec<Usage>) -> Vec<Vec<Usage>> {
    let mut all: Vec<Vec<Usage>> = Vec::new();
    for usage in usage {
        match all.last_mut().filter(|parts| parts.iter().all(|part| part.urr == usage.urr)) {
            Some(parts) => parts.push(usage),
            None => all.push(vec![usage]),
        }
    }
    all
}

/// Something was measured: an empty report is not sent.
fn is_not_nothing(parts: &[Usage]) -> bool {
    let is_something = |usage: &Usage| {
        let volume = usage.volume.is_some_and(|volume| volume != Volume::ZERO);
        let duration = usage.duration.is_some_and(|span| !span.is_zero());
        volume || duration || usage.first_packet.is_some() || !usage.events.is_empty()
    };
    parts.iter().any(is_something)
}
