//! UDP and TCP headers.

use std::net::IpAddr;

use causeway_packet::{
    BuildError, IpProtocol, IpRepr, Layer, ParseError, Tcp, TcpFlags, TcpRepr, Udp, UdpChecksum, UdpRepr,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::hex;

const V4: (IpAddr, IpAddr) =
    (IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), IpAddr::V4(std::net::Ipv4Addr::BROADCAST));

fn v6() -> (IpAddr, IpAddr) {
    (IpAddr::from(1u128.to_be_bytes()), IpAddr::from(2u128.to_be_bytes()))
}

// Input:  a datagram of 4 octets with more octets after it.
// Output: the length field decides.
#[test]
fn udp_ends_where_its_length_says() {
    let octets = hex("0868 1f90 000c 0000 01020304 ffff");
    let udp = Udp::parse(&octets).expect("legal");
    assert_eq!((udp.src_port(), udp.dst_port(), udp.payload()), (2152, 8080, &[1, 2, 3, 4][..]));
}

// Input:  lengths of 0 (a jumbogram), 7 and one more than available; a header cut at every length.
// Output: an error each.
#[test]
fn a_lying_udp_length_is_refused() {
    let parse = |length: u8| {
        let octets = [0, 1, 0, 2, 0, length, 0, 0, 9];
        Udp::parse(&octets).map(|udp| udp.payload().len())
    };
    let too_small = |found| Err(ParseError::LengthTooSmall { layer: Layer::Udp, found, minimum: 8 });
    assert_eq!(parse(0), too_small(0));
    assert_eq!(parse(7), too_small(7));
    assert_eq!(parse(8), Ok(0));
    assert_eq!(parse(10), Err(ParseError::Truncated { layer: Layer::Udp, need: 2, have: 1 }));
    for cut in 0..8 {
        assert!(Udp::parse(&[0, 1, 0, 2, 0, 8, 0, 0][..cut]).is_err());
    }
}

// Input:  a checksum of zero over IPv4 and over IPv6.
// Output: no checksum; over IPv6 the caller decides.
#[test]
fn a_zero_udp_checksum_means_none() {
    let header = UdpRepr { src_port: 1, dst_port: 2 }.header_without_checksum(0).expect("fits");
    let udp = Udp::parse(&header).expect("legal");
    assert_eq!(udp.checksum(V4.0, V4.1), UdpChecksum::Absent);
    assert_eq!(udp.checksum(v6().0, v6().1), UdpChecksum::AbsentOverIpv6);
}

// Input:  a datagram whose computed checksum is zero.
// Output: all ones on the wire, because zero would mean "none".
#[test]
fn a_computed_zero_is_sent_as_all_ones() {
    let udp = UdpRepr { src_port: 0, dst_port: 0 };
    let zero = IpAddr::from([0, 0, 0, 0]);
    // Pseudo header and header sum to 17 + 10 + 10; this word makes the sum 0xffff.
    let filler = (0xffff_u16 - 37).to_be_bytes();
    let header = udp.header(zero, zero, &[&filler]).expect("fits");
    assert_eq!(header[6..], [0xff, 0xff]);
    let octets = [&header[..], &filler].concat();
    assert_eq!(Udp::parse(&octets).expect("legal").checksum(zero, zero), UdpChecksum::Valid);
}

// Input:  data offsets of 4 and of 15 words in a segment of 20 octets; a header cut at every length.
// Output: an error each.
#[test]
fn a_lying_tcp_offset_is_refused() {
    let mut octets = [0; 20];
    octets[12] = 4 << 4;
    let too_small = ParseError::LengthTooSmall { layer: Layer::Tcp, found: 16, minimum: 20 };
    assert_eq!(Tcp::parse(&octets).map(|_| ()), Err(too_small));
    octets[12] = 15 << 4;
    let truncated = ParseError::Truncated { layer: Layer::Tcp, need: 40, have: 0 };
    assert_eq!(Tcp::parse(&octets).map(|_| ()), Err(truncated));
    octets[12] = 5 << 4;
    assert!(Tcp::parse(&octets).is_ok());
    for cut in 0..20 {
        assert!(Tcp::parse(&octets[..cut]).is_err());
    }
}

// Input:  source and destination of different families.
// Output: an error, and nothing appended.
#[test]
fn families_are_not_mixed() {
    let mut out = Vec::new();
    let udp = UdpRepr { src_port: 1, dst_port: 2 };
    assert_eq!(udp.write(V4.0, v6().0, &[], &mut out), Err(BuildError::MixedFamilies));
    assert_eq!(IpRepr::new(V4.0, v6().0, IpProtocol::UDP), Err(BuildError::MixedFamilies));
    assert!(out.is_empty());
}

proptest! {
    // Input:  any datagram, over either family, its payload in two parts, then one bit flipped.
    // Output: parsed as written with a valid checksum; with the flipped bit, an invalid one.
    #[test]
    fn udp_survives_the_wire(
        ports: [u16; 2], a in vec(any::<u8>(), 0..50), b in vec(any::<u8>(), 1..50), v4: bool, bit in 0..8u8,
    ) {
        let (src, dst) = if v4 { V4 } else { v6() };
        let repr = UdpRepr { src_port: ports[0], dst_port: ports[1] };
        let ip = IpRepr::new(src, dst, IpProtocol::UDP).unwrap();
        let mut octets = Vec::new();
        ip.write_udp(repr, true, &[&a, &b], &mut octets).unwrap();
        let start = octets.len() - a.len() - b.len() - 8;
        let udp = Udp::parse(&octets[start..]).unwrap();
        prop_assert_eq!(udp.repr(), repr);
        prop_assert_eq!(udp.payload(), [a, b].concat());
        prop_assert_eq!(udp.checksum(src, dst), UdpChecksum::Valid);
        *octets.last_mut().unwrap() ^= 1 << bit;
        prop_assert_eq!(Udp::parse(&octets[start..]).unwrap().checksum(src, dst), UdpChecksum::Invalid);
    }

    // Input:  any segment, over either family.
    // Output: parsed as written with a valid checksum.
    #[test]
    fn tcp_survives_the_wire(
        ports: [u16; 2], numbers: [u32; 2], flags: u8, window: u16, urgent: u16, v4: bool,
        options in vec(any::<[u8; 4]>(), 0..=10), payload in vec(any::<u8>(), 0..100),
    ) {
        let (src, dst) = if v4 { V4 } else { v6() };
        let repr = TcpRepr {
            src_port: ports[0],
            dst_port: ports[1],
            sequence: numbers[0],
            acknowledgment: numbers[1],
            flags: TcpFlags::from_bits_retain(flags),
            window,
            urgent,
        };
        let mut octets = Vec::new();
        repr.write(src, dst, &options.concat(), &payload, &mut octets).unwrap();
        let tcp = Tcp::parse(&octets).unwrap();
        prop_assert_eq!(tcp.repr(), repr);
        prop_assert_eq!(tcp.options(), options.concat());
        prop_assert_eq!(tcp.payload(), payload);
        prop_assert!(tcp.checksum_is_valid(src, dst));
    }
}
