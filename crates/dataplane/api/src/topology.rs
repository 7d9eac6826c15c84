//! What surrounds a data plane: its GTP-U addresses and its data networks.

use causeway_types::{DualIp, IpNet, NetworkInstance};

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks, the default first.
    pub networks: Vec<Network>,
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
