//! Cutting and joining, against packets that are built one by one, and against lies.

use std::collections::BTreeMap;
use std::net::IpAddr;

use causeway_packet::{Ip, IpProtocol, IpRepr, Ipv4Repr, TcpFlags, TcpRepr, UdpRepr};
use proptest::prelude::*;

use super::cut::{Cutter, Piece};
use super::join::{Kinds, Packet, Runs};
use super::virtio::{Gso, Partial, VirtioHeader};

const ALL: Kinds = Kinds { tcp: true, udp: true };

/// What the packets of a flow have in common.
#[derive(Clone, Debug)]
struct Flow {
    v6: bool,
    udp: bool,
    host: u8,
    port: u16,
    options: Vec<u8>,
    sequence: u32,
    identification: u16,
}

impl Flow {
    fn tcp4() -> Self {
        let options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        Self { v6: false, udp: false, host: 2, port: 80, options, sequence: 7, identification: 65_530 }
    }

    fn ends(&self) -> (IpAddr, IpAddr) {
        match self.v6 {
            true => (
                [0x2001, 0xdb8, 0, 0, 0, 0, 0, self.host.into()].into(),
                [0x2001, 0xdb8, 1, 0, 0, 0, 0, 1].into(),
            ),
            false => ([10, 45, 0, self.host].into(), [192, 0, 2, 1].into()),
        }
    }

    /// The packet that begins `offset` octets into the flow and is its `index`th.
    fn packet(&self, index: usize, offset: usize, flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
        let (src, dst) = self.ends();
        let mut above = Vec::new();
        if self.udp {
            UdpRepr { src_port: self.port, dst_port: 443 }.write(src, dst, payload, &mut above).unwrap();
        } else {
            let sequence = self.sequence.wrapping_add(offset as u32);
            let (src_port, dst_port) = (self.port, 443);
            TcpRepr { src_port, dst_port, sequence, acknowledgment: 9, flags, window: 1000, urgent: 0 }
                .write(src, dst, &self.options, payload, &mut above)
                .unwrap();
        }
        let protocol = if self.udp { IpProtocol::UDP } else { IpProtocol::TCP };
        let mut ip = IpRepr::new(src, dst, protocol).unwrap().with_tos(0x2a);
        if let IpRepr::V4(v4) = &mut ip {
            v4.identification = self.identification.wrapping_add(index as u16);
        }
        let mut packet = Vec::new();
        ip.write(&above, &mut packet).unwrap();
        packet
    }

    fn header(&self, segment: u16) -> VirtioHeader {
        let kind = match (self.udp, self.v6) {
            (true, _) => Gso::Udp,
            (false, false) => Gso::Tcp4,
            (false, true) => Gso::Tcp6,
        };
        let start = if self.v6 { 40 } else { 20 };
        let partial = Some(Partial { start, field: if self.udp { 6 } else { 16 } });
        VirtioHeader { gso: Some((kind, segment)), hdr_len: start, partial }
    }
}

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

/// The pieces of a packet; `None` where it is refused. Pieces above `room` octets are left out.
fn cut(packet: &[u8], header: &VirtioHeader, room: usize) -> Option<Vec<Vec<u8>>> {
    let mut cutter = Cutter::new(packet, header)?;
    let (mut pieces, mut out) = (Vec::new(), vec![0; room]);
    while let Some(piece) = cutter.next(packet, &mut out) {
        if let Piece::Packet(len) = piece {
            pieces.push(out[..len].to_vec());
        }
    }
    Some(pieces)
}

