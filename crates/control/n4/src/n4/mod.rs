//! The N4 state machine: inputs, outputs and timers.

mod associations;
mod paths;
mod pfds;
mod prefetch;
mod purges;
mod receive;
mod reconfigure;
mod shutdown;
mod smf_sets;
mod transfer;

use std::net::IpAddr;
use std::num::NonZeroU8;
use std::sync::Arc;

use causeway_dataplane::{Applied, ApplyError, Event};
use causeway_model::{Capabilities, LocalEndpoints};
use causeway_pfcp::MessageType;
use causeway_rules::PoolUsage;
use causeway_types::{FSeid, NtpSeconds, Seid, Teid, Time, WallClock};

use crate::counters::{Counters, Occupancy};
use crate::memory::Needed;
use crate::node::Node;
use crate::part::{Others, Part, PartNumber, Turn};
use crate::report::PathSearch;
use crate::session::{QueuedRequest, Session};
use crate::transaction::{Purpose, UnansweredRequest};
use crate::view::{AssociationView, SessionView};
use crate::{ApplyId, Config, Output, SetupFailure};
use pfds::Pfds;
use shutdown::Phase;
pub use transfer::RestoreError;

/// The N4 interface of a UPF as one state machine, without sockets or clocks (TS 29.244).
///
/// Feed it with [`N4::datagram`], [`N4::applied`], [`N4::event`] and, at [`N4::next_timer`], [`N4::timer`]; after each,
/// execute the outputs of [`N4::poll_output`] until it returns none. Time never goes backwards.
///
/// Authorization: an association is identified by the peer's Node ID. A Session Establishment Request must contain a
/// Node ID that has an association, and come from a host of that node: the source of its setup, its Node ID if that is
/// an address, or an Alternative SMF IP Address. A later request of the session must come from such a host, or from an
/// address of the session's CP F-SEID. For all other senders the session does not exist.
#[derive(Debug)]
pub struct N4 {
    node: Box<Node>,
    first: Box<Part>,
    #[expect(clippy::vec_box, reason = "a part is lent without being moved")]
    further: Vec<Box<Part>>,
    pfds: Pfds,
    path_search: PathSearch,
    phase: Phase,
    /// Requests about session sets in the present datagram.
    set_requests: usize,
}

/// Parts.
impl N4 {
    /// A UPF that started at `recovery` and has no association yet.
    pub fn new(
        config: Config,
        capabilities: Capabilities,
        endpoints: LocalEndpoints,
        recovery: NtpSeconds,
    ) -> Self {
        Self::in_parts(config, capabilities, endpoints, recovery, NonZeroU8::MIN)
    }

    /// The same with the sessions in so many parts, for as many threads. Most inputs concern one part, and threads may handle
    /// them side by side while the parts are lent to them ([`N4::exchange_part`]).
    pub fn in_parts(
        config: Config,
        capabilities: Capabilities,
        endpoints: LocalEndpoints,
        recovery: NtpSeconds,
        parts: NonZeroU8,
    ) -> Self {
        let config = Arc::new(config);
        let (number, others) = PartNumber::all(parts);
        let first = Box::new(Part::first(&config, capabilities, endpoints, recovery, number));
        let further = others.into_iter().map(|number| Box::new(first.beside(&config, recovery, number)));
        let further = further.collect();
        let features = first.sessions.up_features();
        let mut n4 = Self {
            node: Box::new(Node::new(config, recovery, features, parts.get().into())),
            first,
            further,
            pfds: Pfds::default(),
            path_search: PathSearch::default(),
            phase: Phase::Running,
            set_requests: 0,
        };
        n4.send_applications();
        n4
    }

    /// The number of parts.
    pub fn part_count(&self) -> usize {
        1 + self.further.len()
    }

    /// A part that holds nothing, to be in the place of one that is lent.
    pub fn vacant_part(&self) -> Box<Part> {
        Box::new(self.first.vacant(&self.node.config))
    }

