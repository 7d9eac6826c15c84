use causeway_dataplane::RestoredUrr;
use causeway_model::{DirectionalLimit, UsageLimits};
use causeway_types::{ReportingTriggers, Span, UsageReportTrigger};
use proptest::prelude::*;

use super::*;

/// Octets of a packet of [`downlink`].
const PACKET: u64 = 28;

const GOES_ON: RestoredUrr = RestoredUrr::unchanged(UrrId(1));

fn final_usage(plane: &mut FastPath, seid: u64, now: Time) -> (Time, u64) {
    let usage = plane.apply(now, &Plan::removal(Seid(seid))).unwrap().usage;
    let [usage] = &usage[..] else { panic!("{usage:?}") };
    (usage.start, usage.volume.unwrap().downlink)
}

/// Packets for the second session at these seconds.
fn packets(plane: &mut FastPath, seconds: std::ops::Range<u64>) {
    for second in seconds {
        downlink(plane, 2, at(second));
    }
}

/// Another data plane with the same sessions and no usage, 20 s later.
fn other(most_active: usize, count: u8) -> FastPath {
    let (mut plane, mut templates) = (plane_for(8).with_max_active(most_active), Templates::default());
    for ue in 1..=count {
        let change = templates.profiled(&rules(ue)).unwrap().into();
        plane.apply(at(40), &Plan { session: Seid(ue.into()), change }).unwrap();
    }
    plane
}

// Input:  four sessions of one profile, of which none or all may stay active: the second has four packets, the third one. Snapshots of all, twice, and since times before and behind
//         the last packets. Another data plane goes on with them; a packet each for the second and third.
// Output: a snapshot of those with packets, the same again, and none when no packet has come since. Restored sessions are dormant until a packet, then go on with what was measured,
//         from the same start. The first data plane has lost nothing.
#[test]
fn usage_goes_on_in_another_data_plane() {
    for most_active in [0, 8] {
        let (mut plane, mut templates) = (plane_for(8).with_max_active(most_active), Templates::default());
        establish(&mut plane, &mut templates, 4);
        packets(&mut plane, 10..14);
        downlink(&mut plane, 3, at(14));
        let state =
            |plane: &FastPath| (plane.dormant.len(), plane.slow_path.sessions(), plane.fast_path_packets());
        let before = state(&plane);
        let snapshot = |seid, since| plane.usage_snapshot(at(20), Seid(seid), since);
        let never = Time::default();
        let all: Vec<_> = (1..=5).map(|seid| snapshot(seid, never)).collect();
        assert_eq!(all.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true, false, false]);
        assert_eq!((1..=5).map(|seid| snapshot(seid, never)).collect::<Vec<_>>(), all);
        assert_eq!(snapshot(2, at(13)), all[1]);
        assert_eq!((snapshot(2, at(14)), snapshot(3, at(15))), (None, None));
        assert_eq!(snapshot(3, at(14)), all[2]);
        assert_eq!(state(&plane), before);

        let mut next = other(most_active, 4);
        for seid in [2, 3] {
            let snapshot = all[seid as usize - 1].as_deref().unwrap();
            assert!(next.restore_usage(at(40), Seid(seid), snapshot, &[GOES_ON]));
            assert!(!next.slow_path.has(Seid(seid)), "it stays dormant");
            downlink(&mut next, seid as u8, at(41));
        }
        let expected = [(at(2), 4 * PACKET), (at(3), PACKET)];
        for (plane, more) in [(&mut next, PACKET), (&mut plane, 0)] {
            let ends = [2, 3].map(|seid| final_usage(plane, seid, at(50)));
            assert_eq!(ends, expected.map(|(start, octets)| (start, octets + more)));
        }
        assert_eq!(final_usage(&mut next, 4, at(50)), (at(40), 0));
    }
}

