//! Session requests: from the message to the plan (TS 29.244 clause 6.3).

use std::collections::BTreeSet;
use std::net::IpAddr;

use causeway_dataplane::Applied;
use causeway_pfcp::{
    Cause, Header, Ie, Message, MessageType, RawIes, SessionEstablishmentRequest, SessionModificationRequest,
};
use causeway_rules::Change;
use causeway_types::{FSeid, NodeId, Seid, Time};

use super::in_flight::{PlanPurpose, QueuedRequest};
use super::state::Session;
use crate::answer::RequestRefusal;
use crate::association::AssociationId;
use crate::memory::Footprint;
use crate::transaction::RequestKey;
use crate::{N4, Notice, Output};

impl N4 {
    /// Handles a session request that is no duplicate, or queues it behind an earlier one.
    pub(crate) fn session_request(&mut self, now: Time, key: RequestKey, header: Header, body: &[u8]) {
        match key.message {
            MessageType::SessionEstablishmentRequest => self.establish(now, key, &header, body),
            MessageType::SessionModificationRequest | MessageType::SessionDeletionRequest => {
                match self
                    .session_of(&key, &header)
                    .map(|session| (session.seid, session.in_flight.is_some()))
                {
                    None => self.refuse_unknown(now, key),
                    Some((seid, true)) => {
                        self.wait(now, seid, QueuedRequest { key, header, body: body.to_vec() });
                    }
                    Some((seid, false)) => self.existing_session(now, seid, key, &header, body),
                }
            }
            _ => {
                let refusal = RequestRefusal::new(Cause::ServiceNotSupported, "only a UPF sends this");
                self.refuse(now, key, Seid(0), refusal);
            }
        }
    }

    /// Handles a request for a session without a plan in flight.
    pub(crate) fn existing_session(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        header: &Header,
        body: &[u8],
    ) {
        let is_begun = match key.message {
            MessageType::SessionModificationRequest => self.try_modify_profiled(seid, key, body),
            _ => self.try_delete_profiled(seid, key, body),
        };
        if is_begun {
            return;
        }
        match Message::decode(header, body) {
            Ok(Message::SessionModificationRequest(request)) => self.modify(now, seid, key, &request, body),
            Ok(_) => self.delete(now, seid, key),
            Err(error) => {
                let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
                self.refuse(now, key, cp, error.into());
            }
        }
    }

    pub(crate) fn refuse_unknown(&mut self, now: Time, key: RequestKey) {
        let refusal = RequestRefusal::new(Cause::SessionContextNotFound, "there is no such session");
        self.refuse(now, key, Seid(0), refusal);
    }

    fn wait(&mut self, now: Time, seid: Seid, waiting: QueuedRequest) {
        let (key, limits) = (waiting.key, &self.config.limits);
        if !self.sessions.wait(seid, waiting, limits.waiting_per_session, limits.waiting_octets) {
            let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
            let refusal =
                RequestRefusal::new(Cause::EntityInCongestion, "too many requests wait for the data plane");
            self.refuse(now, key, cp, refusal);
        }
    }

    fn establish(&mut self, now: Time, key: RequestKey, header: &Header, body: &[u8]) {
        if self.try_establish_profiled(now, key, body) {
            return;
        }
        let request = match Message::decode(header, body) {
            Ok(Message::SessionEstablishmentRequest(request)) => request,
            Ok(_) => return self.inbound.forget(&key),
            Err(error) => return self.refuse(now, key, cp_seid(body), error.into()),
        };
        let cp = request.cp_f_seid;
        if self.handle_repeated_establishment(now, key, &request) {
            return;
        }
        match self.try_establish(now, key, &request) {
            Ok((cp, association, change, owners)) => {
                self.end_replaced_sessions(now, &cp, association, owners);
                let footprint = Footprint::of(change.session.rules());
                let origin = self.origin(key);
                let mut session = Session::new(now, change.plan.session, association, cp, origin, footprint);
                if !request.fq_csids.is_empty() || request.group_id.is_some() {
                    let membership = &mut session.get_or_create_extras().membership;
                    membership.update(request.fq_csids.iter(), request.group_id);
                }
                self.begin_session(session, key, change);
            }
            Err(refusal) => self.refuse(now, key, cp.seid, refusal),
        }
    }

