//! Sessions that end without a request of their SMF.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType};
use causeway_rules::{PendingChange, PlannedChange};
use causeway_types::{Seid, Time};

use super::Session;
use super::in_flight::{InFlight, PlanPurpose, QueuedRequest, QueuedWork};
use super::purge_queue::{PurgeFilter, PurgeStep, RemovalMode};
use crate::association::AssociationId;
use crate::load::LoadStatus;
use crate::transaction::RequestRefusal;
use crate::transaction::{RequestKey, RequestState};
use crate::{N4, Notice, ReleaseReason};

/// Up to this number, sessions of an association are removed together without delaying others.
const PURGE_BATCH: usize = 64;

/// The most plans in flight that remove sessions without a request of their SMF, where there are many.
const MAX_REMOVALS_IN_FLIGHT: usize = 64;

/// The most sessions examined in one turn.
const MAX_SCANNED: usize = 512;

/// The most purges at a time: each access to one of their sessions searches all of them.
const MAX_PURGES: usize = 16;

/// The number of sessions removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PurgeCount {
    /// This number.
    Counted(usize),
    /// Known only after all have been examined.
    Later,
}

/// Treatment of the pending requests of a session that ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingRequests {
    /// Their SMF still waits: they get a response.
    Answer,
    /// They are discarded: the SMF has restarted or released the association, and may reuse their sequence numbers.
    Forget,
}

impl N4 {
    /// Marks a session for removal: for SMFs it no longer exists, and the data plane removes it after its plan in
    /// flight. `open` is the treatment of its pending requests. Its UE addresses are released immediately.
    pub(crate) fn mark_for_removal(&mut self, now: Time, seid: Seid, open: PendingRequests) {
        let Some(session) = self.sessions.get_mut(seid).filter(|session| !session.marked_for_removal) else {
            return;
        };
        session.marked_for_removal = true;
        let (has_ended, cp) = (session.ended, session.cp.seid);
        let association = session.association;
        let in_flight = session.plan();
        let (is_busy, request) = (in_flight.is_some(), in_flight.and_then(InFlight::request));
        // The changes for all sessions of its association have been made already.
        let is_uncounted = self.is_uncounted(seid);
        self.sessions.forget_cp(seid);
        self.release_addresses(seid);
        if let Some(key) = request {
            self.close_request(now, key, cp, self.open_request(seid, &key, open));
        }
        while let Some(waiting) = self.sessions.next_waiting(seid) {
            match waiting {
                QueuedWork::Request(QueuedRequest { key, .. }) => match self.open_request(seid, &key, open) {
                    PendingRequests::Answer => self.refuse_unknown(now, key),
                    PendingRequests::Forget => self.transactions.forget(&key),
                },
                QueuedWork::Answer(_) => {}
            }
        }
        if is_uncounted {
            self.reports.remove(seid);
        } else {
            self.reports.cancel(seid, association, &mut self.transactions);
            self.associations.uncount_session(association);
        }
        if has_ended {
            self.sessions.remove(seid);
        } else if !is_busy {
            self.purge(seid);
        }
    }

    /// The treatment of one request about such a session: an SMF that has restarted waits for responses to requests of
    /// its new epoch.
    fn open_request(&self, seid: Seid, key: &RequestKey, open: PendingRequests) -> PendingRequests {
        let is_later = |session: &Session| key.epoch > session.origin.epoch;
        if self.sessions.get(seid).is_some_and(is_later) { PendingRequests::Answer } else { open }
    }

    /// Closes the request of a plan in flight of a session that ends now. A deletion that gets a response does so when
    /// the plan is applied.
    fn close_request(&mut self, now: Time, key: RequestKey, cp: Seid, open: PendingRequests) {
        let (cause, detail) = match (open, key.message) {
            (PendingRequests::Forget, _) => return self.transactions.forget(&key),
            (PendingRequests::Answer, MessageType::SessionDeletionRequest) => return,
            (PendingRequests::Answer, MessageType::SessionEstablishmentRequest) => {
                (Cause::RequestRejected, "the session ends before it is established")
            }
            (PendingRequests::Answer, _) => (Cause::SessionContextNotFound, "the session has ended"),
        };
        self.refuse(now, key, RequestRefusal::new(cause, detail).about(cp));
    }

