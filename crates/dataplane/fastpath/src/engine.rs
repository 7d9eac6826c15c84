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

use crate::choose::Desk;
use crate::contract::Single;
use crate::filters::FilterSets;
use crate::guess::{Guess, Met};
use crate::index::{ArenaError, start_preparing};
use crate::lease::{Compiler, Kinds, Lease};
use crate::leaving::{Entrance, Leaving};
use crate::program::Programs;
use crate::refusal::Silence;
use crate::resting::{Awake, Resting};
use crate::surroundings::Surroundings;
use crate::table::Table;
use crate::unknown_destinations::UnknownDestinations;

/// Blocks of filters, of 448 octets each, at most, and for each session.
const FILTER_BLOCKS: u32 = 1 << 20;
const BLOCKS_PER_SESSION: u32 = 64;

/// The fast path of one worker. It owns its sessions; nothing in it is shared with another thread.
#[derive(Debug)]
pub struct FastPath {
    pub(crate) slow: Reference,
    pub(crate) surroundings: Surroundings,
    pub(crate) topology: Topology,
    pub(crate) table: Table,
    pub(crate) programs: Programs,
    pub(crate) sets: FilterSets,
    pub(crate) guess: Guess,
    /// Of the last batch.
    pub(crate) met: Met,
    pub(crate) leases: PartitionedMap<Seid, Lease>,
    pub(crate) kinds: Kinds,
    /// Sessions that neither the lines nor the slow room know of.
    pub(crate) resting: Resting,
    /// Those that no longer rest, and could.
    pub(crate) awake: Awake,
    pub(crate) most_sessions: u32,
    /// What the lines have counted.
    pub(crate) hot: Counters,
    /// What became of the only packet of a batch.
    pub(crate) fate: Disposition,
    /// Some session has woken since the batch began.
    pub(crate) has_woken: bool,
    pub(crate) unknown_destinations: UnknownDestinations,
    /// Who is told nothing for a while.
    pub(crate) silence: Silence,
    /// For packets that come one by one.
    pub(crate) single: Option<Single>,
    /// For the packets of a batch.
    pub(crate) desk: Option<Box<Desk>>,
}

impl FastPath {
    /// An empty data plane in these surroundings.
    ///
    /// # Errors
    /// [`ArenaError`] when the system has no room for the tables.
    pub fn new(topology: Topology, limits: Limits) -> Result<Self, ArenaError> {
        start_preparing();
        let blocks = limits.max_sessions.saturating_mul(BLOCKS_PER_SESSION).min(FILTER_BLOCKS);
        Ok(Self {
            slow: Reference::new(topology.clone(), limits),
            surroundings: Surroundings::new(&topology),
            table: Table::new(&topology, limits.max_sessions)?,
            topology,
            programs: Programs::default(),
            sets: FilterSets::new(blocks)?,
            guess: Guess::default(),
            met: Met::new(),
            leases: PartitionedMap::default(),
            kinds: Kinds::default(),
            resting: Resting::new(limits.max_sessions)?,
            awake: Awake::default(),
            most_sessions: limits.max_sessions,
            hot: Counters::default(),
            fate: Disposition::Dropped(DropReason::UnknownUe),
            has_woken: false,
            unknown_destinations: UnknownDestinations::default(),
            silence: Silence::new(),
            single: Some(Single::default()),
            desk: None,
        })
    }

    /// How many packets the lines have decided by themselves.
    pub fn hot_packets(&self) -> u64 {
        self.hot.forwarded + self.hot.total_drops()
    }

    /// How many packets the slow room has decided.
    pub fn slow_packets(&self) -> u64 {
        let counters = self.slow.counters();
        counters.gtpu_received.packets + counters.ip_received.packets + counters.ethernet_received.packets
    }

    /// Our GTP-U addresses in the order by which [`crate::Exit::Tunnel`] counts them.
    pub fn local_addresses(&self) -> &[IpAddr] {
        self.surroundings.local_addrs()
    }

    /// Sends what leaves because of a batch, in order, as the contract says it.
    pub fn transmit(&self, batch: &Batch, leaving: &Leaving, out: &mut dyn Transmit) {
        leaving.transmit(batch, &self.surroundings, out);
    }

