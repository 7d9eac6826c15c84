//! Rewrites the packet for transmission.

use std::net::IpAddr;

use causeway_packet::checksum::checksum;

use super::codes::{Command, DropReason, Punt};
use super::packet::{
    ETHERTYPE_CPU, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Family, Forward, Outer, Packet, Tunnel, Underlay,
};

/// Octets of UDP, GTP-U, its optional fields and a PDU Session Container.
const TUNNEL: u16 = 24;

/// Decrements the hop count where the packet enters or leaves the tunnels, removes the old tunnel, marks the DSCP or
/// prepares the new tunnel.
pub(super) fn rewrite(packet: &mut Packet) {
    let ecn = packet.tos() & 3;
    if packet.family == Some(Family::V6) {
        packet.length = packet.length.wrapping_add(40);
    }
    if packet.buffer {
        packet.punt = Some(Punt::Buffer);
    } else if !packet.is_tunnelled || packet.forward == Some(Forward::Decapsulate) {
        hop(packet);
    }
    if packet.is_tunnelled {
        packet.outer = Outer::None;
    }
    if packet.punt.is_none() && packet.forward == Some(Forward::Encapsulate) {
        packet.outer = Outer::New(Tunnel {
            peer: packet.tunnel,
            teid: packet.teid_out,
            qfi: packet.qfi_out,
            pdu_type: packet.pdu_type,
            tos: packet.dscp << 2 | ecn,
            length: packet.length,
        });
        packet.set_ether_type(ETHERTYPE_IPV4);
        return;
    }
    packet.set_ether_type(if packet.family == Some(Family::V6) { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 });
    if packet.mark_dscp && packet.punt.is_none() {
        packet.set_tos(packet.dscp << 2 | ecn);
    }
}

fn hop(packet: &mut Packet) {
    let place = match packet.family {
        Some(Family::V4) if packet.bad_checksum => {
            packet.drop = Some(DropReason::MalformedIp);
            return;
        }
        Some(Family::V4) => 8,
        Some(Family::V6) => 7,
        None => return,
    };
    match packet.inner.get_mut(place) {
        Some(hops) if *hops > 1 => *hops -= 1,
        _ => packet.punt = Some(Punt::TtlExpired),
    }
}

/// The frame with its headers; checksums of IPv4 are correct, except that of a user packet that was received incorrect.
pub(super) fn frame(packet: &Packet) -> Vec<u8> {
    let mut frame = packet.underlay.map(|underlay| segment(packet, &underlay)).unwrap_or_default();
    frame.extend_from_slice(&packet.ethernet);
    match &packet.outer {
        Outer::None => {}
        Outer::AsItCame(outer) => frame.extend_from_slice(outer),
        Outer::New(tunnel) => frame.extend_from_slice(&outer(tunnel, packet.local)),
    }
    let mut inner = packet.inner.clone();
    if packet.command == Some(Command::Route) {
        if let Some(source) = inner.get_mut(12..16) {
            source.copy_from_slice(&packet.local.to_be_bytes());
        }
        set_checksum(&mut inner, 20);
    } else if packet.family == Some(Family::V4) && !packet.bad_checksum {
        let header = inner.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
        set_checksum(&mut inner, header);
    }
    frame.extend_from_slice(&inner);
    frame
}

/// Octets of the IP packet in a segment.
pub(super) fn octets_in_segment(packet: &Packet) -> u32 {
    match &packet.outer {
        Outer::New(tunnel) => tunnel.length.wrapping_add(TUNNEL + 20).into(),
        // A packet of the controller is complete.
        _ if packet.command == Some(Command::Route) => packet.inner_field(2..4) as u32,
        _ => packet.length.into(),
    }
}

/// Ethernet, IP, UDP without a checksum, and VXLAN.
fn segment(packet: &Packet, to: &Underlay) -> Vec<u8> {
    let udp = (octets_in_segment(packet) as u16).wrapping_add(30);
    let mut octets = to.neighbour.to_be_bytes()[2..].to_vec();
    octets.extend_from_slice(&to.source.to_be_bytes()[2..]);
    match (to.local, to.remote) {
        (IpAddr::V6(local), IpAddr::V6(remote)) => {
            octets.extend_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
            octets.extend_from_slice(&(6 << 28 | u32::from(packet.tos() & 3) << 20).to_be_bytes());
            octets.extend_from_slice(&udp.to_be_bytes());
            octets.extend_from_slice(&[17, 64]);
            octets.extend_from_slice(&local.octets());
            octets.extend_from_slice(&remote.octets());
        }
        (local, remote) => {
            let mut ip = vec![0x45, packet.tos() & 3];
            ip.extend_from_slice(&udp.wrapping_add(20).to_be_bytes());
            ip.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
            ip.extend([local, remote].into_iter().flat_map(v4_octets));
            set_checksum(&mut ip, 20);
            octets.extend_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
            octets.extend_from_slice(&ip);
        }
    }
    for field in [packet.flow_port(), 4789, udp, 0] {
        octets.extend_from_slice(&field.to_be_bytes());
    }
    octets.extend_from_slice(&[8, 0, 0, 0]);
    octets.extend_from_slice(&(to.vni << 8).to_be_bytes());
    octets
}

