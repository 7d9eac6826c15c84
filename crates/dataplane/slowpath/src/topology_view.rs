//! The topology of the slow path, and the addresses that UEs must not reach.

use std::ops::Deref;

use causeway_dataplane::{BlockedAddresses, DropReason, Egress, HostReachability, Settings, Topology};
use causeway_packet::UserPacket;

use crate::egress::EgressRoute;

/// The topology, with values derived from it.
#[derive(Clone, Debug)]
pub(crate) struct TopologyView {
    topology: Topology,
    blocked: BlockedAddresses,
}

impl Deref for TopologyView {
    type Target = Topology;

    fn deref(&self) -> &Topology {
        &self.topology
    }
}

impl From<Topology> for TopologyView {
    fn from(topology: Topology) -> Self {
        Self { blocked: topology.blocked_addresses(), topology }
    }
}

impl TopologyView {
    /// Replaces the addresses of the host.
    pub(crate) fn set_host_reachability(&mut self, host: &HostReachability) {
        self.topology.host.clone_from(host);
        self.blocked = self.topology.blocked_addresses();
    }

    /// Puts settings into force.
    pub(crate) fn set(&mut self, settings: &Settings) {
        self.topology.set(settings);
        self.blocked = self.topology.blocked_addresses();
    }

    /// Why a user packet must not be sent by this route: it would reach the UPF's own host or its link.
    pub(crate) fn egress_drop_reason(&self, route: &EgressRoute, packet: &[u8]) -> Option<DropReason> {
        let Egress::Ip { network } = route.egress() else { return None };
        let flow = UserPacket::parse(packet).ok().filter(|_| route.is_bare())?.flow;
        let index = self.topology.networks.iter().position(|known| known.instance == *network)?;
        self.blocked.egress_drop_reason(index, flow.dst, flow.protocol.0)
    }
}