/// What is written for some packets, cut again by the kernel's rules: the packets of each run.
fn joined(packets: &[Vec<u8>], kinds: Kinds) -> Vec<Vec<Vec<u8>>> {
    let parsed: Vec<_> = packets.iter().map(|data| Packet::new(data, &Ip::parse(data).unwrap())).collect();
    let runs = Runs::of(&parsed, kinds);
    let written = runs.iter().map(|run| {
        if run.len() == 1 {
            return runs.packets(run).map(|packet| packet.data.to_vec()).collect();
        }
        let (header, mut whole) =
            runs.headers(run).map(|(header, octets)| (header, octets.to_vec())).unwrap();
        runs.payloads(run).for_each(|payload| whole.extend_from_slice(payload));
        cut(&whole, &header, 3000).unwrap()
    });
    written.collect()
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
    // Input:  a TCP or UDP packet of any length and the length to cut it by, with any flags.
    // Output: the packets that a sender would have built one by one: lengths, identifications, sequence numbers and
    //         checksums right, FIN and PSH on the last only, CWR on the first only.
    #[test]
    fn cutting_agrees_with_building(
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
        prop_assert_eq!(cut(&whole, &flow.header(segment), 5000), Some(expected));
    }

    // Input:  packets of several flows in any order: continuing or not, of one length or not, with flags, and some with
    //         a flipped bit.
    // Output: cut again, every packet is there with its octets; each flow has its order.
    #[test]
    fn what_is_joined_is_cut_into_the_same(
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

    // Input:  any header before any octets, and before a packet that is right but for a few octets.
    // Output: it is refused, or cut into pieces that hold its payload; nothing else happens.
    #[test]
    fn lies_are_refused(
        octets: [u8; 10], hdr_len: u16, segment in 0u16..9, lies in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4),
        flow in flows(), noise in proptest::collection::vec(any::<u8>(), 0..100), start in 0u16..60, field in 0u16..20,
    ) {
        let mut packet = flow.packet(0, 0, TcpFlags::ACK, &[7; 40]);
        for (at, value) in lies {
            let at = at.index(packet.len());
            packet[at] = value;
        }
        let honest = flow.header(segment);
        let lying = VirtioHeader { hdr_len, partial: Some(Partial { start, field }), ..honest };
        for header in [VirtioHeader::parse(&octets), Some(honest), Some(lying)].into_iter().flatten() {
            for packet in [&packet, &noise] {
                if header.gso.is_some_and(|(_, size)| size > 0) && let Some(pieces) = cut(packet, &header, 200) {
                    prop_assert!(!pieces.is_empty() && pieces.len() <= packet.len());
                }
            }
        }
    }
}

/// 10 full packets of a flow and a shorter one, which has the flags `last`.
fn bulk(flow: &Flow, last: TcpFlags) -> Vec<Vec<u8>> {
    let flags = |index| if index == 10 { last } else { TcpFlags::ACK };
    let len = |index| if index == 10 { 300 } else { 1000 };
    (0..11)
        .map(|index| flow.packet(index, index * 1000, flags(index), &vec![index as u8; len(index)]))
        .collect()
}

fn lengths(packets: &[Vec<u8>], kinds: Kinds) -> Vec<usize> {
    joined(packets, kinds).iter().map(Vec::len).collect()
}

// Input:  bulk of four flows, TCP and UDP over IPv4 and IPv6, packet by packet in turn.
// Output: one run each; where the kernel cuts no UDP, its datagrams go one by one.
#[test]
fn bulk_of_interleaved_flows_is_joined() {
    let flows = [(false, false), (false, true), (true, false), (true, true)].map(|(v6, udp)| Flow {
        v6,
        udp,
        ..Flow::tcp4()
    });
    let bulks = flows.each_ref().map(|flow| bulk(flow, TcpFlags::ACK | TcpFlags::PSH));
    let packets: Vec<_> = (0..11).flat_map(|n| bulks.each_ref().map(|bulk| bulk[n].clone())).collect();
    assert_eq!(lengths(&packets, ALL), [11; 4]);
    let mut without_udp = lengths(&packets, Kinds { udp: false, ..ALL });
    without_udp.sort_unstable();
    assert_eq!(without_udp, [[1; 22].as_slice(), &[11, 11]].concat());
    assert_eq!(lengths(&packets, Kinds::default()), [1; 44]);
}

