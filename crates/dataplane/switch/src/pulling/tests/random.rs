//! Many rules, in any order.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Rules of two partitions, read in turns, some at a time; returns the longest that one was not read.
fn longest_gap(config: Config, rules: u32, budget: usize, pass: Span, passes: u32) -> Span {
    let mut pulling: Pulling<u32> = Pulling::new(config);
    let mut random = fastrand::Rng::with_seed(3);
    let mut last: HashMap<SwitchPdr, Time> = HashMap::new();
    for number in 0..rules {
        let limit = Limit::total(random.u64(10_000..1_000_000));
        pulling.provision(at(0), number, Urr { volume_threshold: Some(limit), ..INGRESS });
        let partitions = [Partition((number % 2) as u8); 2];
        let number = SwitchPdr(number);
        let measured = Measured {
            number,
            direction: Direction::Uplink,
            partitions,
            banks: [0; 2],
            urrs: &[number.0],
            replaces: None,
        };
        pulling.enter(at(0), &measured).unwrap();
        last.insert(number, at(0));
    }
    let mut longest = Span::ZERO;
    for turn in 0..passes {
        let now = at(0) + pass * turn;
        let picked = pulling.pick(now, Side::Ingress, Partition((turn % 2) as u8), budget);
        assert!(picked.len() <= budget);
        let mut readings = Vec::new();
        for number in picked {
            let unread = now.since(last[&number]);
            longest = longest.max(unread);
            last.insert(number, now);
            // Up to 20 kB/s, different for each rule and each time.
            let rate = random.u64(0..=u64::from(number.0 % 20)) * 1000;
            let usage = Count { octets: rate * unread.as_millis() as u64 / 1000, packets: 1 };
            readings.push(Reading { number, side: Side::Ingress, usage, is_last: false });
        }
        pulling.readings(now, &readings);
    }
    let end = at(0) + pass * passes;
    last.values().fold(longest, |longest, read| longest.max(end.since(*read)))
}

// Input:  2000 rules of up to 20 kB/s with thresholds from 10 kB to 1 MB, of which 100 are read every 100 ms.
// Output: none is unread for longer than five seconds and the passes of both partitions, with or without a policy.
#[test]
fn no_rule_starves() {
    for care in [None, Some(CARE)] {
        let config = Config { care, ..Config::default() };
        let longest = longest_gap(config, 2000, 100, Span::from_millis(100), 400);
        assert!(longest <= Span::from_millis(5200), "{longest:?}");
    }
}

// Input:  ten times as many rules as can be read in five seconds, for a long time.
// Output: all are read nonetheless, none much later than the others.
#[test]
fn too_many_rules_are_read_in_turns() {
    let longest = longest_gap(Config::default(), 3000, 10, Span::from_millis(100), 2500);
    assert!(longest < Span::from_secs(60), "{longest:?}");
}

// Input:  150,000 rules of both directions with a URR per session.
// Output: a pass picks 10,000 of them, the most urgent.
#[test]
fn a_large_network() {
    let mut pulling: Pulling<u32> = Pulling::new(Config::default());
    let mut random = fastrand::Rng::with_seed(5);
    let mut thresholds = Vec::new();
    for number in 0..150_000 {
        let octets = random.u64(1..500_000);
        thresholds.push(octets);
        let urr = Urr { volume_threshold: Some(Limit::total(10_000 + octets)), ..INGRESS };
        pulling.provision(at(0), number, urr);
        let measured = Measured {
            number: SwitchPdr(number),
            direction: Direction::Uplink,
            partitions: [Partition(0); 2],
            banks: [0; 2],
            urrs: &[number],
            replaces: None,
        };
        pulling.enter(at(0), &measured).unwrap();
    }
    let usage = Count { octets: 10_000, packets: 10 };
    let all = (0..150_000).map(|number| Reading {
        number: SwitchPdr(number),
        side: Side::Ingress,
        usage,
        is_last: false,
    });
    assert!(pulling.readings(at(100), &all.collect::<Vec<_>>()).is_empty());
    let picked = pulling.pick(at(200), Side::Ingress, Partition(0), 10_000);
    let mut sorted = thresholds.clone();
    sorted.sort_unstable();
    // A bucket is a millisecond wide: 100 octets at this rate.
    let most = picked.iter().map(|number| thresholds[number.0 as usize]).max().unwrap();
    assert_eq!(picked.len(), 10_000);
    assert!(most <= sorted[9_999] + 200, "{most} of {}", sorted[9_999]);
}

#[derive(Clone, Debug)]
enum Step {
    Provision(u32, Option<u16>, Option<u16>, Option<u16>),
    Remove(u32),
    Enter(u32, bool, Vec<u32>),
    Expire(u32),
    Retire(u32),
    Read(u32, bool, u16),
    Pick(bool, u8),
    Advance,
}

fn step() -> impl Strategy<Value = Step> {
    let some = || proptest::option::of(1..3000_u16);
    prop_oneof![
        2 => (0..6_u32, some(), some(), some()).prop_map(|(key, volume, quota, time)| Step::Provision(key, volume, quota, time)),
        1 => (0..6_u32).prop_map(Step::Remove),
        4 => (0..20_u32, any::<bool>(), proptest::collection::vec(0..6_u32, 0..4)).prop_map(|(number, up, urrs)| Step::Enter(number, up, urrs)),
        2 => (0..20_u32).prop_map(Step::Expire),
        1 => (0..20_u32).prop_map(Step::Retire),
        12 => (0..20_u32, any::<bool>(), any::<u16>()).prop_map(|(number, egress, octets)| Step::Read(number, egress, octets)),
        3 => (any::<bool>(), 0..9_u8).prop_map(|(egress, budget)| Step::Pick(egress, budget)),
        1 => Just(Step::Advance),
    ]
}

