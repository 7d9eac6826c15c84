//! Numbers in adjacent intervals, each with a class.

/// The number of leading bits by which a search of values begins.
const TOP_BITS: u32 = 12;

/// The most leading bits by which a search of classes begins: 16,384 values, of which a packet reads two.
const MOST_TOP_BITS: u32 = 14;

/// A run of so many intervals needs no more leading bits.
const SHORT_RUN: u32 = 2;

/// Numbers that intervals divide.
pub(super) trait Number: Copy + Ord + Default {
    /// The number without its last bits.
    fn leading(self, last: u32) -> usize;
}

impl Number for u32 {
    #[inline]
    fn leading(self, last: u32) -> usize {
        self.checked_shr(last).unwrap_or_default() as usize
    }
}

impl Number for u128 {
    #[inline]
    fn leading(self, last: u32) -> usize {
        self.checked_shr(last).unwrap_or_default() as usize
    }
}

/// All numbers of so many bits in adjacent intervals, each with the number of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Intervals<T> {
    /// The first number of each interval, ascending; the first is zero.
    starts: Vec<T>,
    /// The class of each interval.
    classes: Vec<u32>,
    /// For each value of the leading bits the interval that contains the first such number; then the last interval.
    top: Vec<u32>,
    /// The bits of a number that are not leading.
    last_bits: u32,
}

impl<T: Number> Intervals<T> {
    /// Intervals of numbers of `bits` bits that begin at these numbers, and at zero; `class` gives that of the interval with a number.
    pub(super) fn new(bits: u32, mut bounds: Vec<T>, mut class: impl FnMut(T) -> u32) -> Self {
        bounds.push(T::default());
        bounds.sort_unstable();
        bounds.dedup();
        let (mut starts, mut classes) = (Vec::new(), Vec::new());
        for start in bounds {
            let next = class(start);
            if classes.last() != Some(&next) {
                starts.push(start);
                classes.push(next);
            }
        }
        let least = starts.len().next_power_of_two().trailing_zeros().min(MOST_TOP_BITS).min(bits);
        let mut last_bits = bits - least;
        let mut top = top_of(&starts, bits, last_bits);
        // Numbers that are close together need more leading bits.
        while longest_run(&top) > SHORT_RUN && bits - last_bits < MOST_TOP_BITS.min(bits) {
            last_bits -= 1;
            top = top_of(&starts, bits, last_bits);
        }
        Self { starts, classes, top, last_bits }
    }

    /// All numbers are in one interval.
    #[inline]
    pub(super) const fn is_one(&self) -> bool {
        self.starts.len() == 1
    }

    /// The class of a number.
    #[inline]
    pub(super) fn class(&self, number: T) -> u32 {
        let leading = number.leading(self.last_bits);
        let first = self.top.get(leading).map_or(0, |first| *first as usize);
        let last = self.top.get(leading + 1).map_or(first, |last| *last as usize);
        let run = self.starts.get(first + 1..=last).unwrap_or_default();
        let at = first + run.partition_point(|start| *start <= number);
        self.classes.get(at).copied().unwrap_or_default()
    }
}

/// For each value of the leading bits the last interval that begins before all such numbers, or the first interval; then the last one.
fn top_of<T: Number>(starts: &[T], bits: u32, last_bits: u32) -> Vec<u32> {
    let values = 1_usize << (bits - last_bits);
    let mut top = Vec::with_capacity(values + 1);
    let mut at = 0;
    for leading in 0..values {
        while starts.get(at + 1).is_some_and(|start| start.leading(last_bits) < leading) {
            at += 1;
        }
        top.push(at as u32);
    }
    top.push((starts.len() - 1) as u32);
    top
}

/// The most intervals that begin in the numbers of one value of the leading bits.
fn longest_run(top: &[u32]) -> u32 {
    top.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

/// Intervals of 32-bit numbers, with a value each that is found in a few steps without branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ValueMap {
    /// For each value of the leading bits the interval that contains the first such number.
    top: Vec<u32>,
    /// The first number of each interval; behind the last one, as many more as a search may read.
    starts: Vec<u32>,
    values: Vec<u8>,
    /// The steps that halve the longest run of intervals with the same leading bits.
    steps: u32,
}