    fn try_establish(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> Result<(FSeid, AssociationId, Change, BTreeSet<Seid>), RequestRefusal> {
        let association = self.authorized_association(key, &request.node_id.to_owned())?;
        let cp = self.end_of(association, key.from.ip(), request.cp_f_seid)?;
        if let Some(recovery) = request.recovery_time_stamp {
            self.on_recovery_time_stamp(now, association, key.from.ip(), key.from, recovery.0);
        }
        self.refuse_new_session(association)?;
        let seid = self.sessions.next_seid();
        let (change, owners) = self.plan_session(request, seid, association)?;
        let footprint = Footprint::of(change.session.rules());
        if let Err(refusal) = self.refuse_for_memory(footprint, Footprint::default()) {
            self.resources.abandon(change.resources);
            return Err(refusal);
        }
        Ok((cp, association, change, owners))
    }

    /// No more sessions are accepted.
    pub(super) fn refuse_new_session(&self, association: AssociationId) -> Result<(), RequestRefusal> {
        self.refuse_while_releasing(association)?;
        let most = self.most_sessions();
        if self.is_stopping() {
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, "this UPF is shutting down"));
        }
        if self.sessions.len() >= most {
            let detail = format!("there are {most} sessions already");
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, &detail));
        }
        Ok(())
    }

    /// The association of the Node ID in the request, if the sender is authorized for that node.
    pub(crate) fn authorized_association(
        &self,
        key: RequestKey,
        node: &NodeId,
    ) -> Result<AssociationId, RequestRefusal> {
        self.spoken_for(key.from.ip(), node).ok_or_else(|| {
            RequestRefusal::new(
                Cause::NoEstablishedAssociation,
                "the Node ID has no association from this host",
            )
        })
    }

    /// The association of this node, if this host is authorized for it.
    #[inline]
    pub(super) fn spoken_for(&self, from: IpAddr, node: &NodeId) -> Option<AssociationId> {
        let association = self.associations.at_node(node).filter(|it| it.uses_address(from));
        association.map(|association| association.id)
    }

    /// The request that establishes a session, with the current restart epoch of its SMF.
    #[inline]
    pub(super) fn origin(&self, key: RequestKey) -> RequestKey {
        key.in_epoch(self.inbound.epoch(key.from.ip()))
    }

    fn begin_session(&mut self, session: Session, key: RequestKey, change: Change) {
        self.count_session(session.association);
        self.sessions.insert(session);
        self.submit_plan(PlanPurpose::Establish(key), change);
    }

    pub(super) fn count_session(&mut self, association: AssociationId) {
        if let Some(association) = self.associations.get_mut(association) {
            association.sessions += 1;
            association.sessions_since_restart += 1;
        }
    }

    fn modify(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        request: &SessionModificationRequest<'_>,
        body: &[u8],
    ) {
        let Some(session) = self.sessions.get(seid) else { return self.refuse_unknown(now, key) };
        let cp = session.cp.seid;
        let takeover = match self.takeover(key, seid, request) {
            Ok(takeover) => takeover,
            Err(refusal) => return self.refuse(now, key, cp, refusal),
        };
        let planned = self.plan_change(request, seid, session.association);
        match planned {
            Err(refusal) => self.refuse(now, key, cp, refusal),
            Ok(change) if change.plan.change.is_empty() => {
                self.tolerate(&change);
                self.modified(now, seid, key, takeover, change, Applied::default());
            }
            Ok(change) => {
                // Until the plan is applied, the larger of both footprints counts.
                let (before, after) = (self.sessions.footprint(seid), Footprint::of(change.session.rules()));
                if after.exceeds(before)
                    && let Err(refusal) = self.refuse_for_memory(after, before)
                {
                    self.resources.abandon(change.resources);
                    return self.refuse(now, key, cp, refusal);
                }
                self.sessions.set_footprint(seid, before.or(after));
                let (context, sessions, resources) = self.planning();
                if let Some(profiled) = sessions.get(seid).and_then(|session| session.rules.profiled()) {
                    resources.cache_transition(profiled, body, &change, &context);
                }
                self.submit_plan(PlanPurpose::Modify(key, Box::new(takeover)), change);
            }
        }
    }

    fn delete(&mut self, now: Time, seid: Seid, key: RequestKey) {
        match self.sessions.get(seid).map(|session| session.rules.delete(seid)) {
            None => self.refuse_unknown(now, key),
            Some(change) => self.submit_plan(PlanPurpose::Delete(key), change),
        }
    }

    /// Emits notices of the accepted deviations of a request.
    fn tolerate(&mut self, change: &Change) {
        for what in &change.tolerated {
            self.notice(Notice::Tolerated { session: change.plan.session, what: *what });
        }
    }

    /// Submits a change to the data plane.
    pub(crate) fn submit_plan(&mut self, work: PlanPurpose, change: Change) {
        self.tolerate(&change);
        if let Some((id, plan)) = self.sessions.start(work, change) {
            self.push(Output::Apply { id, plan });
        }
    }
}

/// The SMF's SEID in an establishment that cannot be decoded as a whole; zero if it cannot be decoded either.
fn cp_seid(body: &[u8]) -> Seid {
    cp_f_seid(body).map_or(Seid(0), |f_seid| f_seid.seid)
}

/// The CP F-SEID of an establishment.
pub(crate) fn cp_f_seid(body: &[u8]) -> Option<FSeid> {
    let mut ies = RawIes::new(body).map_while(Result::ok);
    ies.find(|ie| ie.ie_type == FSeid::TYPE).and_then(|ie| FSeid::decode(ie.value).ok())
}
