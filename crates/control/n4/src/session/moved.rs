//! Modifications in the same words as others before them.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType, SessionModificationResponse};
use causeway_rules::{Alike, Context};
use causeway_types::{Seid, Time};

use super::Takeover;
use crate::status::Status;
use crate::transaction::{RequestKey, Seen};
use crate::{N4, Output};

impl N4 {
    /// Begins a modification in known words of a session that was established so. `false`: nothing has happened, and the request is to
    /// be read as any other; the answer would be the same.
    pub(super) fn modify_alike(&mut self, seid: Seid, key: RequestKey, body: &[u8]) -> bool {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &self.catalogue,
        };
        let alike = self.sessions.get(seid).and_then(|session| session.rules.alike());
        let moved = alike.and_then(|alike| self.resources.moved(alike, body, &context));
        let begun = moved.and_then(|moved| self.sessions.start_moved(key, seid, moved));
        let Some((id, plan)) = begun else { return false };
        self.push(Output::Apply { id, plan });
        true
    }

    /// The data plane has carried it out, or not.
    pub(super) fn applied_moved(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        alike: Alike,
        result: Result<Applied, ApplyError>,
    ) {
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let (cp, association) = (session.cp.seid, session.association);
        let mut applied = match result {
            Ok(applied) => applied,
            Err(error) => return self.refuse(now, key, cp, (&error).into()),
        };
        session.rules.become_alike(alike);
        // As with every modification, what was used by URRs that there are not goes into the answer.
        let stray = session.reports.take_usage_of(|urr| !session.rules.has_urr(urr));
        applied.usage.splice(0..0, stray);
        if applied != Applied::default() {
            let change = session.rules.unchanged(seid);
            return self.modified(now, seid, key, Takeover::default(), change, applied);
        }
        let status = self.status(now, Some(association), 0);
        let is_plain = status == Status::default();
        let form = self.forms.accept(cp, key.sequence).filter(|_| is_plain);
        if let Some(bytes) = form {
            return self.answer_with(now, key, MessageType::SessionModificationResponse, bytes);
        }
        let cause = Cause::RequestAccepted;
        let response = SessionModificationResponse {
            load_control_information: status.load,
            overload_control_information: status.overload,
            ..SessionModificationResponse::new(cause)
        };
        self.answer(now, key, cp, Some(cause), &response.into());
        if let Seen::Answered(bytes) = self.inbound.look_up(&key)
            && is_plain
        {
            self.forms.remember_accepted(bytes);
        }
    }

    /// The same of a session that was doomed meanwhile, and goes.
    pub(super) fn doomed_moved(&mut self, seid: Seid, key: RequestKey, alike: Alike, is_done: bool) {
        self.inbound.forget(&key);
        if let Some(session) = self.sessions.get_mut(seid).filter(|_| is_done) {
            session.rules.become_alike(alike);
        }
        self.purge(seid);
    }
}
