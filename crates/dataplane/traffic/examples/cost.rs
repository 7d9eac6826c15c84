//! The time that a detector takes for a packet, on one core of this machine: of 20,000 equal flows; and where half of the packets
//! are of 1,250 heavy flows and the others of 60,000 small ones. Packets come in random order, in batches of 64 with one time each.
//!
//! `cargo run --release -p causeway-traffic --example cost`

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io::Write;
use std::net::Ipv4Addr;
use std::time::Instant;

use causeway_traffic::classes::{Classifier, Feature, Model, Node, PairClass, TableLimits, Tree};
use causeway_traffic::heavy::{FlowKind, HeavyHitterSettings, HeavyHitters, Threshold};
use causeway_traffic::{
    FiveTuple, FlowKeys, HkIpg, HkIpgConfig, Key, Placement, Random, Sliding, SlidingConfig, SwitchSliding,
    Unit,
};
use causeway_types::{Direction, Span, Time};

/// Packets in a round, of one time in a batch, and in what is measured at once: so few that most are not interrupted. The median of
/// all of these counts.
const PACKETS: usize = 1 << 20;
const BATCH: usize = 64;
const MEASURED: usize = 64 * BATCH;
const ROUNDS: u64 = 12;
/// Time between two batches at 10 million packets a second.
const STEP: Span = Span::from_nanos(6400);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for (traffic, keys) in [("equal flows", equal_flows()), ("heavy and small flows", unequal_flows())] {
        let mut print = |name: &str, nanos: f64| writeln!(out, "{traffic}: {name}: {nanos:.1} ns a packet");
        for (name, placement, ways, slots, unit) in [
            ("sliding, 8 ways together, 1 MiB", Placement::Together, 8, 131_072, Unit::Packets(0)),
            ("sliding, the same by octets", Placement::Together, 8, 131_072, Unit::KIBI_OCTETS),
            ("sliding, 4 ways together, 1 MiB", Placement::Together, 4, 131_072, Unit::Packets(0)),
            ("sliding, 4 ways apart, 144 KiB", Placement::Apart, 4, 18_432, Unit::Packets(0)),
        ] {
            let threshold = if unit.has_remainder() { 125_000 } else { 125 };
            let config =
                SlidingConfig { placement, ways, unit, threshold, ..SlidingConfig::with_slots(slots) };
            let mut detector = Sliding::new(&config)?;
            print(name, measure(&keys, |key, now| detector.observe(key, 1000, now)))?;
        }
        let half = Span::from_millis(500);
        let config =
            SlidingConfig { ways: 2, sub_windows: 2, sub_window: half, ..SlidingConfig::with_slots(18_432) };
        let mut detector = SwitchSliding::new(&config)?;
        print("switch form, 2 ways, 144 KiB", measure(&keys, |key, now| detector.observe(key, 1000, now)))?;
        let mut detector = HkIpg::new(&HkIpgConfig::with_slots(16_384))?;
        print("HK-IPG, 16,384 slots", measure(&keys, |key, now| detector.observe(key, now)))?;
        let (classifier, mut pairs) = classifier()?;
        let classified = measure_pairs(&keys, &classifier, &mut pairs);
        print("application class, windows of 0.3 s, 131,072 rule pairs", classified)?;
        for (name, kind) in [("UE address", FlowKind::UeAddress), ("5-tuple", FlowKind::FiveTuple)] {
            let settings = HeavyHitterSettings {
                threshold: Threshold::BitsPerSecond(20_000_000),
                window: Span::from_secs(1),
                memory: 1 << 20,
                kind,
                seed: 7,
            };
            let mut heavy = HeavyHitters::new(&settings)?;
            let of = heavy.keys();
            // The bits of a key stand for the addresses and ports of a packet.
            let cost = measure(&keys, |key, now| {
                let addresses = (Ipv4Addr::from_bits(key.0 as u32).into(), Ipv4Addr::LOCALHOST.into());
                let packet = FiveTuple { addresses, ports: ((key.0 >> 32) as u16, 443), protocol: 17 };
                heavy.observe(1000, now, of.key(Direction::Uplink, &packet), || ());
            });
            print(&format!("heavy hitters of a data plane with their keys, by {name}, 1 MiB"), cost)?;
        }
        print("the loop alone", measure(&keys, |key, _| key))?;
    }
    Ok(())
}

/// A classifier with three splits, and the state of rule pairs: 8 MiB.
fn classifier() -> Result<(Classifier, Vec<PairClass>), Box<dyn std::error::Error>> {
    let split = |feature, threshold, below| Node::Split { feature, threshold, below, above: below + 1 };
    let nodes = vec![
        split(Feature::DownlinkPackets, 96, 1),
        Node::Leaf { class: 0 },
        split(Feature::DownlinkSize, 9664, 3),
        Node::Leaf { class: 0 },
        split(Feature::DownlinkSize, 18_733, 5),
        Node::Leaf { class: 1 },
        Node::Leaf { class: 0 },
    ];
    let classes = vec!["other".into(), "cloud-gaming".into()];
    let model = Model::new(classes, 300, 2, Tree::new(nodes, 2)?)?;
    Ok((Classifier::new(&model, &TableLimits::default())?, vec![PairClass::default(); PAIRS]))
}

const PAIRS: usize = 131_072;

/// A packet in eight is from the UE. The place of a pair is a few bits of the key, as a flow entry's would be at hand.
fn measure_pairs(keys: &[Key], classifier: &Classifier, pairs: &mut [PairClass]) -> f64 {
    measure(keys, |key, now| {
        let direction = if key.0 >> 61 == 0 { Direction::Uplink } else { Direction::Downlink };
        let pair = pairs.get_mut(key.0 as usize % PAIRS)?;
        classifier.observe(pair, direction, 1000, now)
    })
}

fn equal_flows() -> Vec<Key> {
    keys(|random| (u64::from(random.bits()) * 20_000) >> 16)
}

fn unequal_flows() -> Vec<Key> {
    keys(|random| match random.bits() % 2 {
        0 => u64::from(random.bits() % 1250),
        _ => 2000 + u64::from(random.bits()) % 60_000,
    })
}

fn keys(mut flow: impl FnMut(&mut Random) -> u64) -> Vec<Key> {
    let flows = FlowKeys::with_seed(7);
    let mut random = Random::with_seed(7);
    (0..PACKETS).map(|_| flows.rule_pair(flow(&mut random), 0)).collect()
}

/// Nanoseconds a packet: the median.
fn measure<T>(keys: &[Key], mut observe: impl FnMut(Key, Time) -> T) -> f64 {
    let mut now = Time::from_secs(1000);
    let mut nanos = Vec::new();
    for part in (0..ROUNDS).flat_map(|_| keys.chunks(MEASURED)) {
        let begin = Instant::now();
        for batch in part.chunks(BATCH) {
            now = now + STEP;
            for key in batch {
                black_box(observe(*key, now));
            }
        }
        nanos.push(begin.elapsed().as_nanos() as f64 / part.len() as f64);
    }
    nanos.sort_by(f64::total_cmp);
    nanos.get(nanos.len() / 2).copied().unwrap_or(f64::NAN)
}
