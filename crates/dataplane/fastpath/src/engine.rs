//! The engine of one worker: what it is made of, and how sessions come into the lines and leave them.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::{
    Counters, Dataplane, Disposition, DropReason, Ingress, PacketEngine, Topology, Transmit,
};
use causeway_ports::Batch;
use causeway_reference::{Limits, Reference};
use causeway_rules::PartitionedMap;
use causeway_types::{NetworkInstance, Seid, Time};

use crate::contract::SinglePacketBatch;
use crate::dormant::{ActiveSessions, DormantSessions};
use crate::filters::FilterSets;
use crate::flow_table::FlowTable;
use crate::icmp_limit::SuppressedPeers;
use crate::index::{ArenaError, start_prefault_thread};
use crate::lease::{Compiler, Lease, ProfileCache};
use crate::lookup::BatchScratch;
use crate::prediction::{ClassifierPrediction, SetObservations};
use crate::program::Programs;
use crate::topology_index::TopologyIndex;
use crate::transmit_queue::{ReceiveSource, TransmitQueue};
use crate::unknown_destinations::UnknownDestinations;

/// Blocks of filters, of 448 octets each, at most, and for each session.
const FILTER_BLOCKS: u32 = 1 << 20;
const BLOCKS_PER_SESSION: u32 = 64;

/// The fast path of one worker. It owns its sessions; nothing in it is shared with another thread.
#[derive(Debug)]
pub struct FastPath {
    pub(crate) slow_path: Reference,
    pub(crate) topology_index: TopologyIndex,
    pub(crate) topology: Topology,
    pub(crate) table: FlowTable,
    pub(crate) programs: Programs,
    pub(crate) sets: FilterSets,
    pub(crate) prediction: ClassifierPrediction,
    /// Of the last batch.
    pub(crate) observations: SetObservations,
    pub(crate) leases: PartitionedMap<Seid, Lease>,
    pub(crate) profile_cache: ProfileCache,
    /// Sessions that neither the lines nor the slow room know of.
    pub(crate) dormant: DormantSessions,
    /// Those that no longer rest, and could.
    pub(crate) active: ActiveSessions,
    pub(crate) max_sessions: u32,
    /// What the lines have counted.
    pub(crate) fast_counters: Counters,
    /// What became of the only packet of a batch.
    pub(crate) fate: Disposition,
    /// Some session has woken since the batch began.
    pub(crate) has_activated: bool,
    pub(crate) unknown_destinations: UnknownDestinations,
    /// Who is told nothing for a while.
    pub(crate) suppressed_peers: SuppressedPeers,
    /// For packets that come one by one.
    pub(crate) single: Option<SinglePacketBatch>,
    /// For the packets of a batch.
    pub(crate) scratch: Option<Box<BatchScratch>>,
}

impl FastPath {
    /// An empty data plane in these surroundings.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has no room for the tables.
    pub fn new(topology: Topology, limits: Limits) -> Result<Self, ArenaError> {
        start_prefault_thread();
        let blocks = limits.max_sessions.saturating_mul(BLOCKS_PER_SESSION).min(FILTER_BLOCKS);
        Ok(Self {
            slow_path: Reference::new(topology.clone(), limits),
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
            max_sessions: limits.max_sessions,
            fast_counters: Counters::default(),
            fate: Disposition::Dropped(DropReason::UnknownUe),
            has_activated: false,
            unknown_destinations: UnknownDestinations::default(),
            suppressed_peers: SuppressedPeers::new(),
            single: Some(SinglePacketBatch::default()),
            scratch: None,
        })
    }

    /// How many packets the lines have decided by themselves.
    pub fn fast_path_packets(&self) -> u64 {
        self.fast_counters.forwarded + self.fast_counters.total_drops()
    }

    /// How many packets the slow room has decided.
    pub fn slow_path_packets(&self) -> u64 {
        let counters = self.slow_path.counters();
        counters.gtpu_received.packets + counters.ip_received.packets + counters.ethernet_received.packets
    }

    /// Our GTP-U addresses in the order by which [`crate::Exit::Tunnel`] counts them.
    pub fn local_addresses(&self) -> &[IpAddr] {
        self.topology_index.local_addrs()
    }

    /// Sends what leaves because of a batch, in order, as the contract says it.
    pub fn transmit(&self, batch: &Batch, queue: &TransmitQueue, out: &mut dyn Transmit) {
        queue.transmit(batch, &self.topology_index, out);
    }

