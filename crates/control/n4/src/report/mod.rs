//! Session reports: sent in order until the SMF has responded (TS 29.244 clause 6.3.5).

mod batch;
mod build;
mod path_search;
mod paths;
mod queue;
mod redirect;
mod unacknowledged;
mod windows;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use causeway_collections::PartitionedMap;
use causeway_model::Usage;
use causeway_pfcp::{
    AdditionalUsageReports, Cause, PacketRateStatusReport, SessionReportRequest, UsageReport,
};
use causeway_rules::StoredRules;
use causeway_types::{FSeid, PdrId, Seid, Time, UrrId, WallClock};

use crate::Config;
use crate::LossReason;
use crate::association::AssociationId;
use crate::left_out::LeftOut;
use crate::output::Outputs;
use crate::transaction::{Purpose, Transactions};

use queue::Queue;
pub(crate) use redirect::{readdress_report, set_seid};
use windows::{Place, Windows};

pub(crate) use batch::USAGES;
pub(crate) use path_search::{PathSearch, SearchedPeers};
pub(crate) use paths::{PathState, PathUsers};
pub(crate) use queue::{Report, RequestNumber};
pub(crate) use unacknowledged::UnacknowledgedReports;

/// The reports of all sessions, and the user plane paths whose failure was reported.
#[derive(Debug)]
pub(crate) struct Reports {
    /// Of the sessions that have some, or whose reports are redirected.
    sessions: PartitionedMap<Seid, SessionReports>,
    /// The requests in flight to each SMF.
    windows: Windows,
    /// The GTP-U peers whose failure has been reported to an SMF.
    reported_paths: BTreeSet<(AssociationId, IpAddr)>,
    /// The most queued reports of one session.
    queue_limit: usize,
    /// The UPF's Node ID.
    node: causeway_types::NodeId,
}

/// The reports of one session that has some.
#[derive(Debug, Default)]
struct SessionReports {
    queue: Queue,
    /// The packet rate status of its QERs at its end.
    last_rates: Vec<PacketRateStatusReport<'static>>,
    /// The destination instead of the CP F-SEID.
    contact: Option<IpAddr>,
    /// The hosts that received the request in flight, beside the CP F-SEID.
    tried: Vec<IpAddr>,
    /// The PDRs whose next packet is reported again when the plan in flight is applied.
    notified_again: Vec<PdrId>,
    /// Its place among the sessions that wait for the window of its SMF, if it waits.
    place: Option<Place>,
}

impl SessionReports {
    /// There is nothing to remember.
    fn is_unused(&self) -> bool {
        self.queue.is_empty()
            && self.last_rates.is_empty()
            && self.contact.is_none()
            && self.tried.is_empty()
            && self.place.is_none()
    }
}

/// A session that may report.
#[derive(Debug)]
pub(crate) struct ReportingSession<'a> {
    /// The UPF's SEID.
    pub(crate) seid: Seid,
    /// The CP F-SEID.
    pub(crate) cp: FSeid,
    /// The data plane has removed it.
    pub(crate) has_ended: bool,
    /// Its rules, which number its usage reports.
    pub(crate) rules: &'a mut StoredRules,
}

/// The SMF that receives reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportReceiver {
    /// Its association.
    pub(crate) association: AssociationId,
    /// The destination of requests to it.
    pub(crate) peer: SocketAddr,
    /// It accepts Paging Policy Indication values.
    pub(crate) takes_policy: bool,
    /// The IEs left out of messages to it.
    pub(crate) left_out: LeftOut,
}

/// Queues.
impl Reports {
    /// No reports. Each of so many parts has its share of the requests in flight.
    pub(crate) fn new(config: &Config, parts: usize) -> Self {
        Self {
            sessions: PartitionedMap::default(),
            windows: Windows::new(config.limits.outstanding_reports.div_ceil(parts)),
            reported_paths: BTreeSet::new(),
            queue_limit: config.limits.queued_reports_per_session,
            node: config.node.clone(),
        }
    }

    #[inline]
    fn of(&self, seid: Seid) -> Option<&SessionReports> {
        if self.sessions.is_empty() { None } else { self.sessions.get(&seid) }
    }

    fn of_mut(&mut self, seid: Seid) -> &mut SessionReports {
        self.sessions.get_or_insert_with(seid, SessionReports::default)
    }

