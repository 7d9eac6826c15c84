//! Random patterns of packets: estimates against the oracles, both forms of the sliding window against each other, and what
//! paced flows and bursts may cost.

mod class_oracle;
mod classes;
mod hk_ipg_oracle;
mod sampled_units;
mod sliding_oracle;

use std::collections::VecDeque;

use causeway_traffic::{
    FlowKeys, HkIpg, HkIpgConfig, Key, Outcome, Placement, Sliding, SlidingConfig, SwitchSliding, Unit,
    hk_ipg::Stamps,
};
use causeway_types::{Span, Time};
use hk_ipg_oracle::HkIpgOracle;
use proptest::prelude::*;
use sliding_oracle::SlidingOracle;

fn key(flow: u64) -> Key {
    FlowKeys::with_seed(11).rule_pair(flow, 0)
}

/// A time after any multiple of a sub-window.
fn at(phase: u64, nanos: u64) -> Time {
    Time::from_secs(5) + Span::from_nanos(phase + nanos)
}

/// The greatest number of packets in any second that ends with a packet, by packet.
fn in_last_second(times: &[u64]) -> Vec<usize> {
    let mut last = VecDeque::new();
    let mut count = |now: &u64| {
        last.push_back(*now);
        while last.front().is_some_and(|first| now - first >= 1_000_000_000) {
            last.pop_front();
        }
        last.len()
    };
    times.iter().map(&mut count).collect()
}

