//! Modifications with a known message template.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType, SessionModificationResponse};
use causeway_rules::{ProfiledRules, RecognizedModification};
use causeway_types::{Seid, Time};

use super::Takeover;
use crate::transaction::{RequestKey, RequestState};
use crate::{N4, Output};

impl N4 {
    /// Begins a modification with a known message template of a profiled session. `false`: nothing has happened, and
    /// the request is handled on the general path, with the same response.
    pub(super) fn try_modify_profiled(&mut self, seid: Seid, key: RequestKey, body: &[u8]) -> bool {
        let profiled = self.sessions.get(seid).and_then(|session| session.rules.profiled());
        let known = profiled.and_then(|profiled| self.resources.recognize_modification(profiled, body));
        let Some(known) = known else { return false };
        let Some(takeover) = self.takeover_of(key, seid, &known) else { return false };
        let Some((id, plan)) = self.sessions.start_profiled_modification(key, seid, known, takeover) else {
            return false;
        };
        self.push(Output::Apply { id, plan });
        true
    }

    /// The change of the SMF that controls the session, if the modification contains one. `None`: the modification is
    /// to be rejected.
    fn takeover_of(
        &self,
        key: RequestKey,
        seid: Seid,
        modification: &RecognizedModification,
    ) -> Option<Option<Box<Takeover>>> {
        let (cp, node) = (modification.cp, modification.node());
        if cp.is_none() && node.is_none() {
            return Some(None);
        }
        let session = self.sessions.get(seid)?;
        let held = session.association;
        let association = match node {
            Some(node) => Some(self.authorized_successor(key, held, node)?),
            None => None,
        };
        let cp = match cp {
            Some(cp) if cp != session.cp => {
                Some(self.end_of(association.unwrap_or(held), key.from.ip(), cp).ok()?)
            }
            cp => cp,
        };
        Some(Some(Box::new(Takeover { cp, association, membership: None })))
    }

    /// The result of the data plane.
    pub(super) fn modified_profiled(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        (profiled, takeover): (ProfiledRules, Option<Box<Takeover>>),
        result: Result<Applied, ApplyError>,
    ) {
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let mut applied = match result {
            Ok(applied) => applied,
            Err(error) => {
                let cp = session.cp.seid;
                return self.refuse(now, key, cp, (&error).into());
            }
        };
        session.rules.set_profiled(profiled);
        // As in every modification, usage of URRs that do not exist is added to the response.
        let stray = session.reports.take_usage_of(|urr| !session.rules.has_urr(urr));
        applied.usage.splice(0..0, stray);
        if applied != Applied::default() {
            let change = session.rules.unchanged(seid);
            let takeover = takeover.map_or_else(Takeover::default, |takeover| *takeover);
            return self.modified(now, seid, key, takeover, change, applied);
        }
        if let Some(takeover) = takeover {
            self.take_over(seid, *takeover);
        }
        let Some(session) = self.sessions.get(seid) else { return };
        let (cp, association) = (session.cp.seid, session.association);
        let status = self.status(now, Some(association), 0);
        let is_plain = status.is_empty();
        let form = if is_plain {
            self.response_templates.accept(cp, key.sequence, self.buffer_pool.take())
        } else {
            None
        };
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
        if let RequestState::Answered(bytes) = self.inbound.look_up(&key)
            && is_plain
        {
            self.response_templates.remember_accepted(bytes);
        }
    }

    /// The same for a session that was marked for removal meanwhile.
    pub(super) fn discard_profiled_modification(
        &mut self,
        seid: Seid,
        profiled: ProfiledRules,
        is_done: bool,
    ) {
        if let Some(session) = self.sessions.get_mut(seid).filter(|_| is_done) {
            session.rules.set_profiled(profiled);
        }
        self.purge(seid);
    }
}
