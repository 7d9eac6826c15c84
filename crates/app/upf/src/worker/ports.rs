//! The ports of a data plane, and the surroundings they make.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use causeway_dataplane::{EthernetNetwork, GtpuEndpoint, Ingress, N6Endpoint, Network, Topology};
use causeway_fastpath::ReceiveSource;
use causeway_ports::{Port, PortSharing};
use causeway_types::{DualIp, NetworkInstance};

use crate::management::PortCounters;

/// What a port of the data plane is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortRole {
    /// Carries GTP-U of these addresses.
    Gtpu(Vec<DualIp>),
    /// Carries the IP packets, or the Ethernet frames, of a data network.
    Network(Ingress),
}

/// A port and what it is for.
pub struct PortSlot {
    /// The port.
    pub port: Box<dyn Port>,
    role: PortRole,
    receive_source: ReceiveSource,
}

impl PortSlot {
    /// What the port is for.
    pub fn role(&self) -> &PortRole {
        &self.role
    }

    /// Where the fast path meets what comes in here.
    pub(super) fn receive_source(&self) -> ReceiveSource {
        self.receive_source
    }
}

/// The ports of a data plane with the surroundings they make.
#[derive(Default)]
pub struct PortSet {
    slots: Vec<PortSlot>,
    topology: Topology,
    /// The UDP sockets among them.
    sockets: Vec<(SocketAddr, OwnedFd)>,
    /// Which worker's ports these are, and of how many; of none where there is but one.
    place: (usize, usize),
}

impl PortSet {
    /// No port yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No port yet; those to come are one worker's of so many.
    pub fn of_worker(number: usize, workers: usize) -> Self {
        Self { place: (number, workers), ..Self::default() }
    }

    /// Whether others have ports at the same addresses and devices.
    pub(crate) fn share(&self) -> PortSharing {
        match self.place {
            (_, 0 | 1) => PortSharing::Exclusive,
            (0, _) => PortSharing::First,
            _ => PortSharing::Further,
        }
    }

    /// They are the first worker's.
    pub(crate) fn is_first(&self) -> bool {
        self.place.0 == 0
    }

    /// A name that the other workers' ports do not have.
    pub(crate) fn port_name(&self, name: &str) -> String {
        if self.is_first() { name.to_owned() } else { format!("{name}.{}", self.place.0) }
    }

    /// Adds a port that carries GTP-U of the addresses in `endpoints`.
    pub fn add_gtpu(&mut self, endpoints: impl IntoIterator<Item = GtpuEndpoint>, port: Box<dyn Port>) {
        let before = self.topology.gtpu.len();
        self.topology.gtpu.extend(endpoints);
        let own = self.topology.gtpu.iter().skip(before).map(|endpoint| endpoint.addr).collect();
        self.slots.push(PortSlot { port, role: PortRole::Gtpu(own), receive_source: ReceiveSource::Gtpu });
    }

    /// Adds a descriptor of a UDP socket that is among the ports.
    pub(crate) fn add_socket(&mut self, local: SocketAddr, socket: OwnedFd) {
        self.sockets.push((local, socket));
    }

    /// Takes the UDP sockets among the ports.
    pub(crate) fn take_sockets(&mut self) -> Vec<(SocketAddr, OwnedFd)> {
        std::mem::take(&mut self.sockets)
    }

    /// Adds a port that carries the IP packets of a data network.
    pub fn add_network(&mut self, network: Network, port: Box<dyn Port>) {
        let ingress = Ingress::Ip { network: network.instance.clone() };
        let source = ReceiveSource::Network(number(self.topology.networks.len()));
        self.slots.push(PortSlot { port, role: PortRole::Network(ingress), receive_source: source });
        self.topology.networks.push(network);
    }

    /// Adds a port that carries the frames of an Ethernet data network.
    pub fn add_ethernet(&mut self, network: EthernetNetwork, port: Box<dyn Port>) {
        let ingress = Ingress::Ethernet { network: network.instance.clone() };
        let source = ReceiveSource::Ethernet(number(self.topology.ethernet.len()));
        self.slots.push(PortSlot { port, role: PortRole::Network(ingress), receive_source: source });
        self.topology.ethernet.push(network);
    }

