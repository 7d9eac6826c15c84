//! TCP segments with changed sequence numbers and inserted octets.

use std::net::IpAddr;

use causeway_packet::{IpProtocol, IpRepr, Tcp, TcpFlags, TcpPacket, TcpRepr, UserPacket};
use proptest::collection::vec;
use proptest::prelude::*;

fn built(v6: bool, sequence: u32, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let ends = if v6 { ["2001:db8::1", "2001:db8::2"] } else { ["10.45.0.2", "192.0.2.1"] };
    let [src, dst]: [IpAddr; 2] = ends.map(|ip| ip.parse().unwrap());
    let flags = TcpFlags::ACK;
    let repr =
        TcpRepr { src_port: 1, dst_port: 80, sequence, acknowledgment: 9, flags, window: 1, urgent: 0 };
    let (mut segment, mut packet) = (Vec::new(), Vec::new());
    repr.write(src, dst, options, payload, &mut segment).unwrap();
    IpRepr::new(src, dst, IpProtocol::TCP).unwrap().write(&segment, &mut packet).unwrap();
    packet
}

fn open(packet: &[u8]) -> Option<TcpPacket> {
    TcpPacket::open(&UserPacket::parse(packet).ok()?)
}

proptest! {
    // Input:  any segment, over both IP versions, with a new sequence number and inserted octets.
    // Output: the same as a packet built with these values: lengths and checksums are valid.
    #[test]
    fn a_changed_segment_equals_one_built_so(
        v6: bool, numbers: [u32; 2], payload in vec(any::<u8>(), 0..40), more in vec(any::<u8>(), 0..40), at in 0..50_usize,
    ) {
        let mut segment = open(&built(v6, numbers[0], &[], &payload)).unwrap();
        segment.set_sequence(numbers[1]);
        segment.insert(at, &more);
        let at = at.min(payload.len());
        let whole = [&payload[..at], &more, &payload[at..]].concat();
        prop_assert_eq!(segment.into_bytes().unwrap(), built(v6, numbers[1], &[], &whole));
    }

    // Input:  any octets as options, and any packet with one octet changed.
    // Output: no panic; a segment with an invalid checksum is not opened.
    #[test]
    fn hostile_segments_are_harmless(options in vec(any::<u8>(), 40), at in 20..60_usize, change in 1_u8..) {
        let mut packet = built(false, 1, &options, b"abc");
        let mut segment = open(&packet).unwrap();
        segment.map_sack(|left, right| (left.wrapping_add(1), right.wrapping_sub(1)));
        prop_assert!(segment.into_bytes().is_some());
        packet[at] ^= change;
        prop_assert_eq!(open(&packet), None);
    }
}

// Input:  two blocks of SACK after a timestamp.
// Output: both are changed, the timestamp is not.
#[test]
fn every_sack_block_is_changed() {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18];
    options.extend([10_u32, 20, 30, 40].map(u32::to_be_bytes).concat());
    let mut segment = open(&built(false, 1, &options, &[])).unwrap();
    assert!(segment.has_option(8) && !segment.has_option(19));
    segment.map_sack(|left, right| (left - 1, right + 1));
    let packet = segment.into_bytes().unwrap();
    let user = UserPacket::parse(&packet).unwrap();
    options.splice(16.., [9_u32, 21, 29, 41].map(u32::to_be_bytes).concat());
    assert_eq!(Tcp::parse(user.transport()).unwrap().options(), options);
}
