//! The engine of one worker: its parts, and how sessions enter and leave the flow table.

use std::collections::BTreeMap;
use std::sync::Arc;

use causeway_collections::PartitionedMap;
use causeway_dataplane::{
    Counters, Dataplane, Disposition, DropReason, Egress, Explanation, Ingress, PacketEngine, Topology,
    Transmit,
};
use causeway_slowpath::{ExpiringSessions, Limits, SlowPath};
use causeway_types::{Seid, Time};

use crate::batch::state::BatchScratch;
use crate::classify::filters::FilterSets;
use crate::classify::prediction::{ClassifierPrediction, SetObservations};
use crate::contract::SinglePacketBatch;
use crate::enforce::icmp_limit::SuppressedPeers;
use crate::lookup::unknown_destinations::UnknownDestinations;
use crate::program::Programs;
use crate::session::cold::{ColdStorage, NotLoaded};
use crate::session::dormant::{ActiveSessions, DormantSessions};
use crate::session::lease::{Compiler, Lease, ProfileCache};
use crate::slice_limits::OutdatedSessions;
use crate::table::FlowTable;
use crate::table::index::{ArenaError, start_prefault_thread};
use crate::topology_index::TopologyIndex;

/// The maximum number of filter blocks, of 448 octets each: in total, and per session.
const FILTER_BLOCKS: u32 = 1 << 20;
const BLOCKS_PER_SESSION: u32 = 64;

/// The fast path of one worker. It owns its sessions and shares nothing with other threads.
#[derive(Debug)]
pub struct FastPath {
    pub(crate) slow_path: SlowPath,
    pub(crate) topology_index: TopologyIndex,
    pub(crate) topology: Topology,
    pub(crate) table: FlowTable,
    pub(crate) programs: Programs,
    pub(crate) sets: FilterSets,
    pub(crate) prediction: ClassifierPrediction,
    /// Observations of the last batch.
    pub(crate) observations: SetObservations,
    pub(crate) leases: PartitionedMap<Seid, Lease>,
    pub(crate) profile_cache: ProfileCache,
    /// Sessions that are neither in the flow table nor in the slow path.
    pub(crate) dormant: DormantSessions,
    /// Active sessions that can become dormant.
    pub(crate) active: ActiveSessions,
    /// Where idle sessions keep their state; `None`: in memory.
    pub(crate) cold: Option<Box<ColdStorage>>,
    /// What packets have left that were held while the state of their session was read, for the next flush.
    pub(crate) late: Vec<(Egress, Vec<u8>)>,
    pub(crate) max_sessions: u32,
    /// Counters of the packets that the flow entries handled.
    pub(crate) fast_counters: Counters,
    /// The disposition of the packet of a batch of one.
    pub(crate) disposition: Disposition,
    /// Whether a session has become active since the batch began.
    pub(crate) has_activated: bool,
    pub(crate) unknown_destinations: UnknownDestinations,
    /// Peers to which ICMP errors and Error Indications are suppressed for a while.
    pub(crate) suppressed_peers: SuppressedPeers,
    /// For packets that are processed one by one.
    pub(crate) single: Option<Box<SinglePacketBatch>>,
    /// For the packets of a batch.
    pub(crate) scratch: Option<Box<BatchScratch>>,
    /// Sessions to be compiled again, since there are other classes; whether no other has their UE addresses.
    pub(crate) stale_classes: BTreeMap<Seid, bool>,
    pub(crate) outdated: OutdatedSessions,
    /// The entries of the transmit queue that were looked at: [`crate::heavy_hitters`].
    pub(crate) observed_entries: usize,
    /// Timers of sessions expire on request alone.
    pub(crate) leaves_timers: bool,
    /// Timers were due that the last call of [`FastPath::expire`] left to the next one.
    pub(crate) has_late_timers: bool,
}

impl FastPath {
    /// An empty data plane with this topology.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has no memory for the tables.
    pub fn new(topology: Topology, limits: Limits) -> Result<Self, ArenaError> {
        start_prefault_thread();
        let blocks = limits.max_sessions.saturating_mul(BLOCKS_PER_SESSION).min(FILTER_BLOCKS);
        let mut slow_path = SlowPath::new(topology.clone(), limits);
        // Flow entries of the session are settled before.
        slow_path.leave_timers();
        Ok(Self {
            slow_path,
            topology_index: TopologyIndex::new(&topology),
            table: FlowTable::new(&topology, limits.max_sessions)?,
            topology,
            programs: Programs::default(),
            sets: FilterSets::new(blocks)?,
            prediction: ClassifierPrediction::default(),
            observations: SetObservations::new(),
            leases: PartitionedMap::default(),
            profile_cache: ProfileCache::default(),
            dormant: DormantSessions::new(limits.max_sessions)?,
            active: ActiveSessions::default(),
            cold: None,
            late: Vec::new(),
            max_sessions: limits.max_sessions,
            fast_counters: Counters::default(),
            disposition: Disposition::Dropped(DropReason::UnknownUe),
            has_activated: false,
            unknown_destinations: UnknownDestinations::default(),
            suppressed_peers: SuppressedPeers::new(),
            single: Some(Box::default()),
            scratch: None,
            stale_classes: BTreeMap::new(),
            outdated: OutdatedSessions::default(),
            observed_entries: 0,
            leaves_timers: false,
            has_late_timers: false,
        })
    }

