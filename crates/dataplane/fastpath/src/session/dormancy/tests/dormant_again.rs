use std::sync::Arc;

use causeway_dataplane::{DropReason, SliceLimit};
use causeway_model::DirectionalLimit;
use causeway_types::{ReportingTriggers, SNssai};

use super::*;

/// Octets of a packet of [`downlink`].
const PACKET: u64 = 28;

fn plane_with_max_active(most: usize) -> FastPath {
    plane_for(8).with_max_active(most)
}

fn in_all(plane: &FastPath) -> (usize, usize, u64) {
    (plane.dormant.len(), plane.slow_path.sessions(), plane.counters().sessions)
}

// Input:  three sessions of one profile, none of which may stay active; four packets for the second, one for the third;
//         all are deleted.
// Output: each is dormant again after its first packet, and its flow entries handle the others; usage is exact to the
//         octet, with the times of the first packet and the last.
#[test]
fn a_session_becomes_dormant_again_after_its_first_packet() {
    let (mut plane, mut templates) = (plane_with_max_active(0), Templates::default());
    establish(&mut plane, &mut templates, 3);
    for secs in 10..14 {
        assert_eq!(downlink(&mut plane, 2, at(secs)), Disposition::Forwarded);
        assert_eq!(in_all(&plane), (3, 0, 3));
    }
    assert_eq!(downlink(&mut plane, 3, at(14)), Disposition::Forwarded);
    assert_eq!((in_all(&plane), plane.fast_path_packets(), plane.slow_path_packets()), ((3, 0, 3), 3, 2));
    let ends = [2, 3].map(|seid| plane.apply(at(20), &Plan::removal(Seid(seid))).unwrap().usage);
    let measured = ends.map(|usage| {
        let [usage] = &usage[..] else { panic!("{usage:?}") };
        (usage.start, usage.first_packet, usage.last_packet, usage.volume.unwrap().downlink)
    });
    let expected =
        [(at(2), Some(at(10)), Some(at(13)), 4 * PACKET), (at(3), Some(at(14)), Some(at(14)), PACKET)];
    assert_eq!((measured, in_all(&plane)), (expected, (1, 0, 1)));
}

// Input:  four sessions of one profile, of which one may stay active; packets for the others in turns, two rounds.
// Output: the session of the last packet is active; in the second
//         round the slow path sees no packet, so no session becomes active.
#[test]
fn the_longest_active_sessions_become_dormant_first() {
    let (mut plane, mut templates) = (plane_with_max_active(1), Templates::default());
    establish(&mut plane, &mut templates, 4);
    for (ue, expected) in [(2, (3, 1, 4)), (3, (3, 1, 4)), (4, (3, 1, 4))] {
        assert_eq!(downlink(&mut plane, ue, at(10)), Disposition::Forwarded);
        assert_eq!(in_all(&plane), expected);
    }
    assert!(plane.slow_path.has(Seid(4)) && plane.slow_path_packets() == 3);
    for ue in [2, 3, 4] {
        assert_eq!(downlink(&mut plane, ue, at(11)), Disposition::Forwarded);
    }
    assert!(plane.slow_path.has(Seid(4)) && plane.slow_path_packets() == 3 && plane.fast_path_packets() == 3);
}

// Input:  two sessions with a volume threshold of 300 octets, none of which may stay active; twenty-five packets for
//         the second.
// Output: a report after each 300 octets or the packet that exceeds them, then dormant again; the octets since the last
//         one at the end.
#[test]
fn dormant_sessions_reach_thresholds() {
    let (mut plane, mut templates) = (plane_with_max_active(0), Templates::default());
    for ue in 1..=2 {
        let mut rules = rules(ue);
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        urr.triggers = ReportingTriggers::VOLTH;
        urr.thresholds.volume = Some(DirectionalLimit { total: Some(300), uplink: None, downlink: None });
        let change = templates.profiled(&rules).unwrap().into();
        plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change }).unwrap();
    }
    let mut reported = Vec::new();
    for count in 1..=25 {
        assert_eq!(downlink(&mut plane, 2, at(10 + count)), Disposition::Forwarded);
        assert_eq!(in_all(&plane), (2, 0, 2));
        if let Some(Event::Usage { usage, .. }) = plane.poll_event() {
            reported.extend(usage.iter().map(|usage| (count, usage.volume.unwrap().downlink)));
        }
    }
    assert_eq!(reported, [(11, 11 * PACKET), (22, 11 * PACKET)]);
    assert!(plane.fast_path_packets() > plane.slow_path_packets());
    let usage = plane.apply(at(40), &Plan::removal(Seid(2))).unwrap().usage;
    assert_eq!((usage.len(), usage[0].volume.unwrap().downlink), (1, 3 * PACKET));
}

