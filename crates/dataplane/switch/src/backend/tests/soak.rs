//! Long runs with faults, on request.

use std::time::{Duration, Instant};

use causeway_p4::profiles;

use super::done::Done;
use super::storm::Storm;
use crate::driver::FaultRates;

/// The duration, and the first seed.
fn asked() -> (Duration, u64) {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    (Duration::from_secs(number("SOAK_SECONDS", 10)), number("SOAK_SEED", 0))
}

// Input:  random sessions, changes and packets in all profiles, while the driver fails in all ways and the switch
//         restarts empty.
// Output: tables, rules and usage are right, in one simulation after the other until the time is over.
#[test]
#[ignore = "for hours: scripts/soak-switch"]
fn trouble_without_end() {
    let (long, first) = asked();
    let contracts =
        [&profiles::HIP4, &profiles::DIRECT, &profiles::RED_SPT, &profiles::RED, &profiles::BASELINE];
    let (start, mut done, mut worlds) = (Instant::now(), Done::default(), 0);
    while start.elapsed() < long {
        let seed = first + worlds;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut chance = |most: u16| random.u16(0..=most);
        let chances = FaultRates {
            unavailable: chance(100),
            unanswered: chance(60),
            half: chance(60),
            late: chance(100),
            restart: chance(20),
        };
        eprintln!("world {seed}: {chances:?}");
        let mut storm = Storm::new(contracts[seed as usize % contracts.len()], chances, seed);
        for _ in 0..20 {
            (0..100).for_each(|_| storm.step());
            storm.check();
            if random.u8(0..8) == 0 {
                storm.succeed();
            }
        }
        done += storm.end();
        worlds += 1;
    }
    eprintln!("{worlds} worlds: {done:?}");
}
