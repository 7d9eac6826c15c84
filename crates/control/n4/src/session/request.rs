//! Session requests: from the message to the plan (TS 29.244 clause 6.3).

use causeway_dataplane::Applied;
use causeway_pfcp::template::peek_cp_f_seid;
use causeway_pfcp::{
    Cause, DecodeError, Header, Ie, Message, MessageType, SessionEstablishmentRequest,
    SessionModificationRequest,
};
use causeway_rules::{PendingChange, PlannedChange, RecognizedRequest};
use causeway_types::{FSeid, NodeId, NtpSeconds, Seid, Time};
use thin_vec::ThinVec;

use super::SessionSets;
use super::in_flight::{PlanPurpose, QueuedRequest};
use super::state::Session;
use crate::association::{AssociationId, SentTimeStamp};
use crate::memory::Footprint;
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
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
                self.refuse(now, key, refusal);
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
        match key.message {
            MessageType::SessionModificationRequest => self.modify(now, seid, key, header, body),
            // Without IEs there is nothing to decode.
            _ if body.is_empty() => self.delete(now, seid, key),
            _ => match Message::decode(header, body) {
                Ok(_) => self.delete(now, seid, key),
                Err(error) => self.refuse_undecodable(now, seid, key, error),
            },
        }
    }

    fn refuse_undecodable(&mut self, now: Time, seid: Seid, key: RequestKey, error: DecodeError) {
        let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
        self.refuse(now, key, RequestRefusal::from(error).about(cp));
    }

    pub(crate) fn refuse_unknown(&mut self, now: Time, key: RequestKey) {
        let refusal = RequestRefusal::new(Cause::SessionContextNotFound, "there is no such session");
        self.refuse(now, key, refusal);
    }

    fn wait(&mut self, now: Time, seid: Seid, waiting: QueuedRequest) {
        let (key, limits) = (waiting.key, &self.config.limits);
        if !self.sessions.wait(seid, waiting, limits.waiting_per_session, limits.waiting_octets) {
            let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
            let refusal =
                RequestRefusal::new(Cause::EntityInCongestion, "too many requests wait for the data plane");
            self.refuse(now, key, refusal.about(cp));
        }
    }

    fn establish(&mut self, now: Time, key: RequestKey, header: &Header, body: &[u8]) {
        // The template cache comes before the decoder. If it does not lead to a session, the decoded request decides.
        if let Some(known) = self.resources.recognize(body)
            && self.sessions.by_cp_f_seid(&known.cp).is_none()
            && self.establish_recognized(now, key, known, body)
        {
            return;
        }
        let request = match Message::decode(header, body) {
            Ok(Message::SessionEstablishmentRequest(request)) => request,
            Ok(_) => return self.transactions.forget(&key),
            Err(error) => return self.refuse(now, key, RequestRefusal::from(error).about(cp_seid(body))),
        };
        if self.handle_repeated_establishment(now, key, &request) {
            return;
        }
        if let Err(refusal) = self.establish_decoded(now, key, &request) {
            self.refuse(now, key, refusal.about(request.cp_f_seid.seid));
        }
    }

    /// Begins a session for a recognized request whose CP F-SEID no session has. `false`: nothing has happened.
    fn establish_recognized(
        &mut self,
        now: Time,
        key: RequestKey,
        known: RecognizedRequest,
        body: &[u8],
    ) -> bool {
        let Some(node) = known.profile.node() else { return false };
        let footprint = Footprint::profiled(known.profile.profile());
        let admitted = self.admit_session(now, key, node, known.cp, known.recovery);
        let Some((association, cp)) =
            admitted.ok().filter(|_| self.memory.admits(self.sessions.needed(), footprint))
        else {
            return false;
        };
        let seid = self.sessions.next_seid();
        let user = body.get(known.user.clone()).unwrap_or_default();
        let Some(taken) = self.resources.take(known, seid) else { return false };
        let mut session = Session::new(now, seid, association, cp, self.origin(key), footprint);
        if !user.is_empty() {
            session.user = ThinVec::from(user);
        }
        self.sessions.insert_new(session);
        self.associations.count_new_session(association);
        self.submit_plan(PlanPurpose::Establish(key), PlannedChange::install(seid, taken));
        true
    }

    fn establish_decoded(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> Result<(), RequestRefusal> {
        let (node, recovery) = (request.node_id.to_owned(), request.recovery_time_stamp);
        let (association, cp) =
            self.admit_session(now, key, &node, request.cp_f_seid, recovery.map(|stamp| stamp.0))?;
        let seid = self.sessions.next_seid();
        let (change, owners) = self.plan_session(request, seid, association)?;
        let footprint = Footprint::of(change.session.rules());
        if let Err(refusal) =
            self.memory.check_session(self.sessions.needed(), footprint, Footprint::default(), &mut self.out)
        {
            self.resources.abandon(change.resources);
            return Err(refusal);
        }
        self.end_replaced_sessions(now, &cp, association, owners);
        let mut session = Session::new(now, seid, association, cp, self.origin(key), footprint);
        if let Some(user) = &request.user_id {
            let mut octets = Vec::new();
            user.encode(&mut octets);
            session.user = ThinVec::from(&*octets);
        }
        if let Some(membership) = SessionSets::of(request) {
            session.get_or_create_extras().membership = membership;
        }
        self.sessions.insert(session);
        self.associations.count_new_session(association);
        self.submit_plan(PlanPurpose::Establish(key), change.into());
        Ok(())
    }

    /// The association and the CP F-SEID of a new session.
    ///
    /// # Errors
    /// The sender may not establish it, or no session may be established now.
    fn admit_session(
        &mut self,
        now: Time,
        key: RequestKey,
        node: &NodeId,
        cp: FSeid,
        recovery: Option<NtpSeconds>,
    ) -> Result<(AssociationId, FSeid), RequestRefusal> {
        let association = self.associations.authorized_association(key, node)?;
        let cp = self.associations.end_of(association, key.from.ip(), cp)?;
        if let Some(recovery) = recovery {
            let stamp = SentTimeStamp { entity: key.from.ip(), from: key.from, recovery };
            self.associations.on_recovery_time_stamp(
                now,
                association,
                stamp,
                &mut self.transactions,
                &mut self.out,
            );
        }
        self.refuse_new_session(association)?;
        Ok((association, cp))
    }

    /// No more sessions are accepted.
    pub(super) fn refuse_new_session(&self, association: AssociationId) -> Result<(), RequestRefusal> {
        self.associations.refuse_while_releasing(association)?;
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

    /// The request that establishes a session, with the current restart epoch of its SMF.
    #[inline]
    pub(super) fn origin(&self, key: RequestKey) -> RequestKey {
        key.in_epoch(self.transactions.epoch(key.from.ip()))
    }

    fn modify(&mut self, now: Time, seid: Seid, key: RequestKey, header: &Header, body: &[u8]) {
        let Some(session) = self.sessions.get(seid) else { return self.refuse_unknown(now, key) };
        // The template cache comes before the decoder.
        let known = session.rules.profiled();
        let known = known.and_then(|profiled| self.resources.recognize_modification(profiled, body));
        if let Some(known) = known
            && let Ok(takeover) = self.takeover(key, seid, (known.cp, known.node()), None)
        {
            let planned = PlannedChange::rebind(seid, known);
            return self.submit_plan(PlanPurpose::Modify(key, takeover), planned);
        }
        match Message::decode(header, body) {
            Ok(Message::SessionModificationRequest(request)) => {
                if let Err(refusal) = self.modify_decoded(now, seid, key, &request, body) {
                    let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
                    self.refuse(now, key, refusal.about(cp));
                }
            }
            Ok(_) => self.transactions.forget(&key),
            Err(error) => self.refuse_undecodable(now, seid, key, error),
        }
    }

    fn modify_decoded(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        request: &SessionModificationRequest<'_>,
        body: &[u8],
    ) -> Result<(), RequestRefusal> {
        let Some(session) = self.sessions.get(seid) else { return Ok(()) };
        let held = session.association;
        let membership = session
            .membership()
            .map_or_else(|| SessionSets::default().after(request), |sets| sets.after(request));
        let node = request.node_id.as_ref().map(|node| node.to_owned());
        let takeover = self.takeover(key, seid, (request.cp_f_seid, node.as_ref()), membership)?;
        let change = self.plan_change(request, seid, held)?;
        if change.plan.change.is_empty() {
            let pending = PlannedChange::from(change).pending;
            self.tolerate(seid, &pending);
            self.modified(now, seid, key, takeover, pending, Applied::default());
            return Ok(());
        }
        // Until the plan is applied, the larger of both footprints counts.
        let (before, after) = (self.sessions.footprint(seid), Footprint::of(change.session.rules()));
        if after.exceeds(before)
            && let Err(refusal) =
                self.memory.check_session(self.sessions.needed(), after, before, &mut self.out)
        {
            self.resources.abandon(change.resources);
            return Err(refusal);
        }
        self.sessions.set_footprint(seid, before.or(after));
        let (context, sessions, resources) = self.planning();
        if let Some(profiled) = sessions.get(seid).and_then(|session| session.rules.profiled()) {
            resources.cache_transition(profiled, body, &change, &context);
        }
        self.submit_plan(PlanPurpose::Modify(key, takeover), change.into());
        Ok(())
    }

    fn delete(&mut self, now: Time, seid: Seid, key: RequestKey) {
        let Some(session) = self.sessions.get(seid) else { return self.refuse_unknown(now, key) };
        let planned = PlannedChange::removal(seid, &session.rules);
        self.submit_plan(PlanPurpose::Delete(key), planned);
    }

    /// Emits notices of the accepted deviations of a request.
    fn tolerate(&mut self, session: Seid, change: &PendingChange) {
        for what in change.tolerated() {
            self.out.notice(Notice::Tolerated { session, what: *what });
        }
    }

    /// Submits a change to the data plane.
    #[inline]
    pub(crate) fn submit_plan(&mut self, purpose: PlanPurpose, planned: PlannedChange) {
        self.tolerate(planned.plan.session, &planned.pending);
        if let Some((id, plan)) = self.sessions.start(purpose, planned) {
            self.out.push(Output::Apply { id, plan });
        }
    }
}

/// The SMF's SEID in an establishment that cannot be decoded as a whole; zero if it cannot be decoded either.
fn cp_seid(body: &[u8]) -> Seid {
    peek_cp_f_seid(body).map_or(Seid(0), |f_seid| f_seid.seid)
}
