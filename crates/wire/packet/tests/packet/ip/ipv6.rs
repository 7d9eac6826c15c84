//! IPv6 headers and their extension headers.

use std::net::Ipv6Addr;

use causeway_packet::{
    FlowLabel, FragmentHeader, IpProtocol, Ipv6, Ipv6Chain, Ipv6Repr, Layer, MAX_IPV6_EXTENSIONS, ParseError,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::hex;

/// A packet from ::1 to ::2 whose first header is `next`.
fn packet(next: IpProtocol, payload: &str) -> Vec<u8> {
    let (src, dst) = (Ipv6Addr::from(1u128), Ipv6Addr::from(2u128));
    let mut out = Vec::new();
    Ipv6Repr::new(src, dst, next).write(&hex(payload), &mut out).expect("fits");
    out
}

fn chain(octets: &[u8]) -> Result<Ipv6Chain<'_>, ParseError> {
    Ipv6::parse(octets)?.chain()
}

// Input:  traffic class 0xb8, flow label 0xabcde, TCP.
// Output: every field.
#[test]
fn a_fixed_header_is_read() {
    let octets =
        hex("6b8abcde 0002 06 40 20010db8000000000000000000000001 20010db8000000000000000000000002 0102");
    let ip = Ipv6::parse(&octets).expect("legal");
    assert_eq!((ip.traffic_class(), ip.flow_label().value(), ip.hop_limit()), (0xb8, 0xabcde, 64));
    assert_eq!((ip.next_header(), ip.payload()), (IpProtocol::TCP, &[1, 2][..]));
    assert_eq!(ip.src().to_string(), "2001:db8::1");
    assert_eq!(ip.dst().to_string(), "2001:db8::2");
}

// Input:  hop-by-hop, routing and destination options before UDP.
// Output: UDP, and its octets.
#[test]
fn a_chain_is_walked_to_its_end() {
    let octets = packet(
        IpProtocol::HOP_BY_HOP,
        "2b 00 010400000000  3c 00 000000000000  11 01 010c000000000000 000000000000  aabbccdd",
    );
    let chain = chain(&octets).expect("legal");
    assert_eq!((chain.protocol, chain.payload), (IpProtocol::UDP, &hex("aabbccdd")[..]));
    assert_eq!(chain.fragment, None);
}

// Input:  the first and a later fragment whose data look like an extension header.
// Output: the chain of the first is walked to its end, that of the later one is not: its data are not headers.
#[test]
fn the_walk_stops_in_a_later_fragment() {
    let octets = packet(IpProtocol::FRAGMENT, "3c 00 0001 00000007  11 00 010400000000  aabb");
    let first = chain(&octets).expect("legal");
    let header = FragmentHeader { offset: 0, more: true, identification: 7 };
    assert_eq!((first.protocol, first.fragment), (IpProtocol::UDP, Some(header)));

    let octets = packet(IpProtocol::FRAGMENT, "3c 00 0008 00000007  11 ff 010400000000  aabb");
    let later = chain(&octets).expect("legal");
    let header = FragmentHeader { offset: 8, more: false, identification: 7 };
    assert_eq!((later.protocol, later.fragment), (IpProtocol::DESTINATION_OPTIONS, Some(header)));
    assert_eq!(later.payload.len(), 10);
}

// Input:  ESP, AH, Mobility, an unknown header and "no next header".
// Output: the chain ends at each of them.
#[test]
fn the_walk_ends_at_what_is_no_extension_header() {
    for protocol in
        [IpProtocol::ESP, IpProtocol::AH, IpProtocol(135), IpProtocol(253), IpProtocol::NO_NEXT_HEADER]
    {
        assert_eq!(chain(&packet(protocol, "0000")).map(|chain| chain.protocol), Ok(protocol));
    }
}

// Input:  hop-by-hop options as the second header.
// Output: an error: RFC 8200 allows them only first.
#[test]
fn hop_by_hop_options_come_first_or_not_at_all() {
    let octets = packet(IpProtocol::DESTINATION_OPTIONS, "00 00 010400000000  11 00 010400000000");
    assert_eq!(chain(&octets).map(|_| ()), Err(ParseError::HopByHopNotFirst));
}

// Input:  as many extension headers as are accepted, and one more.
// Output: the first is walked, the second refused.
#[test]
fn extension_headers_are_counted() {
    let limit = MAX_IPV6_EXTENSIONS;
    let too_many = Err(ParseError::TooMany { layer: Layer::Ipv6Extension, limit });
    let stack = |count: usize| "3c 00 010400000000".repeat(count - 1) + "11 00 010400000000";
    let octets = packet(IpProtocol::DESTINATION_OPTIONS, &stack(limit));
    assert_eq!(chain(&octets).map(|chain| chain.protocol), Ok(IpProtocol::UDP));
    let octets = packet(IpProtocol::DESTINATION_OPTIONS, &stack(limit + 1));
    assert_eq!(chain(&octets).map(|_| ()), too_many);
}