    /// Has the data plane remove a session that is marked for removal.
    pub(super) fn purge(&mut self, seid: Seid) {
        if let Some(session) = self.sessions.get(seid).filter(|session| session.in_flight.is_none()) {
            let planned = PlannedChange::removal(seid, &session.rules);
            self.removals_in_flight += 1;
            self.submit_plan(PlanPurpose::Purge, planned);
        }
    }

    /// Removes sessions of these associations: for SMFs they no longer exist. A few are removed immediately, many in
    /// batches; the notice with their number follows at the end.
    pub(crate) fn purge_sessions(
        &mut self,
        now: Time,
        associations: Vec<AssociationId>,
        unwanted: PurgeFilter,
        open: PendingRequests,
    ) -> PurgeCount {
        let there: usize = associations.iter().map(|id| self.sessions.count_of(*id)).sum();
        if there <= PURGE_BATCH {
            let mut all: Vec<_> = associations.iter().flat_map(|id| self.sessions.seids_of(*id)).collect();
            all.retain(|seid| self.sessions.get(*seid).is_some_and(|session| unwanted.covers(session)));
            all.iter().for_each(|seid| self.mark_for_removal(now, *seid, open));
            return PurgeCount::Counted(all.len());
        }
        // However often an SMF restarts, the number of purges to search stays small.
        while self.sessions.has_purges() && self.sessions.purges_under_way() >= MAX_PURGES {
            self.purge_one(now);
        }
        let mut purged = PurgeCount::Later;
        if unwanted == PurgeFilter::All {
            let mut counted = 0;
            for id in &associations {
                self.reports.cancel_all_of(*id, &mut self.transactions);
                counted += self.associations.uncount_all_sessions(*id);
            }
            if counted == 0 {
                return PurgeCount::Counted(0);
            }
            purged = PurgeCount::Counted(counted);
        }
        self.sessions.begin_purge(associations, unwanted, RemovalMode::Purged(open));
        self.purge_due = Some(now);
        purged
    }

    /// Ends all sessions of an association, each with its reports; many in batches.
    pub(crate) fn release_sessions(&mut self, now: Time, id: AssociationId) {
        if self.sessions.count_of(id) > PURGE_BATCH {
            self.sessions.begin_purge(vec![id], PurgeFilter::All, RemovalMode::Released);
            self.purge_due = Some(now);
            return;
        }
        for seid in self.sessions.seids_of(id) {
            self.release_session(now, seid, ReleaseReason::AssociationReleased);
        }
    }

    /// Continues the purges, up to the limit of removal plans in flight.
    pub(crate) fn continue_purging(&mut self, now: Time) {
        if !self.sessions.has_purges() {
            return;
        }
        for _ in 0..MAX_SCANNED {
            if !self.sessions.has_purges() || self.removals_in_flight >= MAX_REMOVALS_IN_FLIGHT {
                break;
            }
            self.purge_one(now);
        }
        let waits = self.sessions.has_purges() && self.removals_in_flight < MAX_REMOVALS_IN_FLIGHT;
        self.purge_due = waits.then_some(now);
    }

    fn purge_one(&mut self, now: Time) {
        match self.sessions.next_purge_step() {
            Some(PurgeStep::Remove(seid, RemovalMode::Purged(open))) => {
                self.mark_for_removal(now, seid, open);
            }
            Some(PurgeStep::Remove(seid, RemovalMode::Released)) => {
                self.release_session(now, seid, ReleaseReason::AssociationReleased);
            }
            Some(PurgeStep::Keep) => {}
            None => {
                let over = self.sessions.end_purge();
                let purged = over.as_ref().map_or(0, |over| over.purged);
                if let Some(notice) = over.and_then(|over| over.notice) {
                    self.out.notice(notice.with_purged(purged));
                }
                self.check_shutdown(now);
            }
        }
    }

