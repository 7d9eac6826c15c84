//! The ports of a data plane, and the topology that they define.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use causeway_dataplane::{
    EthernetNetwork, GtpuEndpoint, Ingress, N6Endpoint, Network, ReceiveSource, Topology,
};
use causeway_ports::{Counters, Port, PortSharing, QosFlowOctets, QosFlowPort};
use causeway_types::{DualIp, NetworkInstance};

/// The traffic of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortRole {
    /// Carries GTP-U of these addresses.
    Gtpu(Vec<DualIp>),
    /// Carries the IP packets, or the Ethernet frames, of a data network.
    Network(Ingress),
}

/// A port and its traffic.
pub struct PortSlot {
    /// The port.
    pub port: Box<dyn Port>,
    role: PortRole,
    receive_source: ReceiveSource,
    /// Its octets by QoS flow; `None`: they are not counted.
    qos_flows: Option<Arc<QosFlowOctets>>,
}

impl PortSlot {
    /// The traffic of the port.
    pub fn role(&self) -> &PortRole {
        &self.role
    }

    /// The receive source of the port in the fast path.
    pub(super) fn receive_source(&self) -> ReceiveSource {
        self.receive_source
    }
}

/// The counters of a port, under its name.
#[derive(Clone, Debug)]
pub(crate) struct PortCounters {
    pub(crate) name: String,
    pub(crate) counters: Arc<Counters>,
    /// Its octets by QoS flow; `None`: they are not counted.
    pub(crate) qos_flows: Option<Arc<QosFlowOctets>>,
}

/// The ports of a data plane with the topology that they define.
#[derive(Default)]
pub struct PortSet {
    slots: Vec<PortSlot>,
    topology: Topology,
    /// The UDP sockets among them.
    sockets: Vec<(SocketAddr, OwnedFd)>,
    /// The number of the worker, and of how many; `None` for a single worker.
    place: (usize, usize),
}

impl PortSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set for one of several workers.
    pub fn of_worker(number: usize, workers: usize) -> Self {
        Self { place: (number, workers), ..Self::default() }
    }

    /// Whether other workers have ports with the same addresses and devices.
    pub(crate) fn share(&self) -> PortSharing {
        match self.place {
            (_, 0 | 1) => PortSharing::Exclusive,
            (0, _) => PortSharing::First,
            _ => PortSharing::Further,
        }
    }

    /// Whether the ports belong to the first worker.
    pub(crate) fn is_first(&self) -> bool {
        self.place.0 == 0
    }

    /// A port name that is unique among the workers.
    pub(crate) fn port_name(&self, name: &str) -> String {
        if self.is_first() { name.to_owned() } else { format!("{name}.{}", self.place.0) }
    }

    /// Adds a port that carries GTP-U of the addresses in `endpoints`.
    pub fn add_gtpu(&mut self, endpoints: impl IntoIterator<Item = GtpuEndpoint>, port: Box<dyn Port>) {
        let before = self.topology.gtpu.len();
        self.topology.gtpu.extend(endpoints);
        let own = self.topology.gtpu.iter().skip(before).map(|endpoint| endpoint.addr).collect();
        self.slots.push(PortSlot {
            port,
            role: PortRole::Gtpu(own),
            receive_source: ReceiveSource::Gtpu,
            qos_flows: None,
        });
    }

    /// Adds a descriptor of a UDP socket of the ports.
    pub(crate) fn add_socket(&mut self, local: SocketAddr, socket: OwnedFd) {
        self.sockets.push((local, socket));
    }

    /// Takes the UDP sockets of the ports.
    pub(crate) fn take_sockets(&mut self) -> Vec<(SocketAddr, OwnedFd)> {
        std::mem::take(&mut self.sockets)
    }

    /// Adds a port that carries the IP packets of a data network.
    pub fn add_network(&mut self, network: Network, port: Box<dyn Port>) {
        let ingress = Ingress::Ip { network: network.instance.clone() };
        let source = ReceiveSource::Network(number(self.topology.networks.len()));
        self.slots.push(PortSlot {
            port,
            role: PortRole::Network(ingress),
            receive_source: source,
            qos_flows: None,
        });
        self.topology.networks.push(network);
    }

    /// Adds a port that carries the frames of an Ethernet data network.
    pub fn add_ethernet(&mut self, network: EthernetNetwork, port: Box<dyn Port>) {
        let ingress = Ingress::Ethernet { network: network.instance.clone() };
        let source = ReceiveSource::Ethernet(number(self.topology.ethernet.len()));
        self.slots.push(PortSlot {
            port,
            role: PortRole::Network(ingress),
            receive_source: source,
            qos_flows: None,
        });
        self.topology.ethernet.push(network);
    }

    /// Adds GTP-U addresses and a data network on ports of a switch.
    pub fn add_remote(
        &mut self,
        endpoints: impl IntoIterator<Item = GtpuEndpoint>,
        networks: impl IntoIterator<Item = Network>,
    ) {
        self.topology.gtpu.extend(endpoints);
        self.topology.networks.extend(networks);
    }

    /// Adds a local endpoint of tunnels over a data network. IPv4 and IPv6 addresses with the same network and port are
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

    /// The topology of the data plane. IPv4 and IPv6 addresses of one network instance are one endpoint, so that a
    /// tunnel can have both.
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
            qos_flows: slot.qos_flows.clone(),
        };
        self.slots.iter().map(of).collect()
    }

    /// Counts the octets of the GTP-U ports by QoS flow from now on.
    pub(crate) fn count_qos_flows(&mut self) {
        let counting = |slot: PortSlot| match slot.role {
            PortRole::Gtpu(_) => {
                let octets = Arc::<QosFlowOctets>::default();
                let port = Box::new(QosFlowPort::new(slot.port, Arc::clone(&octets)));
                PortSlot { port, qos_flows: Some(octets), ..slot }
            }
            PortRole::Network(_) => slot,
        };
        self.slots = std::mem::take(&mut self.slots).into_iter().map(counting).collect();
    }

    pub(super) fn slot_mut(&mut self, index: usize) -> Option<&mut PortSlot> {
        self.slots.get_mut(index)
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = &dyn Port> {
        self.slots.iter().map(|slot| &*slot.port)
    }

    /// Updates the loss counters of ports that received no frame since.
    pub(super) fn count_losses(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.port.count_losses());
    }
}

fn complement(a: DualIp, b: DualIp) -> bool {
    (a.v4.is_none() || b.v4.is_none()) && (a.v6.is_none() || b.v6.is_none())
}

/// No network has the last number: the number of ports is smaller.
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
    // Output: the first pair is one endpoint with both; each of the others is an endpoint.
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
