//! What the data plane made of a plan, and what becomes of the session and its request.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{
    Cause, CreatedPdr, CreatedTrafficEndpoint, NodeId, SessionDeletionResponse, SessionEstablishmentResponse,
    SessionModificationResponse, UpdatedPdr,
};
use causeway_rules::{Change, packet_rate_reports};
use causeway_types::{FSeid, Seid, Time};

use super::table::{InFlight, Waiting, Work};
use crate::transaction::RequestKey;
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
        let Some((seid, in_flight)) = self.sessions.finish(id) else { return };
        let InFlight { work, change } = in_flight;
        if let Err(error) = &result {
            self.counters.failed_plans += 1;
            self.notice(Notice::ApplyFailed { session: seid, error: error.clone() });
        }
        if self.sessions.get(seid).is_some_and(|session| session.doomed) {
            return self.doomed_applied(now, seid, work, change, &result);
        }
        match (work, result) {
            (Work::Establish(key), Ok(_)) => self.established(now, seid, key, change),
            (Work::Establish(key), Err(error)) => self.not_established(now, seid, key, change, &error),
            (Work::Modify(key, cp), Ok(applied)) => self.modified(now, seid, key, cp, change, applied),
            (Work::Delete(key), Ok(applied)) => self.deleted(now, seid, key, change, applied),
            // It is not there, which is what was asked for.
            (Work::Delete(key), Err(ApplyError::UnknownSession(_))) => {
                self.deleted(now, seid, key, change, Applied::default());
            }
            (Work::Modify(key, _) | Work::Delete(key), Err(error)) => {
                self.not_changed(now, seid, key, change, &error);
            }
            (Work::Instruct, Ok(_)) => self.instructed(seid, change),
            (Work::Instruct, Err(_)) => self.resources.abandon(change.resources),
            // Only a doomed session is purged.
            (Work::Purge, _) => self.resources.abandon(change.resources),
        }
        self.next_in_line(now, seid);
    }

    fn established(&mut self, now: Time, seid: Seid, key: RequestKey, change: Change) {
        let created = Created::by(&change);
        self.resources.commit(change.resources);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        session.rules = change.session;
        session.since = now;
        let cp = session.cp;
        self.accept_establishment(now, key, cp, seid, created);
    }

    fn accept_establishment(&mut self, now: Time, key: RequestKey, cp: FSeid, seid: Seid, created: Created) {
        let node = self.config.node.clone();
        let cause = Cause::RequestAccepted;
        let response = SessionEstablishmentResponse {
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
        let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
        self.refuse(now, key, cp, error.into());
        self.drop_session(now, seid);
    }

    /// A modification is in force. Usage that was to be reported of URRs that are gone now goes into the
    /// response, before what the removal yielded.
    pub(crate) fn modified(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        cp: Option<FSeid>,
        mut change: Change,
        applied: Applied,
    ) {
        let created = Created::by(&change);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let urrs = &change.session.rules().urrs;
        let mut reported = session.reports.take_usage_of(|urr| !urrs.contains_key(&urr));
        reported.extend(applied.usage);
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        let usage_reports = change.usage_reports(&reported);
        session.rules = change.session;
        self.resources.commit(change.resources);
        let cause = Cause::RequestAccepted;
        let response = SessionModificationResponse {
            created_pdrs: created.pdrs.into(),
            created_traffic_endpoints: created.endpoints.into(),
            updated_pdrs: created.updated.into(),
            usage_reports: usage_reports.into(),
            packet_rate_status_reports: packet_rates.into(),
            ..SessionModificationResponse::new(cause)
        };
        if let Some(cp) = cp {
            self.move_session(seid, cp);
        }
        let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
        self.answer(now, key, cp, Some(cause), &response.into());
    }

    fn not_changed(&mut self, now: Time, seid: Seid, key: RequestKey, change: Change, error: &ApplyError) {
        self.resources.abandon(change.resources);
        let cp = self.sessions.get(seid).map_or(Seid(0), |session| session.cp.seid);
        self.refuse(now, key, cp, error.into());
    }

    /// The session is gone. Usage that waited to be reported goes into the response.
    fn deleted(&mut self, now: Time, seid: Seid, key: RequestKey, mut change: Change, applied: Applied) {
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let cp = session.cp.seid;
        let mut reported = session.reports.take_unsent_usage();
        reported.extend(applied.usage);
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        let usage_reports = change.usage_reports(&reported);
        self.resources.commit(change.resources);
        let cause = Cause::RequestAccepted;
        let response = SessionDeletionResponse {
            usage_reports: usage_reports.into(),
            packet_rate_status_reports: packet_rates.into(),
            ..SessionDeletionResponse::new(cause)
        };
        self.answer(now, key, cp, Some(cause), &response.into());
        self.drop_session(now, seid);
    }

    /// Begins what waits: requests first, then reports.
    fn next_in_line(&mut self, now: Time, seid: Seid) {
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
