//! Session Report Requests for events of the data plane, and their responses.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::Event;
use causeway_model::Usage;
use causeway_pfcp::{Cause, Header, Message, SessionReportResponse};
use causeway_types::{FSeid, Seid, Time};

use super::N4;
use crate::association::{Association, AssociationId};
use crate::report::{PathState, PathUsers, Report, RequestNumber, readdress_report};
use crate::session::{PendingRequests, Session};
use crate::transaction::{Purpose, UnansweredRequest};
use crate::{LossReason, MessageResult, Notice};

impl N4 {
    /// Handles an event of the data plane. An event of a session that has ended is counted and dropped.
    pub fn event(&mut self, now: Time, event: Event) {
        let (seid, reports) = match event {
            Event::PathDown { peer, .. } => return self.path_changed(now, peer, PathState::Failed),
            Event::PathUnused { peer, .. } => {
                self.path_search.forget(peer);
                return self.reports.path_forgotten(peer);
            }
            Event::PathUp { peer, .. } => return self.path_changed(now, peer, PathState::Recovered),
            // For operators: no SMF asks for it.
            Event::HeavyHitter { .. } | Event::ClassChange { .. } => return,
            Event::Usage { session, usage } => {
                self.sessions.take_usage(session, &usage);
                (session, by_urr(usage))
            }
            Event::DownlinkData { session, data } => (session, vec![Report::DownlinkData(data)]),
            Event::Inactivity { session } => (session, vec![Report::Inactivity]),
            Event::ErrorIndication { session, tunnel } => (session, vec![Report::ErrorIndication(tunnel)]),
        };
        let is_gone = self.sessions.is_seid_in_purge(seid);
        let is_there =
            |session: &&Session| !session.is_marked_for_removal() && !session.has_ended() && !is_gone;
        if self.sessions.get(seid).filter(is_there).is_none() {
            return self.out.late_event();
        }
        self.reports.push(seid, reports, &mut self.out);
        self.send_reports(now, seid);
    }

    /// Sends the next reports of a session, if it is established, has no plan in flight, and few requests in flight.
    /// While a plan is in flight reports are queued, so that the numbers of usage reports keep their order; and those of restored sessions until
    /// changes are recorded, so that another member knows the numbers of their requests.
    pub(crate) fn send_reports(&mut self, now: Time, seid: Seid) {
        if self.reports.is_empty(seid) {
            return;
        }
        if let Some(waiting) = &mut self.unrecorded_reports {
            waiting.insert(seid);
            return;
        }
        let Some((association, session)) = self.sessions.reporting(seid) else { return };
        let Some(association) = self.associations.get(association) else { return };
        let receiver = association.report_receiver();
        self.reports.send(now, session, receiver, self.wall, &mut self.transactions, &mut self.out);
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
        let Some(session) = self.sessions.get(seid) else { return };
        let (has_ended, is_gone) = (session.has_ended(), self.sessions.is_in_purge(session));
        let refuses_policy = self.reports.answered(seid, number, answer.cause);
        // A session that a purge has not reached yet is removed, whatever the response says about it.
        if is_gone {
            return;
        }
        self.sessions.has_changed(seid);
        if refuses_policy {
            self.associations.leave_policy_out(association, &mut self.out);
            return self.send_reports(now, seid);
        }
        if answer.cause == Cause::SessionContextNotFound && !has_ended {
            self.out.notice(Notice::SessionUnknownToPeer { session: seid });
            return self.mark_for_removal(now, seid, PendingRequests::Answer);
        }
        if !answer.cause.is_accepted() {
            self.out.notice(Notice::ReportRefused { session: seid, cause: answer.cause });
        }
        self.sessions.take_instructions(seid, answer, &mut self.out);
        self.take_over_from_response(now, seid, from, answer);
        self.send_reports(now, seid);
        self.drop_if_reported(now, seid);
    }

    /// The last retransmission of a report got no response. It is kept, so that nothing is lost, and repeated after
    /// pauses; unless its session has ended, whose place it would take for as long.
    pub(crate) fn report_unanswered(
        &mut self,
        now: Time,
        (session, association, number): (Seid, AssociationId, RequestNumber),
        unanswered: UnansweredRequest<Purpose>,
    ) {
        let Some(has_ended) = self.sessions.get(session).map(Session::has_ended) else {
            return self.report_is_done(now, association);
        };
        let Some(unanswered) = self.resend_to_next_peer(now, session, unanswered) else { return };
        if has_ended {
            self.out.lost_report(session, LossReason::NoAnswer);
            self.reports.given_up(session, number);
            self.report_is_done(now, association);
            self.send_reports(now, session);
            return self.drop_if_reported(now, session);
        }
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
        self.reports.request_done(id);
        self.wake_ready_sessions(now, id);
    }

    /// Sends reports of sessions of an association that waited for others to complete.
    pub(crate) fn wake_ready_sessions(&mut self, now: Time, id: AssociationId) {
        while let Some(seid) = self.reports.next_waiting(id) {
            self.send_reports(now, seid);
        }
    }

    /// The CP F-SEID of a session changed: reports are sent there, including those in flight. Many SMFs repeat it in
    /// every modification: unless its association `is_another`, nothing is sent again then.
    pub(crate) fn move_session(&mut self, seid: Seid, cp: FSeid, is_another: bool) {
        let is_there = self.sessions.get(seid).is_some_and(|session| session.cp() == cp);
        if !is_another && is_there && !self.reports.is_redirected(seid) {
            return;
        }
        self.sessions.set_cp(seid, cp);
        let Some(session) = self.sessions.get(seid) else { return };
        let Some(association) = self.associations.get(session.association()) else { return };
        self.reports.move_to((seid, cp), association.peer(), &mut self.transactions, &mut self.out);
    }

