//! The invariant CRC against published packets, and against a definition bit by bit.

use causeway_packet::roce::{Bth, Outer, Packet, Psn, Qpn, Repr, Transport};
use causeway_packet::{Ethernet, Ip, ParseError, Udp};
use proptest::prelude::*;

use super::packet::{any_outer, any_repr};
use crate::common::hex;

/// The CRC of IBA clause 7.8.1, bit by bit: the polynomial 0x04c11db7, least significant bit of each octet first, the remainder
/// complemented; in the order of the wire.
fn plain_crc(octets: &[u8]) -> [u8; 4] {
    let mut remainder = u32::MAX;
    for octet in octets {
        for bit in 0..8 {
            let is_set = (u32::from(*octet) >> bit ^ remainder) & 1 == 1;
            remainder = remainder >> 1 ^ if is_set { 0xedb8_8320 } else { 0 };
        }
    }
    (!remainder).to_le_bytes()
}

// Input:  the masked packet of the example in IBA clause 7.8.1 (local packet, 52 octets that the CRC covers).
// Output: the CRC of the example, 96 25 b7 5a on the wire. The oracle of the tests below is therefore the specification's.
#[test]
fn the_oracle_computes_the_example_of_the_specification() {
    let masked = hex("f012375c000e17d20a202487ff87b1b3000dec2a01710a1c015d400238f27a05
         0000000ebb884d85fd5cfba4728bc0690ed40000");
    assert_eq!(plain_crc(&masked), [0x96, 0x25, 0xb7, 0x5a]);
}

/// The frame is a RoCEv2 packet with its CRC.
fn check(frame: &[u8]) -> Result<bool, ParseError> {
    let ip = Ip::parse(Ethernet::parse(frame)?.payload)?;
    let transport = match &ip {
        Ip::V4(ip) => ip.payload(),
        Ip::V6(ip) => ip.payload(),
    };
    let udp = Udp::parse(transport)?;
    let packet = Packet::parse(udp.payload())?;
    Ok(Outer::of_packet(&ip, &udp).is_some_and(|outer| packet.icrc_is_valid(&outer)))
}

// Input:  a congestion notification that a ConnectX-4 Lx adapter sent (published with the tests of scapy), and the same packet with
//         each of its octets changed in turn.
// Output: the CRC is that of the adapter. What routers and switches change (Ethernet, type of service, TTL, both checksums, FECN and
//         BECN) does not change it; anything else does, or the packet is no RoCEv2 packet any more.
#[test]
fn an_adapter_computes_the_same() {
    let frame = hex("e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a00
         1201000012b7002800008100ffff400001180000000000000000000000000000 00000000000082fd002a");
    assert_eq!(check(&frame), Ok(true));
    let variant = |at| matches!(at, 0..12 | 15 | 22 | 24 | 25 | 40 | 41 | 46);
    // Not in turn: the type of the frame and the protocol of the packet, which say that there is a datagram at all.
    for at in (0..frame.len()).filter(|at| !matches!(at, 12 | 13 | 23)) {
        let mut changed = frame.clone();
        changed[at] ^= 0x10;
        assert_eq!(check(&changed).unwrap_or(false), variant(at), "octet {at}");
    }
}

// Input:  a UC SEND Only packet over IPv4 with 18 octets and two pad octets (published with the tests of scapy).
// Output: written anew, the packet has the CRC 78 f3 53 f3.
#[test]
fn a_written_packet_has_its_known_crc() {
    let end = "192.168.0.7".parse().unwrap();
    let outer = Outer {
        src: std::net::SocketAddr::new(end, 49152),
        dst: std::net::SocketAddr::new(end, 4791),
        identification: 1144,
        dont_fragment: true,
    };
    let payload = hex("4630818be28935d90e9a95505401be885e500000");
    let bth = Bth::new(Qpn::wrapping(211), Psn::wrapping(13_571_856));
    let mut written = Vec::new();
    let repr = Repr { bth, transport: Transport::Other(causeway_packet::roce::Opcode(0x24), &payload) };
    repr.write(&outer, &mut written).unwrap();
    // The original says that two of the octets are pad octets; the CRC follows from that.
    assert_eq!(written.len(), 12 + 20 + 4);
    written[1] |= 0x20;
    written.truncate(32);
    let masked = [&masked_headers(&outer, 36)[..], &masked_transport(&written)].concat();
    assert_eq!(plain_crc(&masked), [0x78, 0xf3, 0x53, 0xf3]);
    written.extend_from_slice(&[0x78, 0xf3, 0x53, 0xf3]);
    assert!(Packet::parse(&written).unwrap().icrc_is_valid(&outer));
}

/// 64 ones, then the IP and UDP headers, masked.
fn masked_headers(outer: &Outer, payload_len: usize) -> Vec<u8> {
    let mut masked = vec![0xff; 8];
    let word = |value: usize| (value as u16).to_be_bytes();
    match (outer.src.ip(), outer.dst.ip()) {
        (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) => {
            masked.extend([0x45, 0xff]);
            masked.extend(word(payload_len + 28));
            masked.extend(outer.identification.to_be_bytes());
            masked.extend([if outer.dont_fragment { 0x40 } else { 0 }, 0, 0xff, 17, 0xff, 0xff]);
            masked.extend(src.octets());
            masked.extend(dst.octets());
        }
        (std::net::IpAddr::V6(src), std::net::IpAddr::V6(dst)) => {
            masked.extend([0x6f, 0xff, 0xff, 0xff]);
            masked.extend(word(payload_len + 8));
            masked.extend([17, 0xff]);
            masked.extend(src.octets());
            masked.extend(dst.octets());
        }
        _ => unreachable!("one family"),
    }
    masked.extend(outer.src.port().to_be_bytes());
    masked.extend(outer.dst.port().to_be_bytes());
    masked.extend(word(payload_len + 8));
    masked.extend([0xff, 0xff]);
    masked
}

fn masked_transport(octets: &[u8]) -> Vec<u8> {
    let mut masked = octets.to_vec();
    masked[4] = 0xff;
    masked
}

proptest! {
    // Input:  any packet between any ends.
    // Output: its CRC is that of the definition bit by bit.
    #[test]
    fn the_crc_is_that_of_the_definition(repr in any_repr(), outer in any_outer()) {
        let mut written = Vec::new();
        repr.borrowed().write(&outer, &mut written).unwrap();
        let (covered, icrc) = written.split_last_chunk::<4>().unwrap();
        let masked = [&masked_headers(&outer, written.len())[..], &masked_transport(covered)].concat();
        prop_assert_eq!(plain_crc(&masked), *icrc);
    }
}
