//! Gates, rates and usage.

use causeway_dataplane::{Dataplane, Disposition, DropReason, Event, Op};
use causeway_model::{ApplyAction, Far, Gate, Pdr, Qer, RateLimit, SessionChange, Urr};
use causeway_types::{Bitrate, QerId, Span, UrrId, UsageInformation, UsageReportTrigger, Volume};

use crate::common::*;

fn counted(id: u32) -> Vec<Op> {
    vec![
        Op::PutUrr(volume_urr(id, None).into()),
        Op::PutPdr(Pdr { urrs: vec![UrrId(id)], ..uplink_pdr() }.into()),
        Op::PutPdr(Pdr { urrs: vec![UrrId(id)], qers: vec![QerId(1)], ..downlink_pdr() }.into()),
    ]
}

fn mbr(kbps: u64) -> Option<RateLimit> {
    let rate = Bitrate::from_kbps(kbps).unwrap();
    Some(RateLimit { uplink: rate, downlink: rate })
}

// Input: the downlink gate closed, the uplink gate open.
// Output: only the uplink passes; opening the gate lets the downlink pass.
#[test]
fn a_gate_closes_one_direction() {
    let mut setup = Bench::new();
    setup.apply(vec![Op::PutQer(Qer { downlink: Gate::Closed, ..open_qer(1) }.into())]).unwrap();
    setup.apply(vec![Op::PutPdr(Pdr { qers: vec![QerId(1)], ..uplink_pdr() }.into())]).unwrap();
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Dropped(DropReason::GateClosed));
    assert_eq!(setup.uplink(&from_ue(1)), Disposition::Forwarded);
    setup.apply(vec![Op::PutQer(open_qer(1).into())]).unwrap();
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Forwarded);
}

// Input: 1 Mbit/s on the downlink, then changed to 2 Mbit/s, each offered four times as much for a second.
// Output: the rate applies from establishment on, and so does the update; within 2 %.
#[test]
fn the_mbr_holds_and_follows_an_update() {
    let mut setup = Bench::new();
    for kbps in [1_000, 2_000] {
        setup.apply(vec![Op::PutQer(Qer { mbr: mbr(kbps), ..open_qer(1) }.into())]).unwrap();
        let packet = to_ue(1);
        let bits = packet.len() as u64 * 8;
        let gap = Span::from_nanos(bits * 1_000_000 / (kbps * 4));
        let mut passed = 0;
        for _ in 0..kbps * 4_000 / bits {
            setup.now = setup.now + gap;
            passed += u64::from(setup.downlink(&packet) == Disposition::Forwarded) * bits;
        }
        assert!(passed.abs_diff(kbps * 1000) <= kbps * 20, "{kbps} kbit/s: {passed} bits passed");
    }
    assert!(setup.plane.counters().dropped(DropReason::MbrExceeded) > 0);
}

// Input: two QERs on one PDR, one of them with an MBR of zero.
// Output: every QER must pass the packet, and the one that would have is not charged for the other's drop.
#[test]
fn all_qers_must_let_it_pass() {
    let mut setup = Bench::new();
    let pdr = Pdr { qers: vec![QerId(1), QerId(2)], ..downlink_pdr() };
    setup
        .apply(vec![
            Op::PutQer(Qer { mbr: mbr(80), ..open_qer(1) }.into()),
            Op::PutQer(Qer { mbr: mbr(0), ..open_qer(2) }.into()),
            Op::PutPdr(pdr.into()),
        ])
        .unwrap();
    for _ in 0..10 {
        assert_eq!(setup.downlink(&to_ue(1)), Disposition::Dropped(DropReason::MbrExceeded));
    }
    setup.apply(vec![Op::PutQer(Qer { mbr: None, ..open_qer(2) }.into())]).unwrap();
    assert_eq!(setup.downlink(&to_ue(1)), Disposition::Forwarded);
}

// Input: packets of 128 octets up and down, one URR on both PDRs; a query, more packets, session removal.
// Output: each report has exactly the packets since the last one, inner IP octets, per direction.
#[test]
fn usage_is_exact_and_never_counted_twice() {
    let mut setup = Bench::new();
    setup.apply(counted(1)).unwrap();
    for _ in 0..3 {
        setup.uplink(&from_ue(1));
    }
    setup.downlink(&to_ue(1));
    let queried = setup.apply(vec![Op::QueryUrr(UrrId(1))]).unwrap().usage;
    setup.uplink(&from_ue(1));
    let last = setup.apply(SessionChange::Remove).unwrap().usage;
    let volume = |up, down| Volume {
        uplink: up * 128,
        downlink: down * 128,
        uplink_packets: up,
        downlink_packets: down,
    };
    assert_eq!((queried[0].volume, queried[0].triggers), (Some(volume(3, 1)), UsageReportTrigger::IMMER));
    assert_eq!((last[0].volume, last[0].triggers), (Some(volume(1, 0)), UsageReportTrigger::TERMR));
    assert_eq!(last[0].start, queried[0].end);
}

