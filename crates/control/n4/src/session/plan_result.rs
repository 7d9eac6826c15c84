//! Results of plans, with their effect on the session and its request.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{
    Cause, CreatedPdr, CreatedTrafficEndpoint, MessageType, NodeId, SessionEstablishmentRequest,
    SessionEstablishmentResponse, SessionModificationResponse, UpdatedPdr, UsageReport,
};
use causeway_rules::{Change, ProfiledRules, packet_rate_reports};
use causeway_types::{FSeid, Seid, Time};

use super::in_flight::{InFlight, PlanPurpose, QueuedWork};
use super::{Session, Takeover};
use crate::load_status::LoadStatus;
use crate::memory::Footprint;
use crate::report::USAGES;
use crate::transaction::{RequestKey, RequestState};
use crate::{ApplyId, N4, Notice};

/// Values that the UPF chose, for the response.
struct CreatedIes {
    pdrs: Vec<CreatedPdr<'static>>,
    endpoints: Vec<CreatedTrafficEndpoint<'static>>,
    updated: Vec<UpdatedPdr<'static>>,
}

impl CreatedIes {
    fn by(change: &Change) -> Self {
        let (pdrs, endpoints) = (change.created_pdrs(), change.created_traffic_endpoints());
        Self { pdrs, endpoints, updated: change.updated_pdrs() }
    }
}

impl N4 {
    /// Handles the result of a plan from [`crate::Output::Apply`], once for each plan.
    ///
    /// Events that the data plane raised before it applied the plan must be passed first.
    pub fn applied(&mut self, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.resources.set_time(now);
        if let Some(seid) = self.sessions.purged_session_of_plan(id) {
            self.remove_before_purge(now, seid);
        }
        let Some((seid, is_marked_for_removal, in_flight)) = self.sessions.finish(id) else { return };
        if in_flight.is_removal() {
            self.removals_in_flight = self.removals_in_flight.saturating_sub(1);
        }
        self.outcome(now, seid, is_marked_for_removal, in_flight, result);
        self.continue_purging(now);
    }

    fn outcome(
        &mut self,
        now: Time,
        seid: Seid,
        is_marked_for_removal: bool,
        in_flight: InFlight,
        result: Result<Applied, ApplyError>,
    ) {
        if let Err(error) = &result {
            self.counters.failed_plans += 1;
            self.notice(Notice::ApplyFailed { session: seid, error: error.clone() });
        }
        match in_flight {
            InFlight::EstablishProfiled(_, profiled) if is_marked_for_removal => {
                return self.discard_profiled_establishment(now, seid, profiled, result.is_ok());
            }
            InFlight::ModifyProfiled(_, profiled, _) if is_marked_for_removal => {
                return self.discard_profiled_modification(seid, profiled, result.is_ok());
            }
            InFlight::DeleteProfiled(key) if is_marked_for_removal => {
                return self.discard_profiled_deletion(now, seid, key, &result);
            }
            InFlight::Change { work, change } if is_marked_for_removal => {
                return self.continue_removal(now, seid, work, *change, &result);
            }
            InFlight::EstablishProfiled(key, profiled) => {
                self.established_profiled(now, seid, key, profiled, result);
            }
            InFlight::ModifyProfiled(key, profiled, takeover) => {
                self.modified_profiled(now, seid, key, (profiled, takeover), result);
            }
            InFlight::DeleteProfiled(key) => self.deleted_profiled(now, seid, key, result),
            InFlight::Done => {}
            InFlight::Change { work, change } => self.changed(now, seid, work, *change, result),
        }
        self.start_next(now, seid);
    }

