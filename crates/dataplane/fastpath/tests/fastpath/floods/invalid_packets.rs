//! Kinds of invalid packets, each with its name.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::Ingress;
use causeway_packet::checksum::checksum;
use causeway_packet::gtpu::{Extension, Header, Message, MessageType, PduSession, Repr, UlPduSession};
use causeway_packet::{IpRepr, UdpRepr};
use causeway_types::{NetworkInstance, Qfi, Teid};

use crate::floods::{GNB, OURS, RELAYED, SERVER, SERVER_V6, UE, UE_V6, UPF};

/// A UDP packet with this many octets behind its header.
fn user(src: IpAddr, dst: IpAddr, octets: usize) -> Vec<u8> {
    let ports = UdpRepr { src_port: 40_000, dst_port: 8000 };
    let mut packet = Vec::new();
    let header = IpRepr::new(src, dst, causeway_packet::IpProtocol::UDP).unwrap();
    header.write_udp(ports, true, &[&vec![7; octets]], &mut packet).unwrap();
    packet
}

pub(crate) fn from_ue() -> Vec<u8> {
    user(UE.into(), SERVER.into(), 30)
}

pub(crate) fn to_ue() -> Vec<u8> {
    user(SERVER.into(), UE.into(), 30)
}

/// Changes the IPv4 header of a packet, and updates its checksum.
fn with_header(mut packet: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut packet);
    let end = usize::from(packet[0] & 0x0f) * 4;
    packet[10..12].fill(0);
    let sum = checksum(&packet[..end]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn with_options(packet: Vec<u8>) -> Vec<u8> {
    with_header(packet, |packet| {
        packet.splice(20..20, [1, 1, 1, 0]);
        packet[0] = 0x46;
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
    })
}

/// In a tunnel, with these extension headers before its container.
pub(crate) fn tunnelled_with(
    teid: u32,
    others: &[Extension<'_>],
    user: &[u8],
    tos: u8,
) -> (Ingress, Vec<u8>) {
    let container = UlPduSession::new(Qfi::new(9).unwrap());
    let extensions = [others, &[Extension::PduSession(PduSession::Uplink(container))]].concat();
    let header = Header { teid: Teid::new(teid), sequence: None, n_pdu: None };
    let packet = Repr { header, extensions: &extensions, message: Message::GPdu(user) }.to_vec().unwrap();
    (by_gtpu(tos), packet)
}

fn by_gtpu(tos: u8) -> Ingress {
    Ingress::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos, hops: None }
}

pub(crate) fn tunnelled(user: &[u8]) -> (Ingress, Vec<u8>) {
    tunnelled_with(OURS, &[], user, 0)
}

pub(crate) fn from_data_network(user: Vec<u8>) -> (Ingress, Vec<u8>) {
    (Ingress::Ip { network: NetworkInstance::new("internet") }, user)
}

fn extension(kind: u8) -> Extension<'static> {
    Extension::Other { kind, content: &[0, 0] }
}

/// A container and this many extension headers that do not require comprehension.
fn with_extension_headers(count: usize) -> Vec<u8> {
    let mut packet = tunnelled(&from_ue()).1;
    packet[15] = 0x3f;
    let headers = (1..=count).flat_map(|at| [1, 0, 0, if at < count { 0x3f } else { 0 }]);
    packet.splice(16..16, headers);
    let len = packet.len() as u16 - 8;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet
}

/// With this many IPv6 extension headers that contain only padding.
fn with_v6_extensions(mut packet: Vec<u8>, count: usize) -> Vec<u8> {
    packet[6] = 60;
    let next = |at| if at < count { 60 } else { 17 };
    packet.splice(40..40, (1..=count).flat_map(|at| [next(at), 0, 1, 4, 0, 0, 0, 0]));
    let len = packet.len() as u16 - 40;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    packet
}

