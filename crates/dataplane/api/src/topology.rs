//! What surrounds a data plane: its GTP-U addresses and its data networks.

use std::net::IpAddr;

use causeway_types::{DualIp, IpNet, NetworkInstance};

use crate::Routing;

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks, the default first.
    pub networks: Vec<Network>,
    /// What the UPF does as the first router of the UEs.
    pub routing: Routing,
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

/// A data network (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
    /// The addresses of the UPF in the pools: what ICMP errors come from. Without one of an IP version, none
    /// of that version is sent.
    pub gateways: Vec<IpAddr>,
    /// The largest IP packet that the network takes, in octets.
    pub mtu: u32,
}

impl Network {
    /// A network with these pools that takes packets of any size, and has no address for the UPF.
    pub fn new(instance: NetworkInstance, pools: Vec<IpNet>) -> Self {
        Self { instance, pools, gateways: Vec::new(), mtu: NO_MTU }
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