    fn changed(
        &mut self,
        now: Time,
        seid: Seid,
        work: PlanPurpose,
        change: Change,
        result: Result<Applied, ApplyError>,
    ) {
        match (work, result) {
            (PlanPurpose::Establish(key), Ok(_)) => self.established(now, seid, key, change),
            (PlanPurpose::Establish(key), Err(error)) => self.not_established(now, seid, key, change, &error),
            (PlanPurpose::Modify(key, takeover), Ok(applied)) => {
                self.modified(now, seid, key, *takeover, change, applied);
            }
            (PlanPurpose::Delete(key), result) => self.deleted(now, seid, key, change, result),
            (PlanPurpose::Modify(key, _), Err(error)) => self.not_changed(now, seid, key, change, &error),
            (PlanPurpose::Instruct, Ok(_)) => self.instructed(seid, change),
            (PlanPurpose::Instruct, Err(_)) => self.resources.abandon(change.resources),
            (PlanPurpose::Release, result) => self.released(now, seid, change, result),
            // Only a session marked for removal is purged.
            (PlanPurpose::Purge, _) => self.resources.abandon(change.resources),
        }
    }

    fn established(&mut self, now: Time, seid: Seid, key: RequestKey, change: Change) {
        let created = CreatedIes::by(&change);
        self.resources.commit(change.resources);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        session.rules = change.session.into();
        session.since = now;
        let (cp, association) = (session.cp, session.association);
        let status = self.status(now, Some(association), 0);
        self.accept_establishment(now, key, cp, seid, created, status);
    }

    pub(super) fn complete_profiled_establishment(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        profiled: ProfiledRules,
    ) {
        let Some(session) = self.sessions.get(seid) else { return };
        let (cp, association) = (session.cp, session.association);
        let status = self.status(now, Some(association), 0);
        let is_plain = status.is_empty();
        let form = if is_plain {
            self.response_templates.encode(&profiled, seid, cp.seid, key.sequence, self.buffer_pool.take())
        } else {
            None
        };
        if let Some(bytes) = form {
            self.activate(now, seid, profiled);
            return self.answer_with(now, key, MessageType::SessionEstablishmentResponse, bytes);
        }
        self.activate(now, seid, profiled.clone());
        let created =
            CreatedIes { pdrs: profiled.created_pdrs(), endpoints: Vec::new(), updated: Vec::new() };
        self.accept_establishment(now, key, cp, seid, created, status);
        if let RequestState::Answered(bytes) = self.inbound.look_up(&key)
            && is_plain
        {
            self.response_templates.remember(&profiled, seid, cp.seid, key.sequence, bytes);
        }
    }

    fn activate(&mut self, now: Time, seid: Seid, profiled: ProfiledRules) {
        if let Some(session) = self.sessions.get_mut(seid) {
            session.rules = profiled.into();
            session.since = now;
        }
    }

