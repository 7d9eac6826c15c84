//! Random handovers and deletions, in all modes.

use causeway_types::Span;
use proptest::prelude::*;

use super::simulation::Simulation;
use crate::pendulum::{Config, Mode, RoundRobin, Statistics, everything};

/// Establishes, hands over and deletes sessions, and ends all.
fn live_and_end(config: Config, numbers: u32, faults: u8, steps: usize, seed: u64) -> (Statistics, usize) {
    let mut simulation = Simulation::new(config, numbers, seed);
    simulation.faults = faults;
    let mut random = fastrand::Rng::with_seed(seed ^ 0xa5a5);
    let (mut fresh, mut robin) = (0, RoundRobin::default());
    for step in 0..steps {
        let sessions = simulation.sessions();
        let one = random.choice(&sessions).copied();
        // Establishments prevail at first, deletions later, and again.
        let growing = step / 500 % 2 == 0;
        match (random.u8(..12), one) {
            (0, Some(session)) => _ = simulation.delete(session),
            (1, Some(session)) if !growing => _ = simulation.delete(session),
            (2..=4, Some(session)) => _ = simulation.establish_or_modify(session),
            (5, _) if growing => {
                fresh += 1;
                _ = simulation.establish_or_modify(fresh);
            }
            _ => {}
        }
        simulation.step(|partition, members, budget| robin.pick(partition, members, budget));
        let (writes, passes) = simulation.jobs();
        if !matches!(config.mode, Mode::Pendulum { .. } | Mode::Indexed { .. }) {
            assert!(writes + passes <= 1, "{writes} writes beside {passes} passes");
        }
    }
    end(&mut simulation);
    assert_eq!(simulation.free.len(), numbers as usize, "all numbers are free in the end");
    (*simulation.access.statistics(), simulation.complete.len())
}

/// Deletes all sessions and waits until their usage is complete.
fn end(simulation: &mut Simulation) {
    for _ in 0..100_000 {
        simulation.sessions().into_iter().for_each(|session| _ = simulation.delete(session));
        simulation.step(everything);
        if simulation.sessions().is_empty()
            && simulation.free.iter().all(|number| !simulation.access.is_known(*number))
        {
            (0..2000).for_each(|_| simulation.step(everything));
            return;
        }
    }
    panic!("sessions do not end");
}

const MODES: [Mode; 6] = [
    Mode::Pendulum { batch: 8 },
    Mode::Pendulum { batch: 1000 },
    Mode::Baseline { beta: 0.5 },
    Mode::Baseline { beta: 1.0 },
    Mode::SingleThread { chunk: 5 },
    Mode::Indexed { batch: 8 },
];

// Input:  thousands of random handovers, deletions and establishments in each mode, with small partitions, and a driver
//         with random faults: batches are not written, counters not read, entries not removed.
// Output: no partition is read and written at the same time; every session's usage is complete to the octet, on both
//         sides; no number is reused before both sides have retired it; in the end all are free.
#[test]
fn usage_is_conserved_in_every_mode() {
    for mode in MODES {
        for (faults, seed) in [(0, 1), (0, 2), (10, 3), (30, 4)] {
            let config = Config { mode, capacity: [24, 20], drain: Span::from_micros(60) };
            let (statistics, complete) = live_and_end(config, 90, faults, 4000, seed);
            assert!(statistics.retired > 150 && complete > 50, "{mode:?}: {statistics:?} {complete}");
            assert!(statistics.lost == 0);
        }
    }
}

// Input:  the same with hardly any space, so that commands wait for a role swap.
// Output: the same; commands wait, and are refused only when both partitions are full.
#[test]
fn usage_is_conserved_without_room() {
    let config = Config { mode: Mode::Pendulum { batch: 3 }, capacity: [6, 5], drain: Span::from_micros(20) };
    let (statistics, _) = live_and_end(config, 40, 5, 20_000, 9);
    assert!(statistics.waits > 50 && statistics.refused > 100, "{statistics:?}");
    assert!(statistics.longest_wait < Span::from_millis(2), "{statistics:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Input:  any mode, capacity, delay in the switch, and rate of faults.
    // Output: as above.
    #[test]
    fn usage_is_conserved(
        mode in 0..MODES.len(),
        capacity in proptest::array::uniform2(1..40_usize),
        drain in 0..200_u64,
        faults in 0..40_u8,
        seed in any::<u64>(),
    ) {
        let config = Config { mode: MODES[mode], capacity, drain: Span::from_micros(drain) };
        live_and_end(config, 60, faults, 800, seed);
    }
}