/// Times of a paced flow for five seconds: gaps of a mean and 30 % around it, in nanoseconds.
fn paced(rate: f64, spread: &[u16]) -> Vec<u64> {
    let gap = |random: &u16| 1e9 / rate * (0.7 + 0.6 * f64::from(*random) / 65535.0);
    let times = spread.iter().cycle().scan(0.0, |now, random| {
        *now += gap(random);
        Some(*now as u64)
    });
    times.take_while(|now| *now < 5_000_000_000).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    // Input:  a paced flow of 60 to 190 packets a second with gaps of 30 % around the mean, at any phase of the sub-windows, a
    //         threshold of 125.
    // Output: no report as long as every second holds less than 95 % of the threshold; a report within a second of the first
    //         second that holds 105 %.
    #[test]
    fn paced_flows_are_decided_near_the_threshold(
        rate in 60.0..190.0_f64,
        phase in 0..1_000_000_000_u64,
        spread in prop::collection::vec(any::<u16>(), 97..463),
    ) {
        let times = paced(rate, &spread);
        let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
        let is_report = |now: &&u64| detector.observe(key(1), 1000, at(phase, **now)).is_report();
        let reported = times.iter().find(is_report).copied();
        let counts = in_last_second(&times);
        let first = |share: f64| times.iter().zip(&counts).find(|(_, count)| **count as f64 >= share * 125.0).map(|(now, _)| *now);
        if let Some(now) = reported {
            let below = first(0.95);
            prop_assert!(below.is_some_and(|below| below <= now), "reported at {now}, above 95 % at {below:?}");
        }
        if let Some(above) = first(1.05).filter(|above| *above < 4_000_000_000) {
            prop_assert!(reported.is_some_and(|now| now <= above + 1_000_000_000), "{above} {reported:?}");
        }
    }

    // Input:  bursts of 1 to 120 packets with gaps of up to a second, at any phase.
    // Output: the estimate differs from the exact count of the last second by at most what the oldest sub-window holds, and a
    //         count of rounding; it differs from the oracle's by at most a count.
    #[test]
    fn bursts_cost_at_most_the_oldest_sub_window(
        bursts in prop::collection::vec((1..120_u64, 0..1_000_000_000_u64, 0..2_000_000_u64), 1..40),
        phase in 0..1_000_000_000_u64,
    ) {
        let mut detector = Sliding::new(&SlidingConfig::with_slots(64)).unwrap();
        let mut oracle = SlidingOracle::new(Span::from_millis(250), 4);
        let mut times = Vec::new();
        let mut now = 0;
        for (packets, pause, gap) in bursts {
            now += pause;
            times.extend((0..packets).map(|packet| now + packet * gap));
            now += packets * gap;
        }
        let counts = in_last_second(&times);
        for (now, exact) in times.iter().zip(counts) {
            detector.observe(key(1), 1000, at(phase, *now));
            let found = f64::from(detector.measured(key(1)).unwrap());
            let estimate = oracle.observe(1.0, at(phase, *now));
            // A count at its limit is another matter.
            if detector.statistics().saturations > 0 {
                break;
            }
            prop_assert!((found - estimate.units).abs() <= 1.0, "{found} {estimate:?}");
            prop_assert!((found - exact as f64).abs() <= estimate.oldest + 1.0, "{found} {exact} {estimate:?}");
        }
    }

    // Input:  a flow of 50 to 2,000 packets a second with random gaps, with both widths of time stamps.
    // Output: the average differs little from the oracle's, and reports come at the same packet, or a timeslot apart.
    #[test]
    fn integers_of_hk_ipg_are_near_the_oracle(
        rate in 50.0..2000.0_f64,
        phase in 0..1_000_000_000_u64,
        spread in prop::collection::vec(any::<u16>(), 97..463),
    ) {
        let config = HkIpgConfig { stamps: Stamps::Fine, ..HkIpgConfig::with_slots(4) };
        let mut detector = HkIpg::new(&config).unwrap();
        let mut oracle = HkIpgOracle::new(&config);
        let (mut ours, mut exact): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for now in paced(rate, &spread) {
            // Microseconds, so that both see the same gaps.
            let time = at(phase / 1000 * 1000, now / 1000 * 1000);
            if detector.observe(key(1), time).is_report() {
                ours.push(now);
            }
            if oracle.observe(time) {
                exact.push(now);
            }
        }
        // The first report; each later one may begin a timeslot later.
        let apart = |place: usize| Some(ours.get(place)?.abs_diff(*exact.get(place)?));
        if (oracle.average - 8000.0).abs() > 40.0 && (rate - 125.0).abs() > 10.0 {
            prop_assert!(ours.len().abs_diff(exact.len()) <= 1, "{ours:?} {exact:?}");
            prop_assert!(apart(0).is_none_or(|apart| apart <= 21_000_000 + (1e9 / rate) as u64), "{ours:?} {exact:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // Input:  thousands of packets of some hundred flows in few slots, in any order and with time running back and standing; each
    //         weight, and numbers of ways, sub-windows and position bits.
    // Output: the form for switches says the same of every packet as the general one, and measures the same for every flow.
    #[test]
    fn both_forms_are_equal(
        packets in prop::collection::vec((0..300_u64, 40..1500_u32, 0..20_u32), 2000),
        ways in 1..5_usize,
        sub_windows in 1..5_u8,
        position_bits in 1..9_u8,
        in_octets: bool,
        seed: u64,
    ) {
        let unit = if in_octets { Unit::KIBI_OCTETS } else { Unit::Packets(0) };
        let config = SlidingConfig {
            ways,
            position_bits,
            unit,
            seed,
            sub_windows,
            sub_window: Span::from_millis(1000 / u64::from(sub_windows)),
            threshold: if in_octets { 20_000 } else { 20 },
            ..SlidingConfig::with_slots(64)
        };
        let mut general = Sliding::new(&config).unwrap();
        let mut switch = SwitchSliding::new(&config).unwrap();
        let mut now = Time::from_secs(3);
        for (flow, octets, step) in packets {
            now = match step {
                19 => now - Span::from_millis(700),
                18 => now - Span::from_millis(1700),
                17 => now + Span::from_millis(1300),
                step => now + Span::from_micros(u64::from(step) * 300),
            };
            // Few flows have many packets.
            let key = key(flow * flow / 300);
            prop_assert_eq!(general.observe(key, octets, now), switch.observe(key, octets, now));
            prop_assert_eq!(general.measured(key), switch.measured(key));
        }
        prop_assert_eq!(general.statistics(), switch.statistics());
    }

    // Input:  any packets at any times, in any configuration that is accepted.
    // Output: no panic, and as many reports as are counted.
    #[test]
    fn no_packet_panics(
        packets in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u64>()), 500),
        slots in 1..200_usize,
        ways in 1..9_usize,
        identity_bits in 1..16_u8,
        threshold in 1..2_000_000_u64,
        shift in 0..16_u8,
        together: bool,
    ) {
        let config = SlidingConfig {
            ways,
            identity_bits,
            threshold,
            unit: Unit::Octets(shift),
            placement: if together { Placement::Together } else { Placement::Apart },
            ..SlidingConfig::with_slots(slots)
        };
        if let Ok(mut detector) = Sliding::new(&config) {
            let observe = |(key, octets, now): &(u64, u32, u64)| detector.observe(Key(*key), *octets, Time::from_nanos(*now));
            let reports = packets.iter().map(observe).filter(|outcome| outcome.is_report()).count();
            prop_assert_eq!(reports as u64, detector.statistics().reports);
        }
        if let Ok(mut detector) = SwitchSliding::new(&config) {
            packets.iter().for_each(|(key, octets, now)| { detector.observe(Key(*key), *octets, Time::from_nanos(*now)); });
        }
        let mut detector = HkIpg::new(&HkIpgConfig::with_slots(slots)).unwrap();
        packets.iter().for_each(|(key, _, now)| { detector.observe(Key(*key), Time::from_nanos(*now)); });
    }
}

// Input:  a hundred thousand packets of many flows in each detector.
// Output: no allocation.
#[test]
fn packets_allocate_nothing() {
    let config = SlidingConfig::with_slots(1024);
    let mut general = Sliding::new(&config).unwrap();
    let mut switch = SwitchSliding::new(&config).unwrap();
    let mut gaps = HkIpg::new(&HkIpgConfig::with_slots(1024)).unwrap();
    let allocated = allocation_counter::measure(|| {
        for packet in 0..100_000_u64 {
            let (key, now) = (key(packet * packet % 3001), at(0, packet * 20_000));
            general.observe(key, 1000, now);
            assert_ne!(switch.observe(key, 1000, now), Outcome::Report { measured: 0 });
            gaps.observe(key, now);
        }
    });
    assert_eq!(allocated.count_total, 0);
}

// Input:  a threshold of 1 Mbit/s in octets; for a minute 125 packets of 60 octets a second, which packets of 1000 octets would make heavy, and 87
//         of 1450 octets, which are 126,150 octets.
// Output: the former is never reported; the latter is within seconds, by both forms.
#[test]
fn octets_decide_and_not_packets() {
    let config =
        SlidingConfig { unit: Unit::KIBI_OCTETS, threshold: 125_000, ..SlidingConfig::with_slots(4096) };
    let mut general = Sliding::new(&config).unwrap();
    let mut switch = SwitchSliding::new(&config).unwrap();
    let mut first = |rate: u64, octets: u32, flow: u64| {
        (0..60 * rate).find(|packet| {
            let (key, now) = (key(flow), at(flow * 100_000_000_000, packet * 1_000_000_000 / rate));
            let reported = general.observe(key, octets, now).is_report();
            assert_eq!(switch.observe(key, octets, now).is_report(), reported);
            reported
        })
    };
    assert_eq!(first(125, 60, 1), None);
    let reported = first(87, 1450, 2);
    assert!(reported.is_some_and(|packet| packet < 5 * 87), "{reported:?}");
}
