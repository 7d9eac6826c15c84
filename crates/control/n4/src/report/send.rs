//! Session Report Requests for events of the data plane, and their responses.

use std::net::IpAddr;

use causeway_dataplane::Event;
use causeway_model::Usage;
use causeway_pfcp::{Cause, SessionReportRequest, SessionReportResponse};
use causeway_types::{FSeid, Seid, Time};

use super::build::request;
use super::set_seid;
use super::{Report, RequestNumber};
use crate::association::AssociationId;
use crate::left_out::LeftOut;
use crate::session::{PendingRequests, Session};
use crate::transaction::Purpose;
use crate::transaction::UnansweredRequest;
use crate::{LossReason, N4, Notice};

impl N4 {
    /// Handles an event of the data plane. An event of a session that has ended is counted and dropped.
    pub fn event(&mut self, now: Time, event: Event) {
        let (seid, reports) = match event {
            Event::PathDown { peer, .. } => return self.path_failed(now, peer),
            Event::PathUnused { peer, .. } => return self.path_forgotten(peer),
            Event::PathUp { peer, .. } => return self.path_recovered(now, peer),
            Event::Usage { session, usage } => (session, by_urr(usage)),
            Event::DownlinkData { session, data } => (session, vec![Report::DownlinkData(data)]),
            Event::Inactivity { session } => (session, vec![Report::Inactivity]),
            Event::ErrorIndication { session, tunnel } => (session, vec![Report::ErrorIndication(tunnel)]),
        };
        let limit = self.config.limits.queued_reports_per_session;
        let is_gone = self.is_in_purge(seid);
        let is_there = |session: &&mut Session| !session.marked_for_removal && !session.ended && !is_gone;
        let Some(session) = self.sessions.get_mut(seid).filter(is_there) else {
            self.out.late_event();
            return;
        };
        let unanswered =
            reports.into_iter().filter(|report| !session.reports.push(report.clone(), limit)).count();
        for _ in 0..unanswered {
            self.out.lost_report(seid, LossReason::QueueFull);
        }
        self.send_reports(now, seid);
    }

    /// Sends the next reports of a session, if it is established, has no plan in flight, and few requests in flight.
    /// While a plan is in flight reports are queued, so that the numbers of usage reports keep their order.
    pub(crate) fn send_reports(&mut self, now: Time, seid: Seid) {
        while let Some(association) = self.ready_to_report(seid) {
            let clock = self.wall;
            let Some(session) = self.sessions.get_mut(seid) else { return };
            let Some((number, reports)) = session.reports.next_request() else { return };
            let names_policy = self.associations.get(association).is_some_and(|it| !it.refuses_paging_policy);
            match request(session, &reports, names_policy, clock) {
                Some(request) => self.send_report_request(now, seid, association, number, &request),
                None => {
                    session.reports.done(number);
                    self.out.lost_report(seid, LossReason::UrrRemoved);
                }
            }
        }
    }

    /// The association of a session that may report now. If only the association's number of outstanding reports
    /// forbids it, the session is called when there are fewer.
    fn ready_to_report(&mut self, seid: Seid) -> Option<AssociationId> {
        let is_gone = self.is_in_purge(seid);
        let session = self.sessions.get_mut(seid).filter(|_| !is_gone)?;
        let may = session.is_established() || session.ended && !session.marked_for_removal;
        let is_ready = may && session.in_flight.is_none() && session.reports.is_ready();
        let association = self.associations.get_mut(session.association).filter(|_| is_ready)?;
        if association.outstanding_reports < self.config.limits.outstanding_reports {
            return Some(association.id);
        }
        if !std::mem::replace(&mut session.is_waiting_for_slot, true) {
            association.waiting_sessions.push_back(seid);
        }
        None
    }

    fn send_report_request(
        &mut self,
        now: Time,
        seid: Seid,
        id: AssociationId,
        number: RequestNumber,
        request: &SessionReportRequest<'static>,
    ) {
        let Some(session) = self.sessions.get(seid) else { return };
        let Some(association) = self.associations.get_mut(id) else { return };
        association.outstanding_reports += 1;
        let left_out = association.left_out;
        let to = session.reports_to(association);
        let is_elsewhere = session.contact().is_some();
        let cp = if is_elsewhere { Seid(0) } else { session.cp.seid };
        let old_cp_f_seid = is_elsewhere.then_some(session.cp);
        let request = SessionReportRequest { old_cp_f_seid, ..request.clone() };
        let purpose = Purpose::Report { session: seid, association: id, number };
        self.transactions.start(now, to, Some(cp), &request.into(), purpose, left_out, &mut self.out);
    }

