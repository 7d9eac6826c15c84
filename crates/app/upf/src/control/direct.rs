//! N4 in the packet threads, as the control thread sees it: what they pass on, the sessions that N4 adopts, and what
//! operators see of the others.

use std::net::{IpAddr, SocketAddr};

use causeway_accel::Reservation;
use causeway_dataplane::{Event, Plan};
use causeway_n4::{self as n4, ApplyId, N4};
use causeway_types::{Seid, Time};

use super::networks::Networks;
use super::{Control, views};
use crate::direct::{Adopter, AnsweredRequest, By, DirectOwner, DirectReport, times_of};
use crate::management::views::SessionView;
use crate::management::{
    ManagementRequest, MessageCount, N4Status, SessionFilter, SessionPart, SessionRules,
};
use crate::worker::WorkerHandle;

/// The first index of the sessions that N4 has not adopted, in pages of sessions: behind all of N4.
const FIRST: u64 = 1 << 32;

/// Octets that a session of two PDRs may need in the data plane, as N4 estimates them.
const OF_SESSION: usize = 5000;

/// Indices that are looked at for one request.
const AT_ONCE: u32 = 256;

/// What the control thread does with an adopted session.
pub(super) struct Adopting<'a> {
    n4: &'a mut N4,
    worker: &'a mut WorkerHandle<ApplyId>,
    networks: &'a mut Networks,
}

impl Adopter for Adopting<'_> {
    fn n4(&mut self) -> &mut N4 {
        self.n4
    }

    fn adopted(&mut self, index: u32, plan: &Plan) {
        self.networks.adopted(index, plan);
    }

    fn remove(&mut self, session: Seid) {
        self.worker.remove(session);
    }
}