impl ValueMap {
    /// The intervals of another map; `value` gives the value of a class.
    pub(super) fn new(intervals: &Intervals<u32>, value: impl Fn(u32) -> u8) -> Self {
        // Adjacent intervals of one value are one.
        let (mut starts, mut values) = (Vec::new(), Vec::new());
        for (start, class) in intervals.starts.iter().zip(&intervals.classes) {
            let next = value(*class);
            if values.last() != Some(&next) {
                starts.push(*start);
                values.push(next);
            }
        }
        let first_of = |bits: u32| {
            let number = bits << (u32::BITS - TOP_BITS);
            (starts.partition_point(|start| *start <= number) - 1) as u32
        };
        let top: Vec<u32> = (0..1 << TOP_BITS).map(first_of).collect();
        let ends = top.iter().skip(1).copied().chain([starts.len() as u32 - 1]);
        let longest = top.iter().zip(ends).map(|(first, end)| end - first + 1).max().unwrap_or(1);
        let steps = longest.next_power_of_two().trailing_zeros();
        // A search reads at most this many intervals behind the one that it ends in.
        let last = values.last().copied().unwrap_or_default();
        starts.extend(std::iter::repeat_n(u32::MAX, 1 << steps));
        values.extend(std::iter::repeat_n(last, 1 << steps));
        Self { top, starts, values, steps }
    }

    /// The value of each number. The searches of all numbers overlap in the processor.
    #[inline(always)]
    pub(super) fn values_of<const N: usize>(&self, numbers: &[u32; N]) -> [u8; N] {
        let mut at: [usize; N] = std::array::from_fn(|n| {
            self.top.get((numbers[n] >> (u32::BITS - TOP_BITS)) as usize).map_or(0, |first| *first as usize)
        });
        for step in (0..self.steps).rev() {
            let half = 1_usize << step;
            for (at, number) in at.iter_mut().zip(numbers) {
                let is_beyond = self.starts.get(*at + half).is_some_and(|start| start <= number);
                *at += half * usize::from(is_beyond);
            }
        }
        at.map(|at| self.values.get(at).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  intervals of numbers of 8, 17 and 128 bits, at some bounds; each number around a bound, the first and the last.
    // Output: the class of the interval, as found one after the other.
    #[test]
    fn numbers_of_any_width_have_the_class_of_their_interval() {
        fn check<T: Number + std::fmt::Debug>(bits: u32, bounds: &[T], numbers: &[T]) {
            let mut sorted = bounds.to_vec();
            sorted.push(T::default());
            sorted.sort_unstable();
            let place = |number: T| sorted.partition_point(|start| *start <= number) as u32;
            let intervals = Intervals::new(bits, bounds.to_vec(), place);
            for number in numbers {
                assert_eq!(intervals.class(*number), place(*number), "{bits} bits: {number:?}");
            }
        }
        for bits in [8_u32, 17] {
            let most = (1_u32 << bits) - 1;
            let all: Vec<u32> = (0..=most).collect();
            for bounds in [vec![], vec![most], (1..=200).collect(), (0..most).step_by(97).collect()] {
                check(bits, &bounds, &all);
            }
        }
        let bounds: Vec<u128> = (0..500_u128).map(|n| 0x2001_0db8 << 96 | n << 64 | (n % 3)).collect();
        let around = |bound: &u128| [bound - 1, *bound, bound + 1];
        let numbers: Vec<u128> = bounds.iter().flat_map(around).chain([0, u128::MAX]).collect();
        check(128, &bounds, &numbers);
    }

    // Input:  intervals all over the numbers, and thousands within one value of the leading bits; each bound and its
    //         neighbours, also the first and the last number.
    // Output: the value of the interval, as found one after the other.
    #[test]
    fn a_number_has_the_value_of_its_interval() {
        let spread: Vec<u32> = (0..2000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let dense: Vec<u32> = (0..4000_u32).map(|n| 0x0a00_0000 + 3 * n).chain([u32::MAX]).collect();
        for bounds in [spread, dense, vec![], vec![1], vec![u32::MAX]] {
            let class = |number: u32| (number.wrapping_mul(0x9e37_79b1) >> 29) % 3;
            let intervals = Intervals::new(32, bounds.clone(), class);
            let map = ValueMap::new(&intervals, |class| class as u8);
            let mut sorted = bounds.clone();
            sorted.push(0);
            sorted.sort_unstable();
            for bound in bounds.into_iter().chain([0, u32::MAX]) {
                for number in [bound.wrapping_sub(1), bound, bound.wrapping_add(1)] {
                    let start = sorted.iter().rev().find(|start| **start <= number).unwrap();
                    assert_eq!(intervals.class(number), class(*start), "{number}");
                    assert_eq!(map.values_of(&[number]), [class(*start) as u8], "{number}");
                }
            }
        }
    }
}
