//! What surrounds a data plane: its GTP-U addresses, its data networks and the slices it serves.

use causeway_types::{Bitrate, Direction, DualIp, IpNet, NetworkInstance, SNssai};

/// The surroundings of a data plane, fixed at start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Where GTP-U arrives. The first that fits is the one to send from.
    pub gtpu: Vec<GtpuEndpoint>,
    /// The data networks, the default first.
    pub networks: Vec<Network>,
    /// The network slices whose traffic is limited as a whole.
    pub slices: Vec<SliceLimit>,
}

/// What all sessions of one network slice may send and receive together (TS 23.501 clause 5.7.1.10 in the UPF).
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
}

/// A data network (N6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name, the DNN.
    pub instance: NetworkInstance,
    /// The UE address pools that are routed to this UPF.
    pub pools: Vec<IpNet>,
}
