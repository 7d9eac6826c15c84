//! Several packet threads behind one switch, each with a part of it.

use causeway_hybrid::Wish;
use causeway_switch::driver::FaultRates;
use causeway_switch::model::Timing;
use causeway_types::{Direction, Span};
use proptest::prelude::*;

use crate::order::{NONE, SESSIONS, Step, play, step};
use crate::world::{FaultyPart, World, rule, session, strict};

/// Sessions of each of two parts.
const EACH: u8 = SESSIONS / 2;

/// Two parts of a switch, each with half of the sessions, which report each 3,000 octets.
fn worlds(timing: Timing, seed: u64) -> Vec<World<FaultyPart>> {
    let mut worlds = World::parts(2, strict(), timing, seed);
    for number in 0..SESSIONS {
        worlds[usize::from(number / EACH)].establish(number, session(number, Some(3000)));
        meet(&mut worlds);
    }
    worlds
}

/// Time passes for both until it is the same.
fn meet(worlds: &mut [World<FaultyPart>]) {
    let now = worlds.iter().map(|world| world.now).max().unwrap();
    for world in worlds {
        world.pass(now.since(world.now));
    }
}

fn has_session(number: u8, part: usize) -> bool {
    usize::from(number / EACH) == part
}

/// Each step is one of the part that has the session; time passes for both.
fn play_in_parts(worlds: &mut [World<FaultyPart>], steps: &[Step]) {
    for step in steps {
        let number = match step {
            Step::Packet(number, ..)
            | Step::Promote(number, _)
            | Step::Demote(number, _)
            | Step::Handover(number, _)
            | Step::Query(number) => *number,
            Step::Pass(_) => 0,
        };
        let part = (0..worlds.len()).find(|part| has_session(number, *part)).unwrap();
        play(&mut worlds[part], std::slice::from_ref(step));
        meet(worlds);
    }
}

fn assert_all_right(worlds: &mut [World<FaultyPart>]) {
    for part in 0..worlds.len() {
        meet(worlds);
        worlds[part].assert_all_arrived();
    }
    for part in 0..worlds.len() {
        meet(worlds);
        let first = part as u8 * EACH;
        worlds[part].assert_reported(first..first + EACH);
    }
}

// Input:  two parts of a switch, a rule of each of which moves there at the same time; packets with gaps.
// Output: both rules are on the switch, which forwards their packets, each to its own UE.
#[test]
fn rules_of_two_parts_are_on_one_switch() {
    let mut worlds = worlds(Timing::INSTANT, 1);
    let rules = [rule(0, Direction::Downlink), rule(EACH, Direction::Downlink)];
    for (world, rule) in worlds.iter_mut().zip(rules) {
        world.wish(Wish::Promote(rule));
    }
    for _ in 0..4 {
        for (world, number) in worlds.iter_mut().zip([0, EACH]) {
            world.packet(number, Direction::Downlink, 100);
            world.pass(Span::from_millis(30));
        }
        meet(&mut worlds);
    }
    for (world, rule) in worlds.iter().zip(rules) {
        assert!(world.upf.moves().is_settled(rule), "{:?}", world.upf.moves().place(rule));
    }
    assert_all_right(&mut worlds);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Input:  any sequence of packets of four sessions, two in each of two parts of a switch, of moves, handovers, queries and pauses; the
    //         switch takes the time of a real driver, whose requests may fail, be half done, unanswered or late.
    // Output: each packet leaves once, in the order of its rule; all octets are reported once.
    #[test]
    fn parts_lose_double_and_reorder_nothing(
        steps in prop::collection::vec(step(), 1..200), has_faults: bool, seed in 0..1000_u64,
    ) {
        let mut worlds = worlds(Timing::PAPER_ALL_DRIVER, seed);
        let faults = FaultRates { unavailable: 40, unanswered: 40, half: 40, late: 80, restart: 0 };
        worlds[0].set_chances(if has_faults { faults } else { NONE });
        play_in_parts(&mut worlds, &steps);
        worlds[0].set_chances(NONE);
        assert_all_right(&mut worlds);
    }

    // Input:  the same without faults, with a switch that restarts empty in between.
    // Output: each packet leaves once and in order.
    #[test]
    fn a_restart_loses_no_packet_of_any_part(
        before in prop::collection::vec(step(), 1..100), after in prop::collection::vec(step(), 1..100), seed in 0..1000_u64,
    ) {
        let mut worlds = worlds(Timing::PAPER_ALL_DRIVER, seed);
        play_in_parts(&mut worlds, &before);
        worlds[0].restart_switch();
        play_in_parts(&mut worlds, &after);
        for part in 0..worlds.len() {
            meet(&mut worlds);
            worlds[part].assert_all_arrived();
        }
    }
}