// Input:  two sessions with a threshold of 300 octets and a quota of 450; packets of 28 octets for the second: ten, then a take-over, then until none passes. With the snapshot as it is, with a new
//         quota since, after a report of twelve packets since, and with a URR that does not go on.
// Output: the report at the threshold, as without a take-over; the quota goes on: sixteen packets in all, those of the report among them. A new quota counts from the last report; a URR that
//         does not go on begins anew.
#[test]
fn thresholds_and_quotas_go_on() {
    let limit = |total| Some(DirectionalLimit { total: Some(total), uplink: None, downlink: None });
    let limited = |ue| {
        let mut rules = rules(ue);
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        urr.triggers = ReportingTriggers::VOLTH | ReportingTriggers::VOLQU;
        urr.thresholds = UsageLimits { volume: limit(300), ..UsageLimits::default() };
        urr.quotas = UsageLimits { volume: limit(450), ..UsageLimits::default() };
        rules
    };
    let establish = |plane: &mut FastPath, now| {
        let mut templates = Templates::default();
        for ue in 1..=2 {
            let change = templates.profiled(&limited(ue)).unwrap().into();
            plane.apply(now, &Plan { session: Seid(ue.into()), change }).unwrap();
        }
    };
    let new_quota = RestoredUrr { has_new_quotas: true, ..GOES_ON };
    let volume = causeway_types::Volume { downlink: 12 * PACKET, ..causeway_types::Volume::ZERO };
    let totals = causeway_dataplane::UsageTotals { volume, ..Default::default() };
    let reported_since = RestoredUrr { reported: Some(totals), has_new_thresholds: true, ..GOES_ON };
    for (restored, passed, reported) in [
        (vec![reported_since], 4, vec![(UsageReportTrigger::VOLQU, 4)]),
        (vec![GOES_ON], 6, vec![(UsageReportTrigger::VOLTH, 11), (UsageReportTrigger::VOLQU, 5)]),
        (vec![new_quota], 6, vec![(UsageReportTrigger::VOLTH, 11), (UsageReportTrigger::VOLQU, 5)]),
        (vec![], 16, vec![(UsageReportTrigger::VOLTH, 11), (UsageReportTrigger::VOLQU, 5)]),
    ] {
        let (mut plane, mut next) = (plane_for(4), plane_for(4));
        establish(&mut plane, at(1));
        establish(&mut next, at(40));
        packets(&mut plane, 10..20);
        let snapshot = plane.usage_snapshot(at(20), Seid(2), Time::default()).unwrap();
        assert!(next.restore_usage(at(40), Seid(2), &snapshot, &restored));
        let passes = (0..30).filter(|n| downlink(&mut next, 2, at(41 + n)) == Disposition::Forwarded).count();
        let reports: Vec<_> = std::iter::from_fn(|| next.poll_event())
            .filter_map(|event| if let Event::Usage { usage, .. } = event { Some(usage) } else { None })
            .flatten()
            .map(|usage| (usage.triggers, usage.volume.unwrap().total() / PACKET))
            .collect();
        assert_eq!((passes, reports), (passed, reported), "{restored:?}");
    }
}

// Input:  a session with an Inactivity Detection Time whose time is measured: packets at 10 and 12 s; a snapshot at 15 s, restored at 40 s on a host whose clock is there; a packet at 43 s.
// Output: 5 s were measured until the snapshot, and 3 s since: time stands still in between.
#[test]
fn time_stands_still_during_a_take_over() {
    let timed = |ue| {
        let mut rules = rules(ue);
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        urr.method = MeasurementMethod { duration: true, volume: true, events: false };
        urr.inactivity_detection = Some(Span::from_secs(100));
        rules
    };
    let (mut plane, mut next) = (plane_for(4), plane_for(4));
    for (plane, now) in [(&mut plane, at(1)), (&mut next, at(40))] {
        plane.apply(now, &Plan::install(Seid(2), timed(2))).unwrap();
    }
    downlink(&mut plane, 2, at(10));
    downlink(&mut plane, 2, at(12));
    let snapshot = plane.usage_snapshot(at(15), Seid(2), Time::default()).unwrap();
    assert!(next.restore_usage(at(40), Seid(2), &snapshot, &[GOES_ON]));
    downlink(&mut next, 2, at(43));
    let usage = next.apply(at(43), &Plan::removal(Seid(2))).unwrap().usage;
    assert_eq!(usage[0].duration, Some(Span::from_secs(8)));
    assert_eq!((usage[0].first_packet, usage[0].last_packet), (Some(at(10)), Some(at(43))));
}