impl Control {
    /// Calls `work` if packet threads answer requests.
    pub(super) fn with_direct<T>(
        &mut self,
        work: impl FnOnce(&mut DirectOwner, Time, &mut Adopting<'_>) -> T,
    ) -> Option<T> {
        let Self { direct, n4, worker, networks, clock, .. } = self;
        let direct = direct.as_deref_mut()?;
        Some(work(direct, clock.now(), &mut Adopting { n4, worker, networks }))
    }

    /// Puts into the tables what N4 knows of SMFs.
    pub(super) fn follow_direct(&mut self) {
        self.with_direct(|direct, now, adopting| direct.follow(now, adopting));
        if let Some(direct) = &self.direct {
            direct.observe(self.events.are_wanted() || self.log.wants_messages());
        }
    }

    /// Handles a datagram for N4 while packet threads answer requests.
    pub(super) fn datagram_beside(&mut self, from: SocketAddr, datagram: &[u8]) {
        let needs = self.with_direct(|direct, now, adopting| direct.before(now, from, datagram, adopting));
        self.datagram(from, datagram);
        if let Some(needs) = needs {
            self.with_direct(|direct, now, adopting| direct.after(now, needs, adopting));
        }
    }

    /// What a packet thread says of N4.
    pub(super) fn direct_report(&mut self, report: DirectReport) {
        match report {
            DirectReport::Datagram(datagram) => {
                self.sockets.answer_from(datagram.from, datagram.socket);
                self.datagram_beside(datagram.from, &datagram.octets);
                self.with_direct(|direct, _, _| direct.handled(&datagram));
            }
            DirectReport::Answered(answered) => {
                let AnsweredRequest { from, request, answer, change } = *answered;
                let now = self.clock.now();
                self.log.message(|| now, "received", from, &request);
                self.log.message(|| now, "sends", from, &answer);
                if let Some((seid, change)) = change {
                    self.events.session(now, self.n4.wall_clock(), seid, change);
                }
            }
        }
    }

    /// The sessions that N4 has not adopted need memory, too.
    pub(super) fn leave_memory(&mut self) {
        if let Some(direct) = &self.direct {
            let sessions = usize::try_from(direct.len()).unwrap_or(usize::MAX);
            let left = self.budget.sessions().saturating_sub(sessions.saturating_mul(OF_SESSION));
            self.n4.limit_memory(left);
        }
    }

    /// Logs answers of packet threads that could not be sent.
    pub(super) fn log_unsent(&mut self) {
        let unsent = self.direct.as_ref().map_or(0, |direct| direct.take_unsent());
        if unsent > 0 {
            let what = format_args!("sending on N4: {unsent} answers of packet threads");
            self.log.warn(self.clock.now(), "unsent datagrams", None, &what);
        }
    }

    /// Before N4 handles an event.
    pub(super) fn before_event(&mut self, event: &Event) {
        self.with_direct(|direct, now, adopting| direct.before_event(now, event, adopting));
    }

    /// N4 submits a plan.
    pub(super) fn direct_plan(&mut self, id: ApplyId, plan: &Plan) {
        self.with_direct(|direct, now, adopting| direct.submitted(now, id, plan, adopting));
    }

    /// The result of a plan.
    pub(super) fn direct_applied(&mut self, id: ApplyId, is_applied: bool, is_gone: bool) {
        self.with_direct(|direct, _, _| direct.applied(id, is_applied, is_gone));
    }

    /// Prepares a request of the management server, or answers it. Returns it if it is not answered.
    pub(super) fn answer_direct(&mut self, ask: ManagementRequest) -> Option<ManagementRequest> {
        match &ask {
            ManagementRequest::End { node, .. } | ManagementRequest::Release { node, .. } => {
                self.with_direct(|direct, now, adopting| direct.adopt_node(now, node, adopting));
            }
            ManagementRequest::Associations(_) => {
                self.with_direct(|direct, _, adopting| direct.count(adopting.n4()));
            }
            _ => {}
        }
        let n4 = &self.n4;
        let Some(direct) = self.direct.as_deref() else { return Some(ask) };
        match ask {
            ManagementRequest::Sessions { from, most, filter, reply } => {
                drop(reply.send(part(direct, n4, from, most, &filter)));
            }
            ManagementRequest::FindSessions { most, filter, reply } => {
                drop(reply.send(find(direct, n4, most, &filter)));
            }
            ManagementRequest::SessionsOf { seids, reply } => {
                let clock = n4.wall_clock();
                let own = |seid: Seid| n4.session(seid).map(|view| views::session(&view, clock));
                let other = |seid| direct.find(By::Seid(seid), |view| views::session(view, clock));
                let view = |seid: &Seid| Some((*seid, own(*seid).or_else(|| other(*seid))?));
                drop(reply.send((clock, seids.iter().filter_map(view).collect())));
            }
            ManagementRequest::Session { seid, reply } => {
                let rules = |view: &n4::SessionView<'_>| views::rules_of(view, n4.wall_clock());
                let found: Option<Box<SessionRules>> =
                    n4.session(seid).map(|view| rules(&view)).or_else(|| direct.find(By::Seid(seid), rules));
                drop(reply.send(found));
            }
            other => return Some(other),
        }
        None
    }

    /// Adds the figures of the packet threads to those of N4.
    pub(super) fn status_with_direct(&self, status: N4Status) -> N4Status {
        let Some(direct) = self.direct.as_deref() else { return status };
        let (figures, messages, times, established) = direct.figures();
        let mut status = N4Status { sessions: status.sessions + direct.len(), direct: figures, ..status };
        times_of(&mut status.latencies, times);
        status.establishment.requests += established;
        for message in messages {
            let is_same = |known: &&mut MessageCount| {
                (&known.message_type, known.direction, &known.result)
                    == (&message.message_type, message.direction, &message.result)
            };
            match status.messages.iter_mut().find(is_same) {
                Some(known) => known.count += message.count,
                None => status.messages.push(message),
            }
        }
        let others = status.networks.len().saturating_sub(1);
        direct.networks(|name, qos_flows| {
            let at = self.networks.index_of_name(name).filter(|at| *at < others).unwrap_or(others);
            if let Some(network) = status.networks.get_mut(at) {
                network.sessions += 1;
                network.qos_flows += u64::from(qos_flows);
            }
        });
        status
    }
}

/// A page of sessions: those of N4, then those that it has not adopted.
fn part(direct: &DirectOwner, n4: &N4, from: u64, most: usize, filter: &SessionFilter) -> SessionPart {
    let total = n4.session_count() as u64 + direct.len();
    let mut sessions: Vec<SessionView> = Vec::new();
    if from < FIRST {
        let part = views::part(n4, from, most, filter);
        if part.next.is_some() {
            return SessionPart { total, ..part };
        }
        sessions = part.sessions;
    }
    let (all, clock) = (direct.index_end(), n4.wall_clock());
    let first = u32::try_from(from.saturating_sub(FIRST)).unwrap_or(u32::MAX).min(all);
    let last = first.saturating_add(AT_ONCE).min(all);
    let mut next = last;
    direct.each(first..last, |index, view| {
        if sessions.len() >= most {
            next = next.min(index);
        } else if filter.admits(view) {
            sessions.push(views::session(view, clock));
        }
    });
    SessionPart { total, sessions, next: (next < all).then_some(FIRST + u64::from(next)) }
}

/// The sessions that an index finds, of both.
fn find(direct: &DirectOwner, n4: &N4, most: usize, filter: &SessionFilter) -> Option<SessionPart> {
    let cp = || Some(Reservation::Cp(filter.cp_f_seid()?.addr.v4?, filter.cp_f_seid()?.seid));
    let ue = || match filter.ue? {
        IpAddr::V4(ue) => Some(Reservation::Ue(ue)),
        IpAddr::V6(_) => None,
    };
    let by = (filter.seid.map(By::Seid))
        .or_else(|| filter.teid.map(Reservation::Teid).or_else(cp).or_else(ue).map(By::Key));
    let clock = n4.wall_clock();
    let admitted = |view: &n4::SessionView<'_>| filter.admits(view).then(|| views::session(view, clock));
    let found = by.and_then(|by| direct.find(by, admitted)).flatten();
    let total = n4.session_count() as u64 + direct.len();
    let part = match (views::find(n4, most, filter), found) {
        (Some(mut part), found) => {
            part.sessions.extend(found);
            part
        }
        (None, found) => SessionPart { total, sessions: vec![found?], next: None },
    };
    (part.sessions.len() <= most).then_some(SessionPart { total, ..part })
}

impl Networks {
    /// N4 has adopted a session, which has this index there.
    pub(super) fn adopted(&mut self, index: u32, plan: &Plan) {
        if let Some(session) = plan.change.installed() {
            self.set_present(index, session.profile().rules());
        }
    }
}
