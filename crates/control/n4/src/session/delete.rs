//! Session deletion requested by SMFs.

use causeway_dataplane::{Applied, ApplyError};
use causeway_pfcp::{Cause, MessageType, SessionDeletionResponse, SessionDeletionResponseFlags};
use causeway_rules::{PendingChange, packet_rate_reports};
use causeway_types::{Seid, Time};

use crate::N4;
use crate::load::LoadStatus;
use crate::transaction::{RequestKey, RequestState};

impl N4 {
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
        let Some(session) = self.sessions.get(seid) else { return };
        // The index entries of the session are in other cache lines, which are often not cached when there are many.
        std::hint::black_box(self.sessions.prefetch_removal(session));
        let (cp, has_reports) = (session.cp.seid, !self.reports.is_empty(seid));
        let status = self.status(now, Some(session.association), 1);
        let has_more = has_reports || !status.is_empty() || !applied.packet_rates.is_empty();
        // A response with the usage of this deletion alone is made from a template.
        let Some(session) = self.sessions.get(seid).filter(|_| change.is_profiled_removal() && !has_more)
        else {
            return self.accept_deletion(now, seid, key, change, applied, status);
        };
        let octets = self.transactions.buffer();
        let known =
            self.response_templates.end(&session.rules, &applied.usage, cp, key.sequence, octets, self.wall);
        if let Some(bytes) = known {
            change.end(seid, &session.rules, &mut self.resources);
            self.answer_with(now, key, MessageType::SessionDeletionResponse, bytes);
            return self.drop_session(now, seid);
        }
        let (rules, usage) = (session.rules.clone(), applied.usage.clone());
        self.accept_deletion(now, seid, key, change, applied, status);
        if let RequestState::Answered(bytes) = self.transactions.look_up(&key) {
            self.response_templates.remember_end(&rules, &usage, cp, key.sequence, bytes, self.wall);
        }
    }

    /// The session is removed. Queued usage is added to the response; a report still in flight is indicated (PURU).
    pub(super) fn accept_deletion(
        &mut self,
        now: Time,
        seid: Seid,
        key: RequestKey,
        mut change: PendingChange,
        applied: Applied,
        status: LoadStatus,
    ) {
        let clock = self.wall;
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let cp = session.cp.seid;
        let pending = self.reports.is_in_flight(seid).then_some(SessionDeletionResponseFlags::PURU);
        let mut usage_reports = self.reports.take_additional(seid);
        let waited = self.reports.take_unsent_usage(seid);
        usage_reports.reserve_exact(waited.len() + applied.usage.len());
        usage_reports
            .extend(waited.iter().map(|usage| change.usage_report(&mut session.rules, usage, clock)));
        usage_reports.extend(change.usage_reports(&mut session.rules, &applied.usage, clock));
        let packet_rates = packet_rate_reports(&applied.packet_rates);
        self.free_resources(seid, change);
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