// Input:  sessions whose time is measured: from its start (ISTM); from a packet at 10 s on; from that packet until 5 s without one; and one that measures volume alone, with a packet
//         at 10 s. Snapshots since 20 s, at 30 s, as far as possible of dormant sessions, and of active ones; at 40 s they go on elsewhere, and end at 41 s.
// Output: of the first two, without a packet. Their 29 and 20 s go on, and a second more.
#[test]
fn time_without_packets_is_in_snapshots() {
    let timed = |ue| {
        let mut rules = rules(ue);
        let urr = rules.urrs.get_mut(&UrrId(1)).unwrap();
        urr.method = MeasurementMethod { duration: ue < 4, volume: true, events: false };
        urr.immediate_start = ue == 1;
        urr.inactivity_detection = Some(Span::from_secs(5)).filter(|_| ue == 3);
        rules
    };
    for most_active in [0, 8] {
        let mut planes =
            [plane_for(8).with_max_active(most_active), plane_for(8).with_max_active(most_active)];
        for (plane, now) in planes.iter_mut().zip([at(1), at(40)]) {
            let mut templates = Templates::default();
            for ue in 1..=4 {
                let change = templates.profiled(&timed(ue)).unwrap().into();
                plane.apply(now, &Plan { session: Seid(ue.into()), change }).unwrap();
            }
        }
        let [plane, next] = &mut planes;
        for ue in 2..=4 {
            downlink(plane, ue, at(10));
        }
        let snapshots = [1, 2, 3, 4].map(|seid| plane.usage_snapshot(at(30), Seid(seid), at(20)));
        assert_eq!(snapshots.each_ref().map(Option::is_some), [true, true, false, false]);
        for (seid, seconds) in [(1, 30), (2, 21)] {
            let snapshot = snapshots[seid as usize - 1].as_deref().unwrap();
            assert!(next.restore_usage(at(40), Seid(seid), snapshot, &[GOES_ON]));
            let usage = next.apply(at(41), &Plan::removal(Seid(seid))).unwrap().usage;
            assert_eq!(usage[0].duration, Some(Span::from_secs(seconds)), "session {seid}, {most_active}");
        }
    }
}

// Input:  a session in cold storage; its snapshot, and one of another data plane.
// Output: none, since no packet has come for long; it is loaded and goes on with the other.
#[test]
fn a_cold_session_has_no_snapshot() {
    let store = Box::new(causeway_cold::MemoryStore::default());
    let mut plane = plane_for(4).with_cold_storage(store, Span::ZERO, |_| {});
    let mut templates = Templates::default();
    establish(&mut plane, &mut templates, 2);
    downlink(&mut plane, 2, at(10));
    assert!(plane.dormant.cold_slot(Seid(2)).is_some());
    assert_eq!(plane.usage_snapshot(at(20), Seid(2), Time::default()), None);
    let mut first = other(8, 2);
    downlink(&mut first, 2, at(41));
    downlink(&mut first, 2, at(42));
    let snapshot = first.usage_snapshot(at(45), Seid(2), Time::default()).unwrap();
    assert!(plane.restore_usage(at(50), Seid(2), &snapshot, &[GOES_ON]));
    assert_eq!(final_usage(&mut plane, 2, at(60)).1, 2 * PACKET);
}

proptest! {
    // Input:  any octets, or a snapshot with one octet changed or cut off at any place, for a dormant and for an active session.
    // Output: a session that goes on, or none and nothing has changed; its packets are forwarded or stopped by its quota, and it ends.
    #[test]
    fn any_octets_are_a_snapshot_or_none(
        octets in proptest::collection::vec(any::<u8>(), 0..200),
        at_place in any::<proptest::sample::Index>(), value: u8, cuts: bool, is_random: bool, is_active: bool,
    ) {
        let mut first = other(8, 3);
        packets(&mut first, 41..45);
        let mut snapshot = first.usage_snapshot(at(45), Seid(2), Time::default()).unwrap();
        let place = at_place.index(snapshot.len());
        if cuts { snapshot.truncate(place) } else { snapshot[place] = value }
        let octets = if is_random { octets } else { snapshot };
        let mut plane = other(8, 3);
        if is_active {
            downlink(&mut plane, 2, at(46));
        }
        let is_restored = plane.restore_usage(at(50), Seid(2), &octets, &[GOES_ON]);
        packets(&mut plane, 51..55);
        plane.advance(at(1000));
        let usage = plane.apply(at(1000), &Plan::removal(Seid(2))).unwrap().usage;
        prop_assert_eq!(usage.len(), 1);
        if !is_restored {
            let packets = if is_active { 5 } else { 4 };
            prop_assert_eq!(usage[0].volume.unwrap().downlink, packets * PACKET);
        }
    }
}