    /// The number of packets that the flow entries handled.
    pub fn fast_path_packets(&self) -> u64 {
        self.fast_counters.forwarded + self.fast_counters.total_drops()
    }

    /// The slow path, for tests.
    pub const fn slow_path(&self) -> &SlowPath {
        &self.slow_path
    }

    /// The number of packets that the slow path handled.
    pub fn slow_path_packets(&self) -> u64 {
        let counters = self.slow_path.counters();
        counters.gtpu_received.packets + counters.ip_received.packets + counters.ethernet_received.packets
    }

    /// Expires timers that are due, those of [`SESSIONS_AT_A_TIME`](causeway_slowpath::SESSIONS_AT_A_TIME) sessions at most.
    pub(crate) fn expire(&mut self, now: Time) {
        if !self.stale_classes.is_empty() {
            self.insert_sessions_with_class(now);
        }
        let loads = self.slow_path.are_some_away() && !self.has_late_timers;
        let loaded = if loads { self.load_due(now) } else { Vec::new() };
        self.expire_some(now);
        if !loaded.is_empty() {
            self.move_back(now, loaded);
        }
    }

    fn expire_some(&mut self, now: Time) {
        if self.leaves_timers {
            return;
        }
        let mut sessions = ExpiringSessions::default();
        while let Some(seid) = self.slow_path.expired_session(now) {
            if !sessions.admits(seid) {
                self.has_late_timers = true;
                return;
            }
            self.expire_with(now, seid, |slow_path| slow_path.expire_one(now));
        }
        self.has_late_timers = false;
    }

    /// Before a packet or a plan of these sessions: expires their timers that are due, and others as [`FastPath::expire`] does unless that
    /// has left some.
    pub(crate) fn expire_before(&mut self, now: Time, seids: impl FnOnce(&SlowPath) -> Vec<Seid>) {
        if !self.has_late_timers {
            self.expire_some(now);
        }
        if self.has_late_timers {
            for seid in seids(&self.slow_path) {
                while self.expire_with(now, seid, |slow_path| slow_path.expire_one_of(now, seid)) {}
            }
        }
    }

    /// Expires a timer of a session, which has all counts of its flow entries then.
    fn expire_with(&mut self, now: Time, seid: Seid, expire: impl FnOnce(&mut SlowPath) -> bool) -> bool {
        let class = self.slow_path.measures_classes().then(|| self.slow_path.class_of(seid));
        self.settle_lease(seid);
        let has_expired = expire(&mut self.slow_path);
        if class.is_some_and(|class| class != self.slow_path.class_of(seid)) {
            self.compile_again(seid, now);
        }
        self.grant_lease(seid, now);
        has_expired
    }

    /// Processes a packet in the slow path.
    pub(crate) fn process_slow(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        match self.activate_destination(now, ingress, packet) {
            Ok(()) => {}
            Err(NotLoaded::Unreadable) => return self.drop_unreadable(now, ingress, packet),
            Err(NotLoaded::Reading(seid)) => {
                let held = self.hold(seid, ingress, packet);
                return held.unwrap_or_else(|| self.drop_unreadable(now, ingress, packet));
            }
        }
        self.expire_before(now, |slow_path| slow_path.sessions_for_any(ingress, packet));
        let concerned = self.slow_path.sessions_for_packet(ingress, packet);
        concerned.iter().for_each(|seid| self.settle_lease(*seid));
        let disposition = self.slow_path.process(now, ingress, packet, out);
        concerned.iter().for_each(|seid| self.grant_lease(*seid, now));
        self.limit_active(now);
        self.unknown_destinations = UnknownDestinations::default();
        disposition
    }