    /// Where packets come in that come so; `None`: from a network that there is not.
    pub fn receive_source(&self, ingress: &Ingress) -> Option<ReceiveSource> {
        Some(match ingress {
            Ingress::Gtpu { .. } => ReceiveSource::Gtpu,
            Ingress::Ip { network } => ReceiveSource::Network(self.topology_index.network(network)?),
            Ingress::Ethernet { network } => {
                let mut networks = self.topology.ethernet.iter();
                let index = networks.position(|known| known.instance == *network)?;
                ReceiveSource::Ethernet(u16::try_from(index).ok()?)
            }
        })
    }

    pub(crate) fn network(&self, index: u16) -> Option<&NetworkInstance> {
        self.topology.networks.get(usize::from(index)).map(|network| &network.instance)
    }

    pub(crate) fn ethernet(&self, index: u16) -> Option<&NetworkInstance> {
        self.topology.ethernet.get(usize::from(index)).map(|network| &network.instance)
    }

    /// Lets timers that are due expire.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some(seid) = self.slow_path.expired_session(now) {
            self.settle_lease(seid);
            self.slow_path.expire_one(now);
            self.grant_lease(seid, now);
        }
    }

    /// Lets the slow room handle a packet.
    pub(crate) fn process_slow(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        if let Some(addressee) =
            self.slow_path.destination_of(ingress, packet).filter(|_| self.dormant.len() > 0)
        {
            self.dormant.sessions_of(addressee).into_iter().for_each(|seid| self.activate(seid, now));
        }
        let concerned = self.slow_path.sessions_for_packet(ingress, packet);
        concerned.iter().for_each(|seid| self.settle_lease(*seid));
        let fate = self.slow_path.process(now, ingress, packet, out);
        concerned.iter().for_each(|seid| self.grant_lease(*seid, now));
        self.limit_active(now);
        self.unknown_destinations = UnknownDestinations::default();
        fate
    }

    /// A session is awake again that was let go.
    pub(crate) fn resume_lease(&mut self, seid: Seid, lease: Option<Lease>) {
        if let Some(lease) = lease {
            self.leases.insert(seid, lease);
        }
    }

    /// A session is to be awake no longer, but its lines go on with what they are granted.
    pub(crate) fn detach_lease(&mut self, seid: Seid) -> Option<Lease> {
        self.leases.remove(&seid)
    }

    /// Takes back what a session's lines were granted.
    fn settle_lease(&mut self, seid: Seid) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.is_granted()) {
            let (spent, meters) = lease.revoke(&mut self.table);
            self.slow_path.settle(seid, &spent, &meters);
        }
    }

    /// Grants a session's lines what they may decide by themselves.
    fn grant_lease(&mut self, seid: Seid, now: Time) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.has_offloaded_rules()) {
            let grants = self.slow_path.grants(seid, lease.rule_keys(), now);
            lease.grant(&grants, &mut self.table);
        }
    }

    /// Takes a session out of the lines.
    pub(crate) fn remove_session(&mut self, seid: Seid) {
        self.settle_lease(seid);
        if let Some(lease) = self.leases.remove(&seid) {
            self.compiler().remove(lease);
        }
    }

    /// Writes a session into the lines as its rules are now. `has_no_overlap`: it has no rivals.
    pub(crate) fn insert_session(&mut self, seid: Seid, has_no_overlap: bool, now: Time) {
        let candidate =
            if has_no_overlap { self.profile_cache.candidate(&self.slow_path, seid) } else { None };
        let known = candidate
            .as_ref()
            .and_then(|candidate| self.profile_cache.find(&self.slow_path, seid, candidate));
        let params = candidate.as_ref().map(|candidate| candidate.params).filter(|_| known.is_some());
        let profile = match (known, self.slow_path.tunnels(seid)) {
            (None, tunnels) => {
                let shape = self.slow_path.offload_spec(seid);
                if shape.is_none() && tunnels.is_empty() {
                    return;
                }
                let profile = shape.map(|shape| Arc::new(self.compiler().pattern(shape)));
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
        self.grant_lease(seid, now);
    }

    /// The session is in the lines, and no other has its UE addresses.
    pub(crate) fn has_no_overlap(&self, seid: Seid) -> bool {
        self.leases.get(&seid).is_some_and(Lease::has_no_overlap)
    }

    /// The pattern that a session was entered by.
    #[cfg(test)]
    pub(crate) fn profile_of(&self, seid: Seid) -> Option<Arc<crate::lease::CompiledProfile>> {
        self.leases.get(&seid)?.pattern().cloned()
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
