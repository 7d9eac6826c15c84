//! A driver that fails: it is unreachable, does not respond, carries out half of a batch, responds late, or its switch
//! restarts empty.

use causeway_p4::profiles;

use super::done::Done;
use super::storm::Storm;
use crate::driver::FaultRates;

/// Half of the simulations each in profiles `hip4` and `direct`.
fn run(chances: FaultRates, seeds: std::ops::Range<u64>) -> Done {
    let mut done = Done::default();
    for seed in seeds {
        let contract = if seed % 2 == 0 { &profiles::HIP4 } else { &profiles::DIRECT };
        let mut storm = Storm::new(contract, chances, seed);
        for _ in 0..8 {
            (0..50).for_each(|_| storm.step());
            storm.check();
        }
        done += storm.end();
    }
    assert!(done.filtered > 20, "{done:?}");
    done
}

// Input:  changes and packets, while one request in ten finds the switch unreachable.
// Output: some changes are refused; every transmitted octet was reported once, and the tables always match the rules.
#[test]
fn out_of_reach_changes_nothing() {
    let done = run(FaultRates { unavailable: 100, ..FaultRates::default() }, 0..10);
    assert!(done.refused > 0 && done.changes > 500 && done.packets > 1000, "{done:?}");
}

// Input:  the same, while responses are lost, batches are half done, and responses are late.
// Output: the state is read and the rest written: no change is refused, no octet is lost or counted twice.
#[test]
fn what_is_in_doubt_is_read() {
    let chances = FaultRates { unanswered: 60, half: 60, late: 100, ..FaultRates::default() };
    let done = run(chances, 20..30);
    assert!(done.refused == 0 && done.changes > 500, "{done:?}");
}

// Input:  the same, while the switch restarts empty at one request in 50.
// Output: it is reconciled; only usage that was not read before a restart is lost.
#[test]
fn a_restarted_switch_is_reconciled() {
    let done = run(FaultRates { restart: 20, ..FaultRates::default() }, 30..40);
    assert!(done.restarts > 50 && done.lost > 0 && done.changes > 500, "{done:?}");
}

// Input:  all of these together.
// Output: as before.
#[test]
fn all_faults_together() {
    let chances = FaultRates { unavailable: 60, unanswered: 40, half: 40, late: 60, restart: 10 };
    let done = run(chances, 40..60);
    assert!(done.restarts > 50 && done.refused > 0, "{done:?}");
}

// Input:  the same with lower rates, while one controller replaces another: each finds the state of the previous one,
//         and its counters.
// Output: as before; no usage of the previous controller is reported by the next.
#[test]
fn one_controller_follows_another() {
    let chances = FaultRates { unavailable: 30, late: 60, restart: 5, ..FaultRates::default() };
    let mut done = Done::default();
    for seed in 60..76 {
        let contract = if seed % 4 == 0 { &profiles::HIP4 } else { &profiles::DIRECT };
        let mut storm = Storm::new(contract, chances, seed);
        for _ in 0..6 {
            (0..50).for_each(|_| storm.step());
            storm.check();
            storm.succeed();
        }
        done += storm.end();
    }
    assert!(done.successions == 96 && done.restarts > 0 && done.sent > 1000, "{done:?}");
}
