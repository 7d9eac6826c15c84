//! Allocation and release of numbers in any order.

use proptest::prelude::*;

use super::Bench;

/// What a run of random operations did.
#[derive(Default, Debug)]
struct Tally {
    allocated: usize,
    refused: usize,
    released: usize,
}

/// Gives and takes back numbers; how full the space is goes up and down, and which templates are wanted changes.
fn churn(bench: &mut Bench, operations: usize, templates: u8, seed: u64) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut given: Vec<u32> = Vec::new();
    let mut tally = Tally::default();
    for operation in 0..operations {
        let wave = 1 + operation / 4096 % 9;
        let favourite = (operation / 1000) as u8 % templates;
        if random.usize(..10) < wave || given.is_empty() {
            let template = if random.bool() { favourite } else { random.u8(..templates) };
            match bench.allocate(template) {
                Some(number) => given.push(number),
                None => tally.refused += 1,
            }
        } else {
            bench.release(given.swap_remove(random.usize(..given.len())));
            tally.released += 1;
        }
        if operation % 50_000 == 0 {
            bench.check_all();
        }
    }
    tally.allocated = tally.released + given.len();
    tally
}

/// Churns, and returns to the start.
fn churn_and_return(bits: u8, limit: usize, operations: usize) {
    let mut bench = Bench::new(bits, limit, &[(0, 13), (1, 6), (2, 8), (3, 21)]);
    let before = bench.tables.clone();
    let tally = churn(&mut bench, operations, 11, u64::from(bits));
    assert!(tally.refused > 1000 && tally.released > 100_000 && bench.writes > 10_000, "{tally:?}");
    bench.check_all();
    bench.release_all();
    bench.check_all();
    assert_eq!(bench.tables, before);
}

// Input:  600,000 operations in 127 numbers: they run out at times, and are nearly all free at others.
// Output: after every single write each number in use has its own action, and no other; in the end all is as at first.
#[test]
fn many_operations_in_few_numbers() {
    churn_and_return(7, 64, 600_000);
}

// Input:  400,000 operations in tables of twelve entries, which run out before the numbers do.
// Output: the same; no table ever has more than it holds.
#[test]
fn many_operations_in_small_tables() {
    churn_and_return(9, 12, 400_000);
}

// Input:  60,000 rules in 17 bits, of 250 templates, 200 of them with a minimum, which all outgrow it; then all end.
// Output: all find numbers, with few entries; in the end all is as at first.
#[test]
fn a_large_network() {
    let minima: Vec<(u8, u32)> = (0..200).map(|template| (template, 120)).collect();
    let mut bench = Bench::new(17, 400, &minima);
    let before = bench.tables.clone();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..60_000 {
        bench.allocate(random.u8(..250)).unwrap();
    }
    bench.check_all();
    bench.release_all();
    assert_eq!(bench.tables, before);
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(u8),
    Release(u16),
    ReleaseAll,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        30 => (0..9_u8).prop_map(Step::Allocate),
        20 => any::<u16>().prop_map(Step::Release),
        1 => Just(Step::ReleaseAll),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Input:  any small space, table size and minima, and any order of giving and taking back.
    // Output: as for the million; a number that is refused leaves all as it was; what a minimum promises is always there.
    #[test]
    fn any_order(
        bits in 3..=8_u8,
        minima in proptest::collection::vec(0..6_u32, 0..4),
        limit in 6..40_usize,
        steps in proptest::collection::vec(step(), 0..800),
    ) {
        let minima: Vec<(u8, u32)> = (0..).zip(minima).collect();
        prop_assume!(minima.iter().map(|(_, rules)| rules).sum::<u32>() < (1 << bits) - 1);
        let mut bench = Bench::new(bits, limit, &minima);
        let before = bench.tables.clone();
        for step in steps {
            match step {
                Step::Allocate(template) => {
                    let tables = bench.tables.clone();
                    let own = bench.live.values().filter(|own| own.0 == template).count();
                    let promised = minima.iter().any(|(number, rules)| *number == template && own < *rules as usize);
                    let number = bench.allocate(template);
                    prop_assert!(number.is_some() || !promised);
                    prop_assert!(number.is_some() || bench.tables == tables);
                }
                Step::Release(index) => {
                    let number = bench.live.keys().nth(usize::from(index) % bench.live.len().max(1)).copied();
                    number.into_iter().for_each(|number| bench.release(number));
                }
                Step::ReleaseAll => {
                    bench.release_all();
                    prop_assert_eq!(&bench.tables, &before);
                }
            }
        }
        bench.check_all();
        bench.release_all();
        prop_assert_eq!(&bench.tables, &before);
    }
}