    /// A node that holds nothing, to be in the place of the one that is lent.
    pub fn vacant_node(&self) -> Box<Node> {
        let Node { config, features, .. } = &*self.node;
        Box::new(Node::new(Arc::clone(config), NtpSeconds(0), *features, 0))
    }

    /// Puts another part in the place of this one. While a part is lent, one of [`N4::vacant_part`] is in its place, and N4
    /// gets no input. Take all outputs of N4 before: those of all parts together may be in any part.
    pub fn exchange_part(&mut self, number: usize, part: &mut Box<Part>) {
        match number.checked_sub(1) {
            None => std::mem::swap(&mut self.first, part),
            Some(at) => self.further.get_mut(at).into_iter().for_each(|own| std::mem::swap(own, part)),
        }
    }

    /// The same for the node, which those who have parts read.
    pub const fn exchange_node(&mut self, node: &mut Box<Node>) {
        std::mem::swap(&mut self.node, node);
    }

    /// All parts, in order.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.further).map(Box::as_ref)
    }

    /// The same, mutable.
    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Part> {
        std::iter::once(&mut self.first).chain(&mut self.further).map(Box::as_mut)
    }

    /// The number of the first part for which this holds; if there is none, that of the first part.
    fn number_of(&self, is_it: impl Fn(&Part) -> bool) -> usize {
        self.parts().position(is_it).unwrap_or_default()
    }

    /// The part with the sessions that have such SEIDs.
    fn part_of_seid(&self, seid: Seid) -> &Part {
        self.further.iter().find(|part| part.number.has(seid)).unwrap_or(&self.first)
    }

    /// A turn of a part, with all others.
    #[inline]
    fn turn(&mut self, number: usize) -> Turn<'_> {
        let Self { node, first, further, .. } = self;
        if further.is_empty() {
            return Turn::new(node, first, Others::Here { first: None, before: &mut [], after: &mut [] });
        }
        let at = number.checked_sub(1).unwrap_or(further.len()).min(further.len());
        let (before, rest) = further.split_at_mut(at);
        match rest.split_first_mut() {
            Some((part, after)) => Turn::new(node, part, Others::Here { first: Some(first), before, after }),
            None => Turn::new(node, first, Others::Here { first: None, before, after: &mut [] }),
        }
    }

    /// A turn of the part with the sessions that have such SEIDs.
    fn turn_of_seid(&mut self, seid: Seid) -> Turn<'_> {
        self.turn(self.number_of(|part| part.number.has(seid)))
    }

    /// Calls `act` with a turn of each part.
    fn each_turn(&mut self, mut act: impl FnMut(&mut Turn<'_>)) {
        (0..self.part_count()).for_each(|number| act(&mut self.turn(number)));
        self.order_outputs();
    }

    /// The restart epochs of hosts are those that the first part has.
    fn follow_epochs(&mut self) {
        let Self { first, further, .. } = self;
        further.iter_mut().for_each(|part| part.transactions.follow_epochs(&first.transactions));
    }

    /// What parts have caused comes before what is caused from now on: the first part has the actions of all, in order.
    #[inline]
    fn order_outputs(&mut self) {
        let Self { first, further, .. } = self;
        further.iter_mut().for_each(|part| first.out.append(&mut part.out));
    }

    /// Does what the inputs of parts have left to those who have all parts. Call it when parts that were lent are back.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if !self.further.is_empty() || self.first.concerns_node() {
            self.settle_parts(now);
        }
    }

    #[inline(never)]
    fn settle_parts(&mut self, now: Time) {
        self.order_outputs();
        for number in 0..self.part_count() {
            while let Some(QueuedRequest { key, header, body }) = self.turn(number).part.undecided.pop_front()
            {
                self.turn(number).part.sessions.set_time(now);
                match key.message {
                    MessageType::SessionEstablishmentRequest => {
                        self.session_request(now, number, key, header, &body);
                    }
                    _ => {
                        self.turn(number).decide_modification(now, key, header, &body);
                        header.seid.into_iter().for_each(|seid| self.turn(number).start_next(now, seid));
                    }
                }
                self.order_outputs();
            }
        }
        let ends = self.parts_mut().map(|part| std::mem::take(&mut part.is_awaited_end));
        if ends.fold(false, |one, other| one | other) {
            let Self { node, first, .. } = self;
            for id in node.associations.ids() {
                let (transactions, out) = (&mut first.transactions, &mut first.out);
                node.associations.check_graceful_release(now, id, transactions, out);
            }
            self.check_shutdown(now);
        }
        if !self.further.is_empty() {
            self.follow_epochs();
            self.parts().for_each(|part| part.publish(&self.node));
        }
    }
}

