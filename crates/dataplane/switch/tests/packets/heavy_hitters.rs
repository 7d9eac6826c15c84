//! Heavy hitters: profile `hip4` with HEAVY_HITTERS, on BMv2. `src/model/upf/tests/heavy_hitters.rs` tells the same of the model, and
//! `src/heavy_hitters/tests.rs` compares that with the software.

use std::time::Instant;

use causeway_switch::driver::Update;
use causeway_switch::heavy_hitters::{Packet, config, entries};
use causeway_traffic::SlidingConfig;

use crate::bench::{Bench, packets};
use crate::frames::*;
use crate::rules::{Rule, RuleAction, TO_N6};
use crate::thrift::PATIENCE;
use crate::{CPU, N3, N6, bmv2, profiles};

/// What the switch has of a flow: identity and places.
struct Flow {
    identity: u64,
    places: [u32; 2],
}

impl Flow {
    fn of(rule: &Rule) -> Self {
        let Packet { identity, places, .. } = Packet::of_rule(rule.id);
        Self { identity: identity.into(), places }
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
        (0..4).map(|array| runtime.register(&format!("heavy_counts_0_{array}"), self.places[0]) >> 8).sum()
    }

    fn is_heavy(&self, bench: &mut Bench) -> bool {
        bench.bmv2().unwrap().runtime.register("heavy_flags", self.places[0]) == 1
    }
}

/// Waits until the copies of packets, which leave behind them, have done this.
fn eventually(bench: &mut Bench, has: impl Fn(&mut Bench) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !has(bench) {
        assert!(Instant::now() < end, "the copies do not come");
    }
}

// Input:  packets of two rules without a threshold; with one of 20 packets in a window: one packet, many of it, one of the other rule.
// Output: nothing is counted without one. The first packet takes a place by a second pass of a copy, and leaves once, counted once by its
//         rule. The rule becomes heavy, the other does not. Each has the place that the CRCs of its number say. The CPU port gets one frame
//         for it: Ethernet and its header, with the rule and its packets in the window.
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
    eventually(&mut bench, |bench| busy.owns(bench) == [true, false]);
    assert_eq!(busy.counts(&mut bench), 1);
    assert_eq!(packets(&bench.usage(&up)), (2, 2));
    assert!(full > 1 && !busy.is_heavy(&mut bench));

    bench.expect(N6, &ip(&reply().octets()), N3);
    eventually(&mut bench, |bench| quiet.owns(bench) == [true, false]);
    // On a busy machine a burst may take more than a window.
    let (end, mut sent, mut events) = (Instant::now() + PATIENCE, 2, Vec::new());
    while !busy.is_heavy(&mut bench) {
        assert!(Instant::now() < end, "{sent} packets: {} of {full}", busy.counts(&mut bench));
        (0..full).for_each(|_| bench.bmv2().unwrap().put(N3, &uplink));
        let mut left = 0;
        while left < full {
            let (port, frame) = bench.bmv2().unwrap().next();
            if port == N6 { left += 1 } else { events.push((port, frame)) }
        }
        sent += full;
    }
    if events.is_empty() {
        events.push(bench.bmv2().unwrap().next());
    }
    let [(port, event)] = &events[..] else { panic!("one event: {events:02x?}") };
    let units = u64::from(u16::from_be_bytes([event[16], event[17]]));
    // EtherType of the CPU port; code 7, a copy; units; queue 0; rule; EtherType of IPv4.
    assert_eq!((*port, &event[12..16], event.len()), (CPU, &[0x88, 0xb5, 7, 1][..], 24));
    assert_eq!((event[18], &event[19..22], &event[22..]), (0, &up.id.to_be_bytes()[1..], &[8, 0][..]));
    assert!(units >= full && units <= sent, "{units} packets of {sent}");
    assert_eq!(packets(&bench.usage(&up)), (sent, sent));
    assert_eq!((quiet.owns(&mut bench), quiet.counts(&mut bench)), ([true, false], 1));
    assert!(!quiet.is_heavy(&mut bench) && busy.counts(&mut bench) >= full);
}
