//! The IPv6 parser of the batch agrees with the parser of all packets.

use causeway_packet::UserPacket;
use proptest::prelude::*;

use super::*;
use crate::batch::state::DOWNLINK;
use crate::parse::address_filter::Ipv6Prefilter;
use crate::parse::user_header::UserHeader;

/// An IPv6 packet with these extension headers, each of this many units beyond the first, before UDP or another
/// protocol.
fn packet(kinds: &[(u8, u8)], protocol: u8, payload_start: usize) -> Vec<u8> {
    let mut packet = vec![0x61, 0x23, 0x45, 0x67, 0, 0, 0, 64];
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4]);
    let mut next = 6;
    for (kind, units) in kinds {
        packet[next] = *kind;
        next = packet.len();
        packet.extend(vec![0; 8 + usize::from(*units) * 8]);
        packet[next + 1] = *units;
    }
    packet[next] = protocol;
    packet.extend((0..payload_start).map(|at| at as u8));
    let payload = packet.len() as u16 - 40;
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    packet
}

fn kind() -> impl Strategy<Value = (u8, u8)> {
    (prop_oneof![Just(60_u8), Just(60), Just(43), Just(0), Just(44)], 0..3_u8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 4096 }))]

    // Input:  packets with up to ten extension headers, of which one octet may be changed, in frames that may be
    //         truncated.
    // Output: length, hops, ports, protocol and prefixes equal those of the parser; malformed packets are so to the
    //         parser.
    #[test]
    fn ipv6_parse_equals_the_general_parser(
        kinds in proptest::collection::vec(kind(), 0..10),
        protocol in prop_oneof![Just(17_u8), Just(6), Just(50), Just(59), any::<u8>()],
        payload_start in 0..24_usize,
        change in (0..120_usize, any::<u8>()),
        cut in 0..200_usize,
    ) {
        let mut octets = packet(&kinds, protocol, payload_start);
        if let Some(octet) = octets.get_mut(change.0).filter(|_| change.0 > 0) {
            *octet = change.1;
        }
        octets.truncate(octets.len().max(cut));
        if cut < 40 {
            octets.truncate(octets.len() - cut % 8);
        }
        let mut state = BatchState::new();
        state.reset(1, false);
        let place = UserPacketOffset { start: 0, end: octets.len() as u32, qfi: None, outer: 0 };
        match read::<DOWNLINK>(&mut state, 0, (&octets, place), Ipv6Prefilter::default()) {
            ParseOutcome::Ipv6 => {
                let user = UserHeader::parse(&octets).unwrap();
                let flow = UserPacket::parse(&octets).unwrap().flow;
                prop_assert_eq!((state.lens[0], state.next_stages[0]), (user.len, NextStage::Ipv6));
                let prefixes = (state.prefixes[0], state.remote_prefixes[0]);
                prop_assert_eq!(prefixes, (UserHeader::prefix(user.dst), UserHeader::prefix(user.src)));
                let ports = flow.ports.map(|ports| u32::from(ports.src) | u32::from(ports.dst) << 16);
                let packet_key = PacketKey::v6((user.src >> 96) as u32, ports, flow.protocol.0, flow.tos);
                prop_assert_eq!(state.packet_key(0).without_ue(), packet_key);
                let flaws = state.flags[0] as u8;
                prop_assert_eq!(flaws & packet_flag::TTL_EXPIRES != 0, user.hops <= 1);
                prop_assert_eq!(flaws & packet_flag::LINK_SCOPED != 0, user.is_link_scoped());
                let [a, b, c, hops] = state.hops[0].to_le_bytes();
                prop_assert_eq!(([a, b, c], hops), ([octets[4], octets[5], octets[6]], user.hops.wrapping_sub(1)));
            }
            ParseOutcome::Malformed => prop_assert_eq!(UserHeader::parse(&octets), None),
            ParseOutcome::GeneralPath => {}
        }
    }
}

// Input:  a packet without extension headers, one with eight, one with nine, and one with a Fragment header.
// Output: the first two are parsed, the third is malformed, the last takes the general path.
#[test]
fn eight_extension_headers_are_parsed() {
    let read_of = |kinds: &[(u8, u8)]| {
        let octets = packet(kinds, 17, 8);
        let place = UserPacketOffset { start: 0, end: octets.len() as u32, qfi: None, outer: 0 };
        read::<DOWNLINK>(&mut BatchState::new(), 0, (&octets, place), Ipv6Prefilter::default())
    };
    assert_eq!(read_of(&[]), ParseOutcome::Ipv6);
    assert_eq!(read_of(&[(60, 0); 8]), ParseOutcome::Ipv6);
    assert_eq!(read_of(&[(60, 0); 9]), ParseOutcome::Malformed);
    assert_eq!(read_of(&[(60, 0), (44, 0)]), ParseOutcome::GeneralPath);
}
