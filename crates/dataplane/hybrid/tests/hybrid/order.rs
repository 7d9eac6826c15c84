//! Order and usage over random moves, packets, plans, delays and faults of the driver.

use causeway_hybrid::{Config, Wish};
use causeway_switch::backend::WithPorts;
use causeway_switch::driver::FaultRates;
use causeway_switch::model::Timing;
use causeway_types::{Direction, Span};
use proptest::prelude::*;

use crate::world::{World, handover, rule, seid, session, strict};

pub(crate) const SESSIONS: u8 = 4;

/// One step of a test.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Packet(u8, Direction, usize),
    Promote(u8, Direction),
    Demote(u8, Direction),
    /// Microseconds.
    Pass(u64),
    Handover(u8, usize),
    Query(u8),
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Uplink), Just(Direction::Downlink)]
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let number = || 0..SESSIONS;
    prop_oneof![
        12 => (number(), direction(), 36..1400_usize).prop_map(|(number, from, size)| Step::Packet(number, from, size)),
        3 => (number(), direction()).prop_map(|(number, from)| Step::Promote(number, from)),
        2 => (number(), direction()).prop_map(|(number, from)| Step::Demote(number, from)),
        6 => (0..150_u64).prop_map(Step::Pass),
        1 => (1_000..30_000_u64).prop_map(Step::Pass),
        1 => (number(), 0..2_usize).prop_map(|(number, which)| Step::Handover(number, which)),
        1 => number().prop_map(Step::Query),
    ]
}

/// A world with sessions that report each 3,000 octets.
pub(crate) fn world(timing: Timing, chances: FaultRates, seed: u64) -> World {
    let mut world = World::new(strict(), timing, NONE, seed);
    for number in 0..SESSIONS {
        world.establish(number, session(number, Some(3000)));
    }
    world.upf.switch().driver().set_chances(chances);
    world
}

pub(crate) fn play<D: WithPorts>(world: &mut World<D>, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Packet(number, from, size) => world.packet(*number, *from, *size),
            Step::Promote(number, from) => world.wish(Wish::Promote(rule(*number, *from))),
            Step::Demote(number, from) => world.wish(Wish::Demote(rule(*number, *from))),
            Step::Pass(micros) => world.pass(Span::from_micros(*micros)),
            Step::Handover(number, which) => {
                let plan = handover(*which, *number);
                let submitted = world.submit(&plan);
                // An unreachable switch may refuse it.
                let _result = world.wait(&plan, submitted);
            }
            Step::Query(number) => {
                let query = causeway_model::Op::QueryUrr(causeway_types::UrrId(1));
                let plan = causeway_dataplane::Plan::update(seid(*number), vec![query]);
                let submitted = world.submit(&plan);
                let _result = world.wait(&plan, submitted);
            }
        }
    }
}

