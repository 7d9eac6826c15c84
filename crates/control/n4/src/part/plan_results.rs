//! Results of plans, with their effect on the session and its request.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{
    AdditionalUsageReports, Cause, CreatedPdr, CreatedTrafficEndpoint, Ie, MessageType, NodeId,
    PacketRateStatusReport, SessionDeletionResponse, SessionDeletionResponseFlags,
    SessionEstablishmentRequest, SessionEstablishmentResponse, SessionModificationResponse, UpdatedPdr,
    UsageReport,
};
use causeway_rules::{PendingChange, PlannedChange, packet_rate_reports};
use causeway_types::{FSeid, Seid, Time};

use super::Turn;
use crate::ApplyId;
use crate::load::LoadStatus;
use crate::memory::Footprint;
use crate::report::USAGES;
use crate::session::{InFlight, PlanPurpose, QueuedWork, Session, Takeover};
use crate::transaction::{RequestKey, RequestRefusal, RequestState};

/// Values that the UPF chose, for the response.
#[derive(Default)]
struct CreatedIes {
    pdrs: Vec<CreatedPdr<'static>>,
    endpoints: Vec<CreatedTrafficEndpoint<'static>>,
    updated: Vec<UpdatedPdr<'static>>,
}

impl CreatedIes {
    fn by(change: &PendingChange) -> Self {
        let (pdrs, endpoints) = (change.created_pdrs(), change.created_traffic_endpoints());
        Self { pdrs, endpoints, updated: change.updated_pdrs() }
    }

    fn is_empty(&self) -> bool {
        self.pdrs.is_empty() && self.endpoints.is_empty() && self.updated.is_empty()
    }
}

/// The results of a modification.
#[derive(Default)]
struct Results {
    created: CreatedIes,
    usage_reports: Vec<UsageReport<'static>>,
    /// The usage reports that follow in other messages.
    additional: Option<AdditionalUsageReports>,
    packet_rates: Vec<PacketRateStatusReport<'static>>,
}

impl Results {
    fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.usage_reports.is_empty()
            && self.additional.is_none()
            && self.packet_rates.is_empty()
    }
}