/// A simple model of URRs and rules.
#[derive(Default)]
struct Plain {
    /// The side of each URR, what was read for it, and what was reported or handed out at its end.
    urrs: HashMap<u32, (Side, u64, u64)>,
    /// The URRs of each rule, and whether it has expired.
    rules: HashMap<u32, (Vec<u32>, bool)>,
}

impl Plain {
    fn book(&mut self, reports: &[Report<u32>]) {
        for report in reports {
            assert!(!report.triggers.is_empty());
            self.urrs.get_mut(&report.key).unwrap().2 += report.usage.total();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // Input:  URRs, rules and readings are added and removed in any order.
    // Output: for each URR, its reports and counts equal the readings of its rules on its side, to the octet; picked
    //         numbers are rules in use with a URR on that side, once.
    #[test]
    fn usage_is_conserved(steps in proptest::collection::vec(step(), 0..300), careful in any::<bool>()) {
        let config = Config { care: careful.then_some(CARE), ..Config::default() };
        let mut pulling: Pulling<u32> = Pulling::new(config);
        let mut plain = Plain::default();
        for (index, step) in steps.into_iter().enumerate() {
            let now = at(index as u64 * 137);
            let side = |egress: bool| if egress { Side::Egress } else { Side::Ingress };
            match step {
                Step::Provision(key, volume, quota, time) => {
                    let span = |millis: u16| Span::from_millis(millis.into());
                    let urr = Urr {
                        volume_threshold: volume.map(|octets| Limit::total(u64::from(octets) * 40)),
                        volume_quota: quota.map(|octets| Limit::total(u64::from(octets) * 90)),
                        time_threshold: time.map(span),
                        period: time.filter(|time| time % 2 == 0).map(span),
                        ..Urr::new(side(key % 2 == 1))
                    };
                    pulling.provision(now, key, urr);
                    plain.urrs.entry(key).or_insert((urr.side, 0, 0));
                }
                Step::Remove(key) => {
                    let remaining = pulling.remove(key);
                    let known = plain.urrs.remove(&key);
                    prop_assert_eq!(remaining.map(|remaining| remaining.total()), known.map(|(_, read, reported)| read - reported));
                    plain.rules.values_mut().for_each(|(urrs, _)| urrs.retain(|urr| *urr != key));
                }
                Step::Enter(number, up, mut urrs) if !plain.rules.contains_key(&number) => {
                    urrs.sort_unstable();
                    urrs.dedup();
                    let direction = if up { Direction::Uplink } else { Direction::Downlink };
                    let measured = Measured {
                        number: SwitchPdr(number), direction, partitions: [Partition(0); 2], banks: [0; 2], urrs: &urrs, replaces: Some(SwitchPdr(number + 1)),
                    };
                    let entered = pulling.enter(now, &measured);
                    prop_assert_eq!(entered.is_ok(), urrs.iter().all(|urr| plain.urrs.contains_key(urr)));
                    if entered.is_ok() {
                        plain.rules.insert(number, (urrs, false));
                    }
                }
                Step::Enter(..) => {}
                Step::Expire(number) => {
                    pulling.expire(SwitchPdr(number));
                    plain.rules.entry(number).and_modify(|(_, expired)| *expired = true);
                }
                Step::Retire(number) => {
                    pulling.retire(SwitchPdr(number));
                    plain.rules.remove(&number);
                }
                Step::Read(number, egress, octets) => {
                    let (number, octets) = (number, u64::from(octets));
                    for urr in plain.rules.get(&number).into_iter().flat_map(|(urrs, _)| urrs) {
                        let (of, read, _) = plain.urrs.get_mut(urr).unwrap();
                        *read += if *of == side(egress) { octets } else { 0 };
                    }
                    let usage = Count { octets, packets: 1 };
                    let reading = Reading { number: SwitchPdr(number), side: side(egress), usage, is_last: false };
                    plain.book(&pulling.readings(now, &[reading]));
                }
                Step::Pick(egress, budget) => {
                    let picked = pulling.pick(now, side(egress), Partition(0), budget.into());
                    prop_assert!(picked.len() <= usize::from(budget));
                    for (index, number) in picked.iter().enumerate() {
                        prop_assert!(!picked[..index].contains(number));
                        prop_assert!(plain.rules.get(&number.0).is_some_and(|(_, expired)| !expired));
                    }
                    let counts = |urr: &u32| plain.urrs.get(urr).is_some_and(|(of, ..)| *of == side(egress));
                    let due = plain.rules.values().filter(|(urrs, expired)| !expired && urrs.iter().any(counts)).count();
                    prop_assert!(picked.len() >= due.min(budget.into()), "{} of {due} are picked", picked.len());
                }
                Step::Advance => plain.book(&pulling.advance(now)),
            }
            for (key, (_, read, reported)) in &plain.urrs {
                prop_assert_eq!(pulling.counted(*key).map(|counted| counted.total()), Some(read - reported));
            }
        }
    }
}
