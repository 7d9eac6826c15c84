//! The fast path is equal to the slow path, and both to the oracle in what it has: random worlds happen to all in
//! lockstep, and after every step all that can be seen of them must be the same.
//!
//! `PROPTEST_CASES` says how many worlds, `PROPTEST_RNG_SEED` which; without it they are the same ones in every run.
//! `scripts/soak-equal HOURS` goes on for hours.

#![allow(
    clippy::print_stdout,
    reason = "the count of what was compared is what a reader of the test output looks for"
)]

mod arrival;
mod change;
mod cold;
mod common;
mod drive;
mod genes;
mod place;
mod quality;
mod saboteur;
mod session;
mod tally;
mod topology;
mod usage;
mod user;
mod way;
mod wild;
mod world;

use std::cell::RefCell;
use std::sync::Arc;

use causeway_cold::MemoryStore;
use causeway_dataplane::{PacketEngine, Topology};
use causeway_fastpath::FastPath;
use causeway_memory::ModelParameters;
use causeway_slowpath::Limits;
use causeway_types::Span;
use causeway_xplane::{ModelPlane, Sizes};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

use cold::{Moves, WatchedStore};
use drive::{Compared, happen};
use saboteur::{Defect, Saboteur};
use tally::Tally;
use world::world;

/// Worlds in each test, if nothing else is asked for.
const WORLDS: u32 = 250;

fn config(seed: u64) -> Config {
    let asked = Config::default();
    Config {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { WORLDS },
        rng_seed: match asked.rng_seed {
            RngSeed::Random => RngSeed::Fixed(seed),
            fixed => fixed,
        },
        failure_persistence: None,
        max_shrink_iters: if std::env::var_os("PROPTEST_MAX_SHRINK_ITERS").is_some() {
            asked.max_shrink_iters
        } else {
            20_000
        },
        ..asked
    }
}

/// At least so much of a hundred packets must be forwarded: a world in which all is dropped shows little.
const FORWARDED: u64 = 25;

/// The least share of packets, in percent, that flow entries must decide, and not the slow path.
const HOT: u64 = 20;

/// The same of packets that flows in external memory must decide: sessions under a firewall are for the slow path there.
const HOT_IN_EXTERNAL_MEMORY: u64 = 8;

/// The same while bursts are in flight: nothing is granted before the first packet of a measurement, so that the slow path has the burst that it is in.
const HOT_IN_FLIGHT: u64 = 4;

/// `most_awake`: of the sessions that could rest again.
fn compare(name: &str, sessions: usize, seed: u64, most_awake: usize, compared: Compared) {
    let fast_path = |topology: Topology, limits: Limits| -> Box<dyn PacketEngine> {
        Box::new(FastPath::new(topology, limits).unwrap().with_max_active(most_awake))
    };
    compare_with(name, sessions, seed, &fast_path, (compared, HOT));
}

fn compare_with(
    name: &str,
    sessions: usize,
    seed: u64,
    make: &dyn Fn(Topology, Limits) -> Box<dyn PacketEngine>,
    compared: (Compared, u64),
) {
    compare_moves(name, sessions, seed, make, compared, &Moves::default());
}

/// The same of data planes that write down what they move to cold storage and back.
fn compare_moves(
    name: &str,
    sessions: usize,
    seed: u64,
    make: &dyn Fn(Topology, Limits) -> Box<dyn PacketEngine>,
    (compared, hot): (Compared, u64),
    moves: &Moves,
) -> Tally {
    let all = RefCell::new(Tally::default());
    let result = TestRunner::new(config(seed)).run(&world(sessions), |world| {
        let tally = happen(&world, make, compared, moves).map_err(TestCaseError::fail)?;
        all.borrow_mut().add(tally);
        Ok(())
    });
    let all = all.into_inner();
    println!("{name}: {all}");
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(all.hot * 100 > all.packets * hot, "{} of {} packets decided by lines", all.hot, all.packets);
    assert!(all.forwarded * 100 > all.packets * FORWARDED, "{} of {}", all.forwarded, all.packets);
    all
}

// Input:  random worlds of one session.
// Output: the same results, packets, counters and events from both data planes, after every step.
#[test]
fn worlds_of_one_session() {
    compare("worlds of one session", 1, 1, 1, Compared::Two);
}

// Input:  random worlds of several sessions, some with the same addresses, shared rates and slices.
// Output: the same results, packets, counters and events from both data planes, after every step.
#[test]
fn worlds_of_many_sessions() {
    compare("worlds of many sessions", 12, 2, 12, Compared::Two);
}

// Input:  random simulations of several sessions, which become dormant again after each packet on the slow path, or when another becomes active.
// Output: the same results, packets, counters and events from both data planes, after every step.
#[test]
fn worlds_that_rest_again() {
    for (most_awake, seed) in [(0, 4), (2, 5)] {
        compare(
            &format!("simulations with {most_awake} active sessions"),
            8,
            seed,
            most_awake,
            Compared::Two,
        );
    }
}

