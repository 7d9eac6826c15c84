//! Handover, modification, deletion, quota and paging in each step of a move; restarts; a switch for one rule.

use std::net::IpAddr;

use causeway_dataplane::{Dataplane, DropReason, Event, Plan};
use causeway_hybrid::{Config, Place, Wish};
use causeway_model::Op;
use causeway_switch::driver::FaultRates;
use causeway_switch::model::Timing;
use causeway_types::{Direction, Span};

use crate::world::{GNBS, LEAST, STAY, World, handover, idle, rule, seid, session, strict, to_gnb, volume};

const DOWN: Direction = Direction::Downlink;

/// Every step of a move.
const STEPS: [&str; 5] = ["software", "promoting", "armed", "switch", "demoting"];

fn world(config: Config) -> World {
    World::new(config, Timing::PAPER_ALL_DRIVER, FaultRates::default(), 7)
}

/// A world whose session 0 has packets, and whose downlink is in this step of a move.
fn at(step: &str, quota: Option<u64>) -> World {
    let mut world = world(strict());
    let mut rules = session(0, None);
    rules.urrs.insert(causeway_types::UrrId(1), volume(None, quota));
    world.establish(0, rules);
    world.pass(Span::from_millis(10));
    world.packet(0, DOWN, 100);
    if step != "software" {
        world.wish(Wish::Promote(rule(0, DOWN)));
    }
    if matches!(step, "armed" | "switch" | "demoting") {
        world.pass(Span::from_millis(5));
        world.packet(0, DOWN, 100);
    }
    if matches!(step, "switch" | "demoting") {
        world.pass(STAY + Span::from_micros(1));
        world.packet(0, DOWN, 100);
        world.pass(Span::from_millis(40));
    }
    if step == "demoting" {
        world.wish(Wish::Demote(rule(0, DOWN)));
    }
    assert_eq!(world.upf.moves().place(rule(0, DOWN)).name(), step);
    world
}

// Input:  a handover in each step of a move of the downlink, with packets around it.
// Output: packets after it go to the new gNB; none is lost, doubled or overtaken, and all octets are reported.
#[test]
fn a_handover_in_each_step_of_a_move() {
    for step in STEPS {
        let mut world = at(step, None);
        let plan = handover(1, 0);
        let submitted = world.submit(&plan);
        world.packet(0, DOWN, 200);
        world.wait(&plan, submitted).unwrap();
        world.pass(Span::from_millis(1));
        world.log.clear();
        for _ in 0..5 {
            world.packet(0, DOWN, 200);
            world.pass(Span::from_micros(300));
        }
        let to: Vec<Option<IpAddr>> = world.log.iter().map(|left| left.3).collect();
        assert_eq!(to, [Some(IpAddr::V4(GNBS[1])); 5], "{step}");
        world.assert_all_arrived();
        world.assert_all_reported(1);
    }
}

// Input:  a change of the URR in each step of a move: from now on it reports each 1,000 octets; then 3,000 octets.
// Output: reports of them; the sum is what was sent.
#[test]
fn a_modification_in_each_step_of_a_move() {
    for step in STEPS {
        let mut world = at(step, None);
        let plan = Plan::update(seid(0), vec![Op::PutUrr(volume(Some(1000), None).into())]);
        let submitted = world.submit(&plan);
        world.packet(0, DOWN, 200);
        world.wait(&plan, submitted).unwrap();
        world.events.clear();
        for _ in 0..15 {
            world.packet(0, DOWN, 200);
            world.pass(Span::from_millis(30));
        }
        let reports = world.events.iter().filter(|event| matches!(event, Event::Usage { .. })).count();
        assert!(reports >= 2, "{step}: {reports}");
        world.assert_all_arrived();
        world.assert_all_reported(1);
    }
}

// Input:  a deletion in each step of a move, and packets afterwards.
// Output: its report has all octets; later packets are dropped, and nothing remains on the switch.
#[test]
fn a_deletion_in_each_step_of_a_move() {
    for step in STEPS {
        let mut world = at(step, None);
        world.pass(STAY + Span::from_micros(1));
        let plan = Plan::removal(seid(0));
        let submitted = world.submit(&plan);
        world.wait(&plan, submitted).unwrap();
        let sent = world.passed[&(0, DOWN)];
        assert_eq!((sent.received, world.reported[&0][1]), (sent.sent, sent.octets), "{step}");
        let before = world.upf.counters().dropped(DropReason::UnknownUe);
        world.packet(0, DOWN, 100);
        world.pass(Span::from_secs(1));
        assert_eq!(world.upf.counters().dropped(DropReason::UnknownUe), before + 1, "{step}");
        assert!(world.upf.switch().is_empty(), "{step}");
        assert_eq!(world.upf.moves().rules().count(), 0, "{step}");
    }
}

