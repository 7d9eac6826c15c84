use causeway_packet::BATCH;
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_types::{Direction, Qfi, Teid};
use proptest::prelude::*;

use super::fields::decrement_ttl;
use super::*;
use crate::batch::state::{BatchState, HALF_BATCH, PacketState, packet_flag};
use crate::batch::state::{DOWNLINK, UPLINK};
use crate::classify::filters::Compare;
use crate::classify::prediction::ClassifierPrediction;
use crate::parse::address_filter::Ipv4Prefilter;
use crate::parse::g_pdu::GPdu;
use crate::parse::user_header;

const UE: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [198, 51, 100, 9];

/// A message with a QFI, or without extension headers.
fn message(has_container: bool) -> Vec<u8> {
    let teid = Teid::new(0x1234_5678).unwrap();
    let user = user(UE, SERVER);
    let mut message = prefix::uplink(teid, Qfi::new(9).unwrap(), user.len()).unwrap().to_vec();
    if !has_container {
        message.truncate(8);
        (message[0], message[3]) = (0x30, user.len() as u8);
    }
    message.extend(user);
    message
}

fn user(src: [u8; 4], dst: [u8; 4]) -> Vec<u8> {
    let header = Ipv4Repr::new(src.into(), dst.into(), IpProtocol::UDP).header(20).unwrap();
    let udp = UdpRepr { src_port: 40_000, dst_port: 8000 }.header_without_checksum(12).unwrap();
    [&header[..], &udp, &[0; 12]].concat()
}

/// What each implementation parses of a frame at some place of a batch; `None`: it is not common. Other octets follow
/// the frame.
fn read<const IS_UPLINK: bool>(frame: &[u8], index: usize) -> Option<(PacketState, u32)> {
    let mut buffer = [0xa5; 64];
    let shown = frame.len().min(64);
    buffer[..shown].copy_from_slice(&frame[..shown]);
    let read = Compare::available().map(|compare| {
        let (mut headers, mut state) = (BatchHeaders::new(), BatchState::new());
        headers.clear();
        state.reset(BATCH, false);
        match IS_UPLINK {
            UPLINK => headers.push_message(index, buffer.first_chunk().unwrap(), frame.len(), (1, 0)),
            _ => headers.push_packet(index, buffer.first_chunk().unwrap(), frame.len(), 0x101),
        }
        let (prediction, blocked) = (&ClassifierPrediction::default(), Ipv4Prefilter::default());
        compare.run(HeaderReading::<IS_UPLINK, 0> {
            headers: &mut headers,
            state: &mut state,
            prediction,
            blocked,
        });
        compare.run(HeaderReading::<IS_UPLINK, HALF_BATCH> {
            headers: &mut headers,
            state: &mut state,
            prediction,
            blocked,
        });
        assert!((0..BATCH).all(|other| other == index || state.is_common[other] == 0));
        (state.is_common[index] != 0).then(|| (state.at(index), state.lens[index]))
    });
    let all: Vec<_> = read.collect();
    let texts: Vec<_> = all.iter().map(|read| format!("{read:?}")).collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    all[0]
}

/// Compares this with the parser for packets of all kinds.
fn compare_with_parser<const IS_UPLINK: bool>(frame: &[u8], (common, len): (PacketState, u32)) {
    let (direction, start, qfi, key) = match IS_UPLINK {
        UPLINK => {
            let tunnelled = GPdu::parse(frame).unwrap();
            assert!(tunnelled.is_common && usize::from(tunnelled.end) <= frame.len());
            (Direction::Uplink, tunnelled.start, tunnelled.qfi, tunnelled.teid)
        }
        _ => (Direction::Downlink, 0, None, u32::from_be_bytes(*frame[16..20].first_chunk().unwrap())),
    };
    let bytes = &frame[usize::from(start)..];
    let user = user_header::UserHeader::parse(bytes).unwrap();
    assert_eq!((common.start, len, common.id as u32), (start.into(), user.len, key));
    let key = user.key(bytes, direction, qfi, (false, false)).unwrap();
    assert_eq!(crate::classify::filters::FullPacketKey::of_v4(common.key, common.local), key.without_spi());
    let is = |flaw: u8| common.flags & flaw != 0;
    assert_eq!(
        (is(packet_flag::BAD_CHECKSUM), is(packet_flag::TTL_EXPIRES), is(packet_flag::LINK_SCOPED)),
        (user.has_bad_checksum, user.hops <= 1, user.is_link_scoped())
    );
}

// Input:  messages with and without a QFI and a packet, as they are, and one octet shorter.
// Output: the whole ones are common and equal the parser's result; the others are not common.
#[test]
fn well_formed_packets_take_the_batch_path() {
    for frame in [message(true), message(false)] {
        compare_with_parser::<UPLINK>(&frame, read::<UPLINK>(&frame, 3).unwrap());
        assert!(read::<UPLINK>(&frame[..frame.len() - 1], 3).is_none());
    }
    let frame = user(SERVER, UE);
    compare_with_parser::<DOWNLINK>(&frame, read::<DOWNLINK>(&frame, 31).unwrap());
    assert!(read::<DOWNLINK>(&frame[..frame.len() - 1], 31).is_none());
}

