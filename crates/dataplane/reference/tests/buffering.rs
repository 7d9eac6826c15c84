//! Idle UEs: packets wait, the SMF is told once, and they leave first and in order.

mod common;

use causeway_dataplane::{Dataplane, Disposition, DownlinkData, DropReason, Event, Op};
use causeway_reference::Limits;
use causeway_rules::{ApplyAction, Bar, Far};
use causeway_types::{BarId, FarId, Span};
use common::*;

fn payload_of(packet: &[u8]) -> u8 {
    *packet.last().unwrap()
}

// Input: BUFF and NOCP, three downlink packets, FORW to another gNB, one more packet.
// Output: one Downlink Data event; then all four to the new tunnel, in order.
#[test]
fn buffered_packets_leave_first_and_in_order() {
    let mut bench = Bench::new();
    bench.apply(vec![Op::PutFar(buffering(true).into())]).unwrap();
    for n in 1..=3 {
        assert_eq!(bench.downlink(&to_ue(n)), Disposition::Buffered);
    }
    let data = DownlinkData { pdr: DOWNLINK, qfi: Some(qfi(QFI)), dscp: Some(0), status: None };
    let event = Event::DownlinkData { session: SESSION, data };
    assert_eq!(bench.events(), [event]);
    assert!(bench.sent.is_empty());
    assert_eq!(bench.plane.counters().buffered, 3);

    bench.apply(vec![Op::PutFar(to_gnb(gnb_tunnel(GNB2, 0x3001)).into())]).unwrap();
    bench.downlink(&to_ue(4));
    assert_eq!(bench.sent.iter().map(|(_, packet)| payload_of(packet)).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(bench.sent.iter().all(|(_, packet)| packet[4..8] == 0x3001_u32.to_be_bytes()));
    let counters = bench.plane.counters();
    assert_eq!((counters.forwarded, counters.buffered), (4, 0));
}

// Input: BUFF without NOCP.
// Output: packets wait and nobody is told.
#[test]
fn without_nocp_nobody_is_told() {
    let mut bench = Bench::new();
    bench.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    bench.downlink(&to_ue(1));
    assert_eq!(bench.events(), []);
}

// Input: the SMF says BUFF and NOCP again after it was told; the packets stay. Another tunnel alone is written.
// Output: the next packet tells the SMF again; the tunnel alone does not.
#[test]
fn a_new_buffering_period_tells_again() {
    let mut bench = Bench::new();
    bench.apply(vec![Op::PutFar(buffering(true).into())]).unwrap();
    for _ in 0..2 {
        bench.apply(vec![Op::NotifyAgain(FarId(2))]).unwrap();
        bench.downlink(&to_ue(1));
        bench.downlink(&to_ue(2));
        assert_eq!(bench.events().len(), 1);
    }
    let action = buffering(true).action;
    bench.apply(vec![Op::PutFar(Far { action, ..to_gnb(gnb_tunnel(GNB2, 0x3001)) }.into())]).unwrap();
    bench.downlink(&to_ue(3));
    assert_eq!(bench.events(), []);
}

// Input: the FAR turns from BUFF to DROP; in another session the PDR goes; in a third the whole session does.
// Output: what waited is dropped under its reason.
#[test]
fn what_waited_is_dropped_with_its_rule() {
    let drop = Far { action: ApplyAction::Drop, ..buffering(false) };
    for op in [Op::PutFar(drop.into()), Op::RemovePdr(DOWNLINK), Op::RemoveSession] {
        let mut bench = Bench::new();
        bench.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
        bench.downlink(&to_ue(1));
        bench.apply(vec![op]).unwrap();
        let counters = bench.plane.counters();
        assert_eq!((counters.buffered, counters.dropped(DropReason::BufferDiscarded)), (0, 1));
        assert!(bench.sent.is_empty());
    }
}

// Input: a BAR that suggests two packets, a session limit of three, a memory limit of 300 octets.
// Output: each limit drops under its reason; the packets that wait stay.
#[test]
fn limits_drop_the_newest() {
    let limits =
        Limits { buffer_packets_per_session: 3, buffer_octets: 2 * to_ue(0).len(), ..Limits::default() };
    let mut bench = Bench::empty(limits);
    bench.apply(establishment()).unwrap();
    bench.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    let fates: Vec<_> = (0..3).map(|n| bench.downlink(&to_ue(n))).collect();
    assert_eq!(
        fates,
        [Disposition::Buffered, Disposition::Buffered, Disposition::Dropped(DropReason::BufferMemoryFull)]
    );

    let mut bench = Bench::empty(Limits { buffer_packets_per_session: 3, ..Limits::default() });
    bench.apply(establishment()).unwrap();
    bench.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    assert_eq!((0..9).filter(|n| bench.downlink(&to_ue(*n)) == Disposition::Buffered).count(), 3);

    let mut bench = Bench::new();
    let bar = Bar { suggested_packets: Some(2), ..Bar::new(BarId(1)) };
    let far = Far { bar: Some(BarId(1)), ..buffering(false) };
    bench.apply(vec![Op::PutBar(bar.into()), Op::PutFar(far.into())]).unwrap();
    assert_eq!((0..9).filter(|n| bench.downlink(&to_ue(*n)) == Disposition::Buffered).count(), 2);
    assert_eq!(bench.plane.counters().dropped(DropReason::BufferFull), 7);
}

// Input: a BAR with a notification delay of 100 ms; in one run the UE answers before it ends.
// Output: the SMF is told 100 ms after the first packet, and not at all in the other run.
#[test]
fn the_notification_waits_for_the_delay() {
    for answers_in_time in [false, true] {
        let mut bench = Bench::empty(Limits { buffer_time: None, ..Limits::default() });
        bench.apply(establishment()).unwrap();
        let delay = Span::from_millis(100);
        let bar = Bar { notification_delay: delay, ..Bar::new(BarId(1)) };
        let far = Far { bar: Some(BarId(1)), ..buffering(true) };
        bench.apply(vec![Op::PutBar(bar.into()), Op::PutFar(far.into())]).unwrap();
        bench.downlink(&to_ue(1));
        assert_eq!(bench.plane.next_deadline(), Some(bench.now + delay));
        bench.plane.advance(bench.now + delay - Span::from_nanos(1));
        assert_eq!(bench.events(), []);
        if answers_in_time {
            bench.apply(vec![Op::PutFar(to_gnb(gnb_tunnel(GNB, 0x2001)).into())]).unwrap();
        }
        bench.plane.advance(bench.now + delay);
        assert_eq!(bench.events().len(), usize::from(!answers_in_time));
        assert_eq!(bench.plane.next_deadline(), None);
    }
}
