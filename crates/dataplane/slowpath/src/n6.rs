//! Tunnels over N6: UDP/IP and IP in IP (TS 29.244 clauses 8.2.56 and 8.2.64).

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::{DropReason, N6Endpoint, Topology};
use causeway_model::RemovedHeader;
use causeway_packet::{Fragment, IpProtocol, IpRepr, Udp, UdpChecksum, UdpRepr, UserPacket};
use causeway_types::NetworkInstance;

/// An IPv4 packet inside an IP packet (RFC 2003).
const IPV4_INSIDE: IpProtocol = IpProtocol(4);
/// An IPv6 packet inside an IP packet (RFC 2473, RFC 4213).
const IPV6_INSIDE: IpProtocol = IpProtocol(41);

/// The packet inside a UDP/IP or IP in IP packet, as far as the headers alone tell.
pub fn inside_n6_tunnel(packet: &[u8]) -> Option<&[u8]> {
    let packet = UserPacket::parse(packet).ok()?;
    match packet.flow.protocol {
        IpProtocol::UDP => Some(Udp::parse(packet.transport()).ok()?.payload()),
        IPV4_INSIDE | IPV6_INSIDE => Some(packet.transport()),
        _ => None,
    }
}

/// The packet inside a packet to the local end of a tunnel, with the kind of its outer header; `None` for any other
/// packet.
///
/// # Errors
/// The reason why a packet to the local end cannot be decapsulated.
pub(crate) fn decapsulate<'a>(
    packet: &UserPacket<'a>,
    network: &NetworkInstance,
    topology: &Topology,
) -> Result<Option<(RemovedHeader, &'a [u8])>, DropReason> {
    let flow = &packet.flow;
    let here = |end: &&N6Endpoint| end.network == *network && end.addr.contains(flow.dst);
    let Some(end) = topology.n6_tunnels.iter().find(here) else { return Ok(None) };
    if flow.fragment != Fragment::Whole {
        return Err(DropReason::FragmentedOuter);
    }
    let v6 = flow.dst.is_ipv6();
    match flow.protocol {
        IpProtocol::UDP => {
            let udp = Udp::parse(packet.transport()).map_err(|_| DropReason::MalformedIp)?;
            if udp.checksum(flow.src, flow.dst) == UdpChecksum::Invalid {
                return Err(DropReason::MalformedIp);
            }
            if udp.dst_port() != end.port {
                return Err(DropReason::UnknownUe);
            }
            let kind = if v6 { RemovedHeader::UdpIpv6 } else { RemovedHeader::UdpIpv4 };
            Ok(Some((kind, udp.payload())))
        }
        IPV4_INSIDE | IPV6_INSIDE => {
            let kind = if v6 { RemovedHeader::Ipv6 } else { RemovedHeader::Ipv4 };
            Ok(Some((kind, packet.transport())))
        }
        _ => Err(DropReason::UnknownUe),
    }
}

/// The local end of the tunnels of a network, of the peer's IP version, with its UDP port.
///
/// # Errors
/// [`DropReason::NoEgress`] when the network has none.
pub(crate) fn local_end(
    network: &NetworkInstance,
    peer: IpAddr,
    topology: &Topology,
) -> Result<SocketAddr, DropReason> {
    let of_network = topology.n6_tunnels.iter().filter(|end| end.network == *network);
    let mut local_ends = of_network.flat_map(|end| end.addr.iter().map(|ip| SocketAddr::new(ip, end.port)));
    local_ends.find(|local| local.is_ipv4() == peer.is_ipv4()).ok_or(DropReason::NoEgress)
}

/// The packet in a UDP datagram to the peer.
///
/// # Errors
/// [`DropReason::TooBig`] when it exceeds a datagram.
pub(crate) fn in_udp(packet: &[u8], local: SocketAddr, peer: SocketAddr) -> Result<Vec<u8>, DropReason> {
    let mut wrapped = Vec::new();
    let ports = UdpRepr { src_port: local.port(), dst_port: peer.port() };
    IpRepr::new(local.ip(), peer.ip(), IpProtocol::UDP)
        .and_then(|header| header.write_udp(ports, true, &[packet], &mut wrapped))
        .map_err(|_| DropReason::TooBig)?;
    Ok(wrapped)
}

/// The packet in an IP packet to the peer.
///
/// # Errors
/// [`DropReason::TooBig`] when it exceeds an IP packet.
pub(crate) fn in_ip(packet: &[u8], local: IpAddr, peer: IpAddr) -> Result<Vec<u8>, DropReason> {
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let protocol = if is_v6 { IPV6_INSIDE } else { IPV4_INSIDE };
    let mut wrapped = Vec::new();
    IpRepr::new(local, peer, protocol)
        .and_then(|header| header.write(packet, &mut wrapped))
        .map_err(|_| DropReason::TooBig)?;
    Ok(wrapped)
}
