//! The ports of a data plane, and packets on their way out.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{
    Egress, EthernetNetwork, GtpuEndpoint, Ingress, N6Endpoint, Network, Topology, Transmit,
};
use causeway_ports::{Batch, Frame, Meta, Port, PortError};
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
}

impl PortSlot {
    /// What the port is for.
    pub fn role(&self) -> &PortRole {
        &self.role
    }
}

/// The ports of a data plane with the surroundings they make.
#[derive(Default)]
pub struct PortSet {
    slots: Vec<PortSlot>,
    topology: Topology,
}

impl PortSet {
    /// No port yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a port that carries GTP-U of the addresses in `endpoints`.
    pub fn add_gtpu(&mut self, endpoints: impl IntoIterator<Item = GtpuEndpoint>, port: Box<dyn Port>) {
        let before = self.topology.gtpu.len();
        self.topology.gtpu.extend(endpoints);
        let own = self.topology.gtpu.iter().skip(before).map(|endpoint| endpoint.addr).collect();
        self.slots.push(PortSlot { port, role: PortRole::Gtpu(own) });
    }

    /// Adds a port that carries the IP packets of a data network.
    pub fn add_network(&mut self, network: Network, port: Box<dyn Port>) {
        let ingress = Ingress::Ip { network: network.instance.clone() };
        self.slots.push(PortSlot { port, role: PortRole::Network(ingress) });
        self.topology.networks.push(network);
    }

    /// Adds a port that carries the frames of an Ethernet data network.
    pub fn add_ethernet(&mut self, network: EthernetNetwork, port: Box<dyn Port>) {
        let ingress = Ingress::Ethernet { network: network.instance.clone() };
        self.slots.push(PortSlot { port, role: PortRole::Network(ingress) });
        self.topology.ethernet.push(network);
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
}

fn complement(a: DualIp, b: DualIp) -> bool {
    (a.v4.is_none() || b.v4.is_none()) && (a.v6.is_none() || b.v6.is_none())
}

/// Packets on their way out, gathered so that one system call sends many.
pub(super) struct Outgoing {
    pub(super) set: PortSet,
    /// One batch per port, in the same order.
    pending: Vec<Batch>,
    /// The first port that failed for good.
    lost: Option<PortError>,
    /// Packets for which there is no port.
    pub(super) unroutable: u64,
}

impl Outgoing {
    pub(super) fn new(set: PortSet, frame_size: usize) -> Self {
        let pending = set.slots.iter().map(|_| Batch::with_frame_size(frame_size)).collect();
        Self { set, pending, lost: None, unroutable: 0 }
    }

    /// Sends what was gathered.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port is of no use any more, now or at an earlier packet.
    pub(super) fn send_all(&mut self) -> Result<(), PortError> {
        for index in 0..self.pending.len() {
            self.send_pending(index);
        }
        self.lost.take().map_or(Ok(()), Err)
    }

    fn send_pending(&mut self, index: usize) {
        let (Some(slot), Some(batch)) = (self.set.slots.get_mut(index), self.pending.get_mut(index)) else {
            return;
        };
        if !batch.is_empty() {
            let sent = slot.port.send(&batch.as_frames());
            self.lost = self.lost.take().or(sent.err());
            batch.clear();
        }
    }

    fn send(&mut self, index: usize, frame: Frame<'_>) {
        if self.pending.get_mut(index).is_some_and(|batch| batch.push(frame)) {
            return;
        }
        self.send_pending(index);
        // A frame that is too long even for an empty batch goes by itself, after those before it.
        if !self.pending.get_mut(index).is_some_and(|batch| batch.push(frame))
            && let Some(slot) = self.set.slots.get_mut(index)
        {
            let sent = slot.port.send(&[frame]);
            self.lost = self.lost.take().or(sent.err());
        }
    }

    fn port_of_address(&self, local: IpAddr) -> Option<usize> {
        let serves = |slot: &PortSlot| matches!(&slot.role, PortRole::Gtpu(own) if own.iter().any(|addr| addr.contains(local)));
        self.set.slots.iter().position(serves)
    }

    fn port_of_network(&self, asked: &Ingress) -> Option<usize> {
        let serves = |slot: &PortSlot| matches!(&slot.role, PortRole::Network(ingress) if ingress == asked);
        self.set.slots.iter().position(serves)
    }
}

impl Transmit for Outgoing {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        let (index, meta) = match egress {
            Egress::Gtpu { local, peer, tos } => {
                (self.port_of_address(*local), Meta::Gtpu { local: *local, peer: *peer, tos: *tos })
            }
            Egress::Ip { network } => {
                (self.port_of_network(&Ingress::Ip { network: network.clone() }), Meta::Ip)
            }
            Egress::Ethernet { network } => {
                (self.port_of_network(&Ingress::Ethernet { network: network.clone() }), Meta::Ethernet)
            }
        };
        match index {
            Some(index) => self.send(index, Frame { meta, data: packet }),
            None => self.unroutable += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_ports::memory;

    use super::*;

    fn network(name: &str) -> Network {
        Network::new(NetworkInstance::new(name), Vec::new())
    }

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

    // Input:  packets for two networks, one for none of ours, and one longer than the batches.
    // Output: each leaves by its port, in order; the stranger is counted.
    #[test]
    fn packets_leave_by_the_port_of_their_network_in_order() {
        let (a, mut far_a) = memory::pair("a", "far").unwrap();
        let (b, mut far_b) = memory::pair("b", "far").unwrap();
        let mut set = PortSet::new();
        set.add_network(network("a"), Box::new(a));
        set.add_network(network("b"), Box::new(b));
        let mut out = Outgoing::new(set, 100);
        let to = |name: &str| Egress::Ip { network: NetworkInstance::new(name) };
        out.transmit(&to("a"), &[1; 10]);
        out.transmit(&to("a"), &[2; 500]);
        out.transmit(&to("a"), &[3; 10]);
        out.transmit(&to("b"), &[4; 10]);
        out.transmit(&to("c"), &[5; 10]);
        out.send_all().unwrap();
        let first = |port: &mut memory::MemoryPort| {
            std::iter::from_fn(|| port.pop().map(|(_, data)| data[0])).collect::<Vec<_>>()
        };
        assert_eq!(first(&mut far_a), [1, 2, 3]);
        assert_eq!(first(&mut far_b), [4]);
        assert_eq!(out.unroutable, 1);
    }
}
