//! What the units of a running UPF do to flows near the threshold: which packets have one is drawn by chance.

use std::io::Write as _;
use std::net::IpAddr;

use causeway_traffic::heavy::{Change, FlowKind, HeavyHitterSettings, HeavyHitters, Threshold};
use causeway_traffic::{FiveTuple, Key, Random, Unit};
use causeway_types::{Direction, Span, Time};

/// Octets of a window at the threshold, 20 Mbit/s: 153 units of 2^14 octets.
const THRESHOLD: u64 = 2_500_000;
/// Octets of a packet of the UE that is looked at.
const PACKET: u32 = 1400;
/// Nanoseconds between two packets of all UEs.
const TICK: u64 = 50_000;
/// Other UEs, of about 1.2 Mbit/s each.
const OTHERS: u16 = 100;
const SECONDS: u64 = 60;
const RUNS: u64 = 30;

fn key(heavy: &HeavyHitters<u16>, ue: u16) -> Key {
    let [high, low] = ue.to_be_bytes();
    let addresses = (IpAddr::from([10, 45, high, low]), IpAddr::from([198, 51, 100, 9]));
    let packet = FiveTuple { addresses, ports: (4000, 443), protocol: 17 };
    heavy.keys().key(Direction::Uplink, &packet)
}

/// When a UE is reported first that sends packets with equal gaps at this share of the threshold, in percent, in nanoseconds since its first packet.
fn reported(percent: u64, seed: u64) -> Option<u64> {
    let settings = HeavyHitterSettings {
        threshold: Threshold::BitsPerSecond(8 * THRESHOLD),
        window: Span::from_secs(1),
        memory: 1 << 20,
        kind: FlowKind::UeAddress,
        seed,
    };
    assert_eq!(settings.sliding().unwrap().unit, Unit::Octets(14));
    let mut heavy = HeavyHitters::new(&settings).unwrap();
    let keys: Vec<Key> = (0..=OTHERS).map(|ue| key(&heavy, ue)).collect();
    let mut random = Random::with_seed(seed + 1000);
    let gap = u64::from(PACKET) * 1_000_000_000 * 100 / (THRESHOLD * percent);
    let begin = Time::from_secs(5) + Span::from_nanos(u64::from(random.word()) % 1_000_000_000);
    let mut next = 0;
    for now in (0..SECONDS * 1_000_000_000).step_by(TICK as usize) {
        let (ue, octets) = if now >= next {
            next += gap;
            (0, PACKET)
        } else {
            let bits = random.word();
            (1 + (bits >> 16) as u16 % OTHERS, 60 + (bits & 0xffff) % 1400)
        };
        heavy.observe(octets, begin + Span::from_nanos(now), keys[usize::from(ue)], || ue);
        if let Some(Change::Began(flow)) = heavy.poll_change() {
            assert_eq!(flow.flow, 0, "of {percent} %, seed {seed}");
            return Some(now);
        }
    }
    None
}

// Input:  for a minute a UE of packets of 1,400 octets with equal gaps, at several shares of a threshold of 20 Mbit/s, among a hundred UEs of about 1.2 Mbit/s; 30
//         seeds.
// Output: of the others nothing is reported. The UE is not at 60 and 70 % of the threshold, by chance at 80 %, in nearly each minute at 90 %, and in all of them above: at 110 %
//         within three seconds, at 130 % within 1.2.
#[test]
fn sampled_units_decide_by_chance_near_the_threshold() {
    let all = [60, 70, 80, 90, 110, 130].map(|percent| {
        let mut found: Vec<u64> = (0..RUNS).filter_map(|seed| reported(percent, seed)).collect();
        found.sort_unstable();
        let millis = found.iter().map(|nanos| nanos / 1_000_000);
        let text = format!("{percent} %: {} of {RUNS}, after ms: {:?}", found.len(), Vec::from_iter(millis));
        let _ = writeln!(std::io::stdout(), "{text}");
        (found, text)
    });
    let [six, seven, eight, nine, eleven, thirteen] = &all;
    assert!(six.0.is_empty() && seven.0.is_empty(), "{} {}", six.1, seven.1);
    assert!((3..=27).contains(&eight.0.len()), "{}", eight.1);
    assert!(nine.0.len() >= 27, "{}", nine.1);
    for ((found, text), most) in [(eleven, 3_000_000_000), (thirteen, 1_200_000_000)] {
        assert!(found.len() == RUNS as usize && found.iter().all(|nanos| *nanos < most), "{text}");
    }
}
