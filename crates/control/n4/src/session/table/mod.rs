//! The session table and its indices.

mod prefetch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use causeway_collections::{HashIndex, Probe};
use causeway_model::{Capabilities, LocalEndpoints, Plan};
use causeway_rules::{Addresses, Instructions, PlannedChange, PoolUsage, Resources, RouteLimits, Tunnels};
use causeway_types::{FSeid, IpNet, NetworkInstance, Seid, Teid, Time};

use super::association_sessions::AssociationSessions;
use super::in_flight::{InFlight, InFlightPlan, PlanPurpose, QueuedRequest, QueuedWork};
use super::planning::Planning;
use super::purge_queue::Purge;
use super::state::Session;
use crate::association::AssociationId;
use crate::memory::{Footprint, Needed};
use crate::part::PartNumber;
use crate::report::{ReportingSession, SearchedPeers};
use crate::seid::SeidSequence;
use crate::slab::Slab;
use crate::{ApplyId, Config};

/// The most buffers of completed plans that are kept for reuse.
const MAX_FREE_BOXES: usize = 256;

/// TEIDs in use at a time, at most, for each session of the limit.
const TUNNELS_PER_SESSION: u64 = 4;

/// All sessions by the UPF's SEID, their resources, plans in flight, and purges.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(super) all: Slab<Session>,
    /// The UPF's SEIDs, which contain the index of their sessions.
    seids: SeidSequence,
    /// The part that these sessions are.
    pub(super) number: PartNumber,
    /// The indices of sessions that the data plane established: their SEIDs do not contain them.
    adopted: BTreeMap<Seid, u32>,
    /// The index found last: the same session is often looked up several times in a row.
    last: AtomicU32,
    /// Index by CP F-SEID, without sessions that are ending.
    by_cp: HashIndex,
    pub(super) members: AssociationSessions,
    /// The number of submitted plans.
    plans_submitted: u32,
    in_flight: usize,
    /// Buffers of completed plans, for reuse.
    free_boxes: Vec<InFlightPlan>,
    waiting_octets: usize,
    /// The memory that all sessions may need.
    pub(super) needed: Needed,
    /// The purges in progress, the oldest first.
    pub(super) purges: VecDeque<Purge>,
    /// The number of purges begun, modulo 2^32.
    pub(super) purges_begun: u32,
    /// When purges continue, unless they wait for a plan in flight.
    pub(super) purge_due: Option<Time>,
    /// Sessions that the data plane failed to remove, and when to retry.
    pub(super) removals: BTreeSet<(Time, Seid)>,
    /// Plans in flight that remove sessions without a request of their SMF.
    pub(super) removals_in_flight: usize,
    /// F-TEIDs and UE addresses, and the template cache.
    pub(super) resources: Resources,
    pub(super) planning: Planning,
    pub(super) config: Arc<Config>,
    /// The indices of sessions that may have changed; `None`: nobody asks.
    changed: Option<VecDeque<u32>>,
}

impl Sessions {
    /// No sessions.
    pub(crate) fn new(
        config: Arc<Config>,
        capabilities: Capabilities,
        endpoints: LocalEndpoints,
        number: PartNumber,
    ) -> Self {
        let sessions = config.limits.sessions.min(capabilities.max_sessions as usize);
        let resources = Resources::new(tunnels(&config, sessions), addresses(&config, &endpoints));
        let planning = Planning { capabilities, endpoints, catalogue: config.catalogue.clone() };
        Self::empty(config, planning, resources, number)
    }

    /// No sessions, beside these: with the same tunnels and UE addresses.
    pub(crate) fn beside(&self, number: PartNumber) -> Self {
        let (config, planning) = (Arc::clone(&self.config), self.planning.clone());
        Self::empty(config, planning, self.resources.beside(), number)
    }

    /// No sessions, and no memory for any.
    pub(crate) fn vacant(&self, number: PartNumber) -> Self {
        let (config, planning) = (Arc::clone(&self.config), self.planning.clone());
        Self::with_capacity(config, planning, self.resources.beside(), number, 0)
    }

