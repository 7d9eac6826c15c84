//! The N4 state machine: inputs, outputs and timers.

mod answer;
mod associations;
mod pfds;
mod plan_results;
mod prefetch;
mod receive;
mod reconfigure;
mod removal;
mod reports;
mod session_requests;
mod shutdown;
mod smf_sets;
mod transfer;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use causeway_model::{Capabilities, LocalEndpoints};
use causeway_pfcp::UpFeatures;
use causeway_rules::PoolUsage;
use causeway_types::{FSeid, NtpSeconds, Seid, Teid, Time, WallClock};

use crate::association::Associations;
use crate::counters::{Counters, Occupancy};
use crate::load::LoadControl;
use crate::memory::MemoryLimit;
use crate::output::Outputs;
use crate::report::{PathSearch, Reports};
use crate::session::{ResponseTemplates, Session, Sessions};
use crate::transaction::{Purpose, Transactions, UnansweredRequest};
use crate::view::{AssociationView, SessionView};
use crate::{Config, Output, SeidShare, SetupFailure};
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
    config: Arc<Config>,
    /// The UP Function Features.
    features: UpFeatures,
    transactions: Transactions,
    associations: Associations,
    sessions: Sessions,
    reports: Reports,
    /// The sessions whose reports wait until changes are recorded; `None`: they do not wait.
    unrecorded_reports: Option<BTreeSet<Seid>>,
    pfds: Pfds,
    templates: ResponseTemplates,
    load: LoadControl,
    memory: MemoryLimit,
    path_search: PathSearch,
    phase: Phase,
    /// New sessions are rejected.
    is_draining: bool,
    /// The clock of all times sent to SMFs.
    wall: WallClock,
    out: Outputs,
}

impl N4 {
    /// A UPF that started at `recovery` and has no association yet.
    pub fn new(
        config: Config,
        capabilities: Capabilities,
        endpoints: LocalEndpoints,
        recovery: NtpSeconds,
    ) -> Self {
        let config = Arc::new(config);
        let sessions = Sessions::new(Arc::clone(&config), capabilities, endpoints);
        let features = sessions.up_features();
        let mut n4 = Self {
            transactions: Transactions::new(&config, recovery.0),
            associations: Associations::new(Arc::clone(&config), recovery, features),
            sessions,
            reports: Reports::new(&config),
            unrecorded_reports: None,
            path_search: PathSearch::default(),
            pfds: Pfds::default(),
            templates: ResponseTemplates::default(),
            load: LoadControl::new(&config, recovery.0),
            memory: MemoryLimit::new(config.limits.memory),
            phase: Phase::Running,
            is_draining: false,
            wall: WallClock::default(),
            out: Outputs::default(),
            features,
            config,
        };
        n4.send_applications();
        n4
    }

    /// The next action; `None` when there is none.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// Sets the wall clock. Usage reported from now on has times of this clock, even if it was measured before; the
    /// Recovery Time Stamp does not change. Initially the wall clock equals the clock of [`Time`]. O(1).
    pub const fn set_wall_clock(&mut self, clock: WallClock) {
        self.wall = clock;
    }

    /// Sessions that are established from now on get SEIDs of this share, if one is found soon: the thread that receives an establishment also
    /// receives what follows. `None`, as in the beginning: any SEID. O(1).
    pub const fn prefer_seids(&mut self, share: Option<SeidShare>) {
        self.sessions.prefer_seids(share);
    }

    /// The clock of all times sent to SMFs.
    pub const fn wall_clock(&self) -> WallClock {
        self.wall
    }

    /// Octets that the sessions and PFDs may need, estimated from their rules; below [`crate::Limits::memory`].
    pub fn memory_needed(&self) -> usize {
        self.memory.needed(self.sessions.needed())
    }

    /// Sets [`crate::Limits::memory`], the octets that all sessions and PFDs may need together. Existing sessions stay.
    pub const fn limit_memory(&mut self, octets: usize) {
        self.memory.set(octets);
    }

    /// Sets whether the process is short of memory. While it is, no session is established, none gets more rules, and
    /// PFDs do not grow, whatever the estimate.
    pub const fn set_short_of_memory(&mut self, is_short: bool) {
        self.memory.set_short(is_short);
    }

    /// Returns the buffer of a completed [`Output::Send`] for reuse by a later response. Optional.
    pub fn recycle(&mut self, octets: Vec<u8>) {
        self.transactions.recycle(octets);
    }