    /// Runs a function on the reports of a session, if it has some, and frees their memory when nothing is left.
    fn with<R>(&mut self, seid: Seid, act: impl FnOnce(&mut SessionReports) -> R) -> Option<R> {
        if self.sessions.is_empty() {
            return None;
        }
        let reports = self.sessions.get_mut(&seid)?;
        let result = act(reports);
        if reports.is_unused() {
            self.sessions.remove(&seid);
        }
        Some(result)
    }

    fn with_queue<R>(&mut self, seid: Seid, act: impl FnOnce(&mut Queue) -> R) -> Option<R> {
        self.with(seid, |reports| act(&mut reports.queue))
    }

    /// Queues reports of an event. A report that is in flight or queued is not added twice. Above the limit, usage is
    /// added to queued usage of the same URR, so nothing is lost; other reports are then lost.
    pub(crate) fn push(&mut self, seid: Seid, reports: Vec<Report>, out: &mut Outputs) {
        let limit = self.queue_limit;
        let queue = &mut self.of_mut(seid).queue;
        let lost = reports.into_iter().filter(|report| !queue.push(report.clone(), limit)).count();
        for _ in 0..lost {
            out.lost_report(seid, LossReason::QueueFull);
        }
        self.with_queue(seid, |_| ());
    }

    /// Queues the last reports of a session that has ended, whatever their number, with its packet rate status.
    pub(crate) fn push_last(
        &mut self,
        seid: Seid,
        reports: impl Iterator<Item = Report>,
        rates: Vec<PacketRateStatusReport<'static>>,
    ) {
        let held = self.of_mut(seid);
        held.last_rates = rates;
        // The limit bounds recurring reports; these are the last.
        for report in reports {
            let is_taken = held.queue.push(report, usize::MAX);
            debug_assert!(is_taken);
        }
        self.with_queue(seid, |_| ());
    }

    /// A request with downlink data of the session is in flight.
    #[inline]
    pub(crate) fn notifies(&self, seid: Seid) -> bool {
        self.of(seid).is_some_and(|held| held.queue.notifies())
    }

    /// The plan in flight of the session starts the notification of these PDRs anew.
    pub(crate) fn set_notified_again(&mut self, seid: Seid, pdrs: Vec<PdrId>) {
        self.with(seid, |held| held.notified_again = pdrs);
    }

    /// The plan in flight of the session is applied, or not.
    pub(crate) fn plan_is_done(&mut self, seid: Seid, is_applied: bool) {
        self.with(seid, |held| {
            let pdrs = std::mem::take(&mut held.notified_again);
            if is_applied {
                held.queue.notify_again(&pdrs);
            }
        });
    }

    /// A request of the session is in flight.
    pub(crate) fn is_in_flight(&self, seid: Seid) -> bool {
        self.of(seid).is_some_and(|held| held.queue.is_on_its_way())
    }

    /// No report of the session is queued or in flight.
    #[inline]
    pub(crate) fn is_empty(&self, seid: Seid) -> bool {
        self.of(seid).is_none_or(|held| held.queue.is_empty())
    }

    /// The number of queued reports of the session.
    pub(crate) fn waiting(&self, seid: Seid) -> usize {
        self.of(seid).map_or(0, |held| held.queue.waiting())
    }

    /// The number of queued usage reports of the session that did not fit into a response.
    pub(crate) fn additional(&self, seid: Seid) -> usize {
        self.of(seid).map_or(0, |held| held.queue.additional())
    }

    /// The number of queued reports of all sessions. O(sessions with reports).
    pub(crate) fn all_waiting(&self) -> usize {
        self.sessions.values().map(|held| held.queue.waiting()).sum()
    }

    /// The session has ended: removes all that it had.
    pub(crate) fn remove(&mut self, seid: Seid) {
        if self.sessions.is_empty() {
            return;
        }
        if let Some(place) = self.sessions.remove(&seid).and_then(|held| held.place) {
            self.windows.leave(place);
        }
    }

    /// Puts reports that did not fit into a response first, and returns their number; `None` if there are none.
    pub(crate) fn push_front(
        &mut self,
        seid: Seid,
        additional: Vec<UsageReport<'static>>,
    ) -> Option<AdditionalUsageReports> {
        if additional.is_empty() { None } else { self.of_mut(seid).queue.push_front(additional) }
    }