    /// Emits the notice with the number of removed sessions, when that is known.
    pub(crate) fn notify_purged(&mut self, purged: PurgeCount, notice: Notice) {
        match (purged, self.sessions.last_purge()) {
            (PurgeCount::Counted(count), _) => self.out.notice(notice.with_purged(count)),
            (PurgeCount::Later, Some(purge)) => purge.notice = Some(notice),
            (PurgeCount::Later, None) => {}
        }
    }

    /// Ends a session that is part of a purge, or that its SMF no longer knows, before the others.
    pub(crate) fn remove_before_purge(&mut self, now: Time, seid: Seid) {
        let open = self.sessions.get(seid).and_then(|session| self.sessions.purge_mode(session));
        self.mark_for_removal(now, seid, open.unwrap_or(PendingRequests::Answer));
    }

    /// The session is part of a purge that has not reached it: for its SMF it no longer exists.
    pub(crate) fn is_in_purge(&self, seid: Seid) -> bool {
        self.sessions.has_purges()
            && self.sessions.get(seid).is_some_and(|session| self.sessions.is_in_purge(session))
    }

    fn is_uncounted(&self, seid: Seid) -> bool {
        self.sessions.has_purges()
            && self.sessions.get(seid).is_some_and(|session| self.sessions.is_uncounted(session))
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
        let open = |key: &RequestKey| self.transactions.look_up(key) == RequestState::InProgress;
        match work {
            PlanPurpose::Delete(key) if was_there && open(&key) => {
                let applied = result.clone().unwrap_or_default();
                self.accept_deletion(now, seid, key, change, applied, LoadStatus::default());
            }
            PlanPurpose::Delete(_) | PlanPurpose::Purge | PlanPurpose::Release
                if was_there || self.is_stopping() =>
            {
                self.free_resources(seid, change);
                self.drop_session(now, seid);
            }
            PlanPurpose::Purge | PlanPurpose::Release => {
                change.abandon(seid, &mut self.resources);
                self.removals.insert((now + self.config.removal_retry, seid));
            }
            PlanPurpose::Establish(_) if result.is_err() => {
                change.abandon(seid, &mut self.resources);
                self.drop_session(now, seid);
            }
            PlanPurpose::Establish(_)
            | PlanPurpose::Modify(..)
            | PlanPurpose::Delete(_)
            | PlanPurpose::Instruct => {
                if let PlanPurpose::Delete(key) = &work
                    && open(key)
                {
                    self.refuse_unknown(now, *key);
                }
                self.keep_or_abandon(seid, change, result.is_ok());
                self.purge(seid);
            }
        }
    }

    fn keep_or_abandon(&mut self, seid: Seid, change: PendingChange, is_in_force: bool) {
        if !is_in_force {
            return change.abandon(seid, &mut self.resources);
        }
        self.commit(seid, change);
    }

    /// Retries removals that the data plane failed to apply.
    pub(crate) fn retry_removals(&mut self, now: Time) {
        while let Some((_, seid)) = self.removals.first().copied().filter(|(time, _)| *time <= now) {
            self.removals.pop_first();
            self.purge(seid);
        }
    }

    /// Discards a session that is no longer in the data plane. Its queued requests are rejected.
    pub(crate) fn drop_session(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.remove(seid) else { return };
        self.reports.remove(seid);
        let is_counted = !session.marked_for_removal && !self.sessions.is_uncounted(&session);
        if is_counted {
            self.associations.uncount_session(session.association);
        }
        self.associations.check_graceful_release(
            now,
            session.association,
            &mut self.transactions,
            &mut self.out,
        );
        for waiting in session.waiting() {
            if let QueuedWork::Request(request) = waiting {
                self.refuse_unknown(now, request.key);
            }
        }
        self.check_shutdown(now);
    }
}
