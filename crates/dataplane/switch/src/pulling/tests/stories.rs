//! Scenarios of usage pulling.

use super::*;

fn volume_threshold(octets: u64) -> Urr {
    Urr { volume_threshold: Some(Limit::total(octets)), ..INGRESS }
}

// Input:  three rules of 1000 octets per second, with thresholds of 2000, 9000 and 4000 octets.
// Output: the counter of the first is needed first, then that of the third; the second one's when it was unread for five seconds.
#[test]
fn the_nearest_threshold_comes_first() {
    let mut bench = Bench::new();
    for (number, octets) in [(1, 2000), (2, 9000), (3, 4000)] {
        bench.urr(0, number, volume_threshold(octets));
        bench.uplink(0, number, &[number]);
    }
    (1..=3).for_each(|number| assert!(bench.read(1000, number, 1000).is_empty()));
    assert_eq!(bench.pick(1000, 10), [1, 3, 2]);
    assert_eq!(bench.pick(1000, 2), [1, 3]);
}

// Input:  nothing is read for two seconds, while a rule nears its threshold and another one's was far.
// Output: the order is by the time at which each is reached since it was read, not by what was missing then.
#[test]
fn urgency_grows_while_a_rule_is_not_read() {
    let mut bench = Bench::new();
    bench.urr(0, 1, volume_threshold(4000));
    bench.urr(0, 2, volume_threshold(4000));
    bench.uplink(0, 1, &[1]);
    bench.uplink(0, 2, &[2]);
    // Rule 1 was read at 1 s and reaches its threshold at 4 s; rule 2 was read at 2 s, and does at 4.5 s.
    bench.read(1000, 1, 1000);
    bench.read(2000, 2, 1777);
    assert_eq!(bench.pick(3000, 10), [1, 2]);
}

// Input:  a threshold of 1000 octets, and readings that exceed it twice, with more than the threshold each time.
// Output: a report each time with all that was read, and none in between; the rest is counted for the next.
#[test]
fn a_threshold_repeats_and_is_exact() {
    let mut bench = Bench::new();
    bench.urr(0, 1, volume_threshold(1000));
    bench.uplink(0, 1, &[1]);
    let mut reported = Vec::new();
    for (millis, octets) in [(100, 600), (200, 700), (300, 999), (400, 1), (500, 30)] {
        reported.extend(said(&bench.read(millis, 1, octets)));
    }
    let threshold = Triggers::VOLUME_THRESHOLD;
    assert_eq!(reported, [(1, threshold, 1300), (1, threshold, 1000)]);
    assert_eq!(bench.pulling.counted(1).map(|volume| volume.total()), Some(30));
}

// Input:  one rule counts for three URRs: before QoS enforcement with a threshold each, and after it.
// Output: each reports by itself, and only what its own counters held.
#[test]
fn every_urr_of_a_rule_counts() {
    let mut bench = Bench::new();
    bench.urr(0, 1, volume_threshold(5000));
    bench.urr(0, 2, volume_threshold(1000));
    bench.urr(0, 3, Urr { side: Side::Egress, ..volume_threshold(100) });
    bench.uplink(0, 7, &[1, 2, 3]);
    assert_eq!(said(&bench.read(100, 7, 1500)), [(2, Triggers::VOLUME_THRESHOLD, 1500)]);
    assert_eq!(said(&bench.read_on(Side::Egress, 200, 7, 400)), [(3, Triggers::VOLUME_THRESHOLD, 400)]);
    assert_eq!(said(&bench.read(300, 7, 3500)).len(), 2);
    let counted = [1, 2, 3].map(|key| bench.pulling.counted(key).unwrap().total());
    assert_eq!(counted, [0, 0, 0]);
}

