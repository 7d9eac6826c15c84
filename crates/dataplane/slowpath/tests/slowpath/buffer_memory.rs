//! The memory of buffered packets: its limit, and its release.

use causeway_dataplane::{Dataplane, Disposition, DropReason, Op};
use causeway_model::{
    ApplyAction, Far, Forwarding, HeaderRemoval, Pdi, Pdr, SessionChange, UeAddress, UeSide,
};
use causeway_packet::gtpu::prefix;
use causeway_slowpath::Limits;
use causeway_types::{FTeid, FarId, Interface, PdrId, Precedence, Seid, Span};

use crate::common::*;

const OTHER: Seid = Seid(2);
const OTHER_UE: std::net::Ipv4Addr = std::net::Ipv4Addr::new(10, 45, 0, 3);

/// A downlink packet of 1000 octets.
fn large(ue: std::net::Ipv4Addr, fill: u8) -> Vec<u8> {
    udp((SERVER, 53), (ue, 40_000), fill, 972)
}

/// A second session, with the downlink only, with the same FAR.
fn other_session(far: Far) -> SessionChange {
    let mut pdr = downlink_pdr();
    pdr.pdi.ue = Some(UeAddress { v4: Some(OTHER_UE), v6: None, side: UeSide::Destination });
    install(vec![Op::PutFar(far.into()), Op::PutPdr(pdr.into())])
}

fn forwarding() -> Op {
    Op::PutFar(to_gnb(gnb_tunnel(GNB, 0x2001)).into())
}

fn buffered(setup: &Bench) -> (u64, u64) {
    let counters = setup.plane.counters();
    (counters.buffered, counters.dropped(DropReason::BufferMemoryFull))
}

// Input:  memory for ten packets of 1000 octets, which one session buffers; a hundred more for it and for another
//         one; then the first session forwards, and so does the other.
// Output: packets beyond the memory are dropped with their own reason, and counted; the buffered packets and the
//         sessions are unchanged. Then exactly the ten are sent, in order, both sessions forward, and there is memory
//         for ten again.
#[test]
fn packets_beyond_the_memory_are_dropped_without_other_effects() {
    let mut setup = Bench::empty(Limits { buffer_octets: 10_000, ..Limits::default() });
    setup.apply(establishment()).unwrap();
    setup.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    setup.apply_to(OTHER, other_session(buffering(false))).unwrap();
    for number in 0..10 {
        assert_eq!(setup.downlink(&large(UE, number)), Disposition::Buffered);
    }
    for number in 0..100 {
        let ue = if number % 2 == 0 { UE } else { OTHER_UE };
        assert_eq!(setup.downlink(&large(ue, number)), Disposition::Dropped(DropReason::BufferMemoryFull));
        assert_eq!(buffered(&setup), (10, u64::from(number) + 1));
    }
    assert_eq!((setup.plane.counters().sessions, setup.sent.len()), (2, 0));
    // Packets that need no memory still pass.
    assert_eq!(setup.uplink(&from_ue(7)), Disposition::Forwarded);
    setup.take_sent();
    setup.apply(vec![forwarding()]).unwrap();
    let fills: Vec<_> = setup.take_sent().iter().filter_map(|(_, packet)| packet.last().copied()).collect();
    assert_eq!(fills, (0..10).collect::<Vec<_>>());
    assert_eq!((buffered(&setup), setup.downlink(&large(UE, 1))), ((0, 100), Disposition::Forwarded));
    let dispositions = [(); 11].map(|()| setup.downlink(&large(OTHER_UE, 9)));
    assert_eq!(dispositions.iter().filter(|disposition| **disposition == Disposition::Buffered).count(), 10);
    setup.take_sent();
    setup.apply_to(OTHER, vec![forwarding()]).unwrap();
    assert_eq!((setup.take_sent().len(), buffered(&setup)), (10, (0, 101)));
}

/// How buffering ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Forwarded,
    Dropped,
    Expired,
    SessionRemoved,
}

