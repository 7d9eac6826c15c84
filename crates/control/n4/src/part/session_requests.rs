//! Session requests: from the message to the plan (TS 29.244 clause 6.3).

use std::collections::BTreeSet;

use causeway_dataplane::Applied;
use causeway_model::RuleSet;
use causeway_pfcp::template::peek_cp_f_seid;
use causeway_pfcp::{
    Cause, DecodeError, Header, Ie, Message, MessageType, SessionEstablishmentRequest,
    SessionModificationRequest,
};
use causeway_rules::{Change, PlannedChange, RecognizedRequest};
use causeway_types::{FSeid, NodeId, NtpSeconds, Seid, Time};

use super::{Others, Turn};
use crate::association::{AssociationId, SentTimeStamp};
use crate::memory::Footprint;
use crate::session::{Around, PlanPurpose, QueuedRequest, Session, SessionSets, Takeover, tolerate};
use crate::transaction::{RequestKey, RequestRefusal, RequestState};
use crate::{Notice, RefusalReason, ReleaseReason};

impl Turn<'_> {
    /// Handles a session request that is no duplicate, or queues it behind an earlier one.
    pub(crate) fn session_request(&mut self, now: Time, key: RequestKey, header: Header, body: &[u8]) {
        match key.message {
            MessageType::SessionEstablishmentRequest => self.establish(now, key, &header, body),
            MessageType::SessionModificationRequest | MessageType::SessionDeletionRequest => {
                let session = self.session_of(&key, &header).map(|it| (it.seid(), it.has_plan()));
                self.request_for(now, session, key, header, body);
            }
            _ => {
                let refusal = RequestRefusal::new(Cause::ServiceNotSupported, RefusalReason::SentByUpf);
                self.refuse(now, key, refusal);
            }
        }
    }

    /// Decides a modification that the part has left, if its session goes on. Its sender was authorized when it arrived.
    pub(crate) fn decide_modification(&mut self, now: Time, key: RequestKey, header: Header, body: &[u8]) {
        let sessions = &self.part.sessions;
        let session = header.seid.and_then(|seid| sessions.get(seid));
        let session = session.filter(|session| !sessions.is_ending(session));
        let session = session.map(|it| (it.seid(), it.has_plan()));
        self.request_for(now, session, key, header, body);
    }

    /// Handles a request for this session, if it is there; `true`: it has a plan in flight.
    #[inline]
    fn request_for(
        &mut self,
        now: Time,
        session: Option<(Seid, bool)>,
        key: RequestKey,
        header: Header,
        body: &[u8],
    ) {
        match session {
            None => self.refuse_unknown(now, key, header.seid),
            Some((seid, true)) => self.wait(now, seid, QueuedRequest { key, header, body: body.to_vec() }),
            Some((seid, false)) => self.existing_session(now, seid, key, &header, body),
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
        let cp = self.part.sessions.get(seid).map_or(Seid(0), |session| session.cp().seid);
        self.refuse(now, key, RequestRefusal::from(error).about(cp));
    }

    /// Rejects a request for a session that does not exist, or not for its sender.
    pub(crate) fn refuse_unknown(&mut self, now: Time, key: RequestKey, session: Option<Seid>) {
        let reason = session.map_or(RefusalReason::NoSession, RefusalReason::UnknownSession);
        let refusal = RequestRefusal::new(Cause::SessionContextNotFound, reason);
        self.refuse(now, key, RequestRefusal { session, ..refusal });
    }

    fn wait(&mut self, now: Time, seid: Seid, waiting: QueuedRequest) {
        let (key, limits) = (waiting.key, &self.node.config.limits);
        let octets = limits.waiting_octets.div_ceil(self.part.number.parts());
        if !self.part.sessions.wait(seid, waiting, limits.waiting_per_session, octets) {
            let cp = self.part.sessions.get(seid).map_or(Seid(0), |session| session.cp().seid);
            let refusal = RequestRefusal::new(Cause::EntityInCongestion, RefusalReason::TooManyQueued);
            self.refuse(now, key, refusal.about(cp));
        }
    }

    fn establish(&mut self, now: Time, key: RequestKey, header: &Header, body: &[u8]) {
        // The template cache comes before the decoder. If it does not lead to a session, the decoded request decides.
        if let Some(known) = self.part.sessions.recognize(body)
            && self.session_with_cp(&known.cp).is_none()
            && !self.shows_restart(key, known.profile.node(), known.cp, known.recovery)
            && self.establish_recognized(now, key, known, body)
        {
            return;
        }
        let request = match Message::decode(header, body) {
            Ok(Message::SessionEstablishmentRequest(request)) => request,
            Ok(_) => return self.part.transactions.forget(&key),
            Err(error) => return self.refuse(now, key, RequestRefusal::from(error).about(cp_seid(body))),
        };
        if self.handle_repeated_establishment(now, key, &request) {
            return;
        }
        let (node, recovery) = (request.node_id.to_owned(), request.recovery_time_stamp);
        if self.shows_restart(key, Some(&node), request.cp_f_seid, recovery.map(|stamp| stamp.0)) {
            self.leave(key, header, body);
            return;
        }
        if let Err(refusal) = self.establish_decoded(now, key, &request)
            && !self.leave(key, header, body)
        {
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
        let admitted = self.admit_session(key, node, known.cp);
        let user = body.get(known.user.clone()).unwrap_or_default();
        let more = footprint.beyond(Footprint::default()) + user.len();
        let Some((association, cp)) = admitted.ok().filter(|_| self.node.memory.admits(self.needed(), more))
        else {
            return false;
        };
        let seid = self.part.sessions.next_seid();
        let mut session = Session::new(now, seid, association, cp, self.origin(key), footprint);
        if !user.is_empty() {
            session.set_user(user);
        }
        let Some(planned) = self.part.sessions.insert_recognized(session, known) else { return false };
        self.node.associations.count_new_session(association, self.part.number.part());
        self.part.sessions.submit(PlanPurpose::Establish(key), planned, &mut self.part.out);
        true
    }

    fn establish_decoded(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> Result<(), RequestRefusal> {
        let node = request.node_id.to_owned();
        let (association, cp) = self.admit_session(key, &node, request.cp_f_seid)?;
        let sets = SessionSets::of(request)?;
        let mut user = Vec::new();
        if let Some(identities) = &request.user_id {
            identities.encode(&mut user);
        }
        let seid = self.part.sessions.next_seid();
        let of_n4 = user.len() + sets.as_ref().map_or(0, SessionSets::octets);
        let needed = self.needed();
        let replaced = self.replaced_by(&cp, association);
        let Self { node, part, others, .. } = self;
        let admit = |rules: &RuleSet| {
            let more = Footprint::of(rules).beyond(Footprint::default()) + of_n4;
            node.memory.check_session(needed, more)
        };
        let around = Around { associations: &node.associations, others };
        let named = (seid, association, replaced);
        let (change, owners) = part.sessions.plan_session(request, named, around, admit)?;
        let footprint = Footprint::of(change.session.rules());
        self.end_replaced_sessions(now, replaced, owners);
        let mut session = Session::new(now, seid, association, cp, self.origin(key), footprint);
        if !user.is_empty() {
            session.set_user(&user);
        }
        if let Some(sets) = sets {
            session.set_membership(sets);
        }
        self.part.sessions.insert(session);
        self.node.associations.count_new_session(association, self.part.number.part());
        self.part.sessions.submit(PlanPurpose::Establish(key), change.into(), &mut self.part.out);
        Ok(())
    }

    /// The association and the CP F-SEID of a new session.
    ///
    /// # Errors
    /// The sender may not establish it, or no session may be established now.
    fn admit_session(
        &self,
        key: RequestKey,
        node: &NodeId,
        cp: FSeid,
    ) -> Result<(AssociationId, FSeid), RequestRefusal> {
        let association = self.node.associations.authorized_association(key, node)?;
        let cp = self.node.associations.end_of(association, key.from.ip(), cp)?;
        self.refuse_new_session(association)?;
        Ok((association, cp))
    }

    /// The Recovery Time Stamp of an establishment shows a restart of its SMF, which is to be noted first.
    #[inline]
    fn shows_restart(
        &mut self,
        key: RequestKey,
        node: Option<&NodeId>,
        cp: FSeid,
        recovery: Option<NtpSeconds>,
    ) -> bool {
        let Some((recovery, node)) = recovery.zip(node).filter(|_| !self.knows_claims) else { return false };
        let associations = &self.node.associations;
        let Ok(association) = associations.authorized_association(key, node) else { return false };
        let stamp = SentTimeStamp { entity: key.from.ip(), from: key.from, recovery };
        let is_shown = associations.is_news(association, stamp)
            && associations.end_of(association, key.from.ip(), cp).is_ok();
        self.claim = is_shown.then_some((association, stamp));
        is_shown
    }

    /// No more sessions are accepted.
    pub(super) fn refuse_new_session(&self, association: AssociationId) -> Result<(), RequestRefusal> {
        self.node.associations.refuse_while_releasing(association)?;
        let most = self.part.sessions.most();
        if self.node.is_stopping {
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, RefusalReason::ShuttingDown));
        }
        if self.node.is_draining {
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, RefusalReason::Draining));
        }
        if self.sessions_at_most() >= most {
            let reason = RefusalReason::TooManySessions(most);
            return Err(RequestRefusal::new(Cause::NoResourcesAvailable, reason));
        }
        Ok(())
    }

    /// The request that establishes a session, with the current restart epoch of its SMF.
    #[inline]
    fn origin(&self, key: RequestKey) -> RequestKey {
        key.in_epoch(self.part.transactions.epoch(key.from.ip()))
    }

    fn modify(&mut self, now: Time, seid: Seid, key: RequestKey, header: &Header, body: &[u8]) {
        if self.part.sessions.get(seid).is_none() {
            return self.refuse_unknown(now, key, Some(seid));
        }
        // The template cache comes before the decoder.
        if let Some(known) = self.part.sessions.recognize_modification(seid, body)
            && let Ok(takeover) = self.part.sessions.takeover(
                key,
                seid,
                (known.cp, known.node()),
                None,
                &self.node.associations,
            )
        {
            let planned = PlannedChange::rebind(seid, known);
            return self.submit_modification(seid, key, takeover, planned);
        }
        match Message::decode(header, body) {
            Ok(Message::SessionModificationRequest(request)) => {
                if let Err(refusal) = self.modify_decoded(now, seid, key, &request, body)
                    && !self.leave(key, header, body)
                {
                    let cp = self.part.sessions.get(seid).map_or(Seid(0), |session| session.cp().seid);
                    self.refuse(now, key, refusal.about(cp));
                }
            }
            Ok(_) => self.part.transactions.forget(&key),
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
        let Some(session) = self.part.sessions.get(seid) else { return Ok(()) };
        let held = session.association();
        let membership = SessionSets::after(session.membership(), request)?;
        let more_for_sets = self.more_for_sets(seid, membership.as_ref());
        let names_sets = membership.is_some();
        let node = request.node_id.as_ref().map(|node| node.to_owned());
        let named = (request.cp_f_seid, node.as_ref());
        let takeover = self.part.sessions.takeover(key, seid, named, membership, &self.node.associations)?;
        let Self { node, part, others, .. } = self;
        let around = Around { associations: &node.associations, others };
        let change = part.sessions.plan_change(request, seid, held, around)?;
        if change.plan.change.is_empty() {
            if let Err(refusal) = self.node.memory.check_session(self.needed(), more_for_sets) {
                self.part.sessions.discard(change);
                return Err(refusal);
            }
            let pending = PlannedChange::from(change).pending;
            tolerate(seid, &pending, &mut self.part.out);
            self.modified(now, seid, key, takeover, pending, Applied::default());
            self.send_reports(now, seid);
            return Ok(());
        }
        if let Err(refusal) = self.check_usage(seid, &change) {
            self.part.sessions.discard(change);
            return Err(refusal);
        }
        // Until the plan is applied, the larger of both footprints counts.
        let (before, after) = (self.part.sessions.footprint(seid), Footprint::of(change.session.rules()));
        let more = after.beyond(before) + more_for_sets;
        if let Err(refusal) = self.node.memory.check_session(self.needed(), more) {
            self.part.sessions.discard(change);
            return Err(refusal);
        }
        self.part.sessions.set_footprint(seid, before.or(after));
        // The session sets are in no template.
        if !names_sets {
            self.part.sessions.cache_transition(seid, body, &change);
        }
        self.submit_modification(seid, key, takeover, change.into());
        Ok(())
    }

    /// Rejects a modification that reports more usage while the SMF does not acknowledge that of earlier ones.
    fn check_usage(&self, seid: Seid, change: &Change) -> Result<(), RequestRefusal> {
        let waiting = self.part.reports.additional(seid);
        if waiting <= self.node.config.limits.queued_reports_per_session
            || !self.part.sessions.reports_usage(seid, &change.plan)
        {
            return Ok(());
        }
        let reason = RefusalReason::TooManyReports(waiting);
        Err(RequestRefusal::new(Cause::EntityInCongestion, reason))
    }

    fn submit_modification(
        &mut self,
        seid: Seid,
        key: RequestKey,
        takeover: Option<Box<Takeover>>,
        planned: PlannedChange,
    ) {
        if self.part.reports.notifies(seid) {
            let pdrs = self.part.sessions.notified_again(seid, &planned.plan);
            self.part.reports.set_notified_again(seid, pdrs);
        }
        self.part.sessions.submit(PlanPurpose::Modify(key, takeover), planned, &mut self.part.out);
    }

    fn delete(&mut self, now: Time, seid: Seid, key: RequestKey) {
        if self.part.sessions.get(seid).is_none() {
            return self.refuse_unknown(now, key, Some(seid));
        }
        self.part.sessions.submit_deletion(seid, key, &mut self.part.out);
    }

    /// Repeats the response to the request that established the session with this F-SEID: a repetition after the
    /// response was discarded, or from another port or address of the SMF.
    pub(crate) fn handle_repeated_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> bool {
        let Some(seid) = self.session_with_cp(&request.cp_f_seid) else { return false };
        let is_its = |session: &&Session| {
            session.origin().is_same_request(&key) && !self.part.sessions.is_in_purge(session)
        };
        let Some(session) = self.part.sessions.get(seid).filter(is_its) else {
            return false;
        };
        let ip = key.from.ip();
        if !self.node.associations.is_authorized_for(session.association(), ip)
            && !session.cp().addr.contains(ip)
        {
            return false;
        }
        // The repetition itself is in progress by now.
        let before = if *session.origin() == key {
            RequestState::New
        } else {
            self.part.transactions.look_up(session.origin())
        };
        match before {
            RequestState::New if session.is_established() => {
                self.repeat_establishment(now, key, seid, request);
            }
            RequestState::New => return false,
            RequestState::InProgress | RequestState::Answered(_) => {
                let original = *session.origin();
                self.part.transactions.repeat_answer(key, &original, &mut self.part.out);
            }
        }
        true
    }

    /// The session with this CP F-SEID, of whatever part: a part alone has all that may have it.
    fn session_with_cp(&self, cp: &FSeid) -> Option<Seid> {
        let number = &self.part.number;
        let holder = if self.others.are_elsewhere() { number.part() } else { number.holder_of_cp(cp) };
        let part = if holder == number.part() { &*self.part } else { self.others.of_number(holder)? };
        part.sessions.by_cp_f_seid(cp)
    }

    /// The session whose CP F-SEID a new one of this association has, if that replaces it.
    pub(crate) fn replaced_by(&self, cp: &FSeid, association: AssociationId) -> Option<Seid> {
        let seid = self.session_with_cp(cp)?;
        let part = if self.part.number.has(seid) { &*self.part } else { self.others.of_seid(seid)? };
        part.sessions.can_be_replaced(seid, association, &self.node.associations).then_some(seid)
    }

    /// Ends the sessions that a new one replaces: the one whose F-SEID is reused, and those with its UE addresses.
    pub(crate) fn end_replaced_sessions(&mut self, now: Time, reused: Option<Seid>, owners: BTreeSet<Seid>) {
        if let Some(seid) = reused {
            self.in_part_of(seid, |turn| turn.end_reused(now, seid));
        }
        for owner in owners.into_iter().filter(|owner| Some(*owner) != reused) {
            self.in_part_of(owner, |turn| turn.end_replaced(now, owner));
        }
    }

    /// Calls `act` with a turn of the part of a session.
    fn in_part_of(&mut self, session: Seid, act: impl FnOnce(&mut Turn<'_>)) {
        if self.part.number.has(session) {
            return act(self);
        }
        if let Some(part) = self.others.of_seid_mut(session) {
            act(&mut Turn::new(self.node, part, Others::Elsewhere));
            self.part.out.append(&mut part.out);
        }
    }

    /// Ends a session whose F-SEID is reused, without a report: the SMF would take that for one of the new session.
    fn end_reused(&mut self, now: Time, seid: Seid) {
        if !self.part.sessions.is_seid_in_purge(seid) {
            self.part.out.notice(Notice::SessionReplaced { session: seid });
        }
        self.remove_before_purge(now, seid);
    }

    /// Ends a session whose UE address another one has now.
    fn end_replaced(&mut self, now: Time, owner: Seid) {
        match self.part.sessions.is_seid_in_purge(owner) {
            true => self.remove_before_purge(now, owner),
            false => self.release_session(now, owner, ReleaseReason::AddressTaken),
        }
    }
}

/// The SMF's SEID in an establishment that cannot be decoded as a whole; zero if it cannot be decoded either.
fn cp_seid(body: &[u8]) -> Seid {
    peek_cp_f_seid(body).map_or(Seid(0), |f_seid| f_seid.seid)
}
