//! What the data plane made of a plan, and what becomes of the session and its request.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{
    Cause, CreatedPdr, CreatedTrafficEndpoint, MessageType, NodeId, SessionEstablishmentRequest,
    SessionEstablishmentResponse, SessionModificationResponse, UpdatedPdr, UsageReport,
};
use causeway_rules::{Alike, Change, packet_rate_reports};
use causeway_types::{FSeid, Seid, Time};

use super::work::{InFlight, Waiting, Work};
use super::{Session, Takeover};
use crate::memory::Footprint;
use crate::report::USAGES;
use crate::status::Status;
use crate::transaction::{RequestKey, Seen};
use crate::{ApplyId, N4, Notice};

/// What the UPF chose, for the response.
struct Created {
    pdrs: Vec<CreatedPdr<'static>>,
    endpoints: Vec<CreatedTrafficEndpoint<'static>>,
    updated: Vec<UpdatedPdr<'static>>,
}

impl Created {
    fn by(change: &Change) -> Self {
        let (pdrs, endpoints) = (change.created_pdrs(), change.created_traffic_endpoints());
        Self { pdrs, endpoints, updated: change.updated_pdrs() }
    }
}

impl N4 {
    /// Takes the outcome of a plan that [`crate::Output::Apply`] handed out, once for each.
    ///
    /// Events that the data plane raised before it carried out the plan must have come before.
    pub fn applied(&mut self, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.resources.set_time(now);
        if let Some(seid) = self.sessions.condemned_at(id) {
            self.doom_now(now, seid);
        }
        let Some((seid, is_doomed, in_flight)) = self.sessions.finish(id) else { return };
        if in_flight.is_removal() {
            self.removing = self.removing.saturating_sub(1);
        }
        self.outcome(now, seid, is_doomed, in_flight, result);
        self.go_on_purging(now);
    }

    fn outcome(
        &mut self,
        now: Time,
        seid: Seid,
        is_doomed: bool,
        in_flight: InFlight,
        result: Result<Applied, ApplyError>,
    ) {
        if let Err(error) = &result {
            self.counters.failed_plans += 1;
            self.notice(Notice::ApplyFailed { session: seid, error: error.clone() });
        }
        match in_flight {
            InFlight::Alike(_, alike) if is_doomed => {
                return self.doomed_alike(now, seid, alike, result.is_ok());
            }
            InFlight::Moved(_, alike, _) if is_doomed => {
                return self.doomed_moved(seid, alike, result.is_ok());
            }
            InFlight::Ends(key) if is_doomed => return self.doomed_end(now, seid, key, &result),
            InFlight::Change { work, change } if is_doomed => {
                return self.doomed_applied(now, seid, work, *change, &result);
            }
            InFlight::Alike(key, alike) => self.applied_alike(now, seid, key, alike, result),
            InFlight::Moved(key, alike, takeover) => {
                self.applied_moved(now, seid, key, (alike, takeover), result);
            }
            InFlight::Ends(key) => self.applied_end(now, seid, key, result),
            InFlight::Over => {}
            InFlight::Change { work, change } => self.changed(now, seid, work, *change, result),
        }
        self.next_in_line(now, seid);
    }

    fn changed(
        &mut self,
        now: Time,
        seid: Seid,
        work: Work,
        change: Change,
        result: Result<Applied, ApplyError>,
    ) {
        match (work, result) {
            (Work::Establish(key), Ok(_)) => self.established(now, seid, key, change),
            (Work::Establish(key), Err(error)) => self.not_established(now, seid, key, change, &error),
            (Work::Modify(key, takeover), Ok(applied)) => {
                self.modified(now, seid, key, *takeover, change, applied);
            }
            (Work::Delete(key), result) => self.deleted(now, seid, key, change, result),
            (Work::Modify(key, _), Err(error)) => self.not_changed(now, seid, key, change, &error),
            (Work::Instruct, Ok(_)) => self.instructed(seid, change),
            (Work::Instruct, Err(_)) => self.resources.abandon(change.resources),
            (Work::Release, result) => self.released(now, seid, change, result),
            // Only a doomed session is purged.
            (Work::Purge, _) => self.resources.abandon(change.resources),
        }
    }