impl Turn<'_> {
    /// Handles the result of a plan from [`crate::Output::Apply`], once for each plan.
    ///
    /// Events that the data plane raised before it applied the plan must be passed first.
    pub(crate) fn applied(&mut self, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.part.sessions.set_time(now);
        if let Some(seid) = self.part.sessions.purged_session_of_plan(id) {
            self.remove_before_purge(now, seid);
        }
        let Some((seid, is_marked_for_removal, in_flight)) = self.part.sessions.finish(id) else { return };
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
            self.part.out.failed_plan(seid, error.clone());
        }
        let InFlight { purpose, change } = in_flight;
        if is_marked_for_removal {
            return self.continue_removal(now, seid, purpose, change, &result);
        }
        self.changed(now, seid, purpose, change, result);
        self.start_next(now, seid);
    }

    fn changed(
        &mut self,
        now: Time,
        seid: Seid,
        purpose: PlanPurpose,
        change: PendingChange,
        result: Result<Applied, ApplyError>,
    ) {
        match (purpose, result) {
            (PlanPurpose::Establish(key), Ok(_)) => self.established(now, seid, key, change),
            (PlanPurpose::Establish(key), Err(error)) => self.not_established(now, seid, key, change, &error),
            (PlanPurpose::Modify(key, takeover), Ok(applied)) => {
                self.modified(now, seid, key, takeover, change, applied);
            }
            (PlanPurpose::Delete(key), result) => self.deleted(now, seid, key, change, result),
            (PlanPurpose::Modify(key, _), Err(error)) => self.not_changed(now, seid, key, change, &error),
            (PlanPurpose::Restore, Ok(_)) => self.part.sessions.commit(seid, change),
            // The notice of the failed plan names it.
            (PlanPurpose::Restore, Err(_)) => {
                self.part.sessions.abandon(seid, change);
                self.drop_session(now, seid);
            }
            (PlanPurpose::Instruct, Ok(_)) => self.part.sessions.commit(seid, change),
            (PlanPurpose::Instruct, Err(_)) => self.part.sessions.abandon(seid, change),
            (PlanPurpose::Release, result) => self.released(now, seid, change, result),
            // Only a session marked for removal is purged.
            (PlanPurpose::Purge, _) => self.part.sessions.abandon(seid, change),
        }
    }

    fn established(&mut self, now: Time, seid: Seid, key: RequestKey, change: PendingChange) {
        let Some(session) = self.part.sessions.get(seid) else { return };
        let (cp, association) = (session.cp(), session.association());
        let status = self.status(now, Some(association), 0);
        self.part.sessions.set_established(now, seid);
        let profiled = change.profiled().filter(|_| status.is_empty());
        let known = profiled.and_then(|profiled| {
            let octets = self.part.transactions.buffer();
            self.part.templates.encode(profiled, seid, cp.seid, key.sequence, octets)
        });
        if let Some(bytes) = known {
            self.part.sessions.commit(seid, change);
            return self.answer_with(now, key, MessageType::SessionEstablishmentResponse, bytes);
        }
        let (profiled, created) = (profiled.cloned(), CreatedIes::by(&change));
        self.part.sessions.commit(seid, change);
        self.accept_establishment(now, key, cp, seid, created, status);
        if let (Some(profiled), RequestState::Answered(bytes)) =
            (profiled, self.part.transactions.look_up(&key))
        {
            self.part.templates.remember(&profiled, seid, cp.seid, key.sequence, bytes);
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
        let Some(session) = self.part.sessions.get(seid) else { return self.part.transactions.forget(&key) };
        let (cp, association) = (session.cp(), session.association());
        match causeway_rules::repeat_establishment(request, seid, &session.rules().to_rules()) {
            Err(rejection) => self.refuse(now, key, RequestRefusal::from(rejection).about(cp.seid)),
            Ok(change) => {
                let status = self.status(now, Some(association), 0);
                let created = CreatedIes::by(&PlannedChange::from(change).pending);
                self.accept_establishment(now, key, cp, seid, created, status);
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
        let node = self.node.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = SessionEstablishmentResponse {
            load_control_information: status.load,
            overload_control_information: status.overload,
            up_f_seid: Some(FSeid { seid, addr: self.node.config.address }),
            created_pdrs: created.pdrs.into(),
            created_traffic_endpoints: created.endpoints.into(),
            ..SessionEstablishmentResponse::new(NodeId::from(&node), cause)
        };
        self.answer(now, key, cp.seid, Some(cause), &response.into());
    }

    /// The data plane rejected the session.
    fn not_established(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: PendingChange,
        error: &ApplyError,
    ) {
        self.part.sessions.abandon(seid, change);
        let cp = self.part.sessions.get(seid).map_or(Seid(0), |session| session.cp().seid);
        self.refuse(now, key, RequestRefusal::from(error).about(cp));
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
        takeover: Option<Box<Takeover>>,
        mut change: PendingChange,
        applied: Applied,
    ) {
        if self.part.sessions.get(seid).is_none() {
            return;
        }
        let has_results =
            !change.is_rebinding() || applied != Applied::default() || !self.part.reports.is_empty(seid);
        let results =
            if has_results { self.results_of(seid, &mut change, &applied) } else { Results::default() };
        // A rebound session needs as much memory as before.
        let footprint = (!change.is_rebinding()).then(|| Footprint::after(&change));
        self.part.sessions.take_usage(seid, &applied.usage);
        self.part.sessions.commit(seid, change);
        self.part.reports.plan_is_done(seid, true);
        footprint.into_iter().for_each(|footprint| self.part.sessions.set_footprint(seid, footprint));
        takeover.into_iter().for_each(|takeover| self.take_over(now, seid, *takeover));
        let session = self.part.sessions.get(seid);
        let cp = session.map_or(Seid(0), |session| session.cp().seid);
        let association = session.map(Session::association);
        let status = self.status(now, association, 0);
        // A response that contains nothing but the acceptance is made from a template.
        let is_plain = status.is_empty() && (!has_results || results.is_empty());
        if is_plain
            && let Some(bytes) = self.part.templates.accept(cp, key.sequence, self.part.transactions.buffer())
        {
            return self.answer_with(now, key, MessageType::SessionModificationResponse, bytes);
        }
        let Results { created, usage_reports, additional, packet_rates } = results;
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
        if let RequestState::Answered(bytes) = self.part.transactions.look_up(&key)
            && is_plain
        {
            self.part.templates.remember_accepted(cp, key.sequence, bytes);
        }
    }

    /// The results of a modification that its response contains.
    fn results_of(&mut self, seid: Seid, change: &mut PendingChange, applied: &Applied) -> Results {
        let created = CreatedIes::by(change);
        let answered = |urr| applied.usage.iter().any(|usage| usage.urr == urr);
        let waited = self.part.reports.take_usage_of(seid, |urr| !change.has_urr(urr) || answered(urr));
        let mut usage_reports =
            self.part.sessions.usage_reports(seid, change, &waited, applied, self.node.wall);
        let additional = self.part.reports.push_front(seid, split_additional(&mut usage_reports));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        Results { created, usage_reports, additional, packet_rates }
    }

    pub(super) fn not_changed(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: PendingChange,
        error: &ApplyError,
    ) {
        self.part.sessions.abandon(seid, change);
        self.part.reports.plan_is_done(seid, false);
        let kept = self.part.sessions.get(seid).map(|it| (it.cp().seid, Footprint::kept(it.rules())));
        if let Some((_, footprint)) = kept {
            self.part.sessions.set_footprint(seid, footprint);
        }
        let cp = kept.map_or(Seid(0), |(cp, _)| cp);
        self.refuse(now, key, RequestRefusal::from(error).about(cp));
    }

    /// Starts queued work: requests first, then reports. Work behind a request that only all parts can decide waits.
    pub(crate) fn start_next(&mut self, now: Time, seid: Seid) {
        let is_quiet = self.part.sessions.get(seid).is_none_or(Session::is_quiet);
        if is_quiet && self.part.reports.is_empty(seid) {
            return;
        }
        self.part.sessions.continue_release(seid, &mut self.part.out);
        while self.part.sessions.get(seid).is_some_and(|session| !session.has_plan()) {
            let Some(waiting) = self.part.sessions.next_waiting(seid) else { break };
            match waiting {
                QueuedWork::Request(request) => {
                    self.existing_session(now, seid, request.key, &request.header, &request.body);
                    if self.part.has_undecided(seid) {
                        return;
                    }
                }
                QueuedWork::Answer(instructions) => {
                    self.part.sessions.instruct(seid, &instructions, &mut self.part.out);
                }
            }
        }
        self.send_reports(now, seid);
    }

    /// The result of the data plane: the session is removed, or still exists.
    pub(super) fn deleted(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: PendingChange,
        result: Result<Applied, ApplyError>,
    ) {
        let applied = match result {
            Ok(applied) => applied,
            // It does not exist, as requested.
            Err(ApplyError::UnknownSession(_)) => Applied::default(),
            Err(error) => return self.not_changed(now, seid, key, change, &error),
        };
        let Some(session) = self.part.sessions.get(seid) else { return };
        // The index entries of the session are in other cache lines, which are often not cached when there are many.
        std::hint::black_box(self.part.sessions.prefetch_removal(session));
        let (cp, has_reports) = (session.cp().seid, !self.part.reports.is_empty(seid));
        let status = self.status(now, Some(session.association()), 1);
        let has_more = has_reports || !status.is_empty() || !applied.packet_rates.is_empty();
        // A response with the usage of this deletion alone is made from a template.
        let Some(session) =
            self.part.sessions.get(seid).filter(|_| change.is_profiled_removal() && !has_more)
        else {
            return self.accept_deletion(now, seid, key, change, applied, status);
        };
        let octets = self.part.transactions.buffer();
        let known = self.part.templates.end(
            session.rules(),
            &applied.usage,
            cp,
            key.sequence,
            octets,
            self.node.wall,
        );
        if let Some(bytes) = known {
            self.part.sessions.free_resources(seid, change);
            self.answer_with(now, key, MessageType::SessionDeletionResponse, bytes);
            return self.drop_session(now, seid);
        }
        let (rules, usage) = (session.rules().clone(), applied.usage.clone());
        self.accept_deletion(now, seid, key, change, applied, status);
        if let RequestState::Answered(bytes) = self.part.transactions.look_up(&key) {
            self.part.templates.remember_end(&rules, &usage, cp, key.sequence, bytes, self.node.wall);
        }
    }

    /// The session is removed. Queued usage is added to the response; a report still in flight is indicated (PURU).
    /// Usage that exceeds one message follows in Session Report Requests (TS 29.244 clause 5.2.2.3.1); until the SMF has
    /// acknowledged it the session stays as one that has ended. That of a session that was marked for removal meanwhile
    /// is lost.
    pub(super) fn accept_deletion(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        mut change: PendingChange,
        applied: Applied,
        status: LoadStatus,
    ) {
        let Some(cp) = self.part.sessions.get(seid).map(|session| session.cp().seid) else { return };
        let pending = self.part.reports.is_in_flight(seid).then_some(SessionDeletionResponseFlags::PURU);
        let mut usage_reports = self.part.reports.take_additional(seid);
        let waited = self.part.reports.take_unsent_usage(seid);
        usage_reports.append(&mut self.part.sessions.usage_reports(
            seid,
            &mut change,
            &waited,
            &applied,
            self.node.wall,
        ));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        self.part.sessions.free_resources(seid, change);
        let excess = split_excess(&mut usage_reports, OCTETS_OF_USAGE);
        let follows = !excess.is_empty() && self.part.sessions.begin_or_continue_release(seid);
        let additional = if follows { self.part.reports.push_front(seid, excess) } else { None };
        let cause = Cause::RequestAccepted;
        let response = SessionDeletionResponse {
            additional_usage_reports: additional,
            load_control_information: status.load,
            overload_control_information: status.overload,
            usage_reports: usage_reports.into(),
            packet_rate_status_reports: packet_rates.into(),
            flags: pending,
            ..SessionDeletionResponse::new(cause)
        };
        self.answer(now, key, cp, Some(cause), &response.into());
        if follows {
            return self.end_with_reports(now, seid);
        }
        self.drop_session(now, seid);
    }
}

/// The most octets of the usage reports of a Session Deletion Response: with its other IEs, of which the packet rate
/// status reports are the most, it stays below the 65,507 octets of a UDP datagram over IPv4.
const OCTETS_OF_USAGE: usize = 40_000;

/// Removes the usage reports that need more octets than this. Consecutive reports of one URR are parts of one and stay
/// together.
fn split_excess(reports: &mut Vec<UsageReport<'static>>, most: usize) -> Vec<UsageReport<'static>> {
    let (mut scratch, mut octets, mut cut, mut before) = (Vec::new(), 0, 0, None);
    for (at, report) in reports.iter().enumerate() {
        if before.replace(report.urr_id) != Some(report.urr_id) {
            cut = at;
        }
        scratch.clear();
        report.encode(&mut scratch);
        octets += IE_HEADER + scratch.len();
        if octets > most {
            return reports.split_off(cut);
        }
    }
    Vec::new()
}

/// Octets of the type and the length of an IE.
const IE_HEADER: usize = 4;

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
