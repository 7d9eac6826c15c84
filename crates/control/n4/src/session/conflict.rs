//! New sessions that take the place of older ones.
//!
//! An SMF that establishes a session with an F-SEID or a UE address that another session of it has does not know
//! that session any more: SEIDs are unique at an address (TS 29.244 clause 5.6.2), and so is a UE in its data
//! network. The older session gives way; one of another SMF does not.

use std::collections::BTreeSet;

use causeway_pfcp::{Cause, SessionEstablishmentRequest};
use causeway_rules::{Change, Context, Reason, Rejection};
use causeway_types::{FSeid, Seid, Time};

use super::Session;
use super::work::InFlight;
use crate::answer::Refusal;
use crate::association::AssociationId;
use crate::transaction::{RequestKey, Seen};
use crate::{MessageResult, N4, Output, ReleaseReason};

impl N4 {
    /// The request is the one that established the session with this F-SEID, and is answered as then: repeated after its answer was
    /// forgotten, or from another port or address of the SMF.
    pub(crate) fn is_repeated(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> bool {
        let Some(seid) = self.sessions.of_cp(&request.cp_f_seid) else { return false };
        let is_its =
            |session: &&Session| session.origin.is_same_request(&key) && !self.sessions.is_condemned(session);
        let Some(session) = self.sessions.get(seid).filter(is_its) else {
            return false;
        };
        let ip = key.from.ip();
        if !self.associations.speaks_for(session.association, ip) && !session.cp.addr.contains(ip) {
            return false;
        }
        // Of the request itself is known by now that it is being worked on.
        let before = if session.origin == key { Seen::New } else { self.inbound.look_up(&session.origin) };
        let bytes = match before {
            Seen::New if session.is_established() => {
                self.repeat_establishment(now, key, seid, request);
                return true;
            }
            Seen::New => return false,
            Seen::InProgress => None,
            Seen::Answered(bytes) => Some(bytes.to_vec()),
        };
        let result = if bytes.is_some() { MessageResult::Duplicate } else { MessageResult::InProgress };
        self.counters.received(Some(key.message), result);
        self.inbound.forget(&key);
        if let Some(bytes) = bytes {
            self.push(Output::Send { to: key.from, bytes });
        }
        true
    }

    /// Plans a session, and says which older ones give way for it.
    pub(crate) fn plan_session(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        seid: Seid,
        association: AssociationId,
    ) -> Result<(Change, BTreeSet<Seid>), Refusal> {
        let owners = match self.plan_once(request, seid) {
            Ok(change) => return Ok((change, BTreeSet::new())),
            Err(Rejection { reason: Reason::AddressInUse { owners, .. }, .. })
                if owners.iter().all(|owner| self.gives_way(*owner, association)) =>
            {
                owners
            }
            Err(rejection) => return Err(rejection.into()),
        };
        for owner in &owners {
            self.disown(*owner);
        }
        // Nothing else is wrong with it, since addresses are looked at last.
        Ok((self.plan_once(request, seid)?, owners))
    }

    fn plan_once(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        seid: Seid,
    ) -> Result<Change, Rejection> {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &self.catalogue,
        };
        causeway_rules::establish(request, seid, &context, &mut self.resources)
    }

    /// The session is of the same SMF, or of another one of its set.
    fn gives_way(&self, owner: Seid, association: AssociationId) -> bool {
        self.sessions.get(owner).is_none_or(|session| {
            self.sessions.is_ending(session)
                || self.associations.are_of_one_set(session.association, association)
        })
    }

    /// Takes the UE addresses of a session away, those of a change that is under way too.
    pub(crate) fn disown(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get(seid) else { return };
        session.rules.disown(seid, &mut self.resources);
        match session.in_flight.as_deref() {
            Some((_, InFlight::Alike(_, alike) | InFlight::Moved(_, alike, _))) => {
                self.resources.disown_alike(seid, alike);
            }
            Some((_, InFlight::Change { change, .. })) => self.resources.disown(seid, &change.session),
            Some((_, InFlight::Ends(_) | InFlight::Over)) | None => {}
        }
    }

    /// Ends the sessions that a new one takes the place of. One whose F-SEID is the new one's goes without a word:
    /// what would be said of it would be taken for the new one's.
    pub(crate) fn make_way(
        &mut self,
        now: Time,
        cp: &FSeid,
        association: AssociationId,
        owners: BTreeSet<Seid>,
    ) {
        let same = self.sessions.of_cp(cp).filter(|older| self.gives_way(*older, association));
        if let Some(older) = same {
            if !self.is_condemned(older) {
                self.notice(crate::Notice::SessionReplaced { session: older });
            }
            self.doom_now(now, older);
        }
        for owner in owners.into_iter().filter(|owner| Some(*owner) != same) {
            match self.is_condemned(owner) {
                true => self.doom_now(now, owner),
                false => self.release_session(now, owner, ReleaseReason::AddressTaken),
            }
        }
    }

    /// New sessions are refused while the association is being released (clause 5.18.1).
    pub(crate) fn refuse_while_releasing(&self, association: AssociationId) -> Result<(), Refusal> {
        let is_leaving = self.associations.get(association).is_some_and(|it| it.is_leaving());
        if is_leaving {
            return Err(Refusal::new(Cause::NoResourcesAvailable, "the association is being released"));
        }
        Ok(())
    }
}
