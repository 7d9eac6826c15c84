//! Sessions that the UPF ends itself, with a report of their usage (TS 29.244 clause 5.18.2).

use causeway_dataplane::{Applied, ApplyError};
use causeway_model::Usage;
use causeway_pfcp::{CpFeatures, UpFeatures};
use causeway_rules::{PendingChange, PlannedChange, packet_rate_reports};
use causeway_types::{Seid, Time, Volume};

use super::PendingRequests;
use super::in_flight::{PlanPurpose, QueuedWork};
use crate::report::Report;
use crate::{N4, Notice, ReleaseReason};

impl N4 {
    /// Ends a session: for the SMF it no longer exists; the data plane removes it after its plan in flight. Then the
    /// SMF receives its usage and, if it supports that, the report of its end.
    pub(crate) fn release_session(&mut self, now: Time, seid: Seid, reason: ReleaseReason) {
        if self.is_in_purge(seid) {
            return;
        }
        let Some(session) = self.sessions.get_mut(seid).filter(|session| !session.is_ending()) else {
            return;
        };
        session.releasing = true;
        self.sessions.forget_cp(seid);
        while let Some(waiting) = self.sessions.next_waiting(seid) {
            if let QueuedWork::Request(request) = waiting {
                self.refuse_unknown(now, request.key);
            }
        }
        self.out.notice(Notice::SessionReleased { session: seid, reason });
        self.continue_release(seid);
    }

    /// Has the data plane remove a session that is being released, when it has no plan in flight.
    pub(crate) fn continue_release(&mut self, seid: Seid) {
        let is_next = |session: &&super::Session| session.releasing && session.in_flight.is_none();
        if let Some(session) = self.sessions.get(seid).filter(is_next) {
            let planned = PlannedChange::removal(seid, &session.rules);
            self.removals_in_flight += 1;
            self.submit_plan(PlanPurpose::Release, planned);
        }
    }

    /// The result of the data plane.
    pub(crate) fn released(
        &mut self,
        now: Time,
        seid: Seid,
        change: PendingChange,
        result: Result<Applied, ApplyError>,
    ) {
        let applied = match result {
            Ok(applied) => applied,
            Err(ApplyError::UnknownSession(_)) => Applied::default(),
            // The removal is retried; the usage is lost.
            Err(_) => {
                change.abandon(seid, &mut self.resources);
                return self.mark_for_removal(now, seid, PendingRequests::Answer);
            }
        };
        self.free_resources(seid, change);
        let reports_end = self.reports_session_end(seid);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        (session.releasing, session.ended) = (false, true);
        let rates = packet_rate_reports(&applied.packet_rates);
        let used =
            in_parts(applied.usage).into_iter().filter(|parts| is_not_nothing(parts)).map(Report::Usage);
        let end = reports_end.then_some(Report::Ended);
        self.reports.push_last(seid, used.chain(end), rates);
        self.send_reports(now, seid);
        self.drop_if_reported(now, seid);
    }

    /// The SMF of the session supports the session end reports of the UPF (feature EPFAR).
    fn reports_session_end(&self, seid: Seid) -> bool {
        let association =
            self.sessions.get(seid).and_then(|session| self.associations.get(session.association));
        let both = self.features.contains(UpFeatures::EPFAR);
        both && association.is_some_and(|it| it.supports(CpFeatures::EPFAR))
    }

    /// Discards a session that has ended when all of its reports have been acknowledged.
    pub(crate) fn drop_if_reported(&mut self, now: Time, seid: Seid) {
        if self.sessions.get(seid).is_some_and(|session| session.ended) && self.reports.is_empty(seid) {
            self.drop_session(now, seid);
        }
    }
}

/// The parts of one URR's usage, which must be in one message.
fn in_parts(usage: Vec<Usage>) -> Vec<Vec<Usage>> {
    let mut all: Vec<Vec<Usage>> = Vec::new();
    for usage in usage {
        match all.last_mut().filter(|parts| parts.iter().all(|part| part.urr == usage.urr)) {
            Some(parts) => parts.push(usage),
            None => all.push(vec![usage]),
        }
    }
    all
}

/// Something was measured: an empty report is not sent.
fn is_not_nothing(parts: &[Usage]) -> bool {
    let is_something = |usage: &Usage| {
        let volume = usage.volume.is_some_and(|volume| volume != Volume::ZERO);
        let duration = usage.duration.is_some_and(|span| !span.is_zero());
        volume || duration || usage.first_packet.is_some() || !usage.events.is_empty()
    };
    parts.iter().any(is_something)
}
