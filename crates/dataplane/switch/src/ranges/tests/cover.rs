//! The exact cover compared with the paper's greedy one and with an exhaustive search.

use std::collections::BinaryHeap;

use proptest::prelude::*;

use crate::ranges::{BootstrapError, Cover, Minimum, Ranges, cover};

use super::Plain;

/// The decomposition of HiP4-UPF appendix C, Algorithm 1, in a form that ends: each tuple carries its capacity with it. The number of
/// ranges; `None` where it finds none.
fn greedy(minima: &[u64], space: u64) -> Option<usize> {
    let capacities = minima.iter().filter(|minimum| **minimum > 0).map(|minimum| minimum.next_power_of_two());
    let mut needed: u64 = capacities.clone().sum();
    let wanted = minima.iter().filter(|minimum| **minimum > 0);
    let mut loose: BinaryHeap<(u64, u64)> =
        wanted.zip(capacities).map(|(minimum, capacity)| (capacity - minimum, *minimum)).collect();
    let mut ranges = loose.len();
    while needed > space {
        let (looseness, minimum) = loose.pop()?;
        let half = (minimum + looseness) / 2;
        if looseness == 0 {
            return None;
        }
        match minimum.cmp(&half) {
            std::cmp::Ordering::Greater => {
                ranges += 1;
                loose.push((looseness, minimum - half));
            }
            std::cmp::Ordering::Less => {
                needed -= half;
                loose.push((half - minimum, minimum));
            }
            std::cmp::Ordering::Equal => needed -= half,
        }
    }
    Some(ranges)
}

/// The fewest ranges, and the fewest numbers with them, by trying every number that each minimum could get, with the fewest
/// powers of two that make it up.
fn exhaustive(minima: &[u64], space: u64) -> Option<(u64, u64)> {
    let mut powers = vec![0_u64; space as usize + 1];
    for count in 1..=space {
        let smaller = (0..64).map(|bit| 1_u64 << bit).take_while(|power| *power <= count);
        powers[count as usize] = smaller.map(|power| powers[(count - power) as usize] + 1).min().unwrap();
    }
    let Some((first, rest)) = minima.split_first() else { return Some((0, 0)) };
    let counts = if *first == 0 { 0..=0 } else { *first..=space };
    counts
        .filter_map(|count| {
            let (ranges, numbers) = exhaustive(rest, space - count)?;
            Some((ranges + powers[count as usize], numbers + count))
        })
        .min()
}

fn assert_covers(found: &Cover, minima: &[u64], space: u64) {
    assert!(found.numbers() <= space);
    assert_eq!(found.counts.len(), minima.len());
    for (count, minimum) in found.counts.iter().zip(minima) {
        assert!(count >= minimum);
        assert_eq!(*count == 0, *minimum == 0);
    }
}

// Input:  minima of 13, 6, 8 and 2 among 32 numbers.
// Output: greedy needs six ranges, five do.
#[test]
fn greedy_is_not_minimal() {
    assert_eq!(greedy(&[13, 6, 8, 2], 32), Some(6));
    let found = cover(&[13, 6, 8, 2], 32).unwrap();
    assert_eq!((found.entries(), found.numbers()), (5, 32));
}

// Input:  the paper's example, minima of 2 and 9 among 16 numbers.
// Output: three ranges, as in the paper; no more numbers than were asked for.
#[test]
fn the_example_of_the_paper() {
    assert_eq!(greedy(&[2, 9], 16), Some(3));
    assert_eq!(cover(&[2, 9], 16), Some(Cover { counts: vec![2, 9] }));
}

// Input:  minima that fill the space to the last number, and one more.
// Output: the ranges are the set bits; one more is refused.
#[test]
fn the_space_can_be_filled_exactly() {
    let minima = [7, 7, 1, 1];
    let found = cover(&minima, 16).unwrap();
    assert_eq!((found.entries(), found.counts.as_slice()), (8, minima.as_slice()));
    assert_eq!(cover(&minima, 15), None);
    assert_eq!(cover(&[u64::MAX, 1], u64::MAX), None);
    assert_eq!(cover(&[], 0), Some(Cover { counts: vec![] }));
}

// Input:  a thousand templates of a large network, in nearly all of 24 bits.
// Output: a cover, no worse than greedy; the bootstrap takes it into its tree.
#[test]
fn a_large_configuration_is_covered() {
    let mut random = fastrand::Rng::with_seed(7);
    let minima: Vec<u64> = (0..1000).map(|_| random.u64(1..=24_000)).collect();
    let space = minima.iter().sum::<u64>() * 21 / 20;
    let found = cover(&minima, space).unwrap();
    assert_covers(&found, &minima, space);
    assert!(found.entries() as usize <= greedy(&minima, space).unwrap());
}

// Input:  minima that are too many numbers, more ranges than the table, and the same template twice.
// Output: each is refused, with what is needed.
#[test]
fn a_configuration_that_cannot_be_is_refused() {
    let bootstrap = |bits, limit, minima: &[(u8, u32)]| {
        let minima: Vec<_> = minima
            .iter()
            .map(|(number, rules)| Minimum { template: Plain(*number), rules: *rules })
            .collect();
        Ranges::bootstrap(bits, &[limit; 3], &minima).map(drop).unwrap_err()
    };
    let numbers = BootstrapError::Numbers { needed: 16, available: 15, bits: 4 };
    assert_eq!(bootstrap(4, 9, &[(0, 8), (1, 8)]), numbers);
    let table = BootstrapError::Table { table: 0, needed: 4, limit: 3 };
    assert_eq!(bootstrap(4, 3, &[(0, 8), (3, 4), (6, 1)]), table);
    assert_eq!(bootstrap(4, 9, &[(5, 1), (6, 2), (5, 3)]), BootstrapError::Twice { first: 0, second: 2 });
    assert_eq!(bootstrap(0, 9, &[]), BootstrapError::Bits { bits: 0 });
    assert_eq!(bootstrap(25, 9, &[]), BootstrapError::Bits { bits: 25 });
}

proptest! {
    // Input:  up to four minima in up to 40 numbers.
    // Output: as few ranges as there can be, and with those as few numbers.
    #[test]
    fn it_is_as_good_as_exhaustive_search(minima in proptest::collection::vec(0..14_u64, 0..=4), space in 0..40_u64) {
        let found = cover(&minima, space);
        prop_assert_eq!(found.as_ref().map(|found| (found.entries(), found.numbers())), exhaustive(&minima, space));
        found.iter().for_each(|found| assert_covers(found, &minima, space));
    }

    // Input:  up to a hundred minima of any size, in a space that just holds them or has room.
    // Output: a cover wherever greedy has one, and never more ranges.
    #[test]
    fn it_never_loses_to_greedy(
        minima in proptest::collection::vec((0..20_u32).prop_flat_map(|bits| 0..(2_u64 << bits)), 0..100),
        room in 0..1000_u64,
    ) {
        let least: u64 = minima.iter().sum();
        let space = least + least * room / 1000;
        let found = cover(&minima, space).unwrap();
        assert_covers(&found, &minima, space);
        if let Some(greedy) = greedy(&minima, space) {
            prop_assert!(found.entries() as usize <= greedy);
        }
    }
}