// Input:  a message with every pair of inner and outer ECN.
// Output: it is common where the inner one stays the same; of the others, only packets that are not ECN-capable are
//         dropped.
#[test]
fn ecn_updates_leave_the_batch_path() {
    let is_common = |outer: u32, inner: u8| {
        let mut frame = message(true);
        frame[17] = 0xb8 | inner;
        let (mut headers, mut state) = (BatchHeaders::new(), BatchState::new());
        headers.push_message(0, frame.first_chunk().unwrap(), frame.len(), (1, outer));
        let (prediction, blocked) = (&ClassifierPrediction::default(), Ipv4Prefilter::default());
        Compare::best().run(HeaderReading::<UPLINK, 0> {
            headers: &mut headers,
            state: &mut state,
            prediction,
            blocked,
        });
        state.is_common[0] != 0
    };
    for (outer, common) in
        (0..).zip([[true; 4], [true, true, false, true], [true; 4], [false, false, false, true]])
    {
        for (inner, common) in (0..).zip(common) {
            assert_eq!(is_common(outer, inner), common, "outer {outer}, inner {inner}");
            assert_eq!(ecn::drops(outer, inner.into()), (outer, inner) == (3, 0));
        }
    }
}

// Input:  headers of all TTLs above one with many identifications, right and with one octet changed.
// Output: the right ones have a valid checksum, and change like those of the library; the others do not.
#[test]
fn ttl_decrement_keeps_the_checksum_valid() {
    for ttl in 2..=u8::MAX {
        for id in (0..=u16::MAX).step_by(if cfg!(miri) { 8191 } else { 257 }) {
            let repr = Ipv4Repr::new([10, 0, 0, 1].into(), [198, 51, 100, 9].into(), IpProtocol::UDP);
            let mut header = repr.header(100).unwrap();
            [header[4], header[5]] = id.to_be_bytes();
            header[8] = ttl;
            [header[10], header[11]] = [0, 0];
            let sum = causeway_packet::checksum::checksum(&header);
            [header[10], header[11]] = sum.to_be_bytes();
            assert!(has_valid_checksum(&header));
            let mut expected = header;
            decrement_hop_limit(&mut expected).unwrap();
            let mut damaged = header;
            damaged[usize::from(ttl) % 20] ^= 1 << (id % 8);
            let word = u32::from_le_bytes(*header[8..12].first_chunk().unwrap());
            header[8..12].copy_from_slice(&decrement_ttl(word).to_le_bytes());
            assert_eq!(
                (header, has_valid_checksum(&header), has_valid_checksum(&damaged)),
                (expected, true, false)
            );
        }
    }
}

// Input:  packets of every protocol, whole, the first fragment, later ones, and one beyond the end of the largest
//         packet.
// Output: all are common and equal the parser's result except the Security Parameter Index, and packets that the parser
//         refuses.
#[test]
fn all_protocols_and_fragments_take_the_batch_path() {
    for protocol in 0..=u8::MAX {
        for field in [0_u16, 0x4000, 0x8000, 0x2000, 0x2001, 0x0007, 0x1fff] {
            let mut frame = user(SERVER, UE);
            frame[9] = protocol;
            frame[6..8].copy_from_slice(&field.to_be_bytes());
            let read = read::<DOWNLINK>(&frame, 5);
            assert_eq!(read.is_some(), field != 0x1fff, "{protocol} {field:x}");
            assert_eq!(user_header::UserHeader::parse(&frame).is_some(), field != 0x1fff);
            read.into_iter().for_each(|read| compare_with_parser::<DOWNLINK>(&frame, read));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 4096 }))]

    // Input:  such packets with up to three octets changed, to significant values or to any.
    // Output: packets that are taken as common equal the parser's result.
    #[test]
    fn batch_parse_equals_the_general_parser(
        has_container: bool,
        changes in proptest::collection::vec((0..44_usize, prop_oneof![any::<u8>(), Just(0), Just(1), Just(0xa9), Just(0xfe)]), 0..4),
        index in 0..BATCH,
    ) {
        let change = |mut frame: Vec<u8>| {
            for (at, octet) in &changes {
                frame.get_mut(*at).into_iter().for_each(|place| *place = *octet);
            }
            frame
        };
        let frame = change(message(has_container));
        if let Some(read) = read::<UPLINK>(&frame, index) {
            compare_with_parser::<UPLINK>(&frame, read);
        }
        let frame = change(user(SERVER, UE));
        if let Some(read) = read::<DOWNLINK>(&frame, index) {
            compare_with_parser::<DOWNLINK>(&frame, read);
        }
    }
}