    /// Repeats the response to an establishment.
    pub(super) fn repeat_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        seid: Seid,
        request: &SessionEstablishmentRequest<'_>,
    ) {
        let Some(session) = self.sessions.get(seid) else { return self.inbound.forget(&key) };
        let (cp, association) = (session.cp, session.association);
        match causeway_rules::repeat_establishment(request, seid, &session.rules.to_rules()) {
            Err(rejection) => self.refuse(now, key, cp.seid, rejection.into()),
            Ok(change) => {
                let status = self.status(now, Some(association), 0);
                self.accept_establishment(now, key, cp, seid, CreatedIes::by(&change), status);
            }
        }
    }

    fn accept_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        cp: FSeid,
        seid: Seid,
        created: CreatedIes,
        status: LoadStatus,
    ) {
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = SessionEstablishmentResponse {
            load_control_information: status.load,
            overload_control_information: status.overload,
            up_f_seid: Some(FSeid { seid, addr: self.config.address }),
            created_pdrs: created.pdrs.into(),
            created_traffic_endpoints: created.endpoints.into(),
            ..SessionEstablishmentResponse::new(NodeId::from(&node), cause)
        };
        self.answer(now, key, cp.seid, Some(cause), &response.into());
    }

    fn not_established(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: Change,
        error: &ApplyError,
    ) {
        self.resources.abandon(change.resources);
        self.refuse_establishment(now, seid, key, error);
    }

    /// The data plane rejected the session.
    pub(super) fn refuse_establishment(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        error: &ApplyError,
    ) {
        let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
        self.refuse(now, key, cp, error.into());
        self.drop_session(now, seid);
    }

    /// A modification is applied. Queued usage of removed URRs, or of URRs that the response reports anyway, is added
    /// to the response, before the usage that the modification yielded. What exceeds one message follows in Session
    /// Report Requests (TS 29.244 clause 5.2.2.3.1).
    pub(crate) fn modified(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        takeover: Takeover,
        mut change: Change,
        applied: Applied,
    ) {
        let (created, clock) = (CreatedIes::by(&change), self.wall);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let urrs = &change.session.rules().urrs;
        let answered = |urr| applied.usage.iter().any(|usage| usage.urr == urr);
        let waited = session.reports.take_usage_of(|urr| !urrs.contains_key(&urr) || answered(urr));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        let mut usage_reports: Vec<_> =
            waited.iter().map(|usage| change.session.usage_report(usage, clock)).collect();
        usage_reports.extend(change.usage_reports(&applied.usage, clock));
        let additional = session.reports.push_front(split_additional(&mut usage_reports));
        let footprint = Footprint::of(change.session.rules());
        session.rules = change.session.into();
        self.sessions.set_footprint(seid, footprint);
        self.resources.commit(change.resources);
        self.take_over(seid, takeover);
        let session = self.sessions.get(seid);
        let cp = session.map_or(Seid(0), |session| session.cp.seid);
        let association = session.map(|session| session.association);
        let status = self.status(now, association, 0);
        let cause = Cause::RequestAccepted;
        let response = SessionModificationResponse {
            load_control_information: status.load,
            overload_control_information: status.overload,
            created_pdrs: created.pdrs.into(),
            created_traffic_endpoints: created.endpoints.into(),
            updated_pdrs: created.updated.into(),
            usage_reports: usage_reports.into(),
            additional_usage_reports: additional,
            packet_rate_status_reports: packet_rates.into(),
            ..SessionModificationResponse::new(cause)
        };
        self.answer(now, key, cp, Some(cause), &response.into());
    }

    pub(super) fn not_changed(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: Change,
        error: &ApplyError,
    ) {
        self.resources.abandon(change.resources);
        let kept = self.sessions.get(seid).map(|it| (it.cp.seid, Footprint::kept(&it.rules)));
        if let Some((_, footprint)) = kept {
            self.sessions.set_footprint(seid, footprint);
        }
        let cp = kept.map_or(Seid(0), |(cp, _)| cp);
        self.refuse(now, key, cp, error.into());
    }

    /// Starts queued work: requests first, then reports.
    fn start_next(&mut self, now: Time, seid: Seid) {
        if self.sessions.get(seid).is_none_or(Session::is_quiet) {
            return;
        }
        self.continue_release(seid);
        while self.sessions.get(seid).is_some_and(|session| session.in_flight.is_none()) {
            let Some(waiting) = self.sessions.next_waiting(seid) else { break };
            match waiting {
                QueuedWork::Request(request) => {
                    self.existing_session(now, seid, request.key, &request.header, &request.body);
                }
                QueuedWork::Answer(instructions) => self.instruct(seid, &instructions),
            }
        }
        self.send_reports(now, seid);
    }
}

/// Removes the usage reports that exceed one message. Consecutive reports of one URR are parts of one and stay
/// together.
fn split_additional(reports: &mut Vec<UsageReport<'static>>) -> Vec<UsageReport<'static>> {
    let begins = |at: &usize| match (reports.get(at.wrapping_sub(1)), reports.get(*at)) {
        (Some(before), Some(report)) => before.urr_id != report.urr_id,
        _ => false,
    };
    let fits = reports.len() <= USAGES;
    let cut = (1..=USAGES).rev().find(begins).or_else(|| (USAGES..reports.len()).find(begins));
    match cut.filter(|_| !fits) {
        Some(cut) => reports.split_off(cut),
        None => Vec::new(),
    }
}