/// The octets of an address of IPv4; zero for another one.
fn v4_octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => [0; 4],
    }
}

/// The received frame; one of the CPU port without its header.
pub(super) fn without_cpu_header(frame: &[u8], packet: &Packet) -> Vec<u8> {
    if packet.command.is_none() {
        return frame.to_vec();
    }
    let rest = frame.get(24..).unwrap_or_default();
    let ethernet = frame.get(..12).into_iter().chain(frame.get(22..24));
    ethernet.flatten().chain(rest).copied().collect()
}

/// Octets of Ethernet and of the header behind it.
const HEADERS_OF_CPU_PORT: usize = 24;

/// A frame for the CPU port: a header with the reason follows the Ethernet header, with the tenant in the place of a queue.
pub(super) fn push(
    frame: &[u8],
    code: Punt,
    is_copy: bool,
    ingress_port: u16,
    (tenant, rule): (u8, u32),
) -> Vec<u8> {
    let (ethernet, rest) = frame.split_at_checked(14).unwrap_or((frame, &[]));
    let mut pushed = ethernet.get(..12).unwrap_or(ethernet).to_vec();
    pushed.extend_from_slice(&ETHERTYPE_CPU.to_be_bytes());
    pushed.extend_from_slice(&[code as u8, u8::from(is_copy)]);
    pushed.extend_from_slice(&ingress_port.to_be_bytes());
    pushed.push(tenant);
    pushed.extend_from_slice(&rule.to_be_bytes()[1..]);
    pushed.extend_from_slice(ethernet.get(12..).unwrap_or_default());
    pushed.extend_from_slice(rest);
    pushed
}

/// The frame for the CPU port that says that a rule has become heavy, with the packets in the window.
pub(super) fn heavy_hitter(frame: &[u8], units: u16, rule: u32) -> Vec<u8> {
    event(frame, Punt::HeavyHitter, units, rule)
}

/// The frame for the CPU port that says that the session of a rule has another class.
pub(super) fn application_class(frame: &[u8], class: u8, rule: u32) -> Vec<u8> {
    event(frame, Punt::ApplicationClass, class.into(), rule)
}

/// A frame for the CPU port that has no more than the header.
fn event(frame: &[u8], code: Punt, value: u16, rule: u32) -> Vec<u8> {
    let mut frame = push(frame, code, true, value, (0, rule));
    frame.truncate(HEADERS_OF_CPU_PORT);
    frame
}

/// IPv4, UDP without a checksum, GTP-U, and a PDU Session Container of four octets.
fn outer(tunnel: &Tunnel, local: u32) -> [u8; 44] {
    let mut octets = [0; 44];
    let mut at = |place: usize, bytes: &[u8]| octets[place..place + bytes.len()].copy_from_slice(bytes);
    let udp = tunnel.length.wrapping_add(TUNNEL);
    at(0, &[0x45, tunnel.tos]);
    at(2, &udp.wrapping_add(20).to_be_bytes());
    at(6, &[0x40, 0, 64, 17]);
    at(12, &local.to_be_bytes());
    at(16, &tunnel.peer.to_be_bytes());
    at(20, &[0x08, 0x68, 0x08, 0x68]);
    at(24, &udp.to_be_bytes());
    at(28, &[0x34, 255]);
    at(30, &tunnel.length.wrapping_add(8).to_be_bytes());
    at(32, &tunnel.teid.to_be_bytes());
    at(39, &[0x85, 1, tunnel.pdu_type << 4, tunnel.qfi, 0]);
    set_checksum(&mut octets, 20);
    octets
}

fn set_checksum(packet: &mut [u8], header: usize) {
    let Some(header) = packet.get_mut(..header).filter(|header| header.len() >= 20) else { return };
    header[10..12].fill(0);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
