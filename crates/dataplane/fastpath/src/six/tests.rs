//! What is read of an IPv6 packet is what the parser of all packets finds.

use causeway_packet::UserPacket;
use proptest::prelude::*;

use super::*;
use crate::choose::DOWNLINK;
use crate::own::MayBeV6;
use crate::packet::User;

/// An IPv6 packet with these extension headers, each of so many units beyond the first, and UDP or something else behind them.
fn packet(kinds: &[(u8, u8)], protocol: u8, behind: usize) -> Vec<u8> {
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
    packet.extend((0..behind).map(|at| at as u8));
    let payload = packet.len() as u16 - 40;
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    packet
}

fn kind() -> impl Strategy<Value = (u8, u8)> {
    (prop_oneof![Just(60_u8), Just(60), Just(43), Just(0), Just(44)], 0..3_u8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 4096 }))]

    // Input:  packets with up to ten extension headers, of which one octet may be changed, in frames that may be cut.
    // Output: what is read has length, hops, ports, protocol and prefixes as the parser finds them; what is broken is so to the
    //         parser.
    #[test]
    fn packets_are_what_the_parser_finds(
        kinds in proptest::collection::vec(kind(), 0..10),
        protocol in prop_oneof![Just(17_u8), Just(6), Just(50), Just(59), any::<u8>()],
        behind in 0..24_usize,
        change in (0..120_usize, any::<u8>()),
        cut in 0..200_usize,
    ) {
        let mut octets = packet(&kinds, protocol, behind);
        if let Some(octet) = octets.get_mut(change.0).filter(|_| change.0 > 0) {
            *octet = change.1;
        }
        octets.truncate(octets.len().max(cut));
        if cut < 40 {
            octets.truncate(octets.len() - cut % 8);
        }
        let mut plains = Plains::new();
        plains.begin(1, false);
        let place = Place { start: 0, end: octets.len() as u32, qfi: None, outer: 0 };
        match read::<DOWNLINK>(&mut plains, 0, (&octets, place), MayBeV6::default()) {
            Read::Six => {
                let user = User::parse(&octets).unwrap();
                let flow = UserPacket::parse(&octets).unwrap().flow;
                prop_assert_eq!((plains.lens[0], plains.forks[0]), (user.len, Fork::Six));
                let prefixes = (plains.prefixes[0], plains.far_prefixes[0]);
                prop_assert_eq!(prefixes, (User::prefix(user.dst), User::prefix(user.src)));
                let ports = flow.ports.map(|ports| u32::from(ports.src) | u32::from(ports.dst) << 16);
                let gist = Gist::v6((user.src >> 96) as u32, ports, flow.protocol.0, flow.tos);
                prop_assert_eq!(plains.gist(0).without_ue(), gist);
                let flaws = plains.flaws[0] as u8;
                prop_assert_eq!(flaws & flaw::LAST_HOP != 0, user.hops <= 1);
                prop_assert_eq!(flaws & flaw::LINK != 0, user.is_of_link());
                let [a, b, c, hops] = plains.hops[0].to_le_bytes();
                prop_assert_eq!(([a, b, c], hops), ([octets[4], octets[5], octets[6]], user.hops.wrapping_sub(1)));
            }
            Read::Broken => prop_assert_eq!(User::parse(&octets), None),
            Read::Other => {}
        }
    }
}

// Input:  a packet without extension headers, one with eight, one with nine, and one with a Fragment header.
// Output: the first two are read, the third is broken, the last is for others.
#[test]
fn chains_of_eight_are_read() {
    let read_of = |kinds: &[(u8, u8)]| {
        let octets = packet(kinds, 17, 8);
        let place = Place { start: 0, end: octets.len() as u32, qfi: None, outer: 0 };
        read::<DOWNLINK>(&mut Plains::new(), 0, (&octets, place), MayBeV6::default())
    };
    assert_eq!(read_of(&[]), Read::Six);
    assert_eq!(read_of(&[(60, 0); 8]), Read::Six);
    assert_eq!(read_of(&[(60, 0); 9]), Read::Broken);
    assert_eq!(read_of(&[(60, 0), (44, 0)]), Read::Other);
}
