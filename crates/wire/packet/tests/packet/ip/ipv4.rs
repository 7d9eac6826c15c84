//! IPv4 headers.

use std::net::Ipv4Addr;

use causeway_packet::{BuildError, IpProtocol, Ipv4, Ipv4Repr, Layer, ParseError};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::hex;

const LAYER: Layer = Layer::Ipv4;

/// 10.45.0.2 to 192.0.2.1, UDP, 4 octets of payload.
const PLAIN: &str = "45 00 0018 0001 4000 40 11 6ea4 0a2d0002 c0000201  aabbccdd";

// Input:  a plain packet.
// Output: every field, and a valid checksum.
#[test]
fn a_plain_header_is_read() {
    let octets = hex(PLAIN);
    let ip = Ipv4::parse(&octets).expect("legal");
    assert_eq!((ip.src(), ip.dst()), ([10, 45, 0, 2].into(), [192, 0, 2, 1].into()));
    assert_eq!((ip.protocol(), ip.ttl(), ip.tos(), ip.identification()), (IpProtocol::UDP, 64, 0, 1));
    assert!(ip.dont_fragment() && !ip.is_fragment());
    assert_eq!((ip.total_len(), ip.payload()), (24, &octets[20..]));
    assert!(ip.checksum_is_valid());
}

// Input:  the packet with one bit of its header changed.
// Output: an invalid checksum.
#[test]
fn a_changed_header_has_a_wrong_checksum() {
    let mut octets = hex(PLAIN);
    octets[15] ^= 1;
    assert!(!Ipv4::parse(&octets).expect("legal").checksum_is_valid());
}

// Input:  the packet on an Ethernet link, padded to the minimum length.
// Output: the padding is not payload.
#[test]
fn link_padding_is_left_out() {
    let mut octets = hex(PLAIN);
    octets.resize(46, 0);
    assert_eq!(Ipv4::parse(&octets).map(|ip| ip.payload().len()), Ok(4));
}

// Input:  the packet cut at every length.
// Output: an error.
#[test]
fn a_cut_packet_is_an_error() {
    let octets = hex(PLAIN);
    for cut in 0..octets.len() {
        assert!(matches!(Ipv4::parse(&octets[..cut]), Err(ParseError::Truncated { .. })), "{cut}");
    }
}

// Input:  headers with wrong lengths: IHL 4, IHL 15 without options, total length 19, 0 and 25.
// Output: an error each.
#[test]
fn lying_lengths_are_refused() {
    let too_small = |found, minimum| Err(ParseError::LengthTooSmall { layer: LAYER, found, minimum });
    let truncated = |need, have| Err(ParseError::Truncated { layer: LAYER, need, have });
    for (at, value, expected) in [
        (0, 0x44, too_small(16, 20)),
        (0, 0x40, too_small(0, 20)),
        (0, 0x4f, truncated(40, 4)),
        (3, 19, too_small(19, 20)),
        (3, 0, too_small(0, 20)),
        (3, 25, truncated(5, 4)),
    ] {
        let mut octets = hex(PLAIN);
        octets[at] = value;
        assert_eq!(Ipv4::parse(&octets).map(|_| ()), expected);
    }
}

// Input:  version 6 instead of an IPv4 packet.
// Output: a version error.
#[test]
fn another_version_is_refused() {
    let mut octets = hex(PLAIN);
    octets[0] = 0x65;
    assert_eq!(Ipv4::parse(&octets).map(|_| ()), Err(ParseError::Version { layer: LAYER, found: 6 }));
}

// Input:  a last fragment at the largest offset, with 4 octets: the "ping of death".
// Output: an error; one that ends at the limit passes.
#[test]
fn a_fragment_behind_the_largest_packet_is_refused() {
    let mut octets = hex(PLAIN);
    octets[6..8].copy_from_slice(&[0x1f, 0xff]);
    let end = 20 + 0x1fff * 8 + 4;
    assert_eq!(Ipv4::parse(&octets).map(|_| ()), Err(ParseError::FragmentOverrun { layer: LAYER, end }));
    octets[6..8].copy_from_slice(&[0x1f, 0xfc]);
    assert_eq!(Ipv4::parse(&octets).map(|ip| ip.fragment_offset()), Ok(65_504));
}

// Input:  options of 3 and of 44 octets, and a payload of 65,516 octets.
// Output: errors, and nothing appended.
#[test]
fn what_does_not_fit_is_not_written() {
    let repr = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, IpProtocol::UDP);
    let mut out = Vec::new();
    let unaligned = BuildError::Unaligned { layer: LAYER, length: 3 };
    assert_eq!(repr.write(&[0; 3], &[], &mut out), Err(unaligned));
    let too_long = BuildError::TooLong { layer: LAYER, length: 44, limit: 40 };
    assert_eq!(repr.write(&[0; 44], &[], &mut out), Err(too_long));
    let too_long = BuildError::TooLong { layer: LAYER, length: 65_536, limit: 65_535 };
    assert_eq!(repr.write(&[], &[0; 65_516], &mut out), Err(too_long));
    assert!(out.is_empty());
}

prop_compose! {
    fn repr()(
        addresses: [[u8; 4]; 2], protocol: u8, ttl: u8, tos: u8, identification: u16, flags: [bool; 2],
        fragment_units in 0..0x1f00u16,
    ) -> Ipv4Repr {
        Ipv4Repr {
            src: addresses[0].into(),
            dst: addresses[1].into(),
            protocol: IpProtocol(protocol),
            ttl,
            tos,
            identification,
            dont_fragment: flags[0],
            more_fragments: flags[1],
            fragment_units,
        }
    }
}

proptest! {
    // Input:  any header, options and payload.
    // Output: parsed as written, with a valid checksum.
    #[test]
    fn a_packet_survives_the_wire(
        repr in repr(), options in vec(any::<[u8; 4]>(), 0..=10), payload in vec(any::<u8>(), 0..200),
    ) {
        let mut octets = Vec::new();
        repr.write(&options.concat(), &payload, &mut octets).unwrap();
        let ip = Ipv4::parse(&octets).unwrap();
        prop_assert_eq!(ip.repr(), repr);
        prop_assert_eq!(ip.options(), options.concat());
        prop_assert_eq!(ip.payload(), payload);
        prop_assert!(ip.checksum_is_valid());
    }
}
