//! Sessions that end without their SMF asking for it.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType};
use causeway_rules::Change;
use causeway_types::{Seid, Time};

use super::work::{Waiting, WaitingRequest, Work};
use crate::N4;
use crate::answer::Refusal;
use crate::node::Purpose;
use crate::status::Status;
use crate::transaction::{RequestKey, Seen};

/// What becomes of the requests of a session that ends before they are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpenRequests {
    /// Their SMF still waits: they are answered.
    Answer,
    /// Nobody waits: the SMF has started anew or released the association, and may use their numbers for other requests.
    Forget,
}

impl N4 {
    /// Ends a session that nobody wants any more: to SMFs it is gone at once, and from the data plane as soon
    /// as that has done what it is doing. `open` says what becomes of its requests that are not answered yet. Its UE
    /// addresses can be used at once.
    pub(crate) fn doom(&mut self, now: Time, seid: Seid, open: OpenRequests) {
        let Some(session) = self.sessions.get_mut(seid).filter(|session| !session.doomed) else { return };
        session.doomed = true;
        let (has_ended, cp) = (session.ended, session.cp.seid);
        let reports = session.reports.is_on_its_way();
        session.reports.clear();
        let association = session.association;
        let in_flight = session.in_flight.as_deref();
        let (is_busy, request) = (in_flight.is_some(), in_flight.and_then(|(_, it)| it.request()));
        self.sessions.forget_cp(seid);
        self.disown(seid);
        if let Some(key) = request {
            self.close_request(now, key, cp, open);
        }
        while let Some(waiting) = self.sessions.next_waiting(seid) {
            match waiting {
                Waiting::Request(WaitingRequest { key, .. }) if open == OpenRequests::Answer => {
                    self.refuse_unknown(now, key);
                }
                Waiting::Request(WaitingRequest { key, .. }) => self.inbound.forget(&key),
                Waiting::Answer(_) => {}
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

    /// Says what becomes of the request whose plan the data plane works on for a session that ends now. A deletion that is to be
    /// answered is when the plan is carried out.
    fn close_request(&mut self, now: Time, key: RequestKey, cp: Seid, open: OpenRequests) {
        let (cause, detail) = match (open, key.message) {
            (OpenRequests::Forget, _) => return self.inbound.forget(&key),
            (OpenRequests::Answer, MessageType::SessionDeletionRequest) => return,
            (OpenRequests::Answer, MessageType::SessionEstablishmentRequest) => {
                (Cause::RequestRejected, "the session ends before it is established")
            }
            (OpenRequests::Answer, _) => (Cause::SessionContextNotFound, "the session has ended"),
        };
        self.refuse(now, key, cp, Refusal::new(cause, detail));
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
        let was_there = matches!(result, Ok(_) | Err(ApplyError::UnknownSession(_)));
        let open = |key: &RequestKey| self.inbound.look_up(key) == Seen::InProgress;
        match work {
            Work::Delete(key) if was_there && open(&key) => {
                let applied = result.clone().unwrap_or_default();
                self.accept_deletion(now, seid, key, change, applied, Status::default());
            }
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
                if let Work::Delete(key) = &work
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
