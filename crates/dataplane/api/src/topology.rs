//! What surrounds a data plane: its GTP-U addresses and its data networks.

use causeway_rules::{LocalEndpoint, LocalEndpoints, N6Address};
use causeway_types::{DualIp, IpNet, NetworkInstance};

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks, the default first.
    pub networks: Vec<Network>,
    /// Where tunnels over N6 end.
    pub n6_tunnels: Vec<N6Endpoint>,
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
            n6_tunnels: n6_tunnels.collect(),
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
}

/// A data network (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
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