    /// The SMF responded to a report.
    pub(crate) fn report_answered(
        &mut self,
        now: Time,
        from: IpAddr,
        (seid, association, number): (Seid, AssociationId, RequestNumber),
        answer: &SessionReportResponse<'_>,
    ) {
        self.report_is_done(now, association);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        let refuses_policy =
            answer.cause == Cause::ServiceNotSupported && session.reports.again_without_policy(number);
        session.reports.done(number);
        session.forget_tried();
        let has_ended = session.ended;
        if refuses_policy {
            self.leave_policy_out(association);
            return self.send_reports(now, seid);
        }
        if answer.cause == Cause::SessionContextNotFound && !has_ended {
            self.out.notice(Notice::SessionUnknownToPeer { session: seid });
            return self.mark_for_removal(now, seid, PendingRequests::Answer);
        }
        if !answer.cause.is_accepted() {
            self.out.notice(Notice::ReportRefused { session: seid, cause: answer.cause });
        }
        self.take_instructions(seid, answer);
        self.take_over_from_response(seid, from, answer);
        self.send_reports(now, seid);
        self.drop_if_reported(now, seid);
    }

    /// The SMF rejects reports with a paging policy. Policies are left out from now on.
    fn leave_policy_out(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if !std::mem::replace(&mut association.refuses_paging_policy, true) {
            let node = association.node.clone();
            self.out.notice(Notice::NoPagingPolicy { node });
        }
    }

    /// The SMF responded to a report without these IEs after it had not responded to the full one: they are left out
    /// from now on.
    pub(crate) fn leave_out(&mut self, id: AssociationId, ies: LeftOut) {
        if let Some(association) = self.associations.leave_out(id, ies) {
            let (node, ies) = (association.node.clone(), association.left_out.names());
            self.out.notice(Notice::IesLeftOut { node, ies });
        }
    }

    /// The last retransmission of a report got no response. It is kept, so that nothing is lost, and repeated after
    /// pauses; unless its session has ended.
    pub(crate) fn report_unanswered(
        &mut self,
        now: Time,
        session: Seid,
        association: AssociationId,
        unanswered: UnansweredRequest<Purpose>,
    ) {
        if self.sessions.get(session).is_none() {
            return self.report_is_done(now, association);
        }
        let Some(unanswered) = self.resend_to_next_peer(now, session, unanswered) else { return };
        if unanswered.retained {
            let is_silent =
                self.associations.get(association).is_some_and(|it| it.is_silent(unanswered.since));
            return self.transactions.repeat_retained(now, unanswered, is_silent, &mut self.out);
        }
        self.out.notice(Notice::ReportUnanswered { session, to: unanswered.to });
        self.transactions.retain(now, unanswered);
    }

    /// Another session of the association may send a report.
    fn report_is_done(&mut self, now: Time, id: AssociationId) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.outstanding_reports = association.outstanding_reports.saturating_sub(1);
        self.wake_ready_sessions(now, id);
    }

    /// Sends reports of sessions of an association that waited for others to complete.
    pub(crate) fn wake_ready_sessions(&mut self, now: Time, id: AssociationId) {
        while let Some(association) = self.associations.get_mut(id)
            && association.outstanding_reports < self.config.limits.outstanding_reports
            && let Some(seid) = association.waiting_sessions.pop_front()
        {
            if let Some(session) = self.sessions.get_mut(seid) {
                session.is_waiting_for_slot = false;
            }
            self.send_reports(now, seid);
        }
    }

    /// The CP F-SEID of a session changed: reports are sent there, including those in flight. Many SMFs repeat it in
    /// every modification: unless its association `is_another`, nothing is sent again then.
    pub(crate) fn move_session(&mut self, seid: Seid, cp: FSeid, is_another: bool) {
        let is_there = |session: &Session| session.cp == cp && session.contact().is_none();
        if !is_another && self.sessions.get(seid).is_some_and(is_there) {
            return;
        }
        self.sessions.set_cp(seid, cp);
        let Some(session) = self.sessions.get_mut(seid) else { return };
        session.extras_mut().into_iter().for_each(|it| it.contact = None);
        let Some(association) = self.associations.get(session.association) else { return };
        if !session.reports.is_on_its_way() {
            return;
        }
        let to = session.reports_to(association);
        let of_session =
            |purpose: &Purpose| matches!(purpose, Purpose::Report { session, .. } if *session == seid);
        self.transactions.redirect(to, of_session, |bytes| set_seid(bytes, cp.seid), &mut self.out);
    }
}

/// Usage as one report for each URR.
fn by_urr(usage: Vec<Usage>) -> Vec<Report> {
    let mut reports: Vec<Vec<Usage>> = Vec::new();
    for usage in usage {
        match reports.last_mut().filter(|parts| parts.last().is_some_and(|last| last.urr == usage.urr)) {
            Some(parts) => parts.push(usage),
            None => reports.push(vec![usage]),
        }
    }
    reports.into_iter().map(Report::Usage).collect()
}