/// Fills the buffers, checks it, and drains them.
fn fill_and_drain(setup: &mut Bench, end: End) {
    setup.apply_to(OTHER, other_session(buffering(false))).unwrap();
    let packet = large(OTHER_UE, 1);
    let waiting = (0..2000).filter(|_| setup.downlink(&packet) == Disposition::Buffered).count();
    assert_eq!((waiting, buffered(setup).0), (1000, 1000), "{end:?}");
    match end {
        End::Forwarded => drop(setup.apply_to(OTHER, vec![forwarding()]).unwrap()),
        End::Dropped => {
            let far = Far { action: ApplyAction::Drop, ..buffering(false) };
            setup.apply_to(OTHER, vec![Op::PutFar(far.into())]).unwrap();
        }
        End::Expired => {
            setup.now = setup.now + Span::from_secs(60);
            setup.plane.advance(setup.now);
        }
        End::SessionRemoved => {}
    }
    drop(setup.take_sent());
    setup.sent = Vec::new();
    setup.apply_to(OTHER, SessionChange::Remove).unwrap();
    drop(setup.events());
    assert_eq!(buffered(setup).0, 0, "{end:?}");
}

// Input:  a megabyte of buffered packets that is sent, dropped, expires, or is removed with its session, several
//         times.
// Output: the megabyte is allocated each time, and returned to the allocator each time; the whole memory is available
//         again.
#[test]
fn drained_buffers_return_their_memory() {
    let limits = Limits {
        buffer_packets_per_session: 2000,
        buffer_octets: 1_000_000,
        buffer_octets_per_session: 2_000_000,
        buffer_time: Some(Span::from_secs(30)),
        ..Limits::default()
    };
    for end in [End::Forwarded, End::Dropped, End::Expired, End::SessionRemoved] {
        let mut setup = Bench::empty(limits);
        // Tables allocate at their first use.
        fill_and_drain(&mut setup, end);
        for _ in 0..3 {
            let taken = allocation_counter::measure(|| fill_and_drain(&mut setup, end));
            assert!(taken.bytes_max > 1_000_000, "{end:?}: {taken:?}");
            assert!(taken.bytes_current.abs() < 10_000, "{end:?}: {taken:?}");
        }
    }
}

/// A session that relays the packets of its tunnel, and buffers them.
fn relay() -> SessionChange {
    let tunnel = FTeid { teid: teid(0x5001), addr: UPF.into() };
    let pdr = Pdr {
        precedence: Precedence(1),
        removal: Some(HeaderRemoval::GTPU_IPV4),
        ..Pdr::new(PdrId(1), Pdi { tunnel: Some(tunnel), ..Pdi::new(Interface::Access) }, FarId(1))
    };
    let onward = Forwarding::into_tunnel(Interface::Core, gnb_tunnel(GNB2, 0x3001));
    let far = Far { action: ApplyAction::Buffer { notify: false }, ..Far::forward(FarId(1), onward) };
    install(vec![Op::PutFar(far.into()), Op::PutPdr(pdr.into())])
}

/// A G-PDU with extension headers for the next node, of `len` octets each.
fn with_extensions(count: usize, len: usize) -> Vec<u8> {
    let user = from_ue(1);
    let mut packet = prefix::without_extensions(teid(0x5001), 0).unwrap().to_vec();
    packet[0] |= 0x04;
    // Sequence number, N-PDU number, and the type of the first one: any that intermediate nodes forward.
    packet.extend([0, 0, 0, 0x3f]);
    for number in 1..=count {
        packet.push(u8::try_from(len / 4).unwrap());
        packet.extend(vec![7; len - 2]);
        packet.push(if number == count { 0 } else { 0x3f });
    }
    packet.extend(user);
    let length = u16::try_from(packet.len() - 8).unwrap();
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet
}

// Input:  memory for 10,000 octets, and packets of 128 octets with extension headers of 4000 octets in all, buffered
//         with them.
// Output: two are buffered: the headers count; after they are sent, as many are buffered again.
#[test]
fn extension_headers_of_buffered_packets_count() {
    let mut setup = Bench::empty(Limits { buffer_octets: 10_000, ..Limits::default() });
    setup.apply(relay()).unwrap();
    for _ in 0..3 {
        let dispositions = [(); 4].map(|()| setup.gtpu(&with_extensions(5, 800)));
        let full = Disposition::Dropped(DropReason::BufferMemoryFull);
        assert_eq!(dispositions, [Disposition::Buffered, Disposition::Buffered, full, full]);
        let [forward, wait] = [ApplyAction::Forward, ApplyAction::Buffer { notify: false }].map(|action| {
            let onward = Forwarding::into_tunnel(Interface::Core, gnb_tunnel(GNB2, 0x3001));
            vec![Op::PutFar(Far { action, ..Far::forward(FarId(1), onward) }.into())]
        });
        setup.apply(forward).unwrap();
        assert_eq!(setup.take_sent().len(), 2);
        setup.apply(wait).unwrap();
    }
}
