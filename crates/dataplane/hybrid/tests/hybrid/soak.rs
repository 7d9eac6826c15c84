//! Random moves without end: `scripts/soak-hybrid`.

use std::time::{Duration, Instant};

use causeway_switch::driver::FaultRates;
use causeway_switch::model::Timing;
use causeway_types::Direction;

use crate::order::{NONE, SESSIONS, Step, play, world};

/// Steps of a world.
const STEPS: usize = 3000;

/// How long, and the first world: `SOAK_SECONDS` and `SOAK_SEED`.
fn asked() -> (Duration, u64) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    (Duration::from_secs(number("SOAK_SECONDS").unwrap_or(60)), number("SOAK_SEED").unwrap_or(1))
}

fn step(random: &mut fastrand::Rng) -> Step {
    let (number, from) =
        (random.u8(0..SESSIONS), [Direction::Uplink, Direction::Downlink][random.usize(0..2)]);
    match random.u8(0..26) {
        0..12 => Step::Packet(number, from, random.usize(36..1400)),
        12..15 => Step::Promote(number, from),
        15..17 => Step::Demote(number, from),
        17..23 => Step::Pass(random.u64(0..150)),
        23 => Step::Pass(random.u64(1_000..30_000)),
        24 => Step::Handover(number, random.usize(0..2)),
        _ => Step::Query(number),
    }
}

// Input:  worlds of four UEs, for as long as asked: packets each way, rules that move at random, handovers, queries and pauses;
//         on a driver that takes no time or as long as a real one, and whose requests succeed or fail in all ways but restarts.
// Output: every packet leaves once, in the order of its rule; all octets are reported, to the octet.
#[test]
#[ignore = "takes as long as asked: scripts/soak-hybrid"]
fn random_moves_without_end() {
    let (long, first) = asked();
    let (start, mut worlds, mut moves, mut packets) = (Instant::now(), 0, 0, 0);
    while worlds == 0 || start.elapsed() < long {
        let seed = first + worlds;
        let mut random = fastrand::Rng::with_seed(seed);
        let timing = if random.bool() { Timing::INSTANT } else { Timing::PAPER_ALL_DRIVER };
        let mut chance = |most: u16| random.u16(0..=most);
        let chances = FaultRates {
            unavailable: chance(80),
            unanswered: chance(60),
            half: chance(60),
            late: chance(100),
            restart: 0,
        };
        let chances = if random.u8(0..3) == 0 { NONE } else { chances };
        // The last line before a failure names its world.
        eprintln!("world {seed}: {chances:?}");
        let mut world = world(timing, chances, seed);
        let steps: Vec<Step> = (0..STEPS).map(|_| step(&mut random)).collect();
        play(&mut world, &steps);
        world.upf.switch().driver().set_chances(NONE);
        world.assert_all_arrived();
        let statistics = world.upf.moves().statistics();
        assert_eq!(statistics.flipped_early, 0);
        moves += statistics.promoted + statistics.demoted;
        packets += world.passed.values().map(|passed| passed.sent).sum::<u64>();
        world.assert_all_reported(SESSIONS);
        worlds += 1;
    }
    eprintln!(
        "{worlds} worlds: {moves} moves, {packets} packets; none lost, doubled or overtaken, usage exact"
    );
    assert!(moves > 0);
}
