//! Packets in VXLAN segments, as frames of the underlay: the same headers as those of the program.

use std::net::IpAddr;

use causeway_packet::vxlan::{PORT, Vni, Vxlan, header};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, Ipv6Repr, UdpRepr};

use super::segments::Segment;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;

/// Octets of an Ethernet header, and of one of UDP.
const ETHERNET: usize = 14;
const UDP: usize = 8;

/// The UDP source port of a UE's packets: the last 14 bits of its address, or of its prefix.
fn flow_port(ue: Option<IpAddr>) -> u16 {
    let bits = match ue {
        Some(IpAddr::V4(ue)) => u32::from(ue),
        Some(IpAddr::V6(ue)) => (u128::from(ue) >> 64) as u32,
        None => 0,
    };
    0xc000 | (bits & 0x3fff) as u16
}

/// Source and destination of an IP packet, and its type of service.
fn ends(packet: &[u8]) -> Option<([IpAddr; 2], u8)> {
    if packet.first()? >> 4 == 6 {
        let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
        let first = u16::from_be_bytes([*packet.first()?, *packet.get(1)?]);
        return Some(([address(8)?, address(24)?], (first >> 4) as u8));
    }
    let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
    Some(([address(12)?, address(16)?], *packet.get(1)?))
}

/// The EtherType of an IP packet.
pub(super) fn ether_type(packet: &[u8]) -> u16 {
    if packet.first().is_some_and(|first| first >> 4 == 6) { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 }
}

/// The IP packet of the underlay with this packet, which comes from the switch. `None`: it is too long.
pub(super) fn to_segment(segment: &Segment, packet: &[u8]) -> Option<Vec<u8>> {
    let (ue, tos) = ends(packet).map_or((None, 0), |([ue, _], tos)| (Some(ue), tos));
    let frame = framed(segment.next_hop, segment.mac, packet);
    datagram(segment.vni, (segment.local, segment.remote), (flow_port(ue), tos & 3), &frame)
}

/// The same with a frame of the segment, of no UE.
pub(super) fn frame_to_segment(segment: &Segment, frame: &[u8]) -> Option<Vec<u8>> {
    datagram(segment.vni, (segment.local, segment.remote), (flow_port(None), 0), frame)
}

/// The same of a packet that comes from the other end.
pub(super) fn from_segment(segment: &Segment, packet: &[u8]) -> Option<Vec<u8>> {
    let ue = ends(packet).map(|([_, ue], _)| ue);
    let frame = framed(segment.mac, segment.next_hop, packet);
    datagram(segment.vni, (segment.remote, segment.local), (flow_port(ue), 0), &frame)
}

/// A frame of a segment with an IP packet.
fn framed(to: [u8; 6], from: [u8; 6], packet: &[u8]) -> Vec<u8> {
    [&to[..], &from, &ether_type(packet).to_be_bytes(), packet].concat()
}

fn datagram(vni: u32, (from, to): (IpAddr, IpAddr), (port, ecn): (u16, u8), frame: &[u8]) -> Option<Vec<u8>> {
    let ip = match (from, to) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => IpRepr::V4(Ipv4Repr {
            tos: ecn,
            dont_fragment: true,
            identification: 0,
            ..Ipv4Repr::new(src, dst, IpProtocol::UDP)
        }),
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            IpRepr::V6(Ipv6Repr { traffic_class: ecn, ..Ipv6Repr::new(src, dst, IpProtocol::UDP) })
        }
        _ => return None,
    };
    let mut datagram = Vec::new();
    let udp = UdpRepr { src_port: port, dst_port: PORT };
    ip.write_udp(udp, false, &[&header(Vni::new(vni)?), frame], &mut datagram).ok()?;
    Some(datagram)
}

/// What an IP packet of the underlay has inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inside<'a> {
    pub(super) vni: u32,
    /// The ends in the underlay.
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    /// The frame in the segment.
    pub(super) frame: &'a [u8],
    /// The packet in it.
    pub(super) packet: &'a [u8],
}

/// `None`: it is no VXLAN. Lengths and checksums are not looked at.
pub(super) fn inside(packet: &[u8]) -> Option<Inside<'_>> {
    let ([from, to], _) = ends(packet)?;
    let (protocol, header) = if to.is_ipv4() { (9, 20) } else { (6, 40) };
    let is_plain = to.is_ipv6() || packet.first().is_some_and(|first| first & 0xf == 5);
    let udp = packet.get(header..)?;
    let is_vxlan = packet.get(protocol) == Some(&17) && udp.get(2..4)? == PORT.to_be_bytes();
    let vxlan = Vxlan::parse(udp.get(UDP..)?).ok().filter(|_| is_plain && is_vxlan)?;
    let packet = vxlan.frame.get(ETHERNET..)?;
    Some(Inside { vni: vxlan.vni.value(), from, to, frame: vxlan.frame, packet })
}
