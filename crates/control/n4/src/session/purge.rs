//! Sessions that end without their SMF asking for it.

use causeway_dataplane::{Applied, ApplyError};
use causeway_rules::Change;
use causeway_types::{Seid, Time};

use super::work::{Waiting, Work};
use crate::N4;
use crate::node::Purpose;

impl N4 {
    /// Ends a session that nobody wants any more: to SMFs it is gone at once, and from the data plane as soon
    /// as that has done what it is doing. Requests under way are not answered; their duplicates will be told
    /// that there is no such session. Its UE addresses can be used at once.
    pub(crate) fn doom(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get_mut(seid).filter(|session| !session.doomed) else { return };
        session.doomed = true;
        let has_ended = session.ended;
        let reports = session.reports.is_on_its_way();
        session.reports.clear();
        let association = session.association;
        let is_busy = session.in_flight.is_some();
        self.sessions.forget_cp(seid);
        self.disown(seid);
        while let Some(waiting) = self.sessions.next_waiting(seid) {
            if let Waiting::Request(request) = waiting {
                self.inbound.forget(&request.key);
            }
        }
        let of_session =
            |purpose: &Purpose| matches!(purpose, Purpose::Report { session, .. } if *session == seid);
        let cancelled = if reports { self.outbound.cancel(of_session) } else { 0 };
        if let Some(association) = self.associations.get_mut(association) {
            association.sessions -= 1;
            association.outstanding_reports -= cancelled.min(association.outstanding_reports);
        }
        if has_ended {
            self.sessions.remove(seid);
        } else if !is_busy {
            self.purge(seid);
        }
    }

    /// Has the data plane remove a doomed session.
    pub(super) fn purge(&mut self, seid: Seid) {
        if let Some(session) = self.sessions.get(seid).filter(|session| session.in_flight.is_none()) {
            let change = session.rules.delete(seid);
            self.hand_out(Work::Purge, change);
        }
    }

    /// Takes the outcome of a plan whose session was doomed meanwhile, and goes on removing it.
    pub(crate) fn doomed_applied(
        &mut self,
        now: Time,
        seid: Seid,
        work: Work,
        change: Change,
        result: &Result<Applied, ApplyError>,
    ) {
        if let Some(key) = work.request() {
            self.inbound.forget(&key);
        }
        let was_there = matches!(result, Ok(_) | Err(ApplyError::UnknownSession(_)));
        match work {
            Work::Delete(_) | Work::Purge | Work::Release if was_there || self.is_stopping() => {
                self.resources.commit(change.resources);
                self.drop_session(now, seid);
            }
            Work::Purge | Work::Release => {
                self.resources.abandon(change.resources);
                self.removals.insert((now + self.config.removal_retry, seid));
            }
            Work::Establish(_) if result.is_err() => {
                self.resources.abandon(change.resources);
                self.drop_session(now, seid);
            }
            Work::Establish(_) | Work::Modify(..) | Work::Delete(_) | Work::Instruct => {
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
        if let Some(association) = self.associations.get_mut(session.association).filter(|_| !session.doomed)
        {
            association.sessions -= 1;
        }
        self.check_farewell(now, session.association);
        for waiting in session.waiting() {
            if let Waiting::Request(request) = waiting {
                self.refuse_unknown(now, request.key);
            }
        }
        self.check_shutdown(now);
    }
}