    /// The session ends: takes the reports that did not fit into an earlier response and were not sent either.
    pub(crate) fn take_additional(&mut self, seid: Seid) -> Vec<UsageReport<'static>> {
        self.with_queue(seid, Queue::take_additional).unwrap_or_default()
    }

    /// Takes the usage of removed URRs, for the response to their removal.
    pub(crate) fn take_usage_of(&mut self, seid: Seid, gone: impl Fn(UrrId) -> bool) -> Vec<Usage> {
        self.with_queue(seid, |queue| queue.take_usage_of(gone)).unwrap_or_default()
    }

    /// The session ends: takes the usage that was not sent, for the last response.
    pub(crate) fn take_unsent_usage(&mut self, seid: Seid) -> Vec<Usage> {
        self.with_queue(seid, Queue::take_unsent_usage).unwrap_or_default()
    }
}

/// Delivery.
impl Reports {
    /// Sends the next reports of a session, as long as few requests are in flight, with times of the wall clock. If only
    /// the number of requests to its SMF forbids it, [`Reports::next_waiting`] returns the session when there are fewer.
    pub(crate) fn send(
        &mut self,
        now: Time,
        session: ReportingSession<'_>,
        receiver: ReportReceiver,
        clock: WallClock,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let ReportingSession { seid, cp, has_ended, rules } = session;
        while self.proceed_or_wait(seid, receiver.association) {
            let next = |held: &mut SessionReports| {
                let (number, reports) = held.queue.next_request()?;
                let is_last = reports.contains(&Report::Ended);
                let rates = if is_last { std::mem::take(&mut held.last_rates) } else { Vec::new() };
                Some((number, reports, rates))
            };
            let Some((number, reports, rates)) = self.sessions.get_mut(&seid).and_then(next) else { return };
            match build::request(rules, &reports, rates, has_ended, receiver.takes_policy, clock) {
                Some(request) => {
                    self.send_request(now, seid, cp, (receiver, number), request, transactions, out);
                }
                None => {
                    self.with_queue(seid, |queue| queue.done(number));
                    out.lost_report(seid, LossReason::UrrRemoved);
                }
            }
        }
    }

    /// True: a report of the session may be sent. If only the window forbids it, the session waits for the window.
    fn proceed_or_wait(&mut self, seid: Seid, association: AssociationId) -> bool {
        let Some(held) = self.sessions.get_mut(&seid).filter(|held| held.queue.is_ready()) else {
            return false;
        };
        let is_open = self.windows.is_open(association);
        if !is_open && held.place.is_none() {
            held.place = Some(self.windows.wait(association, seid));
        }
        is_open
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a message")]
    fn send_request(
        &mut self,
        now: Time,
        seid: Seid,
        cp: FSeid,
        (receiver, number): (ReportReceiver, RequestNumber),
        request: SessionReportRequest<'static>,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let ReportReceiver { association, peer, left_out, .. } = receiver;
        self.windows.sent(association);
        let to = self.destination(seid, &cp, peer);
        let is_elsewhere = self.is_redirected(seid);
        let cp_seid = if is_elsewhere { Seid(0) } else { cp.seid };
        let old_cp_f_seid = is_elsewhere.then_some(cp);
        let request = SessionReportRequest { old_cp_f_seid, ..request };
        let purpose = Purpose::Report { session: seid, association, number };
        let started = transactions.start(now, to, Some(cp_seid), &request.into(), purpose, left_out, out);
        let Some(sequence) = started else {
            self.windows.done(association, 1);
            self.with_queue(seid, |queue| queue.done(number));
            return out.lost_report(seid, LossReason::TooLong);
        };
        if let Some(held) = self.sessions.get_mut(&seid) {
            held.queue.sent(number, sequence);
        }
    }

    /// The SMF responded to a request. Returns whether it rejected a paging policy: the downlink data is then the next
    /// to be reported, without it.
    pub(crate) fn answered(&mut self, seid: Seid, number: RequestNumber, cause: Cause) -> bool {
        self.with(seid, |held| {
            let refuses_policy =
                cause == Cause::ServiceNotSupported && held.queue.again_without_policy(number);
            held.queue.done(number);
            held.tried.clear();
            refuses_policy
        })
        .unwrap_or(false)
    }

    /// A request got no response, and is not sent again.
    pub(crate) fn given_up(&mut self, seid: Seid, number: RequestNumber) {
        self.with_queue(seid, |queue| queue.done(number));
    }

    /// A request to an SMF is no longer in flight.
    pub(crate) fn request_done(&mut self, association: AssociationId) {
        self.windows.done(association, 1);
    }

    /// The next session that waits to send reports to an SMF, if it may now.
    pub(crate) fn next_waiting(&mut self, association: AssociationId) -> Option<Seid> {
        let seid = self.windows.next_waiting(association)?;
        self.with(seid, |held| held.place = None);
        Some(seid)
    }

    /// The highest number of requests in flight to one SMF.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.windows.most_in_flight()
    }

