use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{GtpuEndpoint, Network, Topology};
use causeway_packet::gtpu::{self, Message, PduSession};
use causeway_packet::{Frame, Meta};
use causeway_slowpath::Limits;
use causeway_types::{Direction, DualIp, NetworkInstance};
use proptest::prelude::*;

use super::*;
use crate::classify::filters::FullPacketKey;
use crate::parse::ecn;
use crate::parse::user_header::UserHeader;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const PDU_SESSION: u8 = gtpu::extension_type::PDU_SESSION_CONTAINER;

fn engine() -> FastPath {
    let network = Network::new(NetworkInstance::new("internet"), vec!["10.0.0.0/24".parse().unwrap()]);
    let gtpu = vec![GtpuEndpoint::new(DualIp::from(UPF))];
    let topology = Topology { gtpu, networks: vec![network], ..Topology::default() };
    FastPath::new(topology, Limits { max_sessions: 4, ..Limits::default() }).unwrap()
}

fn by_gtpu(tos: u8) -> Meta {
    let peer = SocketAddr::new([198, 51, 100, 1].into(), 2152);
    Meta::Gtpu { local: IpAddr::V4(UPF), peer, tos, hops: None }
}

/// UDP behind this many words of options.
fn user(options: usize) -> Vec<u8> {
    let len = (28 + 4 * options) as u8;
    let head =
        [0x45 + options as u8, 0, 0, len, 0, 7, 0, 0, 64, 17, 0x12, 0x34, 10, 0, 0, 1, 198, 51, 100, 9];
    [&head[..], &vec![1; 4 * options], &[0x9c, 0x40, 0x1f, 0x40, 0, 8, 0, 0]].concat()
}

