//! Bulk traffic of a few flows, and packets that end a run.

use causeway_packet::{IpProtocol, Ipv4Repr, TcpFlags};

use super::super::coalesce::GsoKinds;
use super::super::virtio::{Gso, PartialChecksum, VirtioHeader};
use super::{ALL, Flow, joined, segments_of};

/// 10 full packets of a flow and a shorter one, which has the flags `last`.
fn bulk(flow: &Flow, last: TcpFlags) -> Vec<Vec<u8>> {
    let flags = |index| if index == 10 { last } else { TcpFlags::ACK };
    let len = |index| if index == 10 { 300 } else { 1000 };
    (0..11)
        .map(|index| flow.packet(index, index * 1000, flags(index), &vec![index as u8; len(index)]))
        .collect()
}

fn lengths(packets: &[Vec<u8>], kinds: GsoKinds) -> Vec<usize> {
    joined(packets, kinds).iter().map(Vec::len).collect()
}

// Input:  bulk traffic of four flows, TCP and UDP over IPv4 and IPv6, packet by packet in turn.
// Output: one run each; where the kernel does not segment UDP, its datagrams are sent singly.
#[test]
fn interleaved_flows_are_coalesced() {
    let flows = [(false, false), (false, true), (true, false), (true, true)].map(|(v6, udp)| Flow {
        v6,
        udp,
        ..Flow::tcp4()
    });
    let bulks = flows.each_ref().map(|flow| bulk(flow, TcpFlags::ACK | TcpFlags::PSH));
    let packets: Vec<_> = (0..11).flat_map(|n| bulks.each_ref().map(|bulk| bulk[n].clone())).collect();
    assert_eq!(lengths(&packets, ALL), [11; 4]);
    let mut without_udp = lengths(&packets, GsoKinds { udp: false, ..ALL });
    without_udp.sort_unstable();
    assert_eq!(without_udp, [[1; 22].as_slice(), &[11, 11]].concat());
    assert_eq!(lengths(&packets, GsoKinds::default()), [1; 44]);
}

// Input:  bulk traffic in which one packet in the middle differs from a segment: PSH set, a wrong checksum, another
//         acknowledgment number, an identification that does not count up, a missing packet.
// Output: two runs or more, never one across it.
#[test]
fn only_reversible_runs_are_coalesced() {
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

// Input:  bulk traffic of a flow, with a fragment between the same hosts in the middle, then one between others.
// Output: no packet of the flow overtakes the fragment of its hosts; the other one ends no run.
#[test]
fn fragments_keep_their_order() {
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

// Input:  headers that contradict a TCP packet: UDP, IPv6, longer headers than its octets, another checksum offset,
//         nothing to segment; a packet shorter than its length field.
// Output: each is rejected, the right one is not.
#[test]
fn inconsistent_virtio_headers_are_refused() {
    let flow = Flow::tcp4();
    let packet = flow.packet(0, 0, TcpFlags::ACK, &[1; 100]);
    let truth = flow.header(10);
    assert_eq!(segments_of(&packet, &truth, 100).map(|pieces| pieces.len()), Some(10));
    let lies = [
        VirtioHeader { gso: Some((Gso::Udp, 10)), ..truth },
        VirtioHeader { gso: Some((Gso::Tcp6, 10)), ..truth },
        VirtioHeader { gso: None, ..truth },
        VirtioHeader { hdr_len: 200, ..truth },
        VirtioHeader { partial: Some(PartialChecksum { start: 24, field: 16 }), ..truth },
        VirtioHeader { partial: Some(PartialChecksum { start: 20, field: 6 }), ..truth },
    ];
    for lie in lies {
        assert_eq!(segments_of(&packet, &lie, 100), None, "{lie:?}");
    }
    assert_eq!(segments_of(&packet[..120], &truth, 100), None);
    assert_eq!(segments_of(&flow.packet(0, 0, TcpFlags::ACK, &[]), &truth, 100), None);
    assert_eq!(segments_of(&packet, &truth, 50), Some(Vec::new()));
}

// Input:  a UDP packet without a checksum, which only IPv4 allows, to be segmented.
// Output: its segments have none either.
#[test]
fn datagrams_without_checksum_stay_so() {
    let flow = Flow { udp: true, ..Flow::tcp4() };
    let mut packet = flow.packet(0, 0, TcpFlags::ACK, &[1; 100]);
    packet[26..28].fill(0);
    let pieces = segments_of(&packet, &flow.header(60), 100).unwrap();
    assert!(pieces.len() == 2 && pieces.iter().all(|piece| piece[26..28] == [0, 0]));
}