    fn established(&mut self, now: Time, seid: Seid, key: RequestKey, change: Change) {
        let created = Created::by(&change);
        self.resources.commit(change.resources);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        session.rules = change.session.into();
        session.since = now;
        let (cp, association) = (session.cp, session.association);
        let status = self.status(now, Some(association), 0);
        self.accept_establishment(now, key, cp, seid, created, status);
    }

    pub(super) fn established_alike(&mut self, now: Time, seid: Seid, key: RequestKey, alike: Alike) {
        let Some(session) = self.sessions.get(seid) else { return };
        let (cp, association) = (session.cp, session.association);
        let status = self.status(now, Some(association), 0);
        let is_plain = status.is_empty();
        let form = if is_plain {
            self.forms.fill(&alike, seid, cp.seid, key.sequence, self.buffers.take())
        } else {
            None
        };
        if let Some(bytes) = form {
            self.come_to_be(now, seid, alike);
            return self.answer_with(now, key, MessageType::SessionEstablishmentResponse, bytes);
        }
        self.come_to_be(now, seid, alike.clone());
        let created = Created { pdrs: alike.created_pdrs(), endpoints: Vec::new(), updated: Vec::new() };
        self.accept_establishment(now, key, cp, seid, created, status);
        if let Seen::Answered(bytes) = self.inbound.look_up(&key)
            && is_plain
        {
            self.forms.remember(&alike, seid, cp.seid, key.sequence, bytes);
        }
    }

    fn come_to_be(&mut self, now: Time, seid: Seid, alike: Alike) {
        if let Some(session) = self.sessions.get_mut(seid) {
            session.rules = alike.into();
            session.since = now;
        }
    }

    /// Answers an establishment that was carried out before, as then.
    pub(super) fn repeat_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        seid: Seid,
        request: &SessionEstablishmentRequest<'_>,
    ) {
        let Some(session) = self.sessions.get(seid) else { return self.inbound.forget(&key) };
        let (cp, association) = (session.cp, session.association);
        match causeway_rules::established_by(request, seid, &session.rules.whole()) {
            Err(rejection) => self.refuse(now, key, cp.seid, rejection.into()),
            Ok(change) => {
                let status = self.status(now, Some(association), 0);
                self.accept_establishment(now, key, cp, seid, Created::by(&change), status);
            }
        }
    }

    fn accept_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        cp: FSeid,
        seid: Seid,
        created: Created,
        status: Status,
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

    /// The data plane would not have the session.
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

    /// A modification is in force. Usage that was to be reported of URRs that are gone now, or that the response
    /// reports anyway, goes into it, before what the modification yielded. What is too much for one message follows
    /// in Session Report Requests (TS 29.244 clause 5.2.2.3.1).
    pub(crate) fn modified(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        takeover: Takeover,
        mut change: Change,
        applied: Applied,
    ) {
        let (created, clock) = (Created::by(&change), self.wall);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let urrs = &change.session.rules().urrs;
        let answered = |urr| applied.usage.iter().any(|usage| usage.urr == urr);
        let waited = session.reports.take_usage_of(|urr| !urrs.contains_key(&urr) || answered(urr));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        let mut usage_reports: Vec<_> =
            waited.iter().map(|usage| change.session.usage_report(usage, clock)).collect();
        usage_reports.extend(change.usage_reports(&applied.usage, clock));
        let additional = session.reports.put_first(split_additional(&mut usage_reports));
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

    /// Begins what waits: requests first, then reports.
    fn next_in_line(&mut self, now: Time, seid: Seid) {
        if self.sessions.get(seid).is_none_or(Session::is_quiet) {
            return;
        }
        self.go_on_releasing(seid);
        while self.sessions.get(seid).is_some_and(|session| session.in_flight.is_none()) {
            let Some(waiting) = self.sessions.next_waiting(seid) else { break };
            match waiting {
                Waiting::Request(request) => {
                    self.existing_session(now, seid, request.key, &request.header, &request.body);
                }
                Waiting::Answer(instructions) => self.instruct(seid, &instructions),
            }
        }
        self.send_reports(now, seid);
    }
}

/// Takes out the usage reports that are too many for one message. Those of one URR that follow each other are parts
/// of one and stay together.
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
