//! The topology of a data plane: its GTP-U addresses, its data networks and the slices it serves.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_model::{KnownPolicy, LocalEndpoint, LocalEndpoints, N6Address, PolicyName, Redirect};
use causeway_types::{Bitrate, Direction, DualIp, IpNet, NetworkInstance, SNssai, Span, TeidScheme};

use crate::{Firewall, HostReachability};

/// The topology of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Local GTP-U endpoints. The first that matches is the source of packets.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks of IP packets, the default first.
    pub networks: Vec<Network>,
    /// The data networks of Ethernet frames, the default first.
    pub ethernet: Vec<EthernetNetwork>,
    /// Configuration as the first router of the UEs.
    pub routing: Routing,
    /// Local ends of tunnels over N6.
    pub n6_tunnels: Vec<N6Endpoint>,
    /// The forwarding policies that FARs may name.
    pub policies: Vec<ForwardingPolicy>,
    /// The network slices with a bit rate limit.
    pub slices: Vec<SliceLimit>,
    /// Addresses that are behind no UE: networks that the host is connected to, and SMFs.
    pub neighbours: Vec<IpNet>,
    /// The mapping from TEIDs that the UPF chose to slots, for a data plane that stores its sessions in slots.
    pub teids: TeidScheme,
    /// The addresses of the host at the start, and the exceptions that UEs may reach.
    pub host: HostReachability,
    /// The firewall for the packets of all sessions; `None`: all pass.
    pub firewall: Option<Arc<Firewall>>,
}

impl Topology {
    /// The endpoints that rules may refer to.
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

    /// Gateways and other single addresses of the host, in order.
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

/// The bit rate limit of all sessions of one network slice together, as configured by the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SliceLimit {
    /// The slice. The SMF assigns sessions to it.
    pub slice: SNssai,
    /// The limit from all UEs; `None`: no limit.
    pub uplink: Option<Bitrate>,
    /// The limit to all UEs; `None`: no limit.
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
    /// The MTU of outer IP packets, in octets.
    pub mtu: u32,
}

impl GtpuEndpoint {
    /// An endpoint that serves all network instances, without an MTU.
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
    /// Ranges outside the pools that framed routes may be in.
    pub framed_routes: Vec<IpNet>,
    /// The addresses of the UPF in the pools: the sources of ICMP errors. Without an address of an IP version, no
    /// errors of that version are sent.
    pub gateways: Vec<IpAddr>,
    /// The MTU of the network, in octets.
    pub mtu: u32,
}

impl Network {
    /// A network with these pools, without an MTU and without an address of the UPF.
    pub fn new(instance: NetworkInstance, pools: Vec<IpNet>) -> Self {
        Self { instance, pools, framed_routes: Vec::new(), gateways: Vec::new(), mtu: NO_MTU }
    }

    /// Its name, and the ranges of its framed routes.
    fn framed_route_prefixes(&self) -> (NetworkInstance, Vec<IpNet>) {
        (self.instance.clone(), self.pools.iter().chain(&self.framed_routes).copied().collect())
    }

    /// The UPF's address for this UE: one in the UE's pool, or else any of its IP version.
    pub fn gateway_of(&self, ue: IpAddr) -> Option<IpAddr> {
        let pool = self.pools.iter().find(|pool| pool.contains(&ue));
        let of_version = || self.gateways.iter().filter(|gateway| gateway.is_ipv4() == ue.is_ipv4());
        let own = of_version().find(|gateway| pool.is_some_and(|pool| pool.contains(*gateway)));
        own.or_else(|| of_version().next()).copied()
    }
}

/// The size of the largest IP packet.
const NO_MTU: u32 = 65_535;

/// A forwarding policy (TS 29.244 clauses 5.4.8 and 8.2.23). Fields that are not set leave the FAR's values in effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForwardingPolicy {
    /// Its name, as FARs refer to it.
    pub name: PolicyName,
    /// Whether packets are dropped.
    pub drop: bool,
    /// The data network of packets that are forwarded without GTP-U.
    pub network: Option<NetworkInstance>,
    /// The DSCP that user packets are marked with, 0 to 63.
    pub dscp: Option<u8>,
    /// The redirect of uplink packets; a redirect in the FAR takes precedence (clause 5.4.7).
    pub redirect: Option<Redirect>,
}

impl ForwardingPolicy {
    /// A policy that changes nothing.
    pub fn new(name: PolicyName) -> Self {
        Self { name, drop: false, network: None, dscp: None, redirect: None }
    }

    /// The part of the policy that rule validation needs.
    pub fn to_known(&self) -> KnownPolicy {
        let answers_http = matches!(self.redirect, Some(Redirect::Http(_)));
        KnownPolicy { name: self.name.clone(), answers_http }
    }
}

/// The UPF as the first router of the UEs, and as a GTP-U peer of gNBs and other UPFs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing {
    /// Whether the hop limit is decremented between a tunnel and a data network. Off where the router behind N6 is the
    /// same host and both are to appear as one hop. It is never decremented from tunnel to tunnel.
    pub decrement_ttl: bool,
    /// Whether Router Solicitations that no rule forwards to the SMF are answered with the prefix of the UE.
    pub router_advertisement: bool,
    /// The maximum of ICMP errors per second, to all senders together.
    pub icmp_errors_per_second: u32,
    /// Echo Requests to GTP-U peers.
    pub echo: EchoConfig,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            decrement_ttl: true,
            router_advertisement: false,
            icmp_errors_per_second: 1000,
            echo: EchoConfig::default(),
        }
    }
}

/// Echo Requests to the GTP-U peers that sessions send to (TS 29.281 clause 7.2.1, TS 23.007 clause 20.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoConfig {
    /// The interval between Echo Requests on one path. Zero: none is sent; requests of peers are still answered. At
    /// least 60 seconds (TS 29.281 clause 7.2.1), which the caller ensures.
    pub interval: Span,
    /// T3-RESPONSE: how long to wait for a response. Zero counts as one millisecond.
    pub timeout: Span,
    /// N3-REQUESTS less one: how many times a request without a response is repeated before the path is down.
    pub retries: u8,
}

impl Default for EchoConfig {
    fn default() -> Self {
        Self { interval: Span::ZERO, timeout: Span::from_secs(5), retries: 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input: two IPv4 pools with a gateway each, an IPv6 pool without one.
    // Output: a UE in a pool gets the gateway of that pool, a UE in no pool the first; none for IPv6.
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

/// The local end of the tunnels over N6 of one data network: the ports deliver its packets among that network's IP
/// packets, with the outer header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct N6Endpoint {
    /// The data network.
    pub network: NetworkInstance,
    /// IPv4, IPv6 or both; an address of no other host and of no UE.
    pub addr: DualIp,
    /// The UDP port of UDP/IP tunnels: the destination port of received datagrams and the source port of sent ones.
    pub port: u16,
}

/// A data network of Ethernet frames (N6); one link for all its sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EthernetNetwork {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// Whether a frame to an unknown unicast MAC address is sent to every session that accepts all frames (ETHI), as TS
    /// 23.501 clause 5.6.10.2 requires where one session has the network for itself. Otherwise it is dropped.
    pub flood_unknown: bool,
}