    /// Redirects the reports of the session to this address, as to an SMF that did not assign its F-SEID; including the
    /// one in flight.
    pub(crate) fn redirect_reports(&mut self, seid: Seid, ip: IpAddr) {
        let Some(session) = self.sessions.get(seid) else { return };
        let Some(association) = self.associations.get(session.association()) else { return };
        let (session, peer) = ((seid, session.cp()), association.peer());
        self.reports.redirect(session, ip, peer, &mut self.transactions, &mut self.out);
    }

    /// Sends a report that got no response to the next SMF that may respond. Returns the report if there is none.
    fn resend_to_next_peer(
        &mut self,
        now: Time,
        session: Seid,
        unanswered: UnansweredRequest<Purpose>,
    ) -> Option<UnansweredRequest<Purpose>> {
        let Some(to) = self.next_peer(session) else {
            self.reports.forget_tried(session);
            return Some(unanswered);
        };
        let Some(cp) = self.sessions.get(session).map(Session::cp) else { return Some(unanswered) };
        self.reports.try_host(session, to.ip());
        self.out.notice(Notice::ReportRedirected { session, from: unanswered.to, to });
        self.transactions.resend(now, unanswered, to, |bytes| readdress_report(bytes, cp), &mut self.out);
        None
    }

    /// The next destination of a report that got no response.
    fn next_peer(&self, seid: Seid) -> Option<SocketAddr> {
        let session = self.sessions.get(seid)?;
        let association = self.associations.get(session.association())?;
        let current = self.reports.destination(seid, &session.cp(), association.peer());
        let has_tried = |ip| self.reports.has_tried(seid, ip);
        self.associations.next_peer(association.id(), current, has_tried)
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
        let Some(held) = self.sessions.get(session) else { return false };
        self.reports.try_host(session, ip);
        let cp = held.cp();
        let Some(association) = self.associations.get(held.association()) else { return false };
        let known =
            self.associations.of_set(association.id()).find(|it| it.peer().ip() == ip).map(Association::peer);
        let to = known.unwrap_or(SocketAddr::new(ip, association.peer().port()));
        let sent =
            self.transactions.redirect_one(now, header.sequence, to, |bytes| readdress_report(bytes, cp));
        let Some((request, bytes)) = sent else { return false };
        self.out.notice(Notice::ReportRedirected { session, from, to });
        self.out.send(to, request, MessageResult::Repeated, bytes);
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
        let Purpose::Report { session, .. } = self.transactions.purpose(from, header.sequence)? else {
            return None;
        };
        let held = self.sessions.get(*session).filter(|held| !self.sessions.is_in_purge(held))?;
        let may = !self.reports.has_tried(*session, ip)
            && ip != from.ip()
            && self.associations.is_host_of(held.association(), ip);
        may.then_some((*session, ip))
    }

    fn path_changed(&mut self, now: Time, peer: IpAddr, state: PathState) {
        let is_idle = self.path_search.is_empty();
        self.path_search.add(peer, state);
        // Few sessions are examined at once; the others when it is their turn.
        if is_idle {
            self.search_path_users(now);
        }
    }

    /// Looks for the users of paths that have failed or recovered, in a few sessions, and reports those whose users are
    /// all known.
    pub(super) fn search_path_users(&mut self, now: Time) {
        if self.path_search.is_empty() {
            return;
        }
        let sessions = &self.sessions;
        let known = self
            .path_search
            .step(sessions.len_upper_bound(), |index, peers| sessions.add_users(index, peers));
        for (peer, (state, users)) in known {
            let notified = match state {
                PathState::Failed => self.reports.path_failed(peer, users, &mut self.out),
                PathState::Recovered => self.reports.path_recovered(peer, users, &mut self.out),
            };
            self.report_path(now, peer, notified, state);
        }
    }

    fn report_path(
        &mut self,
        now: Time,
        peer: IpAddr,
        users: Vec<(AssociationId, PathUsers)>,
        state: PathState,
    ) {
        let Self { associations, reports, transactions, out, .. } = self;
        for (id, ways) in users {
            if let Some(association) = associations.get(id) {
                let to = (id, association.peer());
                reports.report_path(now, to, (peer, &ways), state, transactions, out);
            }
        }
    }

    pub(crate) fn path_report_answered(&mut self, id: AssociationId, cause: Cause) {
        let Some(association) = self.associations.get(id).filter(|_| !cause.is_accepted()) else { return };
        let node = association.node().clone();
        self.out.notice(Notice::NodeReportRefused { node, cause });
    }

    /// The last retransmission of a report got no response. It is kept and repeated after pauses, until it gets a
    /// response or is obsolete, or the association ends.
    pub(crate) fn path_report_unanswered(
        &mut self,
        now: Time,
        id: AssociationId,
        unanswered: UnansweredRequest<Purpose>,
    ) {
        let Some(association) = self.associations.get(id) else { return };
        let node = association.node().clone();
        if unanswered.retained {
            return self.transactions.repeat_retained(now, unanswered, false, &mut self.out);
        }
        self.out.notice(Notice::NodeReportUnanswered { node, to: unanswered.to });
        self.transactions.retain(now, unanswered);
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