// Input:  sessions with packets, none of which may stay active; the second has two handovers, and a usage query in
//         between.
// Output: it is dormant again each time; packets are sent to the new tunnel; usage equals that of the packets.
#[test]
fn a_session_with_traffic_is_updated_and_becomes_dormant_again() {
    let (mut plane, mut templates) = (plane_with_max_active(0), Templates::default());
    establish(&mut plane, &mut templates, 3);
    for ue in [2, 3] {
        assert_eq!(downlink(&mut plane, ue, at(9)), Disposition::Forwarded);
    }
    assert_eq!(change(&mut plane, &mut templates, 2, 10, handover), 1);
    assert_eq!(in_all(&plane), (3, 0, 3));
    let mut sent = Vec::new();
    assert_eq!(downlink_to(&mut plane, 2, at(11), &mut sent), Disposition::Forwarded);
    assert_eq!((peer_of(&sent[0].0), &sent[0].1[4..8]), (Some(OTHER_GNB.into()), &[0, 0, 2, 0][..]));
    let query = Plan::update(Seid(2), vec![Op::QueryUrr(UrrId(1))]);
    let usage = plane.apply(at(12), &query).unwrap().usage;
    assert_eq!((usage[0].volume.unwrap().downlink, in_all(&plane)), (2 * PACKET, (3, 0, 3)));
    assert_eq!(downlink(&mut plane, 2, at(13)), Disposition::Forwarded);
    assert_eq!(in_all(&plane), (3, 0, 3));
    let usage = plane.apply(at(20), &Plan::removal(Seid(2))).unwrap().usage;
    assert_eq!((usage[0].start, usage[0].volume.unwrap().downlink), (at(12), PACKET));
}

// Input:  a session whose downlink packets are buffered, which may not stay active; one is buffered; the SMF has it
//         forwarded.
// Output: it is active as long as a packet is buffered.
#[test]
fn a_session_with_buffered_packets_stays_active() {
    let (mut plane, mut templates) = (plane_with_max_active(0), Templates::default());
    establish(&mut plane, &mut templates, 3);
    let buffer = |far: &mut Far| far.action = ApplyAction::Buffer { notify: true };
    for ue in [2, 3] {
        change(&mut plane, &mut templates, ue, 10, buffer);
    }
    assert_eq!(downlink(&mut plane, 3, at(11)), Disposition::Buffered);
    assert!(matches!(plane.poll_event(), Some(Event::DownlinkData { session: Seid(3), .. })));
    assert!(plane.slow_path.has(Seid(3)) && !plane.slow_path.has(Seid(2)));
    assert_eq!(downlink(&mut plane, 2, at(12)), Disposition::Buffered);
    assert!(plane.slow_path.has(Seid(3)) && plane.slow_path.has(Seid(2)));
}

// Input:  three sessions of a slice, none of which may stay active, with packets; a limit of 8 kbit/s for the slice begins, and ends.
// Output: the flow entries handle the packets before and after; in between the slow path has them, and lets the first one pass for all
//         three. Usage is exact.
#[test]
fn the_limit_of_a_slice_begins_and_ends_for_dormant_sessions() {
    let (mut plane, mut templates) = (plane_with_max_active(0), Templates::default());
    let slice = SNssai { sst: 1, sd: SNssai::NO_SD };
    for ue in 1..=3 {
        let rules = RuleSet { slice: Some(slice), ..rules(ue) };
        let change = templates.profiled(&rules).unwrap().into();
        plane.apply(at(ue.into()), &Plan { session: Seid(ue.into()), change }).unwrap();
    }
    let send = |plane: &mut FastPath, secs| [1, 2, 3].map(|ue| downlink(plane, ue, at(secs)));
    for secs in [9, 10] {
        assert_eq!(send(&mut plane, secs), [Disposition::Forwarded; 3]);
    }
    let by_entries = plane.fast_path_packets();
    assert!(by_entries >= 3 && plane.dormant.len() == 3);
    let (mut settings, before) = (plane.topology.settings(), plane.topology.settings());
    settings.slices = vec![SliceLimit { slice, uplink: None, downlink: Bitrate::from_kbps(8) }];
    plane.reconfigure(at(20), &Arc::new(settings));
    let dropped = Disposition::Dropped(DropReason::SliceRateExceeded);
    assert_eq!(send(&mut plane, 20), [Disposition::Forwarded, dropped, dropped]);
    assert_eq!(plane.fast_path_packets(), by_entries);
    plane.reconfigure(at(30), &Arc::new(before));
    assert_eq!(send(&mut plane, 30), [Disposition::Forwarded; 3]);
    assert_eq!(plane.fast_path_packets(), by_entries + 3);
    let ends = [1, 2, 3].map(|seid| plane.apply(at(40), &Plan::removal(Seid(seid))).unwrap().usage);
    let packets = ends.map(|usage| usage[0].volume.unwrap().downlink / PACKET);
    assert_eq!(packets, [4, 3, 3]);
}
