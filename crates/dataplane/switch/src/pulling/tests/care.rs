//! Usage pulling with a policy: few readings, and none much too late.

use std::collections::HashMap;

use super::*;

/// Passes are short, and read the counters that are needed within a millisecond.
fn careful() -> Bench {
    let config = Config { ahead: Some(Span::from_millis(1)), care: Some(CARE), ..Config::default() };
    Bench { pulling: Pulling::new(config) }
}

/// An uplink volume threshold.
fn uplink(octets: u64) -> Urr {
    let limit = Limit { uplink: Some(octets), ..Limit::default() };
    Urr { volume_threshold: Some(limit), ..INGRESS }
}

// Input:  a threshold that is likely to be reached in two seconds, but for one packet, by a rule that sends 100 packets
//         of 10 octets per second.
// Output: it is needed after one second, and then after half of the rest, so that doubled traffic is not found too
//         late.
#[test]
fn it_looks_before_it_is_likely() {
    let mut bench = careful();
    bench.urr(0, 1, uplink(12_010));
    bench.uplink(0, 1, &[1]);
    assert!(bench.read_packets(10_000, 1, 10_000, 1000).is_empty());
    assert_eq!((bench.pick(10_990, 9), bench.pick(11_000, 9)), (vec![], vec![1]));
    assert!(bench.read_packets(11_000, 1, 1000, 100).is_empty());
    assert_eq!((bench.pick(11_490, 9), bench.pick(11_500, 9)), (vec![], vec![1]));
    let reports = bench.read_packets(11_500, 1, 1010, 101);
    assert_eq!(said(&reports), [(1, Triggers::VOLUME_THRESHOLD, 12_010)]);
}

// Input:  a rule without any threshold that is new, read whenever it is picked.
// Output: it is read half a second after it was added, then again after at most the observed time, up to five seconds;
//         its replacement is read without this.
#[test]
fn little_is_not_trusted_for_long() {
    let mut bench = careful();
    bench.urr(0, 1, INGRESS);
    bench.uplink(0, 1, &[1]);
    let mut read = vec![0];
    for now in 0..30_000 {
        if !bench.pick(now, 9).is_empty() {
            bench.read_packets(now, 1, 100, 1);
            read.push(now);
        }
    }
    assert_eq!(read[1], 499, "to a millisecond");
    let gaps: Vec<(u64, u64)> = read.windows(2).map(|times| (times[0], times[1] - times[0])).collect();
    let young: Vec<_> = gaps.iter().skip(1).take_while(|(known, _)| *known < 5000).collect();
    assert!(young.len() >= 3 && young.iter().all(|(known, gap)| *gap <= *known && *gap + 1 >= known / 2));
    let last = *read.last().unwrap();
    bench.enter(last, 2, Direction::Uplink, &[1], Some(1));
    bench.pulling.expire(SwitchPdr(1));
    assert!(bench.pick(last + 4800, 9).is_empty() && bench.pick(last + 5000, 9) == [2]);
}

// Input:  a rule sends nothing for twenty seconds, and then 1000 octets per second for two, which leaves 2000 to its
//         threshold.
// Output: it is needed again soon, though its mean over ten seconds would allow five: recent traffic counts.
#[test]
fn traffic_that_begins_counts() {
    let mut bench = careful();
    bench.urr(0, 1, uplink(4000));
    bench.uplink(0, 1, &[1]);
    (1..=20).for_each(|second| assert!(bench.read_packets(second * 1000, 1, 0, 0).is_empty()));
    assert!(bench.read_packets(22_000, 1, 2000, 2000).is_empty());
    assert!(bench.pick(23_400, 9).is_empty());
    assert_eq!(bench.pick(23_600, 9), [1], "half of 2000 octets at 632 a second");
}

// Input:  one more packet reaches the threshold, of a rule that sends one each second.
// Output: it is needed immediately, in each pass: the packet may arrive at any time.
#[test]
fn the_last_packet_is_not_waited_for() {
    let mut bench = careful();
    bench.urr(0, 1, uplink(2900));
    bench.uplink(0, 1, &[1]);
    bench.read_packets(2000, 1, 2000, 2);
    assert_eq!(bench.pick(2001, 9), [1]);
    bench.read_packets(2001, 1, 0, 0);
    assert_eq!(bench.pick(2002, 9), [1]);
}

// Input:  a threshold of the uplink, and rules of both directions that send 1000 octets per second.
// Output: the downlink counter is not read for it; for a threshold of both directions it is.
#[test]
fn only_counters_that_count_are_read() {
    for (both, expected) in [(false, vec![1]), (true, vec![1, 2])] {
        let mut bench = careful();
        let total = Urr { volume_threshold: Some(Limit::total(22_000)), ..INGRESS };
        bench.urr(0, 1, if both { total } else { uplink(12_000) });
        bench.uplink(0, 1, &[1]);
        bench.enter(0, 2, Direction::Downlink, &[1], None);
        bench.read_packets(10_000, 1, 10_000, 10_000);
        bench.read_packets(10_000, 2, 10_000, 10_000);
        // Half of the time is over in which both reach it together; with the uplink alone that takes twice as long.
        let mut picked = bench.pick(if both { 10_500 } else { 11_000 }, 9);
        picked.sort_unstable();
        assert_eq!(picked, expected);
    }
}