    /// Where packets come in that come so; `None`: from a network that there is not.
    pub fn entrance(&self, ingress: &Ingress) -> Option<Entrance> {
        Some(match ingress {
            Ingress::Gtpu { .. } => Entrance::Gtpu,
            Ingress::Ip { network } => Entrance::Network(self.surroundings.network(network)?),
            Ingress::Ethernet { network } => {
                let mut networks = self.topology.ethernet.iter();
                let index = networks.position(|known| known.instance == *network)?;
                Entrance::Ethernet(u16::try_from(index).ok()?)
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
        while let Some(seid) = self.slow.due(now) {
            self.settle(seid);
            self.slow.expire_one(now);
            self.grant(seid, now);
        }
    }

    /// Lets the slow room handle a packet.
    pub(crate) fn ask_slow(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        if let Some(addressee) = self.slow.addressee(ingress, packet).filter(|_| self.resting.len() > 0) {
            self.resting.of(addressee).into_iter().for_each(|seid| self.wake(seid, now));
        }
        let concerned = self.slow.concerned(ingress, packet);
        concerned.iter().for_each(|seid| self.settle(*seid));
        let fate = self.slow.process(now, ingress, packet, out);
        concerned.iter().for_each(|seid| self.grant(*seid, now));
        self.calm(now);
        self.unknown_destinations = UnknownDestinations::default();
        fate
    }

    /// A session is awake again that was let go.
    pub(crate) fn hold(&mut self, seid: Seid, lease: Option<Lease>) {
        if let Some(lease) = lease {
            self.leases.insert(seid, lease);
        }
    }

    /// A session is to be awake no longer, but its lines go on with what they are granted.
    pub(crate) fn let_go(&mut self, seid: Seid) -> Option<Lease> {
        self.leases.remove(&seid)
    }

    /// Takes back what a session's lines were granted.
    fn settle(&mut self, seid: Seid) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.is_open()) {
            let (spent, meters) = lease.close(&mut self.table);
            self.slow.settle(seid, &spent, &meters);
        }
    }

    /// Grants a session's lines what they may decide by themselves.
    fn grant(&mut self, seid: Seid, now: Time) {
        if let Some(lease) = self.leases.get_mut(&seid).filter(|lease| lease.is_hot()) {
            let grants = self.slow.grants(seid, lease.rule_keys(), now);
            lease.open(&grants, &mut self.table);
        }
    }

    /// Takes a session out of the lines.
    pub(crate) fn leave(&mut self, seid: Seid) {
        self.settle(seid);
        if let Some(lease) = self.leases.remove(&seid) {
            self.compiler().remove(lease);
        }
    }

    /// Writes a session into the lines as its rules are now. `is_alone`: it has no rivals.
    pub(crate) fn enter(&mut self, seid: Seid, is_alone: bool, now: Time) {
        let candidate = if is_alone { self.kinds.candidate(&self.slow, seid) } else { None };
        let known = candidate.as_ref().and_then(|candidate| self.kinds.find(&self.slow, seid, candidate));
        let own = candidate.as_ref().map(|candidate| candidate.own).filter(|_| known.is_some());
        let pattern = match (known, self.slow.tunnels(seid)) {
            (None, tunnels) => {
                let shape = self.slow.shape(seid);
                if shape.is_none() && tunnels.is_empty() {
                    return;
                }
                let pattern = shape.map(|shape| Arc::new(self.compiler().pattern(shape)));
                if let (Some(candidate), Some(pattern)) = (&candidate, &pattern) {
                    let displaced = self.kinds.remember(&self.slow, seid, candidate, pattern);
                    displaced.into_iter().for_each(|held| self.compiler().forget_pattern(held));
                }
                (pattern, tunnels)
            }
            (known, tunnels) => (known, tunnels),
        };
        let (pattern, tunnels) = pattern;
        let mut lease = self.compiler().enter(pattern, own.as_ref(), &tunnels);
        lease.set_alone(is_alone);
        self.leases.insert(seid, lease);
        self.grant(seid, now);
    }

    /// The session is in the lines, and no other has its UE addresses.
    pub(crate) fn is_alone(&self, seid: Seid) -> bool {
        self.leases.get(&seid).is_some_and(Lease::is_alone)
    }

    /// The pattern that a session was entered by.
    #[cfg(test)]
    pub(crate) fn pattern_of(&self, seid: Seid) -> Option<Arc<crate::lease::Pattern>> {
        self.leases.get(&seid)?.pattern().cloned()
    }

    pub(crate) fn compiler(&mut self) -> Compiler<'_> {
        Compiler {
            table: &mut self.table,
            programs: &mut self.programs,
            sets: &mut self.sets,
            surroundings: &self.surroundings,
        }
    }
}