    /// No sessions. The table never grows, unless a part gets many more sessions than its share.
    fn empty(config: Arc<Config>, planning: Planning, resources: Resources, number: PartNumber) -> Self {
        let most = config.limits.sessions.min(planning.capabilities.max_sessions as usize);
        let share = most.div_ceil(number.parts());
        let sessions = if number.parts() > 1 { share + share / 8 } else { share };
        Self::with_capacity(config, planning, resources, number, sessions)
    }

    fn with_capacity(
        config: Arc<Config>,
        planning: Planning,
        resources: Resources,
        number: PartNumber,
        sessions: usize,
    ) -> Self {
        Self {
            all: Slab::with_capacity(sessions),
            seids: SeidSequence::new(config.seed, config.secret),
            number,
            adopted: BTreeMap::new(),
            last: AtomicU32::default(),
            by_cp: HashIndex::with_capacity(sessions),
            members: AssociationSessions::default(),
            plans_submitted: 0,
            in_flight: 0,
            free_boxes: Vec::new(),
            waiting_octets: 0,
            needed: Needed::new(config.limits.cold_storage),
            purges: VecDeque::new(),
            purges_begun: 0,
            purge_due: None,
            removals: BTreeSet::new(),
            removals_in_flight: 0,
            resources,
            planning,
            config,
            changed: None,
        }
    }

