//! Sessions that end without their SMF asking for it.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType};
use causeway_rules::Change;
use causeway_types::{Seid, Time};

use super::Session;
use super::in_flight::{PlanPurpose, QueuedRequest, QueuedWork};
use super::purge_queue::{PurgeFilter, PurgeStep, RemovalMode};
use crate::answer::RequestRefusal;
use crate::association::AssociationId;
use crate::load_status::LoadStatus;
use crate::n4::Purpose;
use crate::transaction::{RequestKey, RequestState};
use crate::{N4, Notice, ReleaseReason};

/// So many sessions of an association go at once: nobody waits long for that.
const PURGE_BATCH: usize = 64;

/// Plans under way that remove sessions which go without their SMF's asking, at most, where there are many.
const MAX_REMOVALS_IN_FLIGHT: usize = 64;

/// Sessions that are looked at in one turn, at most.
const MAX_SCANNED: usize = 512;

/// Purges under way, at most: who meets one of their sessions looks through all of them.
const MAX_PURGES: usize = 16;

/// How many sessions go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PurgeCount {
    /// So many.
    Counted(usize),
    /// That is not known before all have been looked at.
    Later,
}

/// What becomes of the requests of a session that ends before they are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingRequests {
    /// Their SMF still waits: they are answered.
    Answer,
    /// Nobody waits: the SMF has started anew or released the association, and may use their numbers for other requests.
    Forget,
}

