//! Session deletion requested by SMFs.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType, SessionDeletionResponse, SessionDeletionResponseFlags};
use causeway_rules::{Change, packet_rate_reports};
use causeway_types::{Seid, Time};

use super::in_flight::PlanPurpose;
use crate::load_status::LoadStatus;
use crate::transaction::{RequestKey, RequestState};
use crate::{N4, Output};

impl N4 {
    /// Begins the deletion of a profiled session. `false`: nothing has happened, and the request is handled on the
    /// general path, with the same response.
    pub(super) fn try_delete_profiled(&mut self, seid: Seid, key: RequestKey, body: &[u8]) -> bool {
        let is_profiled = self.sessions.get(seid).is_some_and(|session| session.rules.profiled().is_some());
        if !is_profiled || !body.is_empty() {
            return false;
        }
        let Some((id, plan)) = self.sessions.start_profiled_deletion(key, seid) else { return false };
        self.push(Output::Apply { id, plan });
        true
    }

    /// The result of the data plane.
    pub(super) fn deleted_profiled(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        result: Result<Applied, ApplyError>,
    ) {
        let Some(session) = self.sessions.get(seid) else { return };
        // The index entries of the session are in other cache lines, which are often not cached when there are many.
        std::hint::black_box(self.sessions.prefetch_removal(session));
        let applied = match result {
            Ok(applied) if session.reports.is_empty() => applied,
            result => {
                let change = session.rules.delete(seid);
                return self.deleted(now, seid, key, change, result);
            }
        };
        let (cp, association) = (session.cp.seid, session.association);
        let status = self.status(now, Some(association), 1);
        let Some(session) = self.sessions.get(seid) else { return };
        let is_plain = status.is_empty() && applied.packet_rates.is_empty();
        let form = if is_plain {
            let octets = self.buffer_pool.take();
            self.response_templates.end(&session.rules, &applied.usage, cp, key.sequence, octets, self.wall)
        } else {
            None
        };
        if let (Some(bytes), Some(profiled)) = (form, session.rules.profiled()) {
            self.resources.release(seid, profiled, true);
            self.answer_with(now, key, MessageType::SessionDeletionResponse, bytes);
            return self.drop_session(now, seid);
        }
        let (rules, usage) = (session.rules.clone(), applied.usage.clone());
        self.accept_deletion(now, seid, key, rules.delete(seid), applied, status);
        if let RequestState::Answered(bytes) = self.inbound.look_up(&key)
            && is_plain
        {
            self.response_templates.remember_end(&rules, &usage, cp, key.sequence, bytes, self.wall);
        }
    }

    /// The same for a session that was marked for removal meanwhile.
    pub(super) fn discard_profiled_deletion(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        result: &Result<Applied, ApplyError>,
    ) {
        let Some(session) = self.sessions.get(seid) else { return };
        let change = session.rules.delete(seid);
        self.continue_removal(now, seid, PlanPurpose::Delete(key), change, result);
    }

    /// The result of the data plane: the session is removed, or still exists.
    pub(super) fn deleted(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        change: Change,
        result: Result<Applied, ApplyError>,
    ) {
        let applied = match result {
            Ok(applied) => applied,
            // It does not exist, as requested.
            Err(ApplyError::UnknownSession(_)) => Applied::default(),
            Err(error) => return self.not_changed(now, seid, key, change, &error),
        };
        let association = self.sessions.get(seid).map(|session| session.association);
        let status = self.status(now, association, 1);
        self.accept_deletion(now, seid, key, change, applied, status);
    }

    /// The session is removed. Queued usage is added to the response; a report still in flight is indicated (PURU).
    pub(super) fn accept_deletion(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        mut change: Change,
        applied: Applied,
        status: LoadStatus,
    ) {
        let clock = self.wall;
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let cp = session.cp.seid;
        let pending = session.reports.is_on_its_way().then_some(SessionDeletionResponseFlags::PURU);
        let mut usage_reports = session.reports.take_additional();
        let waited = session.reports.take_unsent_usage();
        usage_reports.reserve_exact(waited.len() + applied.usage.len());
        usage_reports.extend(waited.iter().map(|usage| change.session.usage_report(usage, clock)));
        usage_reports.extend(change.usage_reports(&applied.usage, clock));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        self.resources.commit(change.resources);
        let cause = Cause::RequestAccepted;
        let response = SessionDeletionResponse {
            load_control_information: status.load,
            overload_control_information: status.overload,
            usage_reports: usage_reports.into(),
            packet_rate_status_reports: packet_rates.into(),
            flags: pending,
            ..SessionDeletionResponse::new(cause)
        };
        self.answer(now, key, cp, Some(cause), &response.into());
        self.drop_session(now, seid);
    }
}
