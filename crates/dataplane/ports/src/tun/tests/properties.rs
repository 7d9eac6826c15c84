//! Any packets of any flows, and any contradictory headers.

use std::collections::BTreeMap;

use causeway_packet::{Ip, TcpFlags};
use proptest::prelude::*;

use super::super::virtio::{PartialChecksum, VirtioHeader};
use super::{ALL, Flow, joined, segments_of};

fn flows() -> impl Strategy<Value = Flow> {
    let options = prop_oneof![Just(Vec::new()), Just(vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2])];
    (any::<bool>(), any::<bool>(), 1u8..4, 1u16..3, options, any::<u32>(), any::<u16>()).prop_map(
        |(v6, udp, host, port, options, sequence, identification)| Flow {
            v6,
            udp,
            host,
            port,
            options,
            sequence,
            identification,
        },
    )
}

/// The packets of each pair of hosts and ports, in order. A packet without ports counts for its hosts.
fn by_flow<'a>(packets: impl Iterator<Item = &'a Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    for packet in packets {
        let ends = if packet[0] >> 4 == 4 {
            [&packet[9..10], &packet[12..24]]
        } else {
            [&packet[6..7], &packet[8..44]]
        };
        flows.entry(ends.concat()).or_default().push(packet.clone());
    }
    flows
}

proptest! {
    // Input:  a TCP or UDP packet of any length and any segment length, with any flags.
    // Output: the packets that a sender would have built one by one: lengths, identifications, sequence numbers and
    //         checksums right, FIN and PSH on the last only, CWR on the first only.
    #[test]
    fn segmentation_equals_building_packets(
        flow in flows(), payload in proptest::collection::vec(any::<u8>(), 1..4000), segment in 1u16..1500, flags: u8,
    ) {
        let flags = TcpFlags::from_bits_retain(flags);
        let whole = flow.packet(0, 0, flags, &payload);
        let count = payload.chunks(segment.into()).count();
        let mut expected = Vec::new();
        for (index, part) in payload.chunks(segment.into()).enumerate() {
            let mut own = flags;
            if index > 0 { own -= TcpFlags::CWR; }
            if index + 1 < count { own -= TcpFlags::FIN | TcpFlags::PSH; }
            expected.push(flow.packet(index, index * usize::from(segment), own, part));
        }
        prop_assert_eq!(segments_of(&whole, &flow.header(segment), 5000), Some(expected));
    }

    // Input:  packets of several flows in any order: consecutive or not, of one length or not, with flags, and some
    //         with a flipped bit.
    // Output: after segmentation, every packet is there with its octets; each flow has its order.
    #[test]
    fn segmentation_reverses_coalescing(
        flows in proptest::collection::vec(flows(), 1..4),
        steps in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![8 => Just(500usize), 1 => 0usize..600],
             prop_oneof![8 => Just(0x10u8), 1 => Just(0x18), 1 => any::<u8>()],
             prop_oneof![12 => Just(None), 1 => any::<(prop::sample::Index, u8)>().prop_map(Some)],
             prop_oneof![12 => Just(1usize), 1 => Just(2)]),
            1..64),
    ) {
        let mut places = vec![(0usize, 0usize); flows.len()];
        let mut packets = Vec::new();
        for (which, len, flags, flip, step) in steps {
            let which = which.index(flows.len());
            let (index, offset) = &mut places[which];
            let payload: Vec<u8> = (0..len).map(|n| (n + packets.len()) as u8).collect();
            let mut packet = flows[which].packet(*index, *offset, TcpFlags::from_bits_retain(flags), &payload);
            (*index, *offset) = (*index + step, *offset + len * step);
            if let Some((at, bit)) = flip {
                let at = at.index(packet.len());
                packet[at] ^= 1 << (bit % 8);
            }
            if Ip::parse(&packet).is_ok() {
                packets.push(packet);
            }
        }
        let written = joined(&packets, ALL);
        prop_assert_eq!(by_flow(written.iter().flatten()), by_flow(packets.iter()));
    }

    // Input:  any header before any octets, and before a packet that is right except for a few octets.
    // Output: it is rejected, or segmented into packets with its payload; nothing else happens.
    #[test]
    fn contradictory_headers_are_rejected(
        octets: [u8; 10], hdr_len: u16, segment in 0u16..9, lies in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4),
        flow in flows(), noise in proptest::collection::vec(any::<u8>(), 0..100), start in 0u16..60, field in 0u16..20,
    ) {
        let mut packet = flow.packet(0, 0, TcpFlags::ACK, &[7; 40]);
        for (at, value) in lies {
            let at = at.index(packet.len());
            packet[at] = value;
        }
        let honest = flow.header(segment);
        let lying = VirtioHeader { hdr_len, partial: Some(PartialChecksum { start, field }), ..honest };
        for header in [VirtioHeader::parse(&octets), Some(honest), Some(lying)].into_iter().flatten() {
            for packet in [&packet, &noise] {
                if header.gso.is_some_and(|(_, size)| size > 0) && let Some(pieces) = segments_of(packet, &header, 200) {
                    prop_assert!(!pieces.is_empty() && pieces.len() <= packet.len());
                }
            }
        }
    }
}