    /// Activates the dormant sessions that a packet is for.
    fn activate_destination(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Result<(), NotLoaded> {
        let sessions = self.dormant_destinations(ingress, packet);
        sessions.into_iter().try_for_each(|seid| self.activate_for_packet(seid, now))
    }

    /// The dormant sessions that a packet is for.
    fn dormant_destinations(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        let addressee = self.slow_path.destination_of(ingress, packet).filter(|_| self.dormant.len() > 0);
        addressee.map(|addressee| self.dormant.sessions_of(addressee)).unwrap_or_default()
    }

    /// Drops a packet of a session whose state cannot be read.
    #[cold]
    pub(crate) fn drop_unreadable(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Disposition {
        let reason = DropReason::ExternalMemory;
        let counters = &mut self.fast_counters;
        let received = match ingress {
            Ingress::Gtpu { .. } => &mut counters.gtpu_received,
            Ingress::Ip { .. } => &mut counters.ip_received,
            Ingress::Ethernet { .. } => &mut counters.ethernet_received,
        };
        received.count(packet.len());
        counters.count_drop(reason);
        self.slow_path.record_drop(now, &ingress.meta(), packet, reason);
        Disposition::Dropped(reason)
    }

    /// Explains a packet by the slow path, with the counts of the flow entries.
    pub(crate) fn explanation(&mut self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        let dormant = self.dormant_destinations(ingress, packet);
        let mut cold = dormant.clone();
        cold.retain(|seid| self.dormant.cold_slot(*seid).is_some());
        dormant.into_iter().try_for_each(|seid| self.activate(seid, now)).ok()?;
        self.expire_before(now, |slow_path| slow_path.sessions_for_any(ingress, packet));
        let concerned = self.slow_path.sessions_for_packet(ingress, packet);
        concerned.iter().for_each(|seid| self.settle_lease(*seid));
        let explanation = self.slow_path.explain(now, ingress, packet);
        concerned.iter().for_each(|seid| self.grant_lease(*seid, now));
        self.move_back(now, cold);
        self.limit_active(now);
        explanation
    }

    /// A session that was detached is active again.
    pub(crate) fn resume_lease(&mut self, seid: Seid, lease: Lease) {
        self.leases.insert(seid, lease);
    }

    /// Detaches the lease of a session that becomes dormant. Its flow entries keep their grants.
    pub(crate) fn detach_lease(&mut self, seid: Seid) -> Option<Lease> {
        self.leases.remove(&seid)
    }

    /// Returns the counts of a session's flow entries to the slow path.
    pub(crate) fn settle_lease(&mut self, seid: Seid) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.is_granted()) {
            let (spent, meters) = lease.revoke(&mut self.table);
            self.slow_path.settle(seid, &spent, &meters);
        }
    }

    /// Grants octets and tokens to a session's flow entries.
    pub(crate) fn grant_lease(&mut self, seid: Seid, now: Time) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.has_offloaded_rules()) {
            let grants = self.slow_path.grants(seid, lease.rule_keys(), now);
            lease.grant(&grants, &mut self.table);
        }
    }

    /// Removes a session from the flow table.
    pub(crate) fn remove_session(&mut self, seid: Seid) {
        self.settle_lease(seid);
        if let Some(lease) = self.leases.remove(&seid) {
            self.compiler().remove(lease);
        }
    }

    /// Writes the current rules of a session into the flow table. `has_no_overlap`: no other session has its UE
    /// addresses.
    pub(crate) fn insert_session(&mut self, seid: Seid, has_no_overlap: bool, now: Time) {
        let candidate =
            if has_no_overlap { self.profile_cache.candidate(&self.slow_path, seid) } else { None };
        let known = candidate
            .as_ref()
            .and_then(|candidate| self.profile_cache.find(&self.slow_path, seid, candidate));
        let params = candidate.as_ref().map(|candidate| candidate.params).filter(|_| known.is_some());
        let profile = match (known, self.slow_path.tunnels(seid)) {
            (None, tunnels) => {
                let spec = self.slow_path.offload_spec_of_class(seid);
                if spec.is_none() && tunnels.is_empty() {
                    return;
                }
                let profile = spec.map(|spec| Arc::new(self.compiler().compile_profile(spec)));
                if let (Some(candidate), Some(profile)) = (&candidate, &profile) {
                    let displaced = self.profile_cache.insert(&self.slow_path, seid, candidate, profile);
                    displaced.into_iter().for_each(|held| self.compiler().release_profile(held));
                }
                (profile, tunnels)
            }
            (known, tunnels) => (known, tunnels),
        };
        let (profile, tunnels) = profile;
        let mut lease = self.compiler().insert(profile, params.as_ref(), &tunnels);
        lease.set_no_overlap(has_no_overlap);
        self.leases.insert(seid, lease);
        self.slow_path.measure_class(seid);
        self.grant_lease(seid, now);
    }

    /// Whether the session is in the flow table, and no other session has its UE addresses.
    pub(crate) fn has_no_overlap(&self, seid: Seid) -> bool {
        self.leases.get(&seid).is_some_and(Lease::has_no_overlap)
    }

    /// The compiled profile of a session.
    #[cfg(test)]
    pub(crate) fn profile_of(&self, seid: Seid) -> Option<Arc<crate::session::lease::CompiledProfile>> {
        self.leases.get(&seid)?.profile().cloned()
    }

    pub(crate) fn compiler(&mut self) -> Compiler<'_> {
        Compiler {
            table: &mut self.table,
            programs: &mut self.programs,
            sets: &mut self.sets,
            topology_index: &self.topology_index,
        }
    }
}