impl N4 {
    /// Ends a session that nobody wants any more: to SMFs it is gone at once, and from the data plane as soon
    /// as that has done what it is doing. `open` says what becomes of its requests that are not answered yet. Its UE
    /// addresses can be used at once.
    pub(crate) fn mark_for_removal(&mut self, now: Time, seid: Seid, open: PendingRequests) {
        let Some(session) = self.sessions.get_mut(seid).filter(|session| !session.marked_for_removal) else {
            return;
        };
        session.marked_for_removal = true;
        let (has_ended, cp) = (session.ended, session.cp.seid);
        let reports = session.reports.is_on_its_way();
        session.reports.clear();
        let association = session.association;
        let in_flight = session.in_flight.as_deref();
        let (is_busy, request) = (in_flight.is_some(), in_flight.and_then(|(_, it)| it.request()));
        // What concerns all sessions of its association is done already.
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
                    PendingRequests::Forget => self.inbound.forget(&key),
                },
                QueuedWork::Answer(_) => {}
            }
        }
        let of_session =
            |purpose: &Purpose| matches!(purpose, Purpose::Report { session, .. } if *session == seid);
        let cancelled = if reports && !is_uncounted { self.outbound.cancel(of_session) } else { 0 };
        if let Some(association) = self.associations.get_mut(association).filter(|_| !is_uncounted) {
            association.sessions -= 1;
            association.outstanding_reports -= cancelled.min(association.outstanding_reports);
        }
        if has_ended {
            self.sessions.remove(seid);
        } else if !is_busy {
            self.purge(seid);
        }
    }

    /// What becomes of one request about a session that ends so: an SMF that has restarted waits for answers to what it has asked since.
    fn open_request(&self, seid: Seid, key: &RequestKey, open: PendingRequests) -> PendingRequests {
        let is_later = |session: &Session| key.epoch > session.origin.epoch;
        if self.sessions.get(seid).is_some_and(is_later) { PendingRequests::Answer } else { open }
    }

    /// Says what becomes of the request whose plan the data plane works on for a session that ends now. A deletion that is to be
    /// answered is when the plan is carried out.
    fn close_request(&mut self, now: Time, key: RequestKey, cp: Seid, open: PendingRequests) {
        let (cause, detail) = match (open, key.message) {
            (PendingRequests::Forget, _) => return self.inbound.forget(&key),
            (PendingRequests::Answer, MessageType::SessionDeletionRequest) => return,
            (PendingRequests::Answer, MessageType::SessionEstablishmentRequest) => {
                (Cause::RequestRejected, "the session ends before it is established")
            }
            (PendingRequests::Answer, _) => (Cause::SessionContextNotFound, "the session has ended"),
        };
        self.refuse(now, key, cp, RequestRefusal::new(cause, detail));
    }

    /// Has the data plane remove a doomed session.
    pub(super) fn purge(&mut self, seid: Seid) {
        if let Some(session) = self.sessions.get(seid).filter(|session| session.in_flight.is_none()) {
            let change = session.rules.delete(seid);
            self.removals_in_flight += 1;
            self.submit_plan(PlanPurpose::Purge, change);
        }
    }

    /// Ends sessions of these associations that nobody wants any more: to SMFs they are gone at once. Few of them go at once, many
    /// a few at a time; then it is told what is said of how many they were.
    pub(crate) fn purge_sessions(
        &mut self,
        now: Time,
        associations: Vec<AssociationId>,
        unwanted: PurgeFilter,
        open: PendingRequests,
    ) -> PurgeCount {
        let there: usize = associations.iter().map(|id| self.sessions.count_of(*id)).sum();
        if there <= PURGE_BATCH {
            let mut all: Vec<_> = associations.iter().flat_map(|id| self.sessions_of(*id)).collect();
            all.retain(|seid| self.sessions.get(*seid).is_some_and(|session| unwanted.covers(session)));
            all.iter().for_each(|seid| self.mark_for_removal(now, *seid, open));
            return PurgeCount::Counted(all.len());
        }
        // However often an SMF begins anew, there is little to look through.
        while self.sessions.has_purges() && self.sessions.purges_under_way() >= MAX_PURGES {
            self.purge_one(now);
        }
        let mut purged = PurgeCount::Later;
        if unwanted == PurgeFilter::All {
            let mut counted = 0;
            for id in &associations {
                self.outbound.cancel_of(*id, |purpose| matches!(purpose, Purpose::Report { .. }));
                if let Some(association) = self.associations.get_mut(*id) {
                    counted += std::mem::take(&mut association.sessions);
                    association.outstanding_reports = 0;
                }
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

    /// Ends all sessions of an association, each with its reports; many a few at a time.
    pub(crate) fn release_sessions(&mut self, now: Time, id: AssociationId) {
        if self.sessions.count_of(id) > PURGE_BATCH {
            self.sessions.begin_purge(vec![id], PurgeFilter::All, RemovalMode::Released);
            self.purge_due = Some(now);
            return;
        }
        for seid in self.sessions_of(id) {
            self.release_session(now, seid, ReleaseReason::AssociationReleased);
        }
    }

    /// Works on sessions that are to go, as far as may be at a time: the data plane has so many plans to remove sessions at most.
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
                    self.notice(notice.with_purged(purged));
                }
                self.check_shutdown(now);
            }
        }
    }

    /// Tells how many sessions go, once that is known.
    pub(crate) fn notify_purged(&mut self, purged: PurgeCount, notice: Notice) {
        match (purged, self.sessions.last_purge()) {
            (PurgeCount::Counted(count), _) => self.notice(notice.with_purged(count)),
            (PurgeCount::Later, Some(purge)) => purge.notice = Some(notice),
            (PurgeCount::Later, None) => {}
        }
    }

    /// Ends a session that is condemned, or that its SMF has forgotten, before the others.
    pub(crate) fn remove_before_purge(&mut self, now: Time, seid: Seid) {
        let open = self.sessions.get(seid).and_then(|session| self.sessions.purge_mode(session));
        self.mark_for_removal(now, seid, open.unwrap_or(PendingRequests::Answer));
    }

    /// To its SMF the session is gone, although nothing has been done about it.
    pub(crate) fn is_in_purge(&self, seid: Seid) -> bool {
        self.sessions.has_purges()
            && self.sessions.get(seid).is_some_and(|session| self.sessions.is_in_purge(session))
    }

    fn is_uncounted(&self, seid: Seid) -> bool {
        self.sessions.has_purges()
            && self.sessions.get(seid).is_some_and(|session| self.sessions.is_uncounted(session))
    }

    /// Takes the outcome of a plan whose session was doomed meanwhile, and goes on removing it.
    pub(crate) fn continue_removal(
        &mut self,
        now: Time,
        seid: Seid,
        work: PlanPurpose,
        change: Change,
        result: &Result<Applied, ApplyError>,
    ) {
        let was_there = matches!(result, Ok(_) | Err(ApplyError::UnknownSession(_)));
        let open = |key: &RequestKey| self.inbound.look_up(key) == RequestState::InProgress;
        match work {
            PlanPurpose::Delete(key) if was_there && open(&key) => {
                let applied = result.clone().unwrap_or_default();
                self.accept_deletion(now, seid, key, change, applied, LoadStatus::default());
            }
            PlanPurpose::Delete(_) | PlanPurpose::Purge | PlanPurpose::Release
                if was_there || self.is_stopping() =>
            {
                self.resources.commit(change.resources);
                self.drop_session(now, seid);
            }
            PlanPurpose::Purge | PlanPurpose::Release => {
                self.resources.abandon(change.resources);
                self.removals.insert((now + self.config.removal_retry, seid));
            }
            PlanPurpose::Establish(_) if result.is_err() => {
                self.resources.abandon(change.resources);
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

    fn keep_or_abandon(&mut self, seid: Seid, change: Change, is_in_force: bool) {
        if !is_in_force {
            return self.resources.abandon(change.resources);
        }
        self.resources.commit(change.resources);
        if let Some(session) = self.sessions.get_mut(seid) {
            session.rules = change.session.into();
        }
    }

    /// Asks the data plane again to remove what it did not remove.
    pub(crate) fn retry_removals(&mut self, now: Time) {
        while let Some((_, seid)) = self.removals.first().copied().filter(|(time, _)| *time <= now) {
            self.removals.pop_first();
            self.purge(seid);
        }
    }

    /// Forgets a session that is not in the data plane any more. Requests that wait for it are told so.
    pub(crate) fn drop_session(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.remove(seid) else { return };
        let is_counted = !session.marked_for_removal && !self.sessions.is_uncounted(&session);
        if let Some(association) = self.associations.get_mut(session.association).filter(|_| is_counted) {
            association.sessions -= 1;
        }
        self.check_graceful_release(now, session.association);
        for waiting in session.waiting() {
            if let QueuedWork::Request(request) = waiting {
                self.refuse_unknown(now, request.key);
            }
        }
        self.check_shutdown(now);
    }
}