    /// Records which sessions change from now on.
    pub(crate) fn record_changes(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// Whether changes are recorded.
    pub(super) const fn records_changes(&self) -> bool {
        self.changed.is_some()
    }

    /// The index of the next session that may have changed.
    pub(crate) fn next_changed(&mut self) -> Option<u32> {
        self.changed.as_mut()?.pop_front()
    }

    /// The session at this index may have changed, or ended.
    #[inline]
    pub(super) fn touch(&mut self, index: u32) {
        if let Some(changed) = &mut self.changed
            && changed.back() != Some(&index)
        {
            changed.push_back(index);
        }
    }

    /// Something about this session has changed that its record contains.
    pub(crate) fn has_changed(&mut self, seid: Seid) {
        if let Some(index) = self.index_of(seid).filter(|_| self.records_changes()) {
            self.touch(index);
        }
    }

    /// Follows changed settings.
    pub(crate) fn reconfigure(&mut self, config: Arc<Config>) {
        let mut claims = self.resources.claims();
        claims.addresses.limit_routes(route_limits(&config));
        if self.config.address_pools != config.address_pools {
            claims.addresses.set_pools(config.address_pools.clone());
        }
        claims.addresses.set_quarantine(config.address_rest);
        drop(claims);
        self.config = config;
    }

    /// Later plans depend on these endpoints.
    pub(crate) fn set_endpoints(&mut self, endpoints: LocalEndpoints) {
        self.planning.endpoints = endpoints;
    }

    /// A session has an address of the data network in this range.
    pub(crate) fn is_in_use_within(&self, network: &NetworkInstance, range: &IpNet) -> bool {
        self.resources.claims().addresses.is_in_use_within(network, range)
    }

    /// The limit of sessions.
    pub(crate) fn most(&self) -> usize {
        let most = self.config.limits.sessions.min(self.planning.capabilities.max_sessions as usize);
        most.min(SeidSequence::INDICES)
    }

    /// Sets the time of the resources that are allocated and released from now on.
    pub(crate) fn set_time(&mut self, now: Time) {
        self.resources.set_time(now);
    }

    /// Local GTP-U tunnels, and UE addresses and prefixes, in use.
    pub(crate) fn tunnels_and_addresses(&self) -> (usize, usize) {
        let claims = self.resources.claims();
        (claims.tunnels.in_use(), claims.addresses.in_use())
    }

    /// The sessions with a local tunnel of this TEID; one comes once for each tunnel. O(found).
    pub(crate) fn with_teid(&self, teid: Teid) -> Vec<Seid> {
        self.resources.claims().tunnels.with_teid(teid).map(|(session, _)| session).collect()
    }

    /// The sessions to which packets from a data network to this address go; see [`Addresses::sessions_of`].
    pub(crate) fn with_address(&self, address: IpAddr) -> Vec<Seid> {
        self.resources.claims().addresses.sessions_of(address).collect()
    }

    /// The UE address pools, and how much of each is allocated.
    pub(crate) fn pools(&self) -> Vec<PoolUsage> {
        self.resources.claims().addresses.pools().collect()
    }

    /// The number of framed routes.
    pub(crate) fn routes(&self) -> usize {
        self.resources.claims().addresses.routes()
    }

    /// The SEID of the next session, which [`Sessions::insert`] allocates: one of this part. In the mean it draws as many as
    /// there are parts.
    pub(crate) fn next_seid(&mut self) -> Seid {
        loop {
            let seid = self.seids.peek(self.all.vacant_index());
            if self.number.has(seid) && !self.is_of_data_plane(seid) {
                return seid;
            }
            self.seids.advance();
        }
    }

    /// The data plane gives such SEIDs to sessions that it establishes itself.
    pub(super) fn is_of_data_plane(&self, seid: Seid) -> bool {
        self.config.data_plane.is_some_and(|numbers| numbers.has(seid))
    }

    /// Inserts a session with [`Sessions::next_seid`]; no other was inserted since.
    pub(crate) fn insert(&mut self, session: Session) {
        let cp = session.cp;
        let index = self.enter(self.seids.index_of_seid(session.seid), session);
        self.index_cp(&cp, index);
    }

    /// The same for a session whose CP F-SEID no other session has.
    pub(super) fn insert_new(&mut self, session: Session) {
        let cp = session.cp;
        let index = self.enter(self.all.vacant_index(), session);
        for ip in cp.addr.iter() {
            self.by_cp.insert((cp.seid, ip), index);
            self.number.note_cp(cp.seid, ip);
        }
    }

    /// A session with this SEID can be restored: it is one of this secret, and its place is behind all others.
    pub(super) fn takes(&self, seid: Seid) -> bool {
        let index = self.seids.index_of_seid(seid);
        seid != Seid(0) && (self.all.end()..self.most() as u32).contains(&index)
    }

    /// Inserts a session for which [`Sessions::takes`] holds. O(unused indices before it).
    pub(super) fn insert_restored(&mut self, mut session: Session) {
        let (cp, index) = (session.cp, self.seids.index_of_seid(session.seid));
        self.join(index, &mut session);
        self.all.insert_behind(index, session);
        self.index_cp(&cp, index);
    }

    /// Inserts a session that the data plane has established, for which [`Sessions::is_of_data_plane`] holds.
    pub(crate) fn insert_adopted(&mut self, mut session: Session) {
        let (cp, seid, index) = (session.cp, session.seid, self.all.vacant_index());
        self.join(index, &mut session);
        self.all.insert_at(index, session);
        self.adopted.insert(seid, index);
        self.last.store(index, Relaxed);
        self.index_cp(&cp, index);
    }

    fn enter(&mut self, index: u32, mut session: Session) -> u32 {
        self.join(index, &mut session);
        self.all.insert_at(index, session);
        self.seids.advance();
        self.last.store(index, Relaxed);
        index
    }

    fn join(&mut self, index: u32, session: &mut Session) {
        session.number = self.members.join(session.association, index);
        session.purges_before = self.purges_begun;
        self.needed.add(session.footprint);
        self.needed.replace_in_n4(0, session.octets());
    }

    #[inline]
    pub(super) fn index_of(&self, seid: Seid) -> Option<u32> {
        let last = self.last.load(Relaxed);
        if self.is_at(last, seid) { Some(last) } else { self.find(seid) }
    }

    /// The index of a session.
    pub(crate) fn index(&self, seid: Seid) -> Option<u32> {
        self.index_of(seid)
    }

    #[inline]
    fn is_at(&self, index: u32, seid: Seid) -> bool {
        self.all.get(index).is_some_and(|session| session.seid == seid)
    }

    /// The index of a session that was not the last one found.
    #[inline(never)]
    fn find(&self, seid: Seid) -> Option<u32> {
        let by_value = self.seids.index_of_seid(seid);
        let index = if self.is_at(by_value, seid) { by_value } else { *self.adopted.get(&seid)? };
        self.last.store(index, Relaxed);
        Some(index)
    }

    #[inline]
    pub(crate) fn get(&self, seid: Seid) -> Option<&Session> {
        self.all.get(self.index_of(seid)?)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, seid: Seid) -> Option<&mut Session> {
        let index = self.index_of(seid)?;
        self.touch(index);
        self.all.get_mut(index)
    }

    /// A session of which reports may be sent now: not while a plan of it is in flight, so that the numbers of usage
    /// reports keep their order.
    pub(crate) fn reporting(&mut self, seid: Seid) -> Option<(AssociationId, ReportingSession<'_>)> {
        if self.is_seid_in_purge(seid) {
            return None;
        }
        let session = self.get_mut(seid).filter(|session| session.may_report())?;
        let (cp, has_ended) = (session.cp, session.ended);
        Some((session.association, ReportingSession { seid, cp, has_ended, rules: &mut session.rules }))
    }

    /// The session is established now.
    #[inline]
    pub(crate) fn set_established(&mut self, now: Time, seid: Seid) {
        if let Some(session) = self.get_mut(seid) {
            session.since = now;
        }
    }

    /// Removes a session without a plan in flight.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<Session> {
        self.forget_cp(seid);
        let index = self.index_of(seid)?;
        let session = self.all.remove(index)?;
        self.adopted.remove(&seid);
        self.touch(index);
        self.leave(session.association, session.number);
        self.needed.remove(session.footprint);
        self.needed.replace_in_n4(session.octets(), 0);
        self.waiting_octets -= session.waiting().map(QueuedWork::octets).sum::<usize>();
        Some(session)
    }