// Input:  the UE becomes idle in each step of a move; three packets come; it is reached, and two more come.
// Output: the first packet is notified; all five leave in order, those of the buffer first.
#[test]
fn paging_in_each_step_of_a_move() {
    for step in STEPS {
        let mut world = at(step, None);
        world.pass(STAY + Span::from_micros(1));
        let plan = idle(0);
        let submitted = world.submit(&plan);
        world.wait(&plan, submitted).unwrap();
        world.pass(Span::from_millis(5));
        world.log.clear();
        world.events.clear();
        for _ in 0..3 {
            world.packet(0, DOWN, 100);
            world.pass(Span::from_micros(200));
        }
        assert!(world.log.is_empty(), "{step}");
        let is_notified = |event: &Event| matches!(event, Event::DownlinkData { .. });
        assert!(world.events.iter().any(is_notified), "{step}: {:?}", world.events);
        assert_eq!(world.upf.moves().place(rule(0, DOWN)), Place::Software, "{step}");
        let plan = Plan::update(seid(0), vec![Op::PutFar(to_gnb(0, 0).into())]);
        let submitted = world.submit(&plan);
        world.wait(&plan, submitted).unwrap();
        world.packet(0, DOWN, 100);
        world.packet(0, DOWN, 100);
        world.assert_all_arrived();
        assert_eq!(world.log.len(), 5, "{step}");
        world.assert_all_reported(1);
    }
}

// Input:  a quota of 20,000 octets that ends in each step of a move, packet by packet.
// Output: the rule returns to the software before the end, which stops the traffic to the octet; one report of the quota.
#[test]
fn a_quota_ends_in_the_software() {
    for step in STEPS {
        let mut world = at(step, Some(20_000));
        for _ in 0..60 {
            world.wish(Wish::Promote(rule(0, DOWN)));
            world.packet(0, DOWN, 500);
            world.pass(Span::from_millis(25));
        }
        assert_eq!(world.upf.moves().place(rule(0, DOWN)), Place::Software, "{step}");
        let passed = world.passed[&(0, DOWN)];
        let dropped = world.upf.counters().dropped(DropReason::QuotaExhausted);
        assert_eq!(passed.received + dropped, passed.sent, "{step}");
        // A packet that exceeds the quota does not pass.
        assert!((19_500..=20_000).contains(&world.reported[&0][1]), "{step}: {:?}", world.reported);
    }
}

// Input:  a switch that restarts empty while a rule is in each step of a move, with packets before, meanwhile and after.
// Output: none is lost, doubled or overtaken; the rule is armed again, and flips again.
#[test]
fn the_switch_restarts_in_each_step_of_a_move() {
    for step in STEPS {
        let mut world = at(step, None);
        world.packet(0, DOWN, 100);
        let now = world.now;
        world.upf.switch().driver().0.inner().restart(now);
        for _ in 0..200 {
            world.packet(0, DOWN, 100);
            world.pass(Span::from_micros(500));
        }
        world.assert_all_arrived();
        if matches!(step, "armed" | "switch") {
            assert_eq!(world.upf.moves().place(rule(0, DOWN)), Place::Switch, "{step}");
        }
    }
}

// Input:  a switch for one rule, and two sessions whose rules are wanted there.
// Output: the first has it; the second gets it when the first has left.
#[test]
fn a_switch_for_one_rule() {
    let mut world = world(Config { capacity: 1, ..strict() });
    world.establish(0, session(0, None));
    world.establish(1, session(1, None));
    for number in [0, 1] {
        world.wish(Wish::Promote(rule(number, DOWN)));
        world.pass(Span::from_millis(10));
    }
    assert!(world.upf.moves().is_on_switch(rule(0, DOWN)));
    assert_eq!(world.upf.moves().place(rule(1, DOWN)), Place::Software);
    world.wish(Wish::Demote(rule(0, DOWN)));
    world.pass(Span::from_millis(10));
    world.wish(Wish::Promote(rule(1, DOWN)));
    world.pass(Span::from_millis(10));
    assert!(world.upf.moves().is_on_switch(rule(1, DOWN)));
}

// Input:  packets of an armed rule that never have a gap of the longest stay, for three seconds, strict and not.
// Output: strict, it never flips, and gives its place back after ten seconds; otherwise it flips after the longest gap
//         that it finds, and that is counted.
#[test]
fn a_rule_without_a_gap() {
    for strictly in [true, false] {
        let mut world =
            world(Config { strict: strictly, read_interval: Some(Span::from_millis(200)), ..strict() });
        world.establish(0, session(0, None));
        world.wish(Wish::Promote(rule(0, DOWN)));
        world.pass(Span::from_millis(5));
        for _ in 0..44_000 {
            world.packet(0, DOWN, LEAST);
            world.pass(STAY - Span::from_micros(30));
        }
        let place = world.upf.moves().place(rule(0, DOWN));
        let early = world.upf.moves().statistics().flipped_early;
        if strictly {
            assert!(matches!(place, Place::Armed { gap } if gap == STAY), "{place:?}");
            world.pass(Span::from_secs(8));
            assert_eq!(world.upf.moves().statistics().gave_up, 1);
            assert_eq!(world.upf.moves().place(rule(0, DOWN)), Place::Software);
        } else {
            assert_eq!((place, early), (Place::Switch, 1));
        }
    }
}
