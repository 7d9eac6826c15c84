//! What surrounds a data plane: its GTP-U addresses and its data networks.

use causeway_types::{DualIp, IpNet, NetworkInstance};

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks of IP packets, the default first.
    pub networks: Vec<Network>,
    /// The data networks of Ethernet frames, the default first.
    pub ethernet: Vec<EthernetNetwork>,
}

/// A GTP-U address of the UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GtpuEndpoint {
    /// IPv4, IPv6 or both.
    pub addr: DualIp,
    /// The network instance it serves; `None` serves all.
    pub network_instance: Option<NetworkInstance>,
}

/// A data network of IP packets (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
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
