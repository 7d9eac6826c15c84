//! Packets of a switch with in-process ports, as frames: one port for tunnels, one for the data network.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{Egress, Ingress, Topology};
use causeway_packet::Ipv4;
use causeway_types::NetworkInstance;

use super::cpu_port::{self, GTPU_PORT};
use super::in_process::WithPorts;
use super::local_model::{N3, N6};

/// The ports of a switch in process.
#[derive(Clone, Debug)]
pub struct Ports {
    network: Option<NetworkInstance>,
}

impl Ports {
    /// Ports for the tunnels and the first data network of a topology.
    pub fn new(topology: &Topology) -> Self {
        Self { network: topology.networks.first().map(|network| network.instance.clone()) }
    }

    /// The packet of a frame that the switch has transmitted on a port, and where it goes.
    pub fn egress_of(&self, port: u16, frame: &[u8]) -> Option<(Egress, Vec<u8>)> {
        let packet = frame.get(14..)?;
        if port == N6 {
            return Some((Egress::Ip { network: self.network.clone()? }, packet.to_vec()));
        }
        let ip = Ipv4::parse(packet).ok()?;
        let port = u16::from_be_bytes(*ip.payload().get(2..)?.first_chunk::<2>()?);
        let peer = SocketAddr::new(IpAddr::V4(ip.dst()), port);
        let egress = Egress::Gtpu {
            local: IpAddr::V4(ip.src()),
            peer,
            tos: ip.tos(),
            hops: NonZeroU8::new(ip.ttl()).filter(|hops| hops.get() < cpu_port::HOPS),
        };
        Some((egress, ip.payload().get(8..)?.to_vec()))
    }

    /// Takes all frames that the switch has transmitted, as packets, in order.
    pub fn take_sent(&self, driver: &mut impl WithPorts, out: &mut Vec<(Egress, Vec<u8>)>) {
        while let Some((port, frame)) = driver.poll_sent() {
            out.extend(self.egress_of(port, &frame));
        }
    }

    /// The frame of a packet, and its port; `None` if no port of the switch leads there.
    pub fn frame_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<(u16, Vec<u8>)> {
        match ingress {
            Ingress::Gtpu { local: IpAddr::V4(local), peer: SocketAddr::V4(peer), tos, hops } => {
                // Unknown hops become 255, which the software receives as unknown again.
                let hops = hops.or(NonZeroU8::new(u8::MAX));
                let datagram =
                    cpu_port::in_udp((*peer.ip(), peer.port()), (*local, GTPU_PORT), (*tos, hops), packet)?;
                Some((N3, cpu_port::plain_frame(&datagram)))
            }
            Ingress::Ip { network } if Some(network) == self.network.as_ref() => {
                Some((N6, cpu_port::plain_frame(packet)))
            }
            Ingress::Gtpu { .. } | Ingress::Ip { .. } | Ingress::Ethernet { .. } => None,
        }
    }
}