// Input:  a threshold of the downlink alone, and rules of both directions.
// Output: uplink packets do not reach it; the report has both, each in its direction.
#[test]
fn directions_have_their_own_limits() {
    let mut bench = Bench::new();
    let limit = Limit { downlink: Some(500), ..Limit::default() };
    bench.urr(0, 1, Urr { volume_threshold: Some(limit), ..INGRESS });
    bench.uplink(0, 1, &[1]);
    bench.enter(0, 2, Direction::Downlink, &[1], None);
    assert!(bench.read(100, 1, 9000).is_empty() && bench.read(200, 2, 499).is_empty());
    let reports = bench.read(300, 2, 1);
    let expected = Volume { uplink: 9000, downlink: 500, uplink_packets: 1, downlink_packets: 2 };
    assert_eq!((reports[0].usage, reports[0].until), (expected, at(300)));
}

// Input:  a quota of 1000 octets and a threshold of 600; 700 and 400 octets are read, later late packets, then a new
//         quota.
// Output: a threshold, then the quota, which requires that traffic stops; late packets make no report but are in the
//         next.
#[test]
fn an_exhausted_quota_stops_traffic() {
    let mut bench = Bench::new();
    let urr = Urr { volume_quota: Some(Limit::total(1000)), ..volume_threshold(600) };
    bench.urr(0, 1, urr);
    bench.uplink(0, 1, &[1]);
    assert_eq!(said(&bench.read(100, 1, 700)), [(1, Triggers::VOLUME_THRESHOLD, 700)]);
    let reports = bench.read(200, 1, 400);
    assert_eq!(said(&reports), [(1, Triggers::VOLUME_QUOTA, 400)]);
    assert!(reports[0].triggers.must_stop());
    assert!(bench.read(300, 1, 800).is_empty());
    bench.urr(400, 1, urr);
    assert_eq!(said(&bench.read(500, 1, 10)), [(1, Triggers::VOLUME_THRESHOLD, 810)]);
    assert!(bench.read(600, 1, 500).is_empty(), "of the new quota 510 are spent");
}

// Input:  a time threshold of 2 s in both modes; packets come after 1 s.
// Output: measured from provisioning it reports at 2 s; from the first packet, 2 s after the reading that found it. Then again.
#[test]
fn time_is_measured_in_both_modes() {
    let mut bench = Bench::new();
    let threshold = Urr { time_threshold: Some(Span::from_secs(2)), ..INGRESS };
    bench.urr(0, 1, Urr { start: Start::Provisioning, ..threshold });
    bench.urr(0, 2, threshold);
    bench.uplink(0, 1, &[1, 2]);
    let mut reported = Vec::new();
    for (millis, octets) in [(1000, 0), (1500, 50), (1999, 1), (2000, 1), (3499, 1), (3500, 1), (4000, 1)] {
        for report in bench.read(millis, 1, octets) {
            reported.push((millis, report.key, report.usage.total(), report.from));
        }
    }
    let expected = [(2000, 1, 52, Some(at(0))), (3500, 2, 54, Some(at(1500))), (4000, 1, 3, Some(at(2000)))];
    assert_eq!(reported, expected);
}

// Input:  a period of a second, and two rules, of which one is read late.
// Output: the report waits for both, and has what both counted; their counters are needed at the end of the period.
#[test]
fn a_period_waits_for_all_counters() {
    let mut bench = Bench::new();
    bench.urr(0, 1, Urr { period: Some(Span::from_secs(1)), ..INGRESS });
    bench.uplink(0, 1, &[1]);
    bench.uplink(0, 2, &[1]);
    assert!(bench.read(900, 1, 10).is_empty() && bench.read(950, 2, 20).is_empty());
    assert_eq!(bench.pulling.pick(at(1000), Side::Ingress, Partition(0), 9).len(), 2);
    assert!(bench.read(1010, 1, 1).is_empty());
    let reports = bench.read(1300, 2, 2);
    assert_eq!(said(&reports), [(1, Triggers::PERIODIC, 33)]);
    assert!(bench.read(1999, 1, 5).is_empty() && bench.read(2000, 1, 5).is_empty());
    assert_eq!(said(&bench.read(2000, 2, 0)), [(1, Triggers::PERIODIC, 10)]);
}