/// Sets the right checksum of the header.
fn sum_up(packet: &mut [u8]) {
    let end = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    if let (Some(header), true) = (packet.get_mut(..end), end >= 20) {
        header[10..12].fill(0);
        let sum = causeway_packet::checksum::checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// In a tunnel, with extension headers of these types, one word each.
fn tunnelled(kinds: &[u8], user: &[u8]) -> Vec<u8> {
    let mut message = vec![if kinds.is_empty() { 0x30 } else { 0x34 }, 255, 0, 0, 0, 0, 0, 0x11];
    if !kinds.is_empty() {
        message.extend([0; 3]);
        for kind in kinds {
            message.extend([*kind, 1, if *kind == PDU_SESSION { 0x10 } else { 7 }, 9]);
        }
        message.push(0);
    }
    message.extend(user);
    let len = message.len() as u16 - 8;
    message[2..4].copy_from_slice(&len.to_be_bytes());
    message
}

/// The parse results for packets of one direction: of the first batch, and of one that follows such a batch.
fn read<const IS_UPLINK: bool>(engine: &FastPath, frames: &[(Meta, Vec<u8>)]) -> [BatchScratch; 2] {
    let mut batch = Batch::new();
    for (meta, data) in frames {
        assert!(batch.push(Frame { meta: *meta, data }));
    }
    [1, 2].map(|rounds| {
        let mut scratch = BatchScratch::new();
        for _ in 0..rounds {
            let mut general = GeneralPackets::new();
            scratch.reset(batch.len(), false);
            engine.parse_and_look_up::<IS_UPLINK>(0, &batch, &mut scratch, &mut general);
        }
        scratch
    })
}

/// A packet that is taken as common equals the parsers' result, both times.
fn compare<const IS_UPLINK: bool>(scratches: &[BatchScratch; 2], index: usize, frame: &(Meta, Vec<u8>)) {
    scratches.iter().for_each(|scratch| compare_one::<IS_UPLINK>(scratch, index, frame));
    let forks = scratches
        .each_ref()
        .map(|scratch| (scratch.state.next_stages[index], scratch.state.is_common[index]));
    assert_eq!(forks[0], forks[1], "{frame:02x?}");
}

fn compare_one<const IS_UPLINK: bool>(
    BatchScratch { state, .. }: &BatchScratch,
    index: usize,
    (meta, frame): &(Meta, Vec<u8>),
) {
    if state.is_common[index] == 0 || state.next_stages[index] != NextStage::Lookup {
        return;
    }
    let common = state.at(index);
    let (direction, outer, user, qfi) = match (IS_UPLINK, meta) {
        (UPLINK, Meta::Gtpu { tos, .. }) => {
            let packet = gtpu::Packet::parse(frame).unwrap();
            let Message::GPdu(user) = packet.message else { panic!("no G-PDU: {frame:02x?}") };
            let qfi = packet.extensions.pdu_session().as_ref().map(PduSession::qfi);
            let has_unsupported_extension = packet.extensions.first_not_comprehended().is_some();
            assert_eq!(
                common.flags & packet_flag::ALWAYS_DROPPED == packet_flag::UNSUPPORTED_EXTENSION,
                has_unsupported_extension,
                "{frame:02x?}"
            );
            if has_unsupported_extension {
                return;
            }
            assert_eq!(common.start as usize, packet.body_offset);
            (Direction::Uplink, tos & 0x03, user, qfi)
        }
        _ => (Direction::Downlink, 0, &frame[..], None),
    };
    let is = |flaw: u8| common.flags & flaw != 0;
    let Some(parsed) = UserHeader::parse(user) else {
        assert!(is(packet_flag::MALFORMED), "{frame:02x?}");
        return;
    };
    assert!(!is(packet_flag::MALFORMED), "{frame:02x?}");
    let inner = parsed.tos & 0x03;
    let is_ecn_drop = ecn::drops(outer.into(), inner.into());
    let is_marked = ecn::changes(outer.into(), inner.into()) && !is_ecn_drop;
    let tos = if is_marked { parsed.tos & !0x03 | outer } else { parsed.tos };
    let key = UserHeader { tos, ..parsed }.key(user, direction, qfi, (false, false)).unwrap();
    assert_eq!(FullPacketKey::of_v4(common.key, common.local), key.without_spi(), "{frame:02x?}");
    assert_eq!(state.lens[index], parsed.len);
    assert_eq!(
        [
            is(packet_flag::BAD_CHECKSUM),
            is(packet_flag::TTL_EXPIRES),
            is(packet_flag::LINK_SCOPED),
            is(packet_flag::ECN_DROP),
            is(packet_flag::ECN_UPDATE)
        ],
        [parsed.has_bad_checksum, parsed.hops <= 1, parsed.is_link_scoped(), is_ecn_drop, is_marked],
        "{frame:02x?}"
    );
}

// Input:  packets with options, behind extension headers and with every pair of ECN marks, beside common ones; then the
//         same once more, when the first parse is skipped.
// Output: all are common, and equal the parsers' result.
#[test]
fn unusual_packets_take_the_batch_path_after_the_second_parse() {
    let engine = engine();
    for options in 0..=10 {
        for kinds in [
            &[][..],
            &[PDU_SESSION],
            &[0x3f],
            &[0x3f, PDU_SESSION],
            &[PDU_SESSION, 0x41],
            &[PDU_SESSION, 0x8a],
            &[0x3f; 8],
        ] {
            for marks in 0..16_u8 {
                let mut unusual = user(options);
                unusual[1] = marks & 0x03;
                sum_up(&mut unusual);
                let frames: Vec<_> = (0..BATCH)
                    .map(|at| match at % 3 {
                        0 => (by_gtpu(0), tunnelled(&[PDU_SESSION], &user(0))),
                        _ => (by_gtpu(marks >> 2), tunnelled(kinds, &unusual)),
                    })
                    .collect();
                let scratches = read::<UPLINK>(&engine, &frames);
                assert!(scratches.iter().all(|scratch| scratch.state.are_common()));
                for (index, frame) in frames.iter().enumerate() {
                    compare::<UPLINK>(&scratches, index, frame);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 4096 }))]

    // Input:  such packets and packets for a UE, truncated somewhere, with up to three octets changed to significant
    //         values or to any.
    // Output: packets that are taken as common, or as no IP packet, are so to the parsers.
    #[test]
    fn unusual_header_parse_equals_the_general_parser(
        options in 0..11_usize,
        kinds in proptest::collection::vec(prop_oneof![Just(PDU_SESSION), Just(0x3f), Just(0x41), Just(0x8a)], 0..4),
        tos in 0..4_u8,
        sums: bool,
        cut in 0..120_usize,
        changes in proptest::collection::vec(
            (0..44_usize, prop_oneof![any::<u8>(), Just(0), Just(1), Just(0x45), Just(0x46), Just(0x60), Just(20)]),
            0..4,
        ),
        index in 0..BATCH,
    ) {
        let engine = engine();
        let mut packet = user(options);
        let (in_user, in_frame): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(at, _)| at % 2 == 0);
        for (at, octet) in in_user {
            packet.get_mut(at).into_iter().for_each(|place| *place = octet);
        }
        if sums {
            sum_up(&mut packet);
        }
        packet.truncate(cut.max(1));
        let mut message = tunnelled(&kinds, &packet);
        for (at, octet) in in_frame {
            message.get_mut(at).into_iter().for_each(|place| *place = octet);
        }
        let mut frames = vec![(by_gtpu(0), tunnelled(&[PDU_SESSION], &user(0))); index];
        frames.push((by_gtpu(tos), message));
        compare::<UPLINK>(&read::<UPLINK>(&engine, &frames), index, &frames[index]);
        let mut frames = vec![(Meta::Ip, user(0)); index];
        frames.push((Meta::Ip, packet));
        compare::<DOWNLINK>(&read::<DOWNLINK>(&engine, &frames), index, &frames[index]);
    }
}
