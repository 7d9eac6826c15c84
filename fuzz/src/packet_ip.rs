//! Any octets as an Ethernet frame and as an IP packet, with what is inside: what is read, written and read
//! again is
//! the same, and a packet changed in place is still a packet.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_packet::icmp::{IcmpError, Icmpv4, Icmpv6, error_reply};
use causeway_packet::rewrite::{Dscp, decrement_hop_limit, set_dscp};
use causeway_packet::{Ends, Ethernet, Ip, IpProtocol, Tcp, Udp, UdpChecksum, UserPacket, http, set_ends};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    ethernet(octets);
    http::begins_request(octets);
    let Ok(packet) = UserPacket::parse(octets) else { return };
    ip(packet.ip());
    transport(&packet);
    rewritten(&packet);
    led_elsewhere(&packet);
    answered(&packet);
}

fn ethernet(octets: &[u8]) {
    let Ok(frame) = Ethernet::parse(octets) else { return };
    let mut written = Vec::new();
    frame.write(&mut written).expect("what was read can be written");
    assert_eq!(Ethernet::parse(&written), Ok(frame));
}

fn ip(ip: &Ip<'_>) {
    let mut written = Vec::new();
    match ip {
        Ip::V4(ip) => ip.repr().write(ip.options(), ip.payload(), &mut written),
        Ip::V6(ip) => ip.repr().write(ip.payload(), &mut written),
    }
    .expect("what was read can be written");
    match (ip, Ip::parse(&written)) {
        (Ip::V4(ip), Ok(Ip::V4(again))) => {
            assert!(again.checksum_is_valid());
            assert_eq!(again.repr(), ip.repr());
            assert_eq!((again.options(), again.payload()), (ip.options(), ip.payload()));
        }
        (Ip::V6(ip), Ok(Ip::V6(again))) => assert_eq!(again, *ip),
        other => panic!("{other:?}"),
    }
}

fn transport(packet: &UserPacket<'_>) {
    let (src, dst, octets) = (packet.flow.src, packet.flow.dst, packet.transport());
    let mut written = Vec::new();
    if let Ok(udp) = Udp::parse(octets) {
        udp.repr().write(src, dst, udp.payload(), &mut written).expect("fits");
        let again = Udp::parse(&written).expect("just written");
        assert_eq!((again.repr(), again.payload()), (udp.repr(), udp.payload()));
        assert_eq!(again.checksum(src, dst), UdpChecksum::Valid);
        written.clear();
    }
    if let Ok(tcp) = Tcp::parse(octets) {
        tcp.repr().write(src, dst, tcp.options(), tcp.payload(), &mut written).expect("fits");
        let again = Tcp::parse(&written).expect("just written");
        assert_eq!((again.repr(), again.payload()), (tcp.repr(), tcp.payload()));
        assert!(again.checksum_is_valid(src, dst));
        written.clear();
    }
    if let Ok(icmp) = Icmpv4::parse(octets) {
        icmp.message.write(&mut written);
        assert_eq!(Icmpv4::parse(&written).map(|again| again.message), Ok(icmp.message));
        written.clear();
    }
    if let Ok(icmp) = Icmpv6::parse(octets) {
        icmp.message.write(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, &mut written);
        assert_eq!(Icmpv6::parse(&written).map(|again| again.message), Ok(icmp.message));
    }
}

fn rewritten(packet: &UserPacket<'_>) {
    let mut changed = packet.bytes().to_vec();
    if let Ok(left) = decrement_hop_limit(&mut changed) {
        assert_eq!(left + 1, packet.ip().hop_limit());
    }
    set_dscp(&mut changed, Dscp::of_tos(0xb8)).expect("an IP packet");
    let again = UserPacket::parse(&changed).expect("still an IP packet");
    assert_eq!(again.flow.tos, 0xb8 | packet.flow.tos & 3);
    assert_eq!((again.flow.src, again.flow.protocol), (packet.flow.src, packet.flow.protocol));
    if let (Ip::V4(before), Ip::V4(after)) = (packet.ip(), again.ip()) {
        assert_eq!(before.checksum_is_valid(), after.checksum_is_valid());
    }
}

fn led_elsewhere(packet: &UserPacket<'_>) {
    let flow = &packet.flow;
    let (src, dst) = if flow.src.is_ipv4() {
        (Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(203, 0, 113, 9).into())
    } else {
        (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::from(9u128).into())
    };
    let mut changed = packet.bytes().to_vec();
    let ends = Ends { src: Some(src), dst: Some(dst), src_port: Some(7), dst_port: Some(9) };
    set_ends(&mut changed, &ends).expect("an IP packet");
    let again = UserPacket::parse(&changed).expect("still an IP packet");
    assert_eq!((again.flow.src, again.flow.dst, again.flow.protocol), (src, dst, flow.protocol));
    if flow.is_fragment() {
        return;
    }
    let before = Udp::parse(packet.transport()).map(|udp| udp.checksum(flow.src, flow.dst));
    if flow.protocol == IpProtocol::UDP && before.is_ok() {
        assert_eq!(Udp::parse(again.transport()).map(|udp| udp.checksum(src, dst)), before);
    }
    let before = Tcp::parse(packet.transport()).map(|tcp| tcp.checksum_is_valid(flow.src, flow.dst));
    if flow.protocol == IpProtocol::TCP && before.is_ok() {
        assert_eq!(Tcp::parse(again.transport()).map(|tcp| tcp.checksum_is_valid(src, dst)), before);
    }
}

fn answered(packet: &UserPacket<'_>) {
    let (from, protocol) = match packet.ip() {
        Ip::V4(_) => (Ipv4Addr::new(10, 0, 0, 1).into(), IpProtocol::ICMP),
        Ip::V6(_) => (Ipv6Addr::LOCALHOST.into(), IpProtocol::ICMPV6),
    };
    let mut answer = Vec::new();
    if error_reply(IcmpError::TimeExceeded, from, packet.bytes(), &mut answer).is_ok() {
        let answer = UserPacket::parse(&answer).expect("an IP packet");
        assert_eq!((answer.flow.src, answer.flow.dst), (from, packet.flow.src));
        assert_eq!(answer.flow.protocol, protocol);
        assert!(answer.len() <= 1280);
    } else {
        assert!(answer.is_empty());
    }
}
