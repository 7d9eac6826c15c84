//! The fields of the user's packet that packet filters match.

use std::net::IpAddr;

use causeway_packet::{Fragment, IpProtocol, IpRepr, Ipv4Repr, Layer, ParseError, Ports, UserPacket};

use crate::common::hex;

fn v4(protocol: IpProtocol, payload: &str) -> Vec<u8> {
    ip([10, 45, 0, 2].into(), [192, 0, 2, 1].into(), protocol, payload)
}

fn v6(next: IpProtocol, payload: &str) -> Vec<u8> {
    ip(IpAddr::from(1u128.to_be_bytes()), IpAddr::from(2u128.to_be_bytes()), next, payload)
}

fn ip(src: IpAddr, dst: IpAddr, protocol: IpProtocol, payload: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let repr = IpRepr::new(src, dst, protocol).expect("one family").with_tos(0xb8);
    repr.write(&hex(payload), &mut out).expect("fits");
    out
}

const PORTS: Option<Ports> = Some(Ports { src: 1000, dst: 53 });

// Input:  UDP from port 1000 to 53 over IPv4.
// Output: the five-tuple, the type of service, no flow label.
#[test]
fn udp_over_ipv4() {
    let octets = v4(IpProtocol::UDP, "03e8 0035 0008 0000");
    let packet = UserPacket::parse(&octets).expect("legal");
    assert_eq!((packet.flow.src, packet.flow.dst), ([10, 45, 0, 2].into(), [192, 0, 2, 1].into()));
    assert_eq!((packet.flow.protocol, packet.flow.ports), (IpProtocol::UDP, PORTS));
    assert_eq!((packet.flow.tos, packet.flow.flow_label), (0xb8, None));
    assert_eq!((packet.flow.fragment, packet.flow.spi), (Fragment::Whole, None));
    assert_eq!(packet.len(), 28);
}

// Input:  TCP after hop-by-hop and destination options over IPv6.
// Output: TCP and its ports, and the flow label.
#[test]
fn tcp_behind_extension_headers() {
    let octets = v6(IpProtocol::HOP_BY_HOP, "3c 00 010400000000  06 00 010400000000  03e8 0035");
    let packet = UserPacket::parse(&octets).expect("legal");
    assert_eq!((packet.flow.protocol, packet.flow.ports), (IpProtocol::TCP, PORTS));
    assert_eq!((packet.flow.tos, packet.flow.flow_label.map(|label| label.value())), (0xb8, Some(0)));
    assert_eq!(packet.transport(), hex("03e8 0035"));
}

// Input:  the first and a later fragment, over IPv4 and over IPv6.
// Output: ports of the first only; the data of the later one are not parsed as ports.
#[test]
fn only_the_first_fragment_has_ports() {
    let repr = Ipv4Repr::new([10, 45, 0, 2].into(), [192, 0, 2, 1].into(), IpProtocol::UDP);
    let fragment = |more_fragments, fragment_units| {
        let mut out = Vec::new();
        let repr = Ipv4Repr { more_fragments, fragment_units, ..repr };
        repr.write(&[], &hex("03e8 0035 0010 0000"), &mut out).expect("fits");
        out
    };
    let cases = [
        (fragment(true, 0), Fragment::First, PORTS),
        (fragment(true, 1), Fragment::Later, None),
        (fragment(false, 2), Fragment::Later, None),
        (v6(IpProtocol::FRAGMENT, "11 00 0001 00000001  03e8 0035"), Fragment::First, PORTS),
        (v6(IpProtocol::FRAGMENT, "11 00 0009 00000001  03e8 0035"), Fragment::Later, None),
        (v6(IpProtocol::FRAGMENT, "11 00 0000 00000001  03e8 0035"), Fragment::Whole, PORTS),
    ];
    for (octets, fragment, ports) in cases {
        let flow = UserPacket::parse(&octets).expect("legal").flow;
        assert_eq!((flow.fragment, flow.ports, flow.protocol), (fragment, ports, IpProtocol::UDP));
        assert_eq!(flow.is_fragment(), fragment != Fragment::Whole);
    }
}

// Input:  ESP and AH over both versions.
// Output: the protocol and its Security Parameter Index.
#[test]
fn ipsec_has_an_index_and_no_ports() {
    for build in [v4, v6] {
        let esp = build(IpProtocol::ESP, "c0ffee01 00000001");
        let flow = UserPacket::parse(&esp).expect("legal").flow;
        assert_eq!((flow.protocol, flow.spi, flow.ports), (IpProtocol::ESP, Some(0xc0ff_ee01), None));
        let ah = build(IpProtocol::AH, "06 04 0000 c0ffee02 00000001");
        let flow = UserPacket::parse(&ah).expect("legal").flow;
        assert_eq!((flow.protocol, flow.spi, flow.ports), (IpProtocol::AH, Some(0xc0ff_ee02), None));
    }
}

// Input:  ICMP, and a UDP header cut after three octets.
// Output: packets without ports: the UPF forwards them.
#[test]
fn a_packet_may_have_no_ports() {
    for octets in [v4(IpProtocol::ICMP, "0800 0000 0001 0001"), v4(IpProtocol::UDP, "03e800")] {
        assert_eq!(UserPacket::parse(&octets).map(|packet| packet.flow.ports), Ok(None));
    }
}

// Input:  a packet with octets after it, and one shorter than its length field.
// Output: the first without these octets, the second refused.
#[test]
fn the_length_of_the_ip_header_decides() {
    let mut octets = v4(IpProtocol::UDP, "03e8 0035 0008 0000");
    octets.extend([0xff; 9]);
    let packet = UserPacket::parse(&octets).expect("legal");
    assert_eq!((packet.bytes(), packet.len()), (&octets[..28], 28));
    let expected = ParseError::Truncated { layer: Layer::Ipv4, need: 8, have: 7 };
    assert_eq!(UserPacket::parse(&octets[..27]).err(), Some(expected));
}

// Input:  no octet; version 0; version 5.
// Output: an error each.
#[test]
fn what_is_not_ip_is_refused() {
    let layer = Layer::Ip;
    assert_eq!(UserPacket::parse(&[]).err(), Some(ParseError::Truncated { layer, need: 1, have: 0 }));
    assert_eq!(UserPacket::parse(&[0; 40]).err(), Some(ParseError::Version { layer, found: 0 }));
    assert_eq!(UserPacket::parse(&[0x50; 40]).err(), Some(ParseError::Version { layer, found: 5 }));
}