    /// The memory that all sessions may need.
    pub(crate) const fn needed(&self) -> Needed {
        self.needed
    }

    /// The memory that a session may need.
    pub(crate) fn footprint(&self, seid: Seid) -> Footprint {
        self.get(seid).map(|session| session.footprint).unwrap_or_default()
    }

    /// Sets the memory that the session may need.
    pub(crate) fn set_footprint(&mut self, seid: Seid, footprint: Footprint) {
        let Some(index) = self.index_of(seid) else { return };
        let Some(session) = self.all.get_mut(index) else { return };
        let before = std::mem::replace(&mut session.footprint, footprint);
        self.needed.remove(before);
        self.needed.add(footprint);
    }

    /// Moves the session to another association. Returns the previous one.
    pub(super) fn set_association(&mut self, seid: Seid, to: AssociationId) -> Option<AssociationId> {
        let index = self.index_of(seid)?;
        let (before, number) = self.all.get(index).map(|it| (it.association, it.number))?;
        self.leave(before, number);
        let number = self.members.join(to, index);
        self.touch(index);
        let session = self.all.get_mut(index)?;
        (session.association, session.number) = (to, number);
        session.purges_before = self.purges_begun;
        Some(before)
    }

    fn leave(&mut self, association: AssociationId, number: u32) {
        let successor = self.members.leave(association, number);
        if let Some(successor) = successor.and_then(|index| self.all.get_mut(index)) {
            successor.number = number;
        }
    }

    /// The sessions of an association, in any order.
    pub(crate) fn of_association(&self, association: AssociationId) -> impl Iterator<Item = &Session> {
        self.members.of(association).iter().filter_map(|index| self.all.get(*index))
    }

    /// The number of sessions of an association, including those being removed.
    pub(crate) fn count_of(&self, association: AssociationId) -> usize {
        self.members.of(association).len()
    }