    /// Adds GTP-U addresses and a data network whose ports are a switch's.
    pub fn add_remote(
        &mut self,
        endpoints: impl IntoIterator<Item = GtpuEndpoint>,
        networks: impl IntoIterator<Item = Network>,
    ) {
        self.topology.gtpu.extend(endpoints);
        self.topology.networks.extend(networks);
    }

    /// Makes this our end of tunnels over that data network. IPv4 and IPv6 addresses of one network and port are
    /// one endpoint.
    pub fn add_n6_tunnel(&mut self, network: NetworkInstance, end: SocketAddr) {
        let addr = DualIp::from(end.ip());
        let half = self.topology.n6_tunnels.iter_mut().find(|known| {
            known.network == network && known.port == end.port() && complement(known.addr, addr)
        });
        match half {
            Some(known) => {
                known.addr = DualIp { v4: known.addr.v4.or(addr.v4), v6: known.addr.v6.or(addr.v6) };
            }
            None => self.topology.n6_tunnels.push(N6Endpoint { network, addr, port: end.port() }),
        }
    }

    /// What the data plane has to know of its surroundings. IPv4 and IPv6 addresses of one network
    /// instance are one endpoint, so that a tunnel can have both.
    pub fn topology(&self) -> Topology {
        let mut gtpu: Vec<GtpuEndpoint> = Vec::new();
        for endpoint in &self.topology.gtpu {
            let half = gtpu.iter_mut().find(|known| {
                known.network_instance == endpoint.network_instance && complement(known.addr, endpoint.addr)
            });
            match half {
                Some(known) => {
                    known.addr.v4 = known.addr.v4.or(endpoint.addr.v4);
                    known.addr.v6 = known.addr.v6.or(endpoint.addr.v6);
                    known.mtu = known.mtu.min(endpoint.mtu);
                }
                None => gtpu.push(endpoint.clone()),
            }
        }
        Topology { gtpu, ..self.topology.clone() }
    }

    /// The ports.
    pub fn slots(&self) -> &[PortSlot] {
        &self.slots
    }

    /// The counters of every port, by its name.
    pub(crate) fn counters(&self) -> Vec<PortCounters> {
        let of = |slot: &PortSlot| PortCounters {
            name: slot.port.name().to_owned(),
            counters: Arc::clone(slot.port.counters()),
        };
        self.slots.iter().map(of).collect()
    }

    pub(super) fn slot_mut(&mut self, index: usize) -> Option<&mut PortSlot> {
        self.slots.get_mut(index)
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = &dyn Port> {
        self.slots.iter().map(|slot| &*slot.port)
    }

    /// Brings the counters up to date with what was lost where no frame came since.
    pub(super) fn count_losses(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.port.count_losses());
    }
}

fn complement(a: DualIp, b: DualIp) -> bool {
    (a.v4.is_none() || b.v4.is_none()) && (a.v6.is_none() || b.v6.is_none())
}

/// No network has the last number: there are not that many ports.
fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use causeway_ports::memory;

    use super::*;

    fn endpoint(addr: &str, instance: Option<&str>) -> GtpuEndpoint {
        let addr: IpAddr = addr.parse().unwrap();
        GtpuEndpoint {
            network_instance: instance.map(NetworkInstance::new),
            ..GtpuEndpoint::new(addr.into())
        }
    }

    fn port() -> Box<dyn Port> {
        Box::new(memory::pair("a", "b").unwrap().0)
    }

    // Input:  two IPv4 addresses and an IPv6 one for every network, and an IPv6 one for another.
    // Output: the first pair is one endpoint with both; the others stand alone.
    #[test]
    fn addresses_of_both_versions_make_one_endpoint() {
        let mut set = PortSet::new();
        set.add_gtpu([endpoint("192.0.2.1", None)], port());
        set.add_gtpu([endpoint("192.0.2.2", None)], port());
        set.add_gtpu([endpoint("2001:db8::9", Some("ims"))], port());
        set.add_gtpu([endpoint("2001:db8::1", None)], port());
        let shown: Vec<String> = set.topology().gtpu.iter().map(|e| e.addr.to_string()).collect();
        assert_eq!(shown, ["192.0.2.1/2001:db8::1", "192.0.2.2", "2001:db8::9"]);
    }
}
