//! Random worlds.

use causeway_types::Span;
use proptest::prelude::*;

use crate::world::{Tally, Weather, World};

fn any_weather() -> impl Strategy<Value = Weather> {
    let rates = (
        prop_oneof![Just(0), 1..50u32, 50..400u32],
        prop_oneof![Just(0), 1..300u32],
        prop_oneof![Just(0), 1..100_000u64],
        prop_oneof![3 => Just(0), 1 => 1..20u32],
    );
    let events = (prop_oneof![Just(0), 1..4u32], prop_oneof![Just(0), 1..60u32]);
    (rates, events).prop_map(|((lost, repeated, jitter, very_late), (restarts, wrong))| Weather {
        lost,
        repeated,
        jitter: Span::from_nanos(jitter),
        very_late,
        restarts,
        wrong,
    })
}

const CALM: Weather =
    Weather { lost: 0, repeated: 0, jitter: Span::ZERO, very_late: 0, restarts: 0, wrong: 0 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // Input:  one to three clients with random operations, a network that loses, repeats and reorders, restarts of the server.
    // Output: each operation ends once and in order; those without a failure are done once, those with the effect "none" not at all;
    //         reads return what the order of their queue pair implies; counters are exact to the bit.
    #[test]
    fn each_operation_is_done_once_or_fails(seed: u64, weather in any_weather()) {
        World::new(seed, weather).run();
    }

    // Input:  the same on a network that loses and reorders nothing.
    // Output: no operation fails, and no packet is sent twice.
    #[test]
    fn nothing_fails_in_calm_weather(seed: u64) {
        let mut world = World::new(seed, CALM);
        world.run();
        prop_assert_eq!(world.tally.done, world.tally.operations);
        prop_assert_eq!(world.tally.repeated, 0);
    }
}

// Input:  a hundred thousand worlds (CAUSEWAY_WORLDS: another number), from seed 1 on.
// Output: as above; how many operations these were, and how they ended.
#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_worlds() {
    let count = std::env::var("CAUSEWAY_WORLDS").map_or(100_000, |count| count.parse().unwrap());
    let mut tally = Tally::default();
    for seed in 1..=count {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut of = |limit: u32| if random.bool() { random.u32(..limit) } else { 0 };
        let weather = Weather {
            lost: of(300),
            repeated: of(300),
            jitter: Span::from_nanos(of(100_000).into()),
            very_late: of(15),
            restarts: of(4),
            wrong: of(40),
        };
        let run = || {
            let mut world = World::new(seed, weather);
            world.run();
            world.tally
        };
        match std::panic::catch_unwind(run) {
            Ok(world) => tally.add(&world),
            Err(_) => panic!("world {seed} with {weather:?}"),
        }
    }
    eprintln!("{tally:#?}");
}
