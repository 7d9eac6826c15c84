//! Ethernet frames.

use causeway_packet::{BuildError, EtherType, Ethernet, Layer, MacAddr, ParseError, VlanTag};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use crate::common::hex;

const ADDRESSES: &str = "ffffffffffff 020000000001";

// Input:  an untagged IPv4 frame.
// Output: addresses, type and payload.
#[test]
fn an_untagged_frame() {
    let octets = hex(&format!("{ADDRESSES} 0800 4500"));
    let frame = Ethernet::parse(&octets).expect("legal");
    assert_eq!((frame.dst, frame.src.to_string().as_str()), (MacAddr::BROADCAST, "02:00:00:00:00:01"));
    assert!(frame.dst.is_multicast() && !frame.src.is_multicast());
    assert_eq!((frame.tags, frame.ether_type), ([None; 2], Some(EtherType::IPV4)));
    assert_eq!(frame.payload, [0x45, 0]);
}

// Input:  a service tag 100 and a customer tag 7 with priority 5, IPv6.
// Output: both tags, the outer one first.
#[test]
fn a_doubly_tagged_frame() {
    let octets = hex(&format!("{ADDRESSES} 88a8 0064 8100 b007 86dd 60"));
    let frame = Ethernet::parse(&octets).expect("legal");
    let [Some(outer), Some(inner)] = frame.tags else { panic!("two tags") };
    assert_eq!((outer.service, outer.id(), outer.priority()), (true, 100, 0));
    assert_eq!((inner.service, inner.id(), inner.priority(), inner.drop_eligible()), (false, 7, 5, true));
    assert_eq!(frame.ether_type, Some(EtherType::IPV6));
}

// Input:  a frame with a length of 3, padded; the largest length; 1501, which is neither length nor type.
// Output: three octets of payload; truncated; an error.
#[test]
fn a_length_in_place_of_a_type() {
    let octets = hex(&format!("{ADDRESSES} 0003 424203 00000000"));
    let frame = Ethernet::parse(&octets).expect("legal");
    assert_eq!((frame.ether_type, frame.payload), (None, &[0x42, 0x42, 3][..]));
    let octets = hex(&format!("{ADDRESSES} 05dc 42"));
    let expected = ParseError::Truncated { layer: Layer::Ethernet, need: 1500, have: 1 };
    assert_eq!(Ethernet::parse(&octets), Err(expected));
    let octets = hex(&format!("{ADDRESSES} 05dd 42"));
    assert_eq!(Ethernet::parse(&octets), Err(ParseError::EtherType(1501)));
}

// Input:  three tags; a frame cut at every length.
// Output: errors.
#[test]
fn hostile_frames_are_refused() {
    let octets = hex(&format!("{ADDRESSES} 8100 0001 8100 0002 8100 0003 0800"));
    assert_eq!(Ethernet::parse(&octets), Err(ParseError::TooMany { layer: Layer::Ethernet, limit: 2 }));
    let octets = hex(&format!("{ADDRESSES} 88a8 0064 8100 b007 86dd"));
    for cut in 0..octets.len() {
        assert!(Ethernet::parse(&octets[..cut]).is_err(), "{cut}");
    }
}

// Input:  1501 octets under a length field.
// Output: an error.
#[test]
fn a_length_has_its_limit() {
    let addr = MacAddr::default();
    let frame = Ethernet { dst: addr, src: addr, tags: [None; 2], ether_type: None, payload: &[0; 1501] };
    let expected = BuildError::TooLong { layer: Layer::Ethernet, length: 1501, limit: 1500 };
    assert_eq!(frame.write(&mut Vec::new()), Err(expected));
}

proptest! {
    // Input:  any frame with up to two tags.
    // Output: parsed as written.
    #[test]
    fn a_frame_survives_the_wire(
        addresses: [[u8; 6]; 2], tags in of((any::<(bool, u16)>(), of(any::<(bool, u16)>()))),
        kind in of(0x0600..0x8000u16), payload in vec(any::<u8>(), 0..100),
    ) {
        let tag = |(service, control)| VlanTag { service, control };
        let frame = Ethernet {
            dst: MacAddr(addresses[0]),
            src: MacAddr(addresses[1]),
            tags: [tags.map(|(outer, _)| tag(outer)), tags.and_then(|(_, inner)| inner).map(tag)],
            ether_type: kind.and_then(EtherType::new),
            payload: &payload,
        };
        let mut octets = Vec::new();
        frame.write(&mut octets).unwrap();
        prop_assert_eq!(Ethernet::parse(&octets), Ok(frame));
    }
}