// Input:  a chain of 1000 Fragment headers.
// Output: an error at the second.
#[test]
fn a_fragment_is_not_fragmented_again() {
    let octets = packet(IpProtocol::FRAGMENT, &"2c 00 0001 00000001".repeat(1000));
    assert_eq!(chain(&octets).map(|_| ()), Err(ParseError::NestedFragment));
}

// Input:  an extension header of 2048 octets in a packet of 8.
// Output: an error.
#[test]
fn an_extension_header_must_end_inside_the_packet() {
    let octets = packet(IpProtocol::ROUTING, "11 ff 010400000000");
    let expected = ParseError::Truncated { layer: Layer::Ipv6Extension, need: 2046, have: 6 };
    assert_eq!(chain(&octets).map(|_| ()), Err(expected));
}

// Input:  payload length zero with hop-by-hop options: a jumbogram of RFC 2675; and one without payload.
// Output: the first is refused with an error of its own, the second is an empty packet.
#[test]
fn a_jumbogram_is_refused() {
    let mut octets = packet(IpProtocol::HOP_BY_HOP, "11 00 c204 00020000  aabb");
    octets[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(Ipv6::parse(&octets).map(|_| ()), Err(ParseError::Jumbogram));
    assert_eq!(chain(&packet(IpProtocol::NO_NEXT_HEADER, "")).map(|chain| chain.payload.len()), Ok(0));
}

// Input:  a last fragment that would end after octet 65,535.
// Output: an error.
#[test]
fn a_fragment_behind_the_largest_packet_is_refused() {
    let octets = packet(IpProtocol::FRAGMENT, "11 00 fff8 00000007  0000000000000000");
    let expected = ParseError::FragmentOverrun { layer: Layer::Ipv6Extension, end: 65_536 };
    assert_eq!(chain(&octets).map(|_| ()), Err(expected));
}

// Input:  a packet with a chain, cut at every length, with the original payload length and the shortened one.
// Output: an error for the first, no panic for the second.
#[test]
fn a_cut_packet_is_an_error() {
    let octets = packet(IpProtocol::HOP_BY_HOP, "2c 00 010400000000  11 00 0001 00000007  aabbccdd00040000");
    for cut in 0..octets.len() {
        assert!(Ipv6::parse(&octets[..cut]).is_err(), "{cut}");
    }
    for cut in 41..octets.len() {
        let mut cut = octets[..cut].to_vec();
        cut[5] = (cut.len() - 40) as u8;
        let walked = chain(&cut);
        assert_eq!(walked.is_err(), cut.len() < 56, "{}", cut.len());
    }
}

proptest! {
    // Input:  any fixed header and payload.
    // Output: parsed as written.
    #[test]
    fn a_packet_survives_the_wire(
        addresses: [u128; 2], next: u8, hop_limit: u8, traffic_class: u8, label in 0..=FlowLabel::MAX,
        payload in vec(any::<u8>(), 1..200),
    ) {
        let repr = Ipv6Repr {
            src: addresses[0].into(),
            dst: addresses[1].into(),
            next_header: IpProtocol(next),
            hop_limit,
            traffic_class,
            flow_label: FlowLabel::new(label).unwrap(),
        };
        let mut octets = Vec::new();
        repr.write(&payload, &mut octets).unwrap();
        let ip = Ipv6::parse(&octets).unwrap();
        prop_assert_eq!(ip.repr(), repr);
        prop_assert_eq!(ip.payload(), payload);
    }

    // Input:  any octets in place of extension headers.
    // Output: no panic, and a payload inside the packet.
    #[test]
    fn any_chain_is_walked_without_panic(
        next in prop_oneof![Just(0u8), Just(43), Just(44), Just(60), Just(135)],
        mut payload in vec(prop_oneof![Just(0u8), Just(43), Just(44), Just(60), Just(1), any::<u8>()], 1..200),
    ) {
        payload[0] = next;
        let mut octets = Vec::new();
        Ipv6Repr::new(1u128.into(), 2u128.into(), IpProtocol(next)).write(&payload, &mut octets).unwrap();
        if let Ok(chain) = chain(&octets) {
            prop_assert!(octets.ends_with(chain.payload));
        }
    }
}