// Input:  2000 rules without any threshold are added together, and are read by short passes every 25 ms for 31 seconds.
// Output: after ten seconds no pass reads many more than others, none is unread for more than five seconds and a pass,
//         and none is read much more often than necessary.
#[test]
fn passes_are_even() {
    let (rules, pass) = (2000, 25);
    let mut bench = careful();
    bench.urr(0, 1, INGRESS);
    let mut last: HashMap<u32, u64> = HashMap::new();
    for number in 0..rules {
        bench.uplink(0, number, &[1]);
        last.insert(number, 0);
    }
    let (mut largest, mut readings) = (0, 0);
    for now in (0..31_000).step_by(pass) {
        let picked = bench.pick(now, usize::MAX);
        for number in &picked {
            bench.read(now, *number, 100);
            let unread = now - last.insert(*number, now).unwrap();
            assert!(unread <= 5000 + pass as u64, "{number} was unread for {unread} ms");
        }
        if now > 10_000 {
            (largest, readings) = (largest.max(picked.len()), readings + picked.len());
        }
    }
    assert!(last.values().all(|read| 31_000 - read <= 5000 + pass as u64));
    // 10 in each pass on average, as 2000 are owed in five seconds.
    assert!(largest < 40, "a pass of {largest}");
    assert!(readings < rules as usize * 21 / 5 * 105 / 100, "{readings} readings");
}

// Input:  500 rules whose traffic consists of packets, at rates that change every half second from zero to twice the
//         mean, with uplink thresholds; passes every 10 ms for 30 seconds.
// Output: all octets are in reports or counted; half of the reports are made by the second pass after the threshold was
//         reached, and all but one in a hundred within a tenth of a second; a report takes few readings.
#[test]
fn reports_come_soon_with_few_readings() {
    let (rules, pass) = (500_u32, 10_u64);
    let mut bench = careful();
    let mut random = fastrand::Rng::with_seed(7);
    let mut flows: Vec<Traffic> = Vec::new();
    for number in 0..rules {
        let threshold = random.u64(50_000..300_000);
        bench.urr(0, number, uplink(threshold));
        bench.uplink(0, number, &[number]);
        flows.push(Traffic {
            threshold,
            mean: random.u64(12..75),
            packet: random.u64(200..1200),
            ..Traffic::default()
        });
    }
    let (mut late, mut readings) = (Vec::new(), 0_u64);
    for now in (0..30_000).step_by(pass as usize) {
        for flow in &mut flows {
            flow.send(now, pass, &mut random);
        }
        for number in bench.pick(now, usize::MAX) {
            readings += u64::from(now > 10_000);
            let flow = &mut flows[number as usize];
            let (octets, packets) = std::mem::take(&mut flow.unread);
            for report in bench.read_packets(now, number, octets, packets) {
                flow.reported += report.usage.total();
                late.extend(flow.reached.take().filter(|_| now > 10_000).map(|reached| now - reached));
            }
        }
    }
    for (number, flow) in (0..).zip(&flows) {
        let counted = bench.pulling.counted(number).unwrap().total();
        assert_eq!(flow.reported + counted + flow.unread.0, flow.sent);
    }
    late.sort_unstable();
    let at = |part: usize| late[late.len() * part / 100];
    assert!(
        late.len() > 800 && at(50) <= 2 * pass && at(99) <= 100,
        "{} at 50 %, {} at 99 %",
        at(50),
        at(99)
    );
    // One in five seconds is owed anyway.
    let owed = u64::from(rules) * 20 / 5;
    assert!(readings - owed < late.len() as u64 * 14, "{readings} readings for {} reports", late.len());
}

/// Packets of one rule.
#[derive(Default)]
struct Traffic {
    threshold: u64,
    /// Octets a millisecond.
    mean: u64,
    packet: u64,
    rate: u64,
    /// Octets that have not become a packet.
    rest: u64,
    unread: (u64, u64),
    sent: u64,
    reported: u64,
    reached: Option<u64>,
}

impl Traffic {
    /// What came before `now`, in so many milliseconds.
    fn send(&mut self, now: u64, span: u64, random: &mut fastrand::Rng) {
        if now.is_multiple_of(500) {
            self.rate = random.u64(0..=2 * self.mean);
        }
        self.rest += self.rate * span;
        let packets = self.rest / self.packet;
        self.rest %= self.packet;
        self.unread = (self.unread.0 + packets * self.packet, self.unread.1 + packets);
        self.sent += packets * self.packet;
        if self.sent - self.reported >= self.threshold {
            self.reached.get_or_insert(now);
        }
    }
}
