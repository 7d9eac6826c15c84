//! The even distribution of numbers that may be in order, such as SEIDs of an SMF.

/// 2^32 divided by the golden ratio. The upper half of a product with it is evenly distributed for numbers in equal steps, such as every second one.
pub const SPREAD_FACTOR: u32 = 0x9e37_79b1;

/// The part, below so many, that this number belongs to. `parts` 0 counts as 1. A BPF program of the kernel that multiplies by [`SPREAD_FACTOR`],
/// shifts right by 16 bits and takes the remainder gives the same.
#[inline]
#[must_use]
pub const fn spread(number: u32, parts: usize) -> usize {
    (number.wrapping_mul(SPREAD_FACTOR) >> 16) as usize % if parts == 0 { 1 } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  numbers in steps of 1 to 8 and 256; two, three and four parts.
    // Output: each part has its share of them, give or take a tenth.
    #[test]
    fn numbers_in_equal_steps_are_evenly_spread() {
        for (step, parts) in (1..=8).chain([256]).flat_map(|step| [2, 3, 4].map(|parts| (step, parts))) {
            for first in [1, 0x1234] {
                let mut counts = vec![0_usize; parts];
                (0..1200).for_each(|number| counts[spread(first + step * number, parts)] += 1);
                let (share, tenth) = (1200 / parts, 120 / parts);
                assert!(counts.iter().all(|count| share.abs_diff(*count) <= tenth), "{step}: {counts:?}");
            }
        }
    }

    // Input:  any number, one part and none.
    // Output: the only part.
    #[test]
    fn one_part_has_all() {
        assert_eq!([0, 1].map(|parts| spread(0xffff_ffff, parts)), [0, 0]);
    }
}
