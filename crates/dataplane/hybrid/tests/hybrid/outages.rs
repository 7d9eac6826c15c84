//! A switch that cannot be reached for a while, and goes on forwarding.

use causeway_dataplane::{Dataplane, RulePlace};
use causeway_hybrid::{Config, Place, Thresholds};
use causeway_types::{Direction, Span};

use crate::world::{World, rule, session, strict};

const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

/// A session with packets both ways, 4 Mbit/s each, for so long.
fn traffic(world: &mut World, time: Span) {
    for _ in 0..time.as_millis() {
        for direction in DIRECTIONS {
            world.packet(0, direction, 500);
        }
        world.pass(Span::from_millis(1));
    }
}

/// Both rules of a session have moved to the switch by their rates.
fn on_the_switch() -> World {
    let config = Config { strict: false, ..strict() };
    let mut world = World::by_rate(config, Thresholds::at(1_000_000));
    world.establish(0, session(0, None));
    traffic(&mut world, Span::from_secs(2));
    assert_eq!(places(&world), [Place::Switch; 2]);
    world
}

fn places(world: &World) -> [Place; 2] {
    DIRECTIONS.map(|direction| world.upf.moves().place(rule(0, direction)))
}

// Input:  a session whose rules the switch forwards, by their rates; the connection breaks for five seconds under traffic, and is back;
//         then there is no traffic any more.
// Output: both rules stay on the switch, and no packet is for the software meanwhile; without traffic both move back. No packet is lost,
//         doubled or overtaken, and usage is exact.
#[test]
fn an_outage_takes_no_rule_off_the_switch() {
    let mut world = on_the_switch();
    let in_software = |world: &World| world.upf.rule_placement(world.now).unwrap().software.packets;
    let before = in_software(&world);
    world.upf.switch().driver().disconnect();
    traffic(&mut world, Span::from_secs(5));
    world.upf.switch().driver().reconnect();
    traffic(&mut world, Span::from_secs(4));
    let moves = world.upf.moves();
    assert_eq!((moves.statistics().demoted, moves.statistics().returned), (0, 0));
    assert_eq!((places(&world), in_software(&world)), ([Place::Switch; 2], before));

    world.pass(Span::from_secs(6));
    let moves = world.upf.moves();
    assert_eq!((moves.statistics().demoted, moves.count(RulePlace::Switch)), (2, 0));
    world.assert_all_arrived();
    world.assert_all_reported(1);
}

/// Rules that flipped, and the times to the switch.
fn flips(world: &World) -> (u64, Vec<Span>) {
    (world.upf.moves().statistics().flipped, world.upf.moves().waits().collect())
}

// Input:  rules that the switch forwards for ten seconds; the connection breaks and is back; then the switch restarts empty.
// Output: the first changes no figure, as nothing was lost. After the restart both rules are armed and flip again, each with the time
//         from then on, which is less than a second, not that since its first move.
#[test]
fn only_lost_rules_are_armed_again() {
    let mut world = on_the_switch();
    traffic(&mut world, Span::from_secs(10));
    let before = flips(&world);
    assert_eq!((before.0, before.1.len()), (2, 2));
    world.upf.switch().driver().disconnect();
    traffic(&mut world, Span::from_millis(100));
    world.upf.switch().driver().reconnect();
    traffic(&mut world, Span::from_secs(1));
    assert_eq!(world.upf.switch().statistics().reconciliations, 1);
    assert_eq!((flips(&world), places(&world)), (before, [Place::Switch; 2]));

    let now = world.now;
    world.upf.switch().driver().inner().restart(now);
    traffic(&mut world, Span::from_secs(2));
    let (flipped, waits) = flips(&world);
    assert_eq!((flipped, places(&world)), (4, [Place::Switch; 2]));
    assert!(waits[2..].iter().all(|wait| *wait < Span::from_secs(1)), "{waits:?}");
    world.assert_all_arrived();
}
