//! Packets of a switch with in-process ports, as frames: one port for tunnels, one for data networks, which are in segments if there are
//! several.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::{Egress, Ingress};
use causeway_packet::Ipv4;
use causeway_types::NetworkInstance;

use super::config::Config;
use super::cpu_port::{self, GTPU_PORT};
use super::in_process::WithPorts;
use super::local_model::{N3, N6};
use super::segments::Segment;
use super::underlay;

/// The ports of a switch in process.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The data networks that the switch serves, each with its segment if it is in one.
    networks: Vec<(NetworkInstance, Option<Segment>)>,
}

impl Ports {
    /// Ports for the tunnels and the data networks of a configuration.
    pub fn new(config: &Config) -> Self {
        let served = |network: &NetworkInstance| {
            let segment = config.segment(config.tenant_of(network)?).cloned();
            Some((network.clone(), segment))
        };
        let networks = config.topology.networks.iter();
        Self { networks: networks.filter_map(|network| served(&network.instance)).collect() }
    }

    /// The packet of a frame that the switch has transmitted on a port, and where it goes.
    pub fn egress_of(&self, port: u16, frame: &[u8]) -> Option<(Egress, Vec<u8>)> {
        let packet = frame.get(14..)?;
        if port == N6 {
            let (network, packet) = self.network_of(packet)?;
            return Some((Egress::Ip { network: network.clone() }, packet.to_vec()));
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

    /// The data network of a packet that the switch has transmitted to one, and the packet without the headers of a segment.
    fn network_of<'p>(&self, packet: &'p [u8]) -> Option<(&NetworkInstance, &'p [u8])> {
        let inside = underlay::inside(packet);
        let in_segment = inside.and_then(|inside| {
            let is_its = |segment: &Segment| {
                (segment.vni, segment.local, segment.remote) == (inside.vni, inside.from, inside.to)
            };
            let (network, _) = self.networks.iter().find(|(_, it)| it.as_ref().is_some_and(is_its))?;
            Some((network, inside.packet))
        });
        let plain = || self.networks.iter().find(|(_, segment)| segment.is_none());
        in_segment.or_else(|| plain().map(|(network, _)| (network, packet)))
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
            Ingress::Ip { network } => {
                let (_, segment) = self.networks.iter().find(|(served, _)| served == network)?;
                Some((
                    N6,
                    match segment {
                        Some(segment) => cpu_port::plain_frame(&underlay::from_segment(segment, packet)?),
                        None => cpu_port::plain_frame(packet),
                    },
                ))
            }
            Ingress::Gtpu { .. } | Ingress::Ethernet { .. } => None,
        }
    }
}