    /// The session ends: cancels its requests in flight, and removes all that it had.
    pub(crate) fn cancel(&mut self, seid: Seid, association: AssociationId, transactions: &mut Transactions) {
        let cancelled = transactions.cancel_requests(self.sequences(seid));
        self.windows.done(association, cancelled);
        self.remove(seid);
    }

    /// The session has joined another association: its requests in flight concern that one, and it no longer waits for
    /// the window of the former.
    pub(crate) fn join(&mut self, seid: Seid, association: AssociationId, transactions: &mut Transactions) {
        if self.sessions.is_empty() {
            return;
        }
        let Self { sessions, windows, .. } = self;
        let Some(held) = sessions.get_mut(&seid) else { return };
        for sequence in held.queue.sequences() {
            if let Some(before) = transactions.aim_report(sequence, association) {
                windows.done(before, 1);
                windows.sent(association);
            }
        }
        held.place.take().into_iter().for_each(|place| windows.leave(place));
        self.with(seid, |_| ());
    }

    /// All sessions of an association end: cancels their requests in flight.
    pub(crate) fn cancel_all_of(&mut self, association: AssociationId, transactions: &mut Transactions) {
        transactions.cancel_of(association, |purpose| matches!(purpose, Purpose::Report { .. }));
        self.windows.reset(association);
    }

    /// The association ends.
    pub(crate) fn forget_association(&mut self, association: AssociationId) {
        self.windows.remove(association);
    }
}

/// Redirection to another SMF than the one that assigned the F-SEID (TS 29.244 clauses 5.22.2 and 5.22.3).
impl Reports {
    /// The reports of the session are redirected to another host than the CP F-SEID.
    pub(crate) fn is_redirected(&self, seid: Seid) -> bool {
        self.of(seid).is_some_and(|held| held.contact.is_some())
    }

    /// The destination of the reports of a session with this CP F-SEID, whose SMF receives requests at `peer`.
    pub(crate) fn destination(&self, seid: Seid, cp: &FSeid, peer: SocketAddr) -> SocketAddr {
        match self.of(seid).and_then(|held| held.contact) {
            Some(ip) => SocketAddr::new(ip, peer.port()),
            None => redirect::address_of(cp, peer),
        }
    }

    /// The report in flight was sent to this host, beside the CP F-SEID.
    pub(crate) fn has_tried(&self, seid: Seid, ip: IpAddr) -> bool {
        self.of(seid).is_some_and(|held| held.tried.contains(&ip))
    }

    /// The report in flight is sent to this host, too.
    pub(crate) fn try_host(&mut self, seid: Seid, ip: IpAddr) {
        self.of_mut(seid).tried.push(ip);
    }

    /// All hosts were tried: the next attempt begins with the CP F-SEID.
    pub(crate) fn forget_tried(&mut self, seid: Seid) {
        self.with(seid, |held| held.tried.clear());
    }

    /// Redirects the reports of a session to this host, as to an SMF that did not assign its F-SEID; including the
    /// requests in flight.
    pub(crate) fn redirect(
        &mut self,
        (seid, cp): (Seid, FSeid),
        ip: IpAddr,
        peer: SocketAddr,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let held = self.of_mut(seid);
        held.contact = Some(ip);
        held.tried.clear();
        let to = self.destination(seid, &cp, peer);
        transactions.redirect(to, self.sequences(seid), |bytes| readdress_report(bytes, cp), out);
    }

    /// The session has another CP F-SEID: its reports are sent there, including the requests in flight.
    pub(crate) fn move_to(
        &mut self,
        (seid, cp): (Seid, FSeid),
        peer: SocketAddr,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        self.with(seid, |held| held.contact = None);
        let to = self.destination(seid, &cp, peer);
        transactions.redirect(to, self.sequences(seid), |bytes| set_seid(bytes, cp.seid), out);
    }

    /// The transactions of the session's requests in flight.
    fn sequences(&self, seid: Seid) -> impl Iterator<Item = u32> {
        self.of(seid).into_iter().flat_map(|held| held.queue.sequences())
    }
}
