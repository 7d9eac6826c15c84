//! Frames of the CPU port, and the packets of the software in them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;

use causeway_dataplane::Ingress;
use causeway_packet::{IpProtocol, IpRepr, Ipv4, Ipv4Repr, Udp, UdpRepr};

use super::config::Hop;
use super::segments::{Segment, Tenant};
use super::underlay::{self, ether_type};
use crate::model::upf::{Command, Punt};

/// EtherType of frames of the CPU port.
const ETHERTYPE_CPU: u16 = 0x88b5;
const ETHERTYPE_IPV4: u16 = 0x0800;

/// Octets of an Ethernet header, and of the CPU port header that follows it.
const ETHERNET: usize = 14;
const CPU: usize = 10;

/// The port of GTP-U.
pub(super) const GTPU_PORT: u16 = 2152;

/// A frame that the switch has sent to its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuPortFrame<'a> {
    pub(super) code: u8,
    /// The matched rule; zero for none.
    pub(super) rule: u32,
    /// The port at which its packet arrived; of a copy that says an application class, the class; of one that says a heavy hitter, the packets in a window.
    pub(super) of: u16,
    /// The data network that the packet came from, if it came without a tunnel.
    pub(super) tenant: Tenant,
    /// The packet after the header.
    pub(super) packet: &'a [u8],
}

impl<'a> CpuPortFrame<'a> {
    /// `None`: it is truncated, or of another kind.
    pub(super) fn parse(frame: &'a [u8]) -> Option<Self> {
        let ethernet = frame.first_chunk::<ETHERNET>()?;
        let header = frame.get(ETHERNET..)?.first_chunk::<CPU>()?;
        let is_ours = ethernet[12..] == ETHERTYPE_CPU.to_be_bytes();
        let rule = u32::from_be_bytes([0, header[5], header[6], header[7]]);
        let packet = frame.get(ETHERNET + CPU..)?;
        let of = u16::from_be_bytes([header[2], header[3]]);
        is_ours.then_some(Self { code: header[0], rule, of, tenant: Tenant(header[4]), packet })
    }

    pub(super) const fn is(&self, punt: Punt) -> bool {
        self.code == punt as u8
    }
}

/// A frame of a port, with an IP packet. The switch ignores its addresses.
pub(super) fn plain_frame(packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(ether_type(packet).to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// A frame that requests the switch to route a packet which has its tunnel.
pub(super) fn route(packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(ETHERTYPE_CPU.to_be_bytes());
    frame.extend([Command::Route as u8, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend(ETHERTYPE_IPV4.to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// A frame that requests the switch to transmit an IP packet on a port to a neighbour.
pub(super) fn send(hop: &Hop, packet: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET + CPU + packet.len());
    frame.extend(hop.neighbour);
    frame.extend(hop.source);
    frame.extend(ETHERTYPE_CPU.to_be_bytes());
    frame.extend([Command::Send as u8, 0]);
    frame.extend(hop.port.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(ether_type(packet).to_be_bytes());
    frame.extend_from_slice(packet);
    frame
}

/// A frame that requests the switch to transmit an IP packet to a segment; `None` if it is too long.
pub(super) fn send_to_segment(segment: &Segment, packet: &[u8]) -> Option<Vec<u8>> {
    Some(send(&segment.hop, &underlay::to_segment(segment, packet)?))
}

/// The TTL of packets from the switch and its software.
pub(super) const HOPS: u8 = 64;

/// A GTP-U message in UDP over IPv4, with this type of service and TTL; `None` if it is too long.
pub(super) fn in_udp(
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    (tos, hops): (u8, Option<NonZeroU8>),
    message: &[u8],
) -> Option<Vec<u8>> {
    let ttl = hops.map_or(HOPS, NonZeroU8::get);
    let ip = IpRepr::V4(Ipv4Repr { tos, ttl, ..Ipv4Repr::new(from.0, to.0, IpProtocol::UDP) });
    let udp = UdpRepr { src_port: from.1, dst_port: to.1 };
    let mut packet = Vec::new();
    ip.write_udp(udp, false, &[message], &mut packet).ok()?;
    Some(packet)
}

/// A GTP-U message that was received in UDP over IPv4, and its source.
pub(super) fn out_of_udp(packet: &[u8]) -> Option<(Ingress, &[u8])> {
    let ip = Ipv4::parse(packet).ok()?;
    let udp = Udp::parse(ip.payload()).ok()?;
    let peer = SocketAddr::new(IpAddr::V4(ip.src()), udp.src_port());
    let ingress =
        Ingress::Gtpu { local: IpAddr::V4(ip.dst()), peer, tos: ip.tos(), hops: NonZeroU8::new(ip.ttl()) };
    let length = udp.payload().len();
    let offset = (ip.payload().len()).checked_sub(length)?;
    let from = packet.len().checked_sub(ip.payload().len()).map(|header| header + offset)?;
    Some((ingress, packet.get(from..from + length)?))
}