// Input:  a period whose rules have all ended, and one that never had any, for ten seconds without a reading.
// Output: it is reported nevertheless, with zero usage; missed periods are not reported later.
#[test]
fn a_period_without_rules_is_reported() {
    let mut bench = Bench::new();
    bench.urr(0, 1, Urr { period: Some(Span::from_secs(1)), ..INGRESS });
    bench.uplink(0, 1, &[1]);
    assert_eq!(bench.pulling.next_deadline(), None);
    bench.pulling.expire(SwitchPdr(1));
    assert_eq!(bench.pulling.next_deadline(), Some(at(1000)));
    assert_eq!(said(&bench.pulling.advance(at(999))), []);
    assert_eq!(said(&bench.pulling.advance(at(10_500))), [(1, Triggers::PERIODIC, 0)]);
    assert_eq!(bench.pulling.next_deadline(), Some(at(11_000)));
}

// Input:  a rule near its threshold gets a new number; the old one's last reading comes later than the new one's first.
// Output: the new number is as urgent as the old one was; usage of both counts, and the URR ends with all of it.
#[test]
fn usage_of_all_numbers_counts() {
    let mut bench = Bench::new();
    bench.urr(0, 1, volume_threshold(2000));
    bench.uplink(0, 10, &[1]);
    bench.read(1000, 10, 1000);
    bench.uplink(1100, 11, &[]);
    bench.enter(1100, 20, Direction::Uplink, &[1], Some(10));
    bench.pulling.expire(SwitchPdr(10));
    assert_eq!(bench.pick(1200, 9), [20]);
    assert_eq!(bench.pulling.pick(at(1200), Side::Ingress, Partition(0), 9).len(), 1);
    assert!(bench.read(1300, 20, 300).is_empty());
    assert_eq!(said(&bench.read(1400, 10, 750)), [(1, Triggers::VOLUME_THRESHOLD, 2050)]);
    bench.pulling.retire(SwitchPdr(10));
    assert!(bench.read(1500, 10, 9).is_empty(), "it has retired");
    bench.read(1600, 20, 40);
    assert_eq!(bench.pulling.remove(1).map(|volume| volume.total()), Some(40));
    assert_eq!(bench.pulling.remove(1), None);
}

// Input:  a URR is removed while a rule and an expired one still have it; another URR is added.
// Output: their readings do not count for the new one.
#[test]
fn a_removed_urr_leaves_nothing_behind() {
    let mut bench = Bench::new();
    bench.urr(0, 1, volume_threshold(100));
    bench.uplink(0, 1, &[1]);
    bench.uplink(0, 2, &[1]);
    bench.pulling.expire(SwitchPdr(2));
    assert!(bench.pulling.remove(1).is_some());
    bench.urr(10, 5, volume_threshold(100));
    assert!(bench.read(20, 1, 500).is_empty() && bench.read(30, 2, 500).is_empty());
    assert_eq!(bench.pulling.counted(5), Some(Volume::ZERO));
    let unknown = Measured {
        number: SwitchPdr(3),
        direction: Direction::Uplink,
        partitions: [Partition(0); 2],
        banks: [0; 2],
        urrs: &[5, 1],
        replaces: None,
    };
    assert_eq!(bench.pulling.enter(at(40), &unknown).unwrap_err().to_string(), "URR 1 is not known");
}

// Input:  passes are to be short: nothing is picked that is not needed within 100 ms.
// Output: a rule that nears its threshold is picked, one without any only when it was unread for five seconds.
#[test]
fn passes_can_be_short() {
    let mut bench = Bench::new();
    let config = Config { ahead: Some(Span::from_millis(100)), ..Config::default() };
    bench.pulling = Pulling::new(config);
    bench.urr(0, 1, volume_threshold(2000));
    bench.urr(0, 2, INGRESS);
    bench.uplink(0, 1, &[1]);
    bench.uplink(0, 2, &[2]);
    assert_eq!(bench.pick(399, 9), Vec::<u32>::new());
    assert_eq!(bench.pick(400, 9), [1, 2], "soon, as nothing is known of their traffic");
    bench.read(1000, 1, 1000);
    bench.read(1000, 2, 1000);
    assert_eq!(bench.pick(1899, 9), Vec::<u32>::new());
    assert_eq!(bench.pick(1900, 9), [1]);
    assert_eq!(bench.pick(5900, 9), [1, 2]);
}