// Input: a threshold of 300 octets, packets of 128; then a threshold set below what is counted.
// Output: the third packet reports 384; lowering the threshold reports immediately.
#[test]
fn a_threshold_reports_at_the_packet_that_reaches_it() {
    let mut setup = Bench::new();
    setup.apply(counted(1)).unwrap();
    setup.apply(vec![Op::PutUrr(volume_urr(1, Some(300)).into())]).unwrap();
    let volumes = |setup: &mut Bench| -> Vec<u64> {
        let usage = setup.events().into_iter().map(|event| match event {
            Event::Usage { usage, .. } => usage[0].volume.map_or(0, |volume| volume.total()),
            other => panic!("{other:?}"),
        });
        usage.collect()
    };
    setup.uplink(&from_ue(1));
    setup.uplink(&from_ue(1));
    assert!(volumes(&mut setup).is_empty());
    setup.uplink(&from_ue(1));
    assert_eq!(volumes(&mut setup), [384]);
    setup.uplink(&from_ue(1));
    setup.apply(vec![Op::PutUrr(volume_urr(1, Some(100)).into())]).unwrap();
    assert_eq!(volumes(&mut setup), [128]);
}

// Input: a URR before QoS enforcement and one after it; one packet passes, the gate drops one and the FAR another.
// Output: one report each, of three packets and of one; a threshold counts what is reported.
#[test]
fn before_and_after_qos_enforcement() {
    let mut setup = Bench::new();
    let pdr = Pdr { urrs: vec![UrrId(1), UrrId(2)], qers: vec![QerId(1)], ..downlink_pdr() };
    let before = Urr { before_qos: true, ..volume_urr(1, Some(3 * 128)) };
    setup
        .apply(vec![
            Op::PutUrr(before.into()),
            Op::PutUrr(volume_urr(2, Some(129)).into()),
            Op::PutQer(open_qer(1).into()),
            Op::PutPdr(pdr.into()),
        ])
        .unwrap();
    setup.downlink(&to_ue(1));
    setup.apply(vec![Op::PutQer(Qer { downlink: Gate::Closed, ..open_qer(1) }.into())]).unwrap();
    setup.downlink(&to_ue(1));
    setup.apply(vec![Op::PutFar(Far { action: ApplyAction::Drop, ..buffering(false) }.into())]).unwrap();
    assert_eq!(setup.events(), []);
    setup.downlink(&to_ue(1));
    let events = setup.events();
    let [Event::Usage { usage, .. }] = &events[..] else { panic!("{events:?}") };
    let reported: Vec<_> = usage.iter().map(|usage| (usage.part, usage.volume.unwrap().total())).collect();
    assert_eq!(reported, [(UsageInformation::empty(), 3 * 128)]);
    let usage = setup.apply(vec![Op::QueryUrr(UrrId(1)), Op::QueryUrr(UrrId(2))]).unwrap().usage;
    let reported: Vec<_> =
        usage.iter().map(|usage| (usage.part, usage.volume.unwrap().downlink_packets)).collect();
    assert_eq!(reported, [(UsageInformation::empty(), 0), (UsageInformation::empty(), 1)]);
}

// Input: a buffered packet that is sent against an exhausted meter.
// Output: it is sent and counted then; the meter is charged, so the next packet is dropped.
#[test]
fn a_buffered_packet_is_counted_when_it_is_sent() {
    let mut setup = Bench::new();
    setup.apply(counted(1)).unwrap();
    setup
        .apply(vec![
            Op::PutQer(Qer { mbr: mbr(8), ..open_qer(1) }.into()),
            Op::PutFar(buffering(false).into()),
        ])
        .unwrap();
    setup.downlink(&to_ue(1));
    setup.downlink(&to_ue(2));
    let queried = setup.apply(vec![Op::QueryUrr(UrrId(1))]).unwrap().usage;
    assert_eq!(queried[0].volume, Some(Volume::ZERO));
    setup.apply(vec![Op::PutFar(to_gnb(gnb_tunnel(GNB, 1)).into())]).unwrap();
    assert_eq!(setup.downlink(&to_ue(3)), Disposition::Dropped(DropReason::MbrExceeded));
    let queried = setup.apply(vec![Op::QueryUrr(UrrId(1))]).unwrap().usage;
    assert_eq!(queried[0].volume.unwrap().downlink_packets, 2);
}

// Input: the last PDR that uses a URR stops using it; the URR stays.
// Output: its usage is reported as terminated at that moment.
#[test]
fn losing_the_last_pdr_ends_the_measurement() {
    let mut setup = Bench::new();
    setup.apply(counted(1)).unwrap();
    setup.uplink(&from_ue(1));
    let applied = setup.apply(vec![Op::PutPdr(uplink_pdr().into())]).unwrap();
    assert_eq!(applied.usage, []);
    let applied = setup.apply(vec![Op::PutPdr(downlink_pdr().into())]).unwrap();
    assert_eq!(applied.usage[0].triggers, UsageReportTrigger::TERMR);
    assert_eq!(applied.usage[0].volume.unwrap().uplink, 128);
}
