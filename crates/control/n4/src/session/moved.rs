//! Modifications in the same words as others before them.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType, SessionModificationResponse};
use causeway_rules::{Alike, Moved};
use causeway_types::{Seid, Time};

use super::Takeover;
use crate::transaction::{RequestKey, Seen};
use crate::{N4, Output};

impl N4 {
    /// Begins a modification in known words of a session that was established so. `false`: nothing has happened, and the request is to
    /// be read as any other; the answer would be the same.
    pub(super) fn modify_alike(&mut self, seid: Seid, key: RequestKey, body: &[u8]) -> bool {
        let alike = self.sessions.get(seid).and_then(|session| session.rules.alike());
        let moved = alike.and_then(|alike| self.resources.moved(alike, body));
        let Some(moved) = moved else { return false };
        let Some(takeover) = self.takeover_of(key, seid, &moved) else { return false };
        let Some((id, plan)) = self.sessions.start_moved(key, seid, moved, takeover) else { return false };
        self.push(Output::Apply { id, plan });
        true
    }

    /// What such a modification changes about who controls the session, if it says something of that. `None`: it is to be refused.
    fn takeover_of(&self, key: RequestKey, seid: Seid, moved: &Moved) -> Option<Option<Box<Takeover>>> {
        let (cp, node) = (moved.cp(), moved.node());
        if cp.is_none() && node.is_none() {
            return Some(None);
        }
        let session = self.sessions.get(seid)?;
        let held = session.association;
        let association = match node {
            Some(node) => Some(self.heir(key, held, node)?),
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

    /// The data plane has carried it out, or not.
    pub(super) fn applied_moved(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        (alike, takeover): (Alike, Option<Box<Takeover>>),
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
        session.rules.become_alike(alike);
        // As with every modification, what was used by URRs that there are not goes into the answer.
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
        let form = if is_plain { self.forms.accept(cp, key.sequence, self.buffers.take()) } else { None };
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
    pub(super) fn doomed_moved(&mut self, seid: Seid, alike: Alike, is_done: bool) {
        if let Some(session) = self.sessions.get_mut(seid).filter(|_| is_done) {
            session.rules.become_alike(alike);
        }
        self.purge(seid);
    }
}
