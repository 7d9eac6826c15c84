//! Session Report Requests for events of the data plane, and their responses.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::Event;
use causeway_model::Usage;
use causeway_pfcp::{Cause, Header, Message, SessionReportResponse};
use causeway_types::{FSeid, Seid, Time};

use super::Turn;
use crate::association::{Association, AssociationId};
use crate::report::{Report, RequestNumber, readdress_report};
use crate::session::{PendingRequests, Session};
use crate::transaction::{Purpose, UnansweredRequest};
use crate::{LossReason, MessageResult, Notice};

impl Turn<'_> {
    /// Handles an event of the data plane. An event of a session that has ended is counted and dropped.
    /// Returns an event that concerns the node.
    pub(crate) fn event(&mut self, now: Time, event: Event) -> Option<Event> {
        let (seid, reports) = match event {
            Event::PathDown { .. } | Event::PathUnused { .. } | Event::PathUp { .. } => return Some(event),
            // For operators: no SMF asks for it.
            Event::HeavyHitter { .. } | Event::ClassChange { .. } => return None,
            Event::Usage { session, usage } => {
                self.part.sessions.take_usage(session, &usage);
                (session, by_urr(usage))
            }
            Event::DownlinkData { session, data } => (session, vec![Report::DownlinkData(data)]),
            Event::Inactivity { session } => (session, vec![Report::Inactivity]),
            Event::ErrorIndication { session, tunnel } => (session, vec![Report::ErrorIndication(tunnel)]),
        };
        let is_gone = self.part.sessions.is_seid_in_purge(seid);
        let is_there =
            |session: &&Session| !session.is_marked_for_removal() && !session.has_ended() && !is_gone;
        if self.part.sessions.get(seid).filter(is_there).is_none() {
            self.part.out.late_event();
            return None;
        }
        self.part.reports.push(seid, reports, &mut self.part.out);
        self.send_reports(now, seid);
        None
    }

    /// Sends the next reports of a session, if it is established, has no plan in flight, and few requests in flight.
    /// While a plan is in flight reports are queued, so that the numbers of usage reports keep their order; and those of restored sessions until
    /// changes are recorded, so that another member knows the numbers of their requests.
    pub(crate) fn send_reports(&mut self, now: Time, seid: Seid) {
        if self.part.reports.is_empty(seid) {
            return;
        }
        if let Some(waiting) = &mut self.part.unrecorded_reports {
            waiting.insert(seid);
            return;
        }
        let Some((association, session)) = self.part.sessions.reporting(seid) else { return };
        let Some(association) = self.node.associations.get(association) else { return };
        let receiver = association.report_receiver();
        self.part.reports.send(
            now,
            session,
            receiver,
            self.node.wall,
            &mut self.part.transactions,
            &mut self.part.out,
        );
    }

    /// The SMF responded to a report. Returns whether it refuses paging policies, and nothing more was done.
    #[must_use]
    pub(crate) fn report_answered(
        &mut self,
        now: Time,
        from: IpAddr,
        (seid, association, number): (Seid, AssociationId, RequestNumber),
        answer: &SessionReportResponse<'_>,
    ) -> bool {
        self.report_is_done(now, association);
        let Some(session) = self.part.sessions.get(seid) else { return false };
        let (has_ended, is_gone) = (session.has_ended(), self.part.sessions.is_in_purge(session));
        let refuses_policy = self.part.reports.answered(seid, number, answer.cause);
        // A session that a purge has not reached yet is removed, whatever the response says about it.
        if is_gone {
            return false;
        }
        self.part.sessions.has_changed(seid);
        if refuses_policy {
            return true;
        }
        if answer.cause == Cause::SessionContextNotFound && !has_ended {
            self.part.out.notice(Notice::SessionUnknownToPeer { session: seid });
            self.mark_for_removal(now, seid, PendingRequests::Answer);
            return false;
        }
        if !answer.cause.is_accepted() {
            self.part.out.notice(Notice::ReportRefused { session: seid, cause: answer.cause });
        }
        self.part.sessions.take_instructions(seid, answer, &mut self.part.out);
        self.take_over_from_response(now, seid, from, answer);
        self.send_reports(now, seid);
        self.drop_if_reported(now, seid);
        false
    }

    /// The last retransmission of a report got no response. It is kept, so that nothing is lost, and repeated after
    /// pauses; unless its session has ended, whose place it would take for as long.
    pub(crate) fn report_unanswered(
        &mut self,
        now: Time,
        (session, association, number): (Seid, AssociationId, RequestNumber),
        unanswered: UnansweredRequest<Purpose>,
    ) {
        let Some(has_ended) = self.part.sessions.get(session).map(Session::has_ended) else {
            return self.report_is_done(now, association);
        };
        let Some(unanswered) = self.resend_to_next_peer(now, session, unanswered) else { return };
        if has_ended {
            self.part.out.lost_report(session, LossReason::NoAnswer);
            self.part.reports.given_up(session, number);
            self.report_is_done(now, association);
            self.send_reports(now, session);
            return self.drop_if_reported(now, session);
        }
        if unanswered.retained {
            let is_silent =
                self.node.associations.get(association).is_some_and(|it| it.is_silent(unanswered.since));
            return self.part.transactions.repeat_retained(now, unanswered, is_silent, &mut self.part.out);
        }
        self.part.out.notice(Notice::ReportUnanswered { session, to: unanswered.to });
        self.part.transactions.retain(now, unanswered);
    }

    /// Another session of the association may send a report.
    fn report_is_done(&mut self, now: Time, id: AssociationId) {
        self.part.reports.request_done(id);
        self.wake_ready_sessions(now, id);
    }

    /// Sends reports of sessions of an association that waited for others to complete.
    pub(crate) fn wake_ready_sessions(&mut self, now: Time, id: AssociationId) {
        while let Some(seid) = self.part.reports.next_waiting(id) {
            self.send_reports(now, seid);
        }
    }

    /// The CP F-SEID of a session changed: reports are sent there, including those in flight. Many SMFs repeat it in
    /// every modification: unless its association `is_another`, nothing is sent again then.
    pub(crate) fn move_session(&mut self, seid: Seid, cp: FSeid, is_another: bool) {
        let is_there = self.part.sessions.get(seid).is_some_and(|session| session.cp() == cp);
        if !is_another && is_there && !self.part.reports.is_redirected(seid) {
            return;
        }
        self.part.sessions.set_cp(seid, cp);
        let Some(session) = self.part.sessions.get(seid) else { return };
        let Some(association) = self.node.associations.get(session.association()) else { return };
        self.part.reports.move_to(
            (seid, cp),
            association.peer(),
            &mut self.part.transactions,
            &mut self.part.out,
        );
    }

    /// Redirects the reports of the session to this address, as to an SMF that did not assign its F-SEID; including the
    /// one in flight.
    pub(crate) fn redirect_reports(&mut self, seid: Seid, ip: IpAddr) {
        let Some(session) = self.part.sessions.get(seid) else { return };
        let Some(association) = self.node.associations.get(session.association()) else { return };
        let (session, peer) = ((seid, session.cp()), association.peer());
        self.part.reports.redirect(session, ip, peer, &mut self.part.transactions, &mut self.part.out);
    }

    /// Sends a report that got no response to the next SMF that may respond. Returns the report if there is none.
    fn resend_to_next_peer(
        &mut self,
        now: Time,
        session: Seid,
        unanswered: UnansweredRequest<Purpose>,
    ) -> Option<UnansweredRequest<Purpose>> {
        let Some(to) = self.next_peer(session) else {
            self.part.reports.forget_tried(session);
            return Some(unanswered);
        };
        let Some(cp) = self.part.sessions.get(session).map(Session::cp) else { return Some(unanswered) };
        self.part.reports.try_host(session, to.ip());
        self.part.out.notice(Notice::ReportRedirected { session, from: unanswered.to, to });
        self.part.transactions.resend(
            now,
            unanswered,
            to,
            |bytes| readdress_report(bytes, cp),
            &mut self.part.out,
        );
        None
    }

    /// The next destination of a report that got no response.
    fn next_peer(&self, seid: Seid) -> Option<SocketAddr> {
        let session = self.part.sessions.get(seid)?;
        let association = self.node.associations.get(session.association())?;
        let current = self.part.reports.destination(seid, &session.cp(), association.peer());
        let has_tried = |ip| self.part.reports.has_tried(seid, ip);
        self.node.associations.next_peer(association.id(), current, has_tried)
    }

    /// Follows a response that redirects a report to another SMF. False if it does not, or to an SMF that was tried
    /// already.
    pub(crate) fn handle_redirection(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: &Header,
        answer: &Message<'_>,
    ) -> bool {
        let Message::SessionReportResponse(answer) = answer else { return false };
        let Some((session, ip)) = self.redirection(from, header, answer) else { return false };
        let Some(held) = self.part.sessions.get(session) else { return false };
        self.part.reports.try_host(session, ip);
        let cp = held.cp();
        let Some(association) = self.node.associations.get(held.association()) else { return false };
        let known = self
            .node
            .associations
            .of_set(association.id())
            .find(|it| it.peer().ip() == ip)
            .map(Association::peer);
        let to = known.unwrap_or(SocketAddr::new(ip, association.peer().port()));
        let sent = self
            .part
            .transactions
            .redirect_one(now, header.sequence, to, |bytes| readdress_report(bytes, cp));
        let Some((request, bytes)) = sent else { return false };
        self.part.out.notice(Notice::ReportRedirected { session, from, to });
        self.part.out.send(to, request, MessageResult::Repeated, bytes);
        true
    }

    /// The session whose report is redirected, and the destination: an SMF of its set that has not received it.
    fn redirection(
        &self,
        from: SocketAddr,
        header: &Header,
        answer: &SessionReportResponse<'_>,
    ) -> Option<(Seid, IpAddr)> {
        let ip = answer.alternative_smf_ip_address.filter(|_| answer.cause == Cause::RedirectionRequested)?;
        let ip = ip.addr.preferred()?;
        let Purpose::Report { session, .. } = self.part.transactions.purpose(from, header.sequence)? else {
            return None;
        };
        let held = self.part.sessions.get(*session).filter(|held| !self.part.sessions.is_in_purge(held))?;
        let may = !self.part.reports.has_tried(*session, ip)
            && ip != from.ip()
            && self.node.associations.is_host_of(held.association(), ip);
        may.then_some((*session, ip))
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