/// All kinds, each with its name.
pub(crate) fn invalid_packets() -> Vec<(&'static str, (Ingress, Vec<u8>))> {
    let v6 = |hops: u8, octets| {
        let mut packet = user(UE_V6.parse().unwrap(), SERVER_V6.parse().unwrap(), octets);
        packet[7] = hops;
        packet
    };
    let to_v6 = |octets| user(SERVER_V6.parse().unwrap(), UE_V6.parse().unwrap(), octets);
    let other_v6 = |to: &str| user("2001:db8:46::7".parse().unwrap(), to.parse().unwrap(), 30);
    let last_hop = |packet| with_header(packet, |packet| packet[8] = 1);
    let whole = |packet| with_header(packet, |packet| packet[6] = 0x40);
    let fragment = |packet, field: u16| {
        with_header(packet, |packet: &mut Vec<u8>| packet[6..8].copy_from_slice(&field.to_be_bytes()))
    };
    let protocol = |packet, number| with_header(packet, |packet: &mut Vec<u8>| packet[9] = number);
    let ect = |packet| with_header(packet, |packet| packet[1] = 2);
    let other = Header { teid: Teid::new(OURS), sequence: None, n_pdu: None };
    let message = Message::Other { message_type: MessageType(77), body: &[1, 2, 3] };
    let other = Repr { header: other, extensions: &[], message }.to_vec().unwrap();
    let in_tunnel = |teid, kind| tunnelled_with(teid, &[extension(kind)], &from_ue(), 0);
    vec![
        ("good", tunnelled(&from_ue())),
        ("good to the UE", from_data_network(to_ue())),
        ("unknown TEID", tunnelled_with(0x77, &[], &from_ue(), 0)),
        ("TEID of zero", (by_gtpu(0), [&[0x30, 0xff, 0, 58, 0, 0, 0, 0][..], &from_ue()].concat())),
        ("address of no UE", from_data_network(user(SERVER.into(), [10, 9, 9, 9].into(), 30))),
        ("UE address of another", tunnelled(&user([10, 0, 0, 8].into(), SERVER.into(), 30))),
        ("optional extension header", in_tunnel(OURS, 0x3f)),
        ("optional extension header to discard", in_tunnel(OURS, 0x41)),
        ("extension header for the endpoint", in_tunnel(OURS, 0x8a)),
        ("extension header for every node", in_tunnel(OURS, 0xca)),
        ("extension header for the endpoint, unknown TEID", in_tunnel(0x77, 0x8a)),
        ("8 extension headers", tunnelled_with(OURS, &[extension(0x3f); 7], &from_ue(), 0)),
        ("16 extension headers", (by_gtpu(0), with_extension_headers(16))),
        (
            "extension header of no length",
            (by_gtpu(0), {
                let mut packet = with_extension_headers(2);
                packet[16] = 0;
                packet
            }),
        ),
        ("relayed", tunnelled_with(RELAYED, &[], &from_ue(), 0)),
        ("no GTP-U", (by_gtpu(0), vec![0x5a; 60])),
        ("unknown message", (by_gtpu(0), other)),
        ("truncated", (by_gtpu(0), tunnelled(&from_ue()).1[..40].to_vec())),
        ("user packet truncated", tunnelled(&from_ue()[..40])),
        ("truncated to the UE", from_data_network(to_ue()[..40].to_vec())),
        ("options", tunnelled(&with_options(from_ue()))),
        ("options to the UE", from_data_network(with_options(to_ue()))),
        ("options and last hop", tunnelled(&last_hop(with_options(from_ue())))),
        ("first fragment", tunnelled(&fragment(from_ue(), 0x2000))),
        ("later fragment", tunnelled(&fragment(from_ue(), 0x2003))),
        ("fragment beyond the end", tunnelled(&fragment(from_ue(), 0x1fff))),
        ("later fragment to the UE", from_data_network(fragment(to_ue(), 0x0003))),
        ("ICMP", tunnelled(&protocol(from_ue(), 1))),
        ("ESP", tunnelled(&protocol(from_ue(), 50))),
        ("unknown protocol", from_data_network(protocol(to_ue(), 253))),
        ("last hop", tunnelled(&last_hop(from_ue()))),
        ("last hop to the UE", from_data_network(last_hop(to_ue()))),
        ("last hop of a later fragment", tunnelled(&last_hop(fragment(from_ue(), 0x2003)))),
        ("last hop to a group", tunnelled(&last_hop(user(UE.into(), [224, 0, 1, 9].into(), 30)))),
        ("last hop, IPv6", tunnelled(&v6(1, 30))),
        ("IPv6", tunnelled(&v6(64, 30))),
        ("IPv6 to the UE", from_data_network(to_v6(30))),
        ("IPv6 of another UE", tunnelled(&other_v6(SERVER_V6))),
        ("IPv6 of another UE to this UE", tunnelled(&other_v6(UE_V6))),
        ("IPv6 to an unknown address", from_data_network(other_v6("2001:db8:4500::1"))),
        (
            "IPv6 from a link-local address",
            tunnelled(&user("fe80::1".parse().unwrap(), SERVER_V6.parse().unwrap(), 30)),
        ),
        ("IPv6 to itself", tunnelled(&user(UE_V6.parse().unwrap(), UE_V6.parse().unwrap(), 30))),
        ("IPv6, 8 extension headers", tunnelled(&with_v6_extensions(v6(64, 30), 8))),
        ("IPv6, 8 extension headers, to the UE", from_data_network(with_v6_extensions(to_v6(30), 8))),
        ("IPv6, 9 extension headers", tunnelled(&with_v6_extensions(v6(64, 30), 9))),
        ("IPv6, 9 extension headers, to the UE", from_data_network(with_v6_extensions(to_v6(30), 9))),
        ("IPv6 with an extension header in GTP-U", tunnelled_with(OURS, &[extension(0x3f)], &v6(64, 30), 0)),
        ("IPv6, unknown TEID", tunnelled_with(0x77, &[], &v6(64, 30), 0)),
        ("IPv6, congestion", tunnelled_with(OURS, &[], &v6(64, 30), 3)),
        ("AH to the UE", from_data_network(protocol(to_ue(), 51))),
        ("too large from the UE", tunnelled(&whole(user(UE.into(), SERVER.into(), 1972)))),
        (
            "too large for some paths, a later fragment",
            from_data_network(fragment(user(SERVER.into(), UE.into(), 1460), 0x4003)),
        ),
        ("too large", from_data_network(whole(user(SERVER.into(), UE.into(), 1460)))),
        ("too large, IPv6", from_data_network(to_v6(1460))),
        (
            "wrong checksum",
            tunnelled(&{
                let mut packet = from_ue();
                packet[10] ^= 0x55;
                packet
            }),
        ),
        ("congestion mark, not ECN-capable", tunnelled_with(OURS, &[], &from_ue(), 3)),
        (
            "congestion mark, not ECN-capable, of another UE",
            tunnelled_with(OURS, &[], &user([10, 0, 0, 8].into(), SERVER.into(), 30), 3),
        ),
        ("congestion mark, not ECN-capable, unknown TEID", tunnelled_with(0x77, &[], &from_ue(), 3)),
        ("congestion", tunnelled_with(OURS, &[], &ect(from_ue()), 3)),
        ("congestion, options", tunnelled_with(OURS, &[], &ect(with_options(from_ue())), 3)),
        ("congestion, relayed", tunnelled_with(RELAYED, &[], &ect(from_ue()), 3)),
        ("ECT(1) in the outer header", tunnelled_with(OURS, &[], &ect(from_ue()), 1)),
    ]
}