pub(crate) const NONE: FaultRates =
    FaultRates { unavailable: 0, unanswered: 0, half: 0, late: 0, restart: 0 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Input:  any sequence of packets of four sessions, promotions, demotions, handovers, queries and pauses; packets wait
    //         up to 100 us for the software, and the switch takes the time of a real driver.
    // Output: each packet leaves once, in the order of its rule; all octets are reported once.
    #[test]
    fn moves_lose_double_and_reorder_nothing(steps in prop::collection::vec(step(), 1..300), seed in 0..1000_u64) {
        let mut world = world(Timing::PAPER_ALL_DRIVER, NONE, seed);
        play(&mut world, &steps);
        world.assert_all_arrived();
        world.assert_all_reported(SESSIONS);
    }

    // Input:  the same with a driver whose requests fail, are half done, unanswered or late.
    // Output: the same.
    #[test]
    fn faults_lose_double_and_reorder_nothing(steps in prop::collection::vec(step(), 1..200), seed in 0..1000_u64) {
        let chances = FaultRates { unavailable: 40, unanswered: 40, half: 40, late: 80, restart: 0 };
        let mut world = world(Timing::PAPER_ALL_DRIVER, chances, seed);
        play(&mut world, &steps);
        world.upf.switch().driver().set_chances(NONE);
        world.assert_all_arrived();
        world.assert_all_reported(SESSIONS);
    }

    // Input:  the same with a switch that restarts empty at random places.
    // Output: each packet leaves once and in order; usage is reported at most once.
    #[test]
    fn restarts_lose_double_and_reorder_nothing(
        steps in prop::collection::vec(step(), 1..200),
        restarts in prop::collection::vec(0..200_usize, 1..4),
        seed in 0..1000_u64,
    ) {
        let mut world = world(Timing::PAPER_ALL_DRIVER, NONE, seed);
        let mut steps = &steps[..];
        for at in restarts {
            let (first, rest) = steps.split_at(at.min(steps.len()));
            play(&mut world, first);
            steps = rest;
            let now = world.now;
            world.upf.switch().driver().inner().restart(now);
        }
        play(&mut world, steps);
        world.assert_all_arrived();
        for number in 0..SESSIONS {
            world.apply(&causeway_dataplane::Plan::removal(seid(number)));
            let [up, down] = world.reported.get(&number).copied().unwrap_or_default();
            let sent = |from| world.passed.get(&(number, from)).map_or(0, |passed| passed.octets);
            prop_assert!(up <= sent(Direction::Uplink) && down <= sent(Direction::Downlink));
        }
    }
}

// Input:  a rule that flips after a gap of a microsecond, while packets stay up to 100 us in the software.
// Output: packets overtake: so the gap is what keeps the order in the other tests, and they would see it.
#[test]
#[should_panic(expected = "overtaken")]
fn packets_overtake_without_the_gap() {
    let config = Config { longest_stay: Span::from_micros(1), ..strict() };
    let mut world = World::new(config, Timing::INSTANT, NONE, 3);
    world.establish(0, session(0, None));
    for _ in 0..100 {
        world.wish(Wish::Promote(rule(0, Direction::Uplink)));
        for _ in 0..10 {
            world.packet(0, Direction::Uplink, 100);
            world.pass(Span::from_micros(2));
        }
        world.wish(Wish::Demote(rule(0, Direction::Uplink)));
    }
}

/// Moves, with packets in between.
fn many_moves(moves: u64, seed: u64) {
    let mut world = World::new(strict(), Timing::INSTANT, NONE, seed);
    let mut random = fastrand::Rng::with_seed(seed);
    for number in 0..SESSIONS {
        world.establish(number, session(number, Some(100_000)));
    }
    loop {
        let statistics = world.upf.moves().statistics();
        if statistics.promoted + statistics.demoted >= moves {
            break;
        }
        let from = if random.bool() { Direction::Uplink } else { Direction::Downlink };
        let which = rule(random.u8(0..SESSIONS), from);
        let is_there = world.upf.moves().is_on_switch(which);
        world.wish(if is_there { Wish::Demote(which) } else { Wish::Promote(which) });
        for _ in 0..random.u8(0..3) {
            world.packet(which.session.0 as u8, from, random.usize(36..1400));
            world.pass(Span::from_micros(random.u64(0..200)));
        }
        world.log.clear();
        world.events.clear();
    }
    world.assert_all_arrived();
    let statistics = world.upf.moves().statistics();
    assert!(statistics.flipped > moves / 20, "{statistics:?}");
    assert_eq!(statistics.flipped_early, 0);
    world.assert_all_reported(SESSIONS);
}

// Input:  5,000 moves, with packets in between.
// Output: each packet leaves once and in order; all octets are reported once.
#[test]
fn usage_is_exact_over_many_moves() {
    many_moves(5_000, 1);
}

// Input:  a million moves.
// Output: the same.
#[test]
#[ignore = "takes minutes: cargo test --release -p causeway-hybrid -- --ignored"]
fn usage_is_exact_over_a_million_moves() {
    many_moves(1_000_000, 2);
}