    /// The next time at which [`N4::timer`] must be called; `None` when no timer runs.
    pub fn next_timer(&self) -> Option<Time> {
        if self.sessions.are_sparse() || !self.path_search.is_empty() {
            return Some(Time::default());
        }
        [
            self.transactions.next_deadline(),
            self.associations.next_deadline(),
            self.sessions.next_deadline(),
            self.phase.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Runs the timers that are due. Call at or after [`N4::next_timer`]; an earlier call has no effect.
    pub fn timer(&mut self, now: Time) {
        self.transactions.expire_answers(now);
        while let Some(unanswered) = self.next_unanswered(now) {
            self.unanswered(now, unanswered);
        }
        self.associations.send_heartbeats(now, &mut self.transactions, &mut self.out);
        self.associations.recheck_clocks(now, &mut self.transactions, &mut self.out);
        self.associations.retry_targets(now, &mut self.transactions, &mut self.out);
        self.sessions.retry_removals(now, &mut self.out);
        self.continue_purging(now);
        self.search_path_users(now);
        self.expire_graceful_releases(now);
        self.check_shutdown(now);
        if self.sessions.are_sparse() {
            self.sessions.shrink();
        }
    }

    /// The counters since the start.
    pub fn counters(&self) -> &Counters {
        self.out.counters()
    }

    /// Sizes of all tables and queues. O(sessions).
    pub fn occupancy(&self) -> Occupancy {
        let (tunnels, addresses) = self.sessions.tunnels_and_addresses();
        Occupancy {
            associations: self.associations.len(),
            sessions: self.sessions.len(),
            plans: self.sessions.in_flight(),
            waiting_requests: self.sessions.iter().map(|session| session.waiting().count()).sum(),
            remembered_requests: self.transactions.received(),
            unanswered_requests: self.transactions.unanswered(),
            restarted_hosts: self.transactions.restarted_hosts(),
            waiting_reports: self.reports.all_waiting(),
            tunnels,
            addresses,
            routes: self.sessions.routes(),
        }
    }

    /// The number of framed routes of all sessions.
    pub fn routes(&self) -> usize {
        self.sessions.routes()
    }

    /// The established sessions, in no particular order.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView<'_>> {
        let established = self.sessions.iter().filter(|session| session.is_established());
        established.filter_map(|session| self.view(session))
    }

    /// The number of sessions, including those being established or removed. O(1).
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// The upper bound, exclusive, of session indices.
    pub fn session_index_end(&self) -> u32 {
        self.sessions.len_upper_bound()
    }

    /// The established sessions with these indices, in order. The index of a session never changes. O(indices).
    pub fn sessions_in(&self, places: Range<u32>) -> impl Iterator<Item = SessionView<'_>> {
        let sessions = places.filter_map(|index| self.sessions.at(index));
        sessions.filter(|session| session.is_established()).filter_map(|session| self.view(session))
    }

    /// The session with this SEID of the UPF, if it is established. O(1).
    pub fn session(&self, seid: Seid) -> Option<SessionView<'_>> {
        let session = self.sessions.get(seid).filter(|session| session.is_established())?;
        self.view(session)
    }

    /// The session with this CP F-SEID, if it is established. O(1).
    pub fn session_of_cp(&self, cp: &FSeid) -> Option<SessionView<'_>> {
        self.session(self.sessions.by_cp_f_seid(cp)?)
    }

    /// The established sessions with a local tunnel of this TEID. O(found).
    pub fn sessions_of_teid(&self, teid: Teid) -> impl Iterator<Item = SessionView<'_>> {
        let mut found = self.sessions.with_teid(teid);
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|session| self.session(session))
    }

    /// The established sessions to which packets from a data network to this address go, or may go. Sessions that
    /// receive such packets from a tunnel are not among them. O(data networks and found).
    pub fn sessions_of_address(&self, address: IpAddr) -> impl Iterator<Item = SessionView<'_>> {
        let mut found = self.sessions.with_address(address);
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|session| self.session(session))
    }

    /// The UE address pools, and how much of each is allocated.
    pub fn pools(&self) -> Vec<PoolUsage> {
        self.sessions.pools()
    }

    /// `None`: it is marked for removal.
    fn view<'a>(&'a self, session: &'a Session) -> Option<SessionView<'a>> {
        if self.sessions.is_in_purge(session) {
            return None;
        }
        Some(SessionView::of(
            session,
            self.associations.get(session.association())?,
            self.reports.waiting(session.seid()),
        ))
    }

    /// An association has this address. O(associations).
    pub fn is_smf(&self, ip: IpAddr) -> bool {
        self.associations.knows(ip)
    }

    /// The associations, the oldest first.
    pub fn associations(&self) -> impl Iterator<Item = AssociationView<'_>> {
        self.associations.iter().map(AssociationView::of)
    }

    fn next_unanswered(&mut self, now: Time) -> Option<UnansweredRequest<Purpose>> {
        let associations = &self.associations;
        let is_silent = |purpose: &Purpose, since| match purpose {
            Purpose::Report { association, .. } => {
                associations.get(*association).is_some_and(|it| it.is_silent(since))
            }
            _ => false,
        };
        self.transactions.expire(now, is_silent, &mut self.out)
    }

    fn unanswered(&mut self, now: Time, unanswered: UnansweredRequest<Purpose>) {
        match unanswered.purpose {
            Purpose::Heartbeat(association) => self.heartbeat_unanswered(now, association),
            Purpose::RecoveryCheck { association, entity } => {
                let confirmed =
                    self.associations.recovery_check_unanswered(association, entity, &mut self.out);
                self.confirmed(now, association, confirmed);
            }
            Purpose::Setup(peer) => {
                self.associations.setup_failed(now, peer, SetupFailure::NoAnswer, &mut self.out);
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
                self.report_unanswered(now, (session, association, number), unanswered);
            }
        }
    }
}