impl N4 {
    /// The next action; `None` when there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.first.out.pop().or_else(|| self.further.iter_mut().find_map(|part| part.out.pop()))
    }

    /// Sets the wall clock. Usage reported from now on has times of this clock, even if it was measured before; the
    /// Recovery Time Stamp does not change. Initially the wall clock equals the clock of [`Time`]. O(1).
    pub const fn set_wall_clock(&mut self, clock: WallClock) {
        self.node.wall = clock;
    }

    /// The clock of all times sent to SMFs.
    pub const fn wall_clock(&self) -> WallClock {
        self.node.wall
    }

    /// Octets that the sessions and PFDs may need, estimated from their rules; below [`crate::Limits::memory`].
    pub fn memory_needed(&self) -> usize {
        self.node.memory.needed(self.needed())
    }

    /// Sets [`crate::Limits::memory`], the octets that all sessions and PFDs may need together. Existing sessions stay.
    pub const fn limit_memory(&mut self, octets: usize) {
        self.node.memory.set(octets);
    }

    /// Sets whether the process is short of memory. While it is, no session is established, none gets more rules, and
    /// PFDs do not grow, whatever the estimate.
    pub const fn set_short_of_memory(&mut self, is_short: bool) {
        self.node.memory.set_short(is_short);
    }

    /// Returns the buffer of a completed [`Output::Send`] for reuse by a later response. Optional.
    pub fn recycle(&mut self, octets: Vec<u8>) {
        self.first.transactions.recycle(octets);
    }

    /// The next time at which [`N4::timer`] must be called; `None` when no timer runs.
    pub fn next_timer(&self) -> Option<Time> {
        if !self.path_search.is_empty() {
            return Some(Time::default());
        }
        let of_node = [self.node.associations.next_deadline(), self.phase.deadline()];
        self.parts().map(Part::next_timer).chain(of_node).flatten().min()
    }

    /// Runs the timers that are due. Call at or after [`N4::next_timer`]; an earlier call has no effect.
    pub fn timer(&mut self, now: Time) {
        self.parts_mut().for_each(|part| part.transactions.expire_answers(now));
        while let Some(part) = self.first_unanswered(now) {
            if let Some(unanswered) = self.give_up_or_repeat(now, part) {
                self.unanswered(now, part, unanswered);
            }
            self.order_outputs();
        }
        let Self { node, first, .. } = self;
        let (transactions, out) = (&mut first.transactions, &mut first.out);
        node.associations.send_heartbeats(now, transactions, out);
        node.associations.recheck_clocks(now, transactions, out);
        node.associations.retry_targets(now, transactions, out);
        self.each_turn(|turn| {
            turn.part.sessions.retry_removals(now, &mut turn.part.out);
            turn.continue_purging(now);
        });
        self.search_path_users(now);
        self.expire_graceful_releases(now);
        self.check_shutdown(now);
        self.parts_mut().filter(|part| part.sessions.are_sparse()).for_each(|part| part.sessions.shrink());
        self.settle(now);
    }

    /// The counters since the start.
    pub fn counters(&self) -> Counters {
        self.parts().fold(Counters::default(), |all, part| all.and(part.out.counters()))
    }

    /// Sizes of all tables and queues. O(sessions).
    pub fn occupancy(&self) -> Occupancy {
        let (tunnels, addresses) = self.first.sessions.tunnels_and_addresses();
        let waiting =
            |part: &Part| part.sessions.iter().map(|session| session.waiting().count()).sum::<usize>();
        Occupancy {
            associations: self.node.associations.len(),
            sessions: self.session_count(),
            plans: self.plans_in_flight(),
            waiting_requests: self.parts().map(waiting).sum(),
            remembered_requests: self.parts().map(|part| part.transactions.received()).sum(),
            unanswered_requests: self.parts().map(|part| part.transactions.unanswered()).sum(),
            restarted_hosts: self.first.transactions.restarted_hosts(),
            waiting_reports: self.parts().map(|part| part.reports.all_waiting()).sum(),
            tunnels,
            addresses,
            routes: self.routes(),
        }
    }

    /// The memory that the sessions of all parts may need.
    fn needed(&self) -> Needed {
        let further = self.further.iter().map(|part| part.sessions.needed());
        further.fold(self.first.sessions.needed(), Needed::and)
    }

    /// The number of framed routes of all sessions.
    pub fn routes(&self) -> usize {
        self.first.sessions.routes()
    }

    /// The established sessions, in no particular order.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView<'_>> {
        self.parts().flat_map(|part| {
            let established = part.sessions.iter().filter(|session| session.is_established());
            established.filter_map(|session| self.view(part, session))
        })
    }

    /// The number of sessions, including those being established or removed. O(parts).
    pub fn session_count(&self) -> usize {
        self.parts().map(|part| part.sessions.len()).sum()
    }

    /// The upper bound, exclusive, of the indices of all sessions.
    pub fn session_index_end(&self) -> u32 {
        let last = self.parts().map(|part| part.sessions.len_upper_bound()).max().unwrap_or_default();
        last.saturating_mul(self.part_count() as u32)
    }

    /// The session with this index, if it is established. Indices of the parts take turns; the index of a session never
    /// changes. O(1).
    pub fn session_at(&self, index: u32) -> Option<SessionView<'_>> {
        let parts = self.part_count() as u32;
        let part = self.parts().nth((index % parts) as usize)?;
        let session = part.sessions.at(index / parts).filter(|session| session.is_established())?;
        self.view(part, session)
    }

    /// The session of a plan, if it is established. O(1).
    pub fn session_of_plan(&self, id: ApplyId) -> Option<SessionView<'_>> {
        let part = self.parts().nth(id.part())?;
        let session = part.sessions.at(id.session_index()).filter(|session| session.is_established())?;
        self.view(part, session)
    }

    /// The session with this SEID of the UPF, if it is established. O(1).
    pub fn session(&self, seid: Seid) -> Option<SessionView<'_>> {
        let part = self.part_of_seid(seid);
        self.view(part, part.sessions.get(seid).filter(|session| session.is_established())?)
    }

    /// The session with this CP F-SEID, if it is established. O(1).
    pub fn session_of_cp(&self, cp: &FSeid) -> Option<SessionView<'_>> {
        let part = self.parts().nth(self.first.number.holder_of_cp(cp))?;
        self.view(part, part.sessions.get(part.sessions.by_cp_f_seid(cp)?).filter(|it| it.is_established())?)
    }

    /// The established sessions with a local tunnel of this TEID. O(found).
    pub fn sessions_of_teid(&self, teid: Teid) -> impl Iterator<Item = SessionView<'_>> {
        let mut found = self.first.sessions.with_teid(teid);
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|session| self.session(session))
    }

    /// The established sessions to which packets from a data network to this address go, or may go. Sessions that
    /// receive such packets from a tunnel are not among them. O(data networks and found).
    pub fn sessions_of_address(&self, address: IpAddr) -> impl Iterator<Item = SessionView<'_>> {
        let mut found = self.first.sessions.with_address(address);
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|session| self.session(session))
    }

    /// The UE address pools, and how much of each is allocated.
    pub fn pools(&self) -> Vec<PoolUsage> {
        self.first.sessions.pools()
    }

    /// `None`: it is marked for removal.
    fn view<'a>(&'a self, part: &'a Part, session: &'a Session) -> Option<SessionView<'a>> {
        if part.sessions.is_in_purge(session) {
            return None;
        }
        Some(SessionView::of(
            session,
            self.node.associations.get(session.association())?,
            part.reports.waiting(session.seid()),
        ))
    }

    /// An association has this address. O(associations).
    pub fn is_smf(&self, ip: IpAddr) -> bool {
        self.node.is_smf(ip)
    }

    /// The associations, the oldest first.
    pub fn associations(&self) -> impl Iterator<Item = AssociationView<'_>> {
        self.node.associations.iter().map(AssociationView::of)
    }

    /// The part of the request whose wait for a response ended first, if one has ended.
    fn first_unanswered(&self, now: Time) -> Option<usize> {
        let waits = self.parts().map(|part| part.transactions.next_unanswered()).enumerate();
        let ended = waits.filter_map(|(part, wait)| Some((wait.filter(|wait| *wait <= now)?, part)));
        ended.min().map(|(_, part)| part)
    }

    /// Repeats the request of this part whose wait ended first, or returns it if it was repeated often enough.
    fn give_up_or_repeat(&mut self, now: Time, part: usize) -> Option<UnansweredRequest<Purpose>> {
        let Turn { node, part, .. } = self.turn(part);
        let is_silent = |purpose: &Purpose, since| match purpose {
            Purpose::Report { association, .. } => {
                node.associations.get(*association).is_some_and(|it| it.is_silent(since))
            }
            _ => false,
        };
        part.transactions.expire(now, is_silent, &mut part.out)
    }

    fn unanswered(&mut self, now: Time, part: usize, unanswered: UnansweredRequest<Purpose>) {
        match unanswered.purpose {
            Purpose::Heartbeat(association) => self.heartbeat_unanswered(now, association),
            Purpose::RecoveryCheck { association, entity } => {
                let out = &mut self.first.out;
                let confirmed = self.node.associations.recovery_check_unanswered(association, entity, out);
                self.confirmed(now, association, confirmed);
            }
            Purpose::Setup(peer) => {
                let out = &mut self.first.out;
                self.node.associations.setup_failed(now, peer, SetupFailure::NoAnswer, out);
            }
            Purpose::Release(association) | Purpose::Announcement(association) => {
                self.release_unanswered(now, association);
            }
            // The association ends at its deadline, with or without a response.
            Purpose::GracefulRelease(_) => {}
            Purpose::PathReport { association, .. } => {
                self.path_report_unanswered(now, association, unanswered);
            }
            Purpose::Report { session, association, number } => {
                self.turn(part).report_unanswered(now, (session, association, number), unanswered);
            }
        }
    }
}

/// Results and events of the data plane.
impl N4 {
    /// Handles the result of a plan from [`crate::Output::Apply`], once for each plan.
    ///
    /// Events that the data plane raised before it applied the plan must be passed first.
    pub fn applied(&mut self, now: Time, id: ApplyId, result: Result<Applied, ApplyError>) {
        self.turn(id.part()).applied(now, id, result);
        self.settle(now);
    }

    /// Handles an event of the data plane. An event of a session that has ended is counted and dropped.
    pub fn event(&mut self, now: Time, event: Event) {
        let mut turn = self.turn_of_seid(event.session().unwrap_or_default());
        if let Some(of_node) = turn.event(now, event) {
            self.path_event(now, &of_node);
        }
        self.settle(now);
    }
}