    /// Adds to each of these peers how the session with this index sends to it, if it does.
    pub(crate) fn add_users(&self, index: u32, peers: &mut SearchedPeers) {
        let goes_on = |session: &&Session| !session.marked_for_removal && !self.is_in_purge(session);
        let Some(session) = self.all.get(index).filter(goes_on) else { return };
        let rules = session.rules.rules();
        for forwarding in rules.fars.values().filter_map(|far| far.forwarding.as_ref()) {
            let Some(tunnel) = forwarding.tunnel() else { continue };
            for ip in tunnel.addr.iter() {
                if let Some((_, users)) = peers.get_mut(&ip) {
                    let way = (forwarding.destination, forwarding.network_instance.clone());
                    users.entry(session.association).or_default().insert(way);
                }
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.all.iter()
    }

    /// The session of a plan in flight, if the session is part of a purge.
    pub(crate) fn purged_session_of_plan(&self, id: ApplyId) -> Option<Seid> {
        if self.purges.is_empty() {
            return None;
        }
        let session = self.all.get(id.session_index()).filter(|session| !session.marked_for_removal)?;
        let is_its = session.in_flight.as_deref().is_some_and(|(known, _)| *known == id);
        (is_its && self.is_in_purge(session)).then_some(session.seid)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// No session has this index, or a higher one.
    pub(crate) const fn len_upper_bound(&self) -> u32 {
        self.all.end()
    }

    /// The session with this index, if there is one.
    pub(crate) fn at(&self, index: u32) -> Option<&Session> {
        self.all.get(index)
    }

    /// Octets of the queued requests.
    pub(crate) const fn waiting_octets(&self) -> usize {
        self.waiting_octets
    }

    /// The number of plans in flight.
    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Stores a change of the session as in flight, and returns the plan for the data plane. No other plan of the
    /// session may be in flight.
    #[inline]
    pub(super) fn start(&mut self, purpose: PlanPurpose, planned: PlannedChange) -> Option<(ApplyId, Plan)> {
        let PlannedChange { plan, pending } = planned;
        self.expect_marks(&plan);
        let id = self.begin(plan.session, InFlight { purpose, change: pending })?;
        Some((id, plan))
    }

    fn begin(&mut self, seid: Seid, in_flight: InFlight) -> Option<ApplyId> {
        let index = self.index_of(seid)?;
        self.plans_submitted = self.plans_submitted.wrapping_add(1);
        let id = ApplyId::new(self.plans_submitted, self.number.part(), index);
        let session = self.all.get_mut(index)?;
        session.in_flight = Some(match self.free_boxes.pop() {
            Some(mut spare) => {
                *spare = (id, Some(in_flight));
                spare
            }
            None => Box::new((id, Some(in_flight))),
        });
        self.in_flight += 1;
        Some(id)
    }

    /// Ends a plan in flight: returns its session, whether that is marked for removal, and the plan.
    pub(crate) fn finish(&mut self, id: ApplyId) -> Option<(Seid, bool, InFlight)> {
        let session = self.all.get_mut(id.session_index())?;
        let mut held = session.in_flight.take_if(|held| held.0 == id)?;
        let in_flight = held.1.take()?;
        if self.free_boxes.len() < MAX_FREE_BOXES {
            self.free_boxes.push(held);
        }
        self.in_flight -= 1;
        self.removals_in_flight = self.removals_in_flight.saturating_sub(usize::from(in_flight.is_removal()));
        self.last.store(id.session_index(), Relaxed);
        Some((session.seid, session.marked_for_removal, in_flight))
    }

    /// Queues a request. False: the queue is full.
    #[must_use]
    pub(crate) fn wait(
        &mut self,
        seid: Seid,
        waiting: QueuedRequest,
        per_session: usize,
        octets: usize,
    ) -> bool {
        let total = self.waiting_octets + waiting.body.len();
        let Some(session) = self.get_mut(seid) else { return false };
        if session.waiting().count() >= per_session || total > octets {
            return false;
        }
        session.get_or_create_extras().queued.push_back(QueuedWork::Request(waiting));
        self.waiting_octets = total;
        true
    }

    /// Queues the instructions in a report response. There is never more than one: no report is sent while a plan is in
    /// flight.
    pub(crate) fn wait_with(&mut self, seid: Seid, instructions: Instructions) {
        if let Some(session) = self.get_mut(seid) {
            session.get_or_create_extras().queued.push_back(QueuedWork::Answer(Box::new(instructions)));
        }
    }

    /// Takes the next queued work.
    pub(crate) fn next_waiting(&mut self, seid: Seid) -> Option<QueuedWork> {
        let waiting = self.get_mut(seid)?.extras_mut()?.queued.pop_front()?;
        self.waiting_octets -= waiting.octets();
        Some(waiting)
    }
}

/// Lookup by CP F-SEID.
impl Sessions {
    /// The session with this CP F-SEID.
    #[inline]
    pub(crate) fn by_cp_f_seid(&self, cp: &FSeid) -> Option<Seid> {
        let index = cp.addr.iter().find_map(|ip| self.index_of_cp(cp.seid, ip))?;
        self.all.get(index).map(|session| session.seid)
    }

    #[inline]
    fn index_of_cp(&self, seid: Seid, ip: IpAddr) -> Option<u32> {
        self.index_at(self.by_cp.probe((seid, ip)), seid, ip)
    }

    fn index_at(&self, probe: Probe, seid: Seid, ip: IpAddr) -> Option<u32> {
        let is_it = |session: &Session| session.cp.seid == seid && session.cp.addr.contains(ip);
        self.by_cp.find_at(probe, |index| self.all.get(index).is_some_and(is_it))
    }

    /// Each CP F-SEID maps to one session: the last one that had it.
    pub(super) fn index_cp(&mut self, cp: &FSeid, index: u32) {
        for ip in cp.addr.iter() {
            let probe = self.by_cp.probe((cp.seid, ip));
            if let Some(other) = self.index_at(probe, cp.seid, ip) {
                self.by_cp.remove_at(probe, other);
            }
            self.by_cp.insert_at(probe, index);
            self.number.note_cp(cp.seid, ip);
        }
    }

    /// Changes the CP F-SEID of a session.
    pub(crate) fn set_cp(&mut self, seid: Seid, cp: FSeid) {
        self.forget_cp(seid);
        let Some(index) = self.index_of(seid) else { return };
        self.touch(index);
        if let Some(session) = self.all.get_mut(index) {
            session.cp = cp;
        }
        self.index_cp(&cp, index);
    }

    /// Removes the CP F-SEID of a session from the index: the SMF may assign it to another session.
    pub(crate) fn forget_cp(&mut self, seid: Seid) {
        let Some(index) = self.index_of(seid) else { return };
        let Some(session) = self.all.get(index) else { return };
        for ip in session.cp.addr.iter() {
            if self.by_cp.take_at(self.by_cp.probe((session.cp.seid, ip)), index) {
                self.number.forget_cp(session.cp.seid, ip);
            }
        }
    }
}

fn tunnels(config: &Config, sessions: usize) -> Tunnels {
    let teids = u32::try_from(sessions as u64 * TUNNELS_PER_SESSION).unwrap_or(u32::MAX);
    if let Some(numbers) = config.data_plane {
        return Tunnels::new(teids.min(numbers.first_teid.saturating_sub(1)), config.seed).short(Vec::new());
    }
    let tunnels = Tunnels::new(teids, config.seed);
    match config.secret {
        _ if config.short_teids => tunnels.short(config.teid_pools.clone()),
        Some(secret) => tunnels.scrambled(secret),
        None => tunnels,
    }
}

fn addresses(config: &Config, endpoints: &LocalEndpoints) -> Addresses {
    let mut addresses = Addresses::new(config.address_pools.clone(), config.address_rest);
    addresses.add_networks(endpoints.networks.iter());
    addresses.limit_routes(route_limits(config));
    addresses
}

fn route_limits(config: &Config) -> RouteLimits {
    RouteLimits { total: config.limits.routes, per_session: config.limits.routes_per_session }
}
