//! Heavy hitters: profile `hip4` with HEAVY_HITTERS, on BMv2 alone. `src/heavy_hitters/tests.rs` compares the model with the software.

use std::time::Instant;

use causeway_switch::driver::Update;
use causeway_switch::heavy_hitters::{PLACES, config, entries};
use causeway_traffic::SlidingConfig;

use crate::bench::{Bench, packets};
use crate::frames::*;
use crate::rules::{Rule, RuleAction, TO_N6};
use crate::thrift::PATIENCE;
use crate::{N3, N6, bmv2, profiles};

/// The polynomial of a CRC that begins with the lowest bit, over a flow's number.
fn crc(flow: u32, polynomial: u32, initial: u32) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
    flow.to_be_bytes().iter().fold(initial, |crc, octet| (0..8).fold(crc ^ u32::from(*octet), step))
}

/// What the switch has of a flow: identity and places.
struct Flow {
    identity: u64,
    places: [u32; 2],
}

impl Flow {
    fn of(rule: &Rule) -> Self {
        let (long, short) = (!crc(rule.id, 0xedb8_8320, u32::MAX), crc(rule.id, 0xa001, 0));
        let last_bits = PLACES as u32 - 1;
        Self { identity: (long >> 16).into(), places: [long & last_bits, short & last_bits] }
    }

    /// Whether each way has the flow at its place.
    fn owns(&self, bench: &mut Bench) -> [bool; 2] {
        let runtime = &mut bench.bmv2().unwrap().runtime;
        let names = ["heavy_owners_0", "heavy_owners_1"];
        std::array::from_fn(|way| runtime.register(names[way], self.places[way]) == self.identity)
    }

    /// The counts at its place of way 0, in all sub-windows.
    fn counts(&self, bench: &mut Bench) -> u64 {
        let runtime = &mut bench.bmv2().unwrap().runtime;
        (0..4).map(|array| runtime.register(&format!("heavy_counts_0_{array}"), self.places[0]) & 0xff).sum()
    }

    fn is_heavy(&self, bench: &mut Bench) -> bool {
        bench.bmv2().unwrap().runtime.register("heavy_flags", self.places[0]) == 1
    }
}

// Input:  packets of two rules without a threshold; with one of 20 packets in a window: one packet, many of it, one of the other rule.
// Output: nothing is counted without one. The first packet takes a place by a second pass, and leaves once, counted once by its rule. The
//         rule becomes heavy, the other does not. Each has the place that the CRCs of its number say.
#[test]
fn a_rule_becomes_heavy() {
    let test = "heavy_hitters::a_rule_becomes_heavy";
    if !bmv2::is_inside() {
        return bmv2::run_inside(test);
    }
    let mut bench = Bench::new(profiles::heavy_hitters());
    let up = bench.uplink(TEID, 1, 0, TO_N6);
    let down = RuleAction::Encapsulate { tunnel: GNB.into(), teid: 4, kind: (0, 9), dscp: 0, notify: false };
    let down = bench.downlink(UE, 0, down);
    let config = SlidingConfig { threshold: 20, ..config() };
    let (full, updates) = (config.heavy_units(), entries(&bench.program, &config).unwrap());
    let limits = bench.program.table_named("heavy_limits").unwrap().id;
    let is_limit = |update: &&Update| matches!(update, Update::Insert(entry) if entry.key.table == limits);
    let write = |bench: &mut Bench, update| bench.bmv2().unwrap().runtime.write(update);
    updates.iter().filter(|update| !is_limit(update)).for_each(|update| write(&mut bench, update));

    let (busy, quiet) = (Flow::of(&up), Flow::of(&down));
    let uplink = from_gnb(&request(), 1);
    bench.expect(N3, &uplink, N6);
    assert_eq!(busy.owns(&mut bench), [false; 2]);

    updates.iter().filter(is_limit).for_each(|update| write(&mut bench, update));
    assert_eq!(routed(&bench.expect(N3, &uplink, N6)), request().hop().octets());
    assert_eq!((busy.owns(&mut bench), busy.counts(&mut bench)), ([true, false], 1));
    assert_eq!(packets(&bench.usage(&up)), (2, 2));
    assert!(full > 1 && !busy.is_heavy(&mut bench));

    bench.expect(N6, &ip(&reply().octets()), N3);
    // On a busy machine a burst may take more than a window.
    let (end, mut sent) = (Instant::now() + PATIENCE, 2);
    while !busy.is_heavy(&mut bench) {
        assert!(Instant::now() < end, "{sent} packets: {} of {full}", busy.counts(&mut bench));
        (0..full).for_each(|_| bench.bmv2().unwrap().put(N3, &uplink));
        let left = (0..full).map(|_| bench.bmv2().unwrap().next().0);
        assert!(left.eq((0..full).map(|_| N6)));
        sent += full;
    }
    assert_eq!(packets(&bench.usage(&up)), (sent, sent));
    assert_eq!((quiet.owns(&mut bench), quiet.counts(&mut bench)), ([true, false], 1));
    assert!(!quiet.is_heavy(&mut bench) && busy.counts(&mut bench) >= full);
}
