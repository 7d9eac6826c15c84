//! Idle UEs: packets are buffered, the SMF is notified once, and buffered packets are sent first and in order.

use causeway_dataplane::{Dataplane, Disposition, DownlinkData, DropReason, Event, Op};
use causeway_model::{ApplyAction, Bar, Far, SessionChange};
use causeway_slowpath::Limits;
use causeway_types::{BarId, FarId, Span};

use crate::common::*;

fn payload_of(packet: &[u8]) -> u8 {
    *packet.last().unwrap()
}

// Input: BUFF and NOCP, three downlink packets, FORW to another gNB, one more packet.
// Output: one Downlink Data event; then all four to the new tunnel, in order.
#[test]
fn buffered_packets_are_sent_first_and_in_order() {
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutFar(buffering(true).into())]).unwrap();
    for n in 1..=3 {
        assert_eq!(setup.downlink(&to_ue(n)), Disposition::Buffered);
    }
    let data = DownlinkData { pdr: DOWNLINK, qfi: Some(qfi(QFI)), dscp: Some(0), status: None };
    let event = Event::DownlinkData { session: SESSION, data };
    assert_eq!(setup.events(), [event]);
    assert!(setup.sent.is_empty());
    assert_eq!(setup.plane.counters().buffered, 3);

    setup.apply(vec![Op::PutFar(to_gnb(gnb_tunnel(GNB2, 0x3001)).into())]).unwrap();
    setup.downlink(&to_ue(4));
    assert_eq!(setup.sent.iter().map(|(_, packet)| payload_of(packet)).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(setup.sent.iter().all(|(_, packet)| packet[4..8] == 0x3001_u32.to_be_bytes()));
    let counters = setup.plane.counters();
    assert_eq!((counters.forwarded, counters.buffered), (4, 0));
}

// Input: BUFF without NOCP.
// Output: packets are buffered and no report is sent.
#[test]
fn without_nocp_no_report_is_sent() {
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    setup.downlink(&to_ue(1));
    assert_eq!(setup.events(), []);
}

// Input: the SMF sends BUFF and NOCP again after a report; the packets stay. Another tunnel alone is written.
// Output: the next packet is reported again; with the tunnel alone it is not.
#[test]
fn a_new_buffering_period_is_reported_again() {
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutFar(buffering(true).into())]).unwrap();
    for _ in 0..2 {
        setup.apply(vec![Op::NotifyAgain(FarId(2))]).unwrap();
        setup.downlink(&to_ue(1));
        setup.downlink(&to_ue(2));
        assert_eq!(setup.events().len(), 1);
    }
    let action = buffering(true).action;
    setup.apply(vec![Op::PutFar(Far { action, ..to_gnb(gnb_tunnel(GNB2, 0x3001)) }.into())]).unwrap();
    setup.downlink(&to_ue(3));
    assert_eq!(setup.events(), []);
}

// Input: the FAR changes from BUFF to DROP; in another session the PDR is removed; in a third the whole session is.
// Output: the buffered packets are dropped with their reason.
#[test]
fn buffered_packets_are_dropped_with_their_rule() {
    let drop = Far { action: ApplyAction::Drop, ..buffering(false) };
    let changes =
        [vec![Op::PutFar(drop.into())].into(), vec![Op::RemovePdr(DOWNLINK)].into(), SessionChange::Remove];
    for change in changes {
        let mut setup = Bench::new();
        setup.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
        setup.downlink(&to_ue(1));
        setup.apply(change).unwrap();
        let counters = setup.plane.counters();
        assert_eq!((counters.buffered, counters.dropped(DropReason::BufferDiscarded)), (0, 1));
        assert!(setup.sent.is_empty());
    }
}

// Input: a BAR that suggests two packets, a session limit of three, a memory limit of 300 octets.
// Output: each limit drops with its reason; the buffered packets stay.
#[test]
fn limits_drop_the_newest() {
    let limits =
        Limits { buffer_packets_per_session: 3, buffer_octets: 2 * to_ue(0).len(), ..Limits::default() };
    let mut setup = Bench::empty(limits);
    setup.apply(establishment()).unwrap();
    setup.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    let dispositions: Vec<_> = (0..3).map(|n| setup.downlink(&to_ue(n))).collect();
    assert_eq!(
        dispositions,
        [Disposition::Buffered, Disposition::Buffered, Disposition::Dropped(DropReason::BufferMemoryFull)]
    );

    let mut setup = Bench::empty(Limits { buffer_packets_per_session: 3, ..Limits::default() });
    setup.apply(establishment()).unwrap();
    setup.apply(vec![Op::PutFar(buffering(false).into())]).unwrap();
    assert_eq!((0..9).filter(|n| setup.downlink(&to_ue(*n)) == Disposition::Buffered).count(), 3);

    let mut setup = Bench::new();
    let bar = Bar { suggested_packets: Some(2), ..Bar::new(BarId(1)) };
    let far = Far { bar: Some(BarId(1)), ..buffering(false) };
    setup.apply(vec![Op::PutBar(bar.into()), Op::PutFar(far.into())]).unwrap();
    assert_eq!((0..9).filter(|n| setup.downlink(&to_ue(*n)) == Disposition::Buffered).count(), 2);
    assert_eq!(setup.plane.counters().dropped(DropReason::BufferFull), 7);
}

// Input: a BAR with a notification delay of 100 ms; in one run the UE responds before it ends.
// Output: the report is sent 100 ms after the first packet, and not at all in the other run.
#[test]
fn the_notification_delay_is_kept() {
    for answers_in_time in [false, true] {
        let mut setup = Bench::empty(Limits { buffer_time: None, ..Limits::default() });
        setup.apply(establishment()).unwrap();
        let delay = Span::from_millis(100);
        let bar = Bar { notification_delay: delay, ..Bar::new(BarId(1)) };
        let far = Far { bar: Some(BarId(1)), ..buffering(true) };
        setup.apply(vec![Op::PutBar(bar.into()), Op::PutFar(far.into())]).unwrap();
        setup.downlink(&to_ue(1));
        assert_eq!(setup.plane.next_deadline(), Some(setup.now + delay));
        setup.plane.advance(setup.now + delay - Span::from_nanos(1));
        assert_eq!(setup.events(), []);
        if answers_in_time {
            setup.apply(vec![Op::PutFar(to_gnb(gnb_tunnel(GNB, 0x2001)).into())]).unwrap();
        }
        setup.plane.advance(setup.now + delay);
        assert_eq!(setup.events().len(), usize::from(!answers_in_time));
        assert_eq!(setup.plane.next_deadline(), None);
    }
}