// Input:  random worlds of several sessions, which move to cold storage after each packet and plan, or when they have been idle
//         for a millisecond, as far as their state permits.
// Output: the same results, packets, counters and events from both data planes, after every step; many sessions were loaded, of each kind.
#[test]
fn worlds_in_cold_storage() {
    use cold::{ALL, BY_TIMERS, WITH_PREFIX, WITH_TIMERS, WITH_TUNNELS};
    let often =
        [(ALL, 30_000), (WITH_PREFIX, 9000), (WITH_TUNNELS, 6000), (WITH_TIMERS, 3500), (BY_TIMERS, 15)];
    let seldom = [(ALL, 400), (WITH_PREFIX, 100), (WITH_TUNNELS, 80), (WITH_TIMERS, 60), (BY_TIMERS, 5)];
    for (most_awake, idle, seed, least) in [(0, Span::ZERO, 8, often), (12, Span::from_millis(1), 9, seldom)]
    {
        let moves = Moves::default();
        let make = |topology: Topology, limits: Limits| -> Box<dyn PacketEngine> {
            let store = WatchedStore(MemoryStore::default(), Arc::clone(&moves));
            let plane = FastPath::new(topology, limits).unwrap().with_max_active(most_awake);
            Box::new(plane.with_cold_storage(Box::new(store), idle, |notice| panic!("{notice}")))
        };
        let name = format!("worlds in cold storage after {idle:?}");
        let all = compare_moves(&name, 8, seed, &make, (Compared::Two, 0), &moves);
        for (kind, least) in least {
            let count = all.others.get(kind).copied().unwrap_or_default();
            assert!(count > least, "{count} {kind}");
        }
    }
}

// Input:  random worlds of one session and of several, without the features that the oracle lacks.
// Output: the same results, packets, counters and events from all three data planes, after every step.
#[test]
fn worlds_with_the_oracle() {
    compare("worlds of one session with the oracle", 1, 6, 1, Compared::Three);
    compare("worlds of many sessions with the oracle", 6, 7, 6, Compared::Three);
}

/// X-PLANE over the model of external memory, with four queue pairs.
fn over_external_memory(topology: Topology, limits: Limits, loss: f64) -> ModelPlane {
    let sizes = Sizes {
        ue_buckets: 1 << 6,
        flow_buckets: 1 << 9,
        rings: 4,
        // No burst is longer: no ring is full.
        ring: 64,
        paging_rings: 4,
        paging_ring: 8,
    };
    let parameters = ModelParameters { queue_pairs: 4, loss, ..ModelParameters::X_PLANE };
    ModelPlane::over_model(topology, limits, parameters, sizes, 1).unwrap()
}

// Input:  random worlds of one session and of several, on X-PLANE over the model of external memory, one packet in flight at a time; also over links that lose 2 % of all
//         messages.
// Output: the same results, packets, counters and events as from the slow path, after every step.
#[test]
fn worlds_over_external_memory() {
    for (loss, seed) in [(0.0, 8), (0.02, 8)] {
        let xplane = |topology: Topology, limits: Limits| -> Box<dyn PacketEngine> {
            Box::new(over_external_memory(topology, limits, loss).with_window(1))
        };
        let how = (Compared::WithoutHeavyHitters, HOT_IN_EXTERNAL_MEMORY);
        let name = |sessions| format!("worlds of {sessions} over external memory, loss {loss}");
        compare_with(&name("one session"), 1, seed, &xplane, how);
        compare_with(&name("many sessions"), 6, seed + 1, &xplane, how);
    }
}

// Input:  random worlds of one session and of several, on X-PLANE over the model of external memory, with all packets of a burst in flight.
// Output: the same results, packets, counters and events as from the slow path, after every step; packets and events of a burst in any order.
#[test]
fn worlds_with_packets_in_flight() {
    let xplane = |topology: Topology, limits: Limits| -> Box<dyn PacketEngine> {
        Box::new(over_external_memory(topology, limits, 0.0))
    };
    let how = (Compared::InFlight, HOT_IN_FLIGHT);
    compare_with("worlds of one session with packets in flight", 1, 12, &xplane, how);
    compare_with("worlds of many sessions with packets in flight", 6, 13, &xplane, how);
}

// Input:  data planes with a small defect each.
// Output: each defect is found within as many worlds as are compared anyway.
#[test]
fn defects_are_found() {
    for defect in Defect::ALL {
        let make = |topology: Topology, limits: Limits| -> Box<dyn PacketEngine> {
            Box::new(Saboteur::new(defect, topology, limits))
        };
        let mut runner = TestRunner::new(config(3));
        let worlds = std::iter::repeat_with(|| world(6).new_tree(&mut runner).expect("a world").current());
        let found = worlds
            .take(WORLDS as usize)
            .position(|world| happen(&world, &make, Compared::Two, &Moves::default()).is_err());
        let found = found.unwrap_or_else(|| panic!("{defect:?} was not found in {WORLDS} worlds"));
        println!("{defect:?} found in world {}", found + 1);
    }
}
