//! What surrounds a data plane: its GTP-U addresses, its data networks and the slices it serves.

use std::net::IpAddr;

use causeway_rules::{LocalEndpoint, LocalEndpoints, N6Address, TeidScheme};
use causeway_types::{Bitrate, Direction, DualIp, IpNet, NetworkInstance, SNssai};

use crate::{ForwardingPolicy, HostReachability, Routing};

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks of IP packets, the default first.
    pub networks: Vec<Network>,
    /// The data networks of Ethernet frames, the default first.
    pub ethernet: Vec<EthernetNetwork>,
    /// What the UPF does as the first router of the UEs.
    pub routing: Routing,
    /// Where tunnels over N6 end.
    pub n6_tunnels: Vec<N6Endpoint>,
    /// The forwarding policies that FARs may name.
    pub policies: Vec<ForwardingPolicy>,
    /// The network slices whose traffic is limited as a whole.
    pub slices: Vec<SliceLimit>,
    /// What is beside the UPF, and so behind no UE: the networks that its machine is connected to, and SMFs.
    pub neighbours: Vec<IpNet>,
    /// How TEIDs that the UPF chose lead to slots, for a data plane that keeps its sessions in slots.
    pub teids: TeidScheme,
    /// The addresses of the machine at the start, and which of them UEs may reach.
    pub host: HostReachability,
}

impl Topology {
    /// What rules may name of it.
    pub fn endpoints(&self) -> LocalEndpoints {
        let gtpu = self.gtpu.iter().map(|endpoint| LocalEndpoint {
            addr: endpoint.addr,
            network_instance: endpoint.network_instance.clone(),
        });
        let n6_tunnels =
            self.n6_tunnels.iter().map(|end| N6Address { addr: end.addr, network: end.network.clone() });
        LocalEndpoints {
            gtpu: gtpu.collect(),
            networks: self.networks.iter().map(|network| network.instance.clone()).collect(),
            ethernet: self.ethernet.iter().map(|network| network.instance.clone()).collect(),
            n6_tunnels: n6_tunnels.collect(),
            policies: self.policies.iter().map(ForwardingPolicy::to_known).collect(),
            routable: self.networks.iter().map(Network::framed_route_prefixes).collect(),
            neighbours: self.neighbours.clone(),
            own: self.upf_addresses(),
        }
    }

    /// Gateways, and what else the machine has as single addresses, in their order.
    fn upf_addresses(&self) -> Vec<IpAddr> {
        let is_one = |net: &&IpNet| net.prefix_len() == net.max_prefix_len();
        let host = self.host.addresses.iter().filter(is_one).map(IpNet::addr);
        let gateways = self.networks.iter().flat_map(|network| network.gateways.iter().copied());
        let mut own: Vec<IpAddr> = host.chain(gateways).collect();
        own.sort_unstable();
        own.dedup();
        own
    }
}

/// What all sessions of one network slice may send and receive together, as the UPF's operator sets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SliceLimit {
    /// The slice. Sessions belong to it if their SMF says so.
    pub slice: SNssai,
    /// From all UEs; `None` limits nothing.
    pub uplink: Option<Bitrate>,
    /// Towards all UEs; `None` limits nothing.
    pub downlink: Option<Bitrate>,
}

impl SliceLimit {
    /// The rate of one direction.
    pub fn rate(&self, direction: Direction) -> Option<Bitrate> {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

/// A GTP-U address of the UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GtpuEndpoint {
    /// IPv4, IPv6 or both.
    pub addr: DualIp,
    /// The network instance it serves; `None` serves all.
    pub network_instance: Option<NetworkInstance>,
    /// The largest outer IP packet that may leave here, in octets.
    pub mtu: u32,
}

impl GtpuEndpoint {
    /// Serves all network instances, with outer packets of any size.
    pub fn new(addr: DualIp) -> Self {
        Self { addr, network_instance: None, mtu: NO_MTU }
    }
}

/// A data network of IP packets (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
    /// Ranges beside the pools that framed routes may lie in.
    pub framed_routes: Vec<IpNet>,
    /// The addresses of the UPF in the pools: what ICMP errors come from. Without one of an IP version, none
    /// of that version is sent.
    pub gateways: Vec<IpAddr>,
    /// The largest IP packet that the network takes, in octets.
    pub mtu: u32,
}

impl Network {
    /// A network with these pools that takes packets of any size, and has no address for the UPF.
    pub fn new(instance: NetworkInstance, pools: Vec<IpNet>) -> Self {
        Self { instance, pools, framed_routes: Vec::new(), gateways: Vec::new(), mtu: NO_MTU }
    }

    /// Its name, and what framed routes may lie in.
    fn framed_route_prefixes(&self) -> (NetworkInstance, Vec<IpNet>) {
        (self.instance.clone(), self.pools.iter().chain(&self.framed_routes).copied().collect())
    }

    /// Our address as this UE knows it: in its own pool, or else any of its IP version.
    pub fn gateway_of(&self, ue: IpAddr) -> Option<IpAddr> {
        let pool = self.pools.iter().find(|pool| pool.contains(&ue));
        let of_version = || self.gateways.iter().filter(|gateway| gateway.is_ipv4() == ue.is_ipv4());
        let own = of_version().find(|gateway| pool.is_some_and(|pool| pool.contains(*gateway)));
        own.or_else(|| of_version().next()).copied()
    }
}

/// No IP packet is larger.
const NO_MTU: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    // Input: two IPv4 pools with a gateway each, an IPv6 pool without one.
    // Output: a UE of a pool sees that pool's gateway, one of no pool the first; nothing over IPv6.
    #[test]
    fn a_ue_knows_the_gateway_of_its_pool() {
        let pools = ["10.45.0.0/16", "10.46.0.0/16", "2001:db8:45::/48"];
        let network = Network {
            gateways: vec!["10.45.0.1".parse().unwrap(), "10.46.0.1".parse().unwrap()],
            ..Network::new(NetworkInstance::new("internet"), pools.map(|net| net.parse().unwrap()).to_vec())
        };
        let seen = |ue: &str| network.gateway_of(ue.parse().unwrap()).map(|ip| ip.to_string());
        assert_eq!(seen("10.46.0.9").as_deref(), Some("10.46.0.1"));
        assert_eq!(seen("10.99.0.9").as_deref(), Some("10.45.0.1"));
        assert_eq!(seen("2001:db8:45::2"), None);
    }
}

/// Our end of the tunnels over N6 of one data network: packets to it come with that network's IP packets, the
/// outer header still on them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct N6Endpoint {
    /// The data network.
    pub network: NetworkInstance,
    /// IPv4, IPv6 or both; the address of no other machine, and of no UE.
    pub addr: DualIp,
    /// The UDP port of UDP/IP tunnels, that of both ends' datagrams to us and the source port of ours.
    pub port: u16,
}

/// A data network of Ethernet frames (N6), the same link for all sessions of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EthernetNetwork {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// What becomes of a frame to a single station that no session is known to have: it goes to every
    /// session that takes all frames (ETHI), as TS 23.501 clause 5.6.10.2 has it where one session has the
    /// network for itself; else to none.
    pub flood_unknown: bool,
}