// Input:  bulk in which one packet in the middle is not what would be cut: a pushed one, a wrong checksum, another
//         acknowledgment number, an identification that does not count on, one that is missing.
// Output: two runs or more, never one across it.
#[test]
fn what_would_not_be_cut_so_is_not_joined() {
    let flow = Flow::tcp4();
    let whole = bulk(&flow, TcpFlags::ACK);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packets = whole.clone();
        change(&mut packets[5]);
        lengths(&packets, ALL)
    };
    assert_eq!(
        changed(&|packet| *packet = flow.packet(5, 5000, TcpFlags::ACK | TcpFlags::PSH, &[5; 1000])),
        [6, 5]
    );
    assert_eq!(changed(&|packet| packet[1000] ^= 1), [5, 1, 5]);
    assert_eq!(changed(&|packet| packet[28] ^= 1), [5, 1, 5]);
    assert_eq!(changed(&|packet| *packet = flow.packet(6, 5000, TcpFlags::ACK, &[5; 1000])), [5, 1, 5]);
    assert_eq!(changed(&|packet| *packet = flow.packet(5, 5000, TcpFlags::ACK, &[])), [5, 1, 5]);
    assert_eq!(changed(&|packet| *packet = flow.packet(5, 6000, TcpFlags::ACK, &[5; 1000])), [5, 1, 5]);
}

// Input:  bulk of a flow, with a fragment between the same hosts in the middle, then one between others.
// Output: no packet of the flow overtakes the fragment of its hosts; the other one ends no run.
#[test]
fn nothing_overtakes_a_fragment_of_its_hosts() {
    let flow = Flow::tcp4();
    let mut packets = bulk(&flow, TcpFlags::ACK);
    let fragment = |flow: &Flow| {
        let (src, dst) = (([10, 45, 0, flow.host]).into(), [192, 0, 2, 1].into());
        let ip = Ipv4Repr { more_fragments: true, ..Ipv4Repr::new(src, dst, IpProtocol::TCP) };
        let mut packet = Vec::new();
        ip.write(&[], &[0; 64], &mut packet).unwrap();
        packet
    };
    packets.insert(8, fragment(&Flow { host: 9, ..flow.clone() }));
    packets.insert(4, fragment(&flow));
    assert_eq!(lengths(&packets, ALL), [4, 1, 7, 1]);
}

// Input:  headers that say of a TCP packet that it is UDP, IPv6, longer headers than there are octets, a checksum
//         elsewhere, nothing to cut; a packet that ends before its length says.
// Output: each is refused, but the truth is not.
#[test]
fn each_lie_is_refused() {
    let flow = Flow::tcp4();
    let packet = flow.packet(0, 0, TcpFlags::ACK, &[1; 100]);
    let truth = flow.header(10);
    assert_eq!(cut(&packet, &truth, 100).map(|pieces| pieces.len()), Some(10));
    let lies = [
        VirtioHeader { gso: Some((Gso::Udp, 10)), ..truth },
        VirtioHeader { gso: Some((Gso::Tcp6, 10)), ..truth },
        VirtioHeader { gso: None, ..truth },
        VirtioHeader { hdr_len: 200, ..truth },
        VirtioHeader { partial: Some(Partial { start: 24, field: 16 }), ..truth },
        VirtioHeader { partial: Some(Partial { start: 20, field: 6 }), ..truth },
    ];
    for lie in lies {
        assert_eq!(cut(&packet, &lie, 100), None, "{lie:?}");
    }
    assert_eq!(cut(&packet[..120], &truth, 100), None);
    assert_eq!(cut(&flow.packet(0, 0, TcpFlags::ACK, &[]), &truth, 100), None);
    assert_eq!(cut(&packet, &truth, 50), Some(Vec::new()));
}

// Input:  a UDP packet without a checksum, which only IPv4 allows, that is to be cut.
// Output: its pieces have none either.
#[test]
fn datagrams_without_checksum_stay_so() {
    let flow = Flow { udp: true, ..Flow::tcp4() };
    let mut packet = flow.packet(0, 0, TcpFlags::ACK, &[1; 100]);
    packet[26..28].fill(0);
    let pieces = cut(&packet, &flow.header(60), 100).unwrap();
    assert!(pieces.len() == 2 && pieces.iter().all(|piece| piece[26..28] == [0, 0]));
}
