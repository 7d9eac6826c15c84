//! Numbers in adjacent intervals, each with a class.

/// The number of leading bits by which a search begins.
const TOP_BITS: u32 = 12;

/// All numbers of a type in adjacent intervals, each with the number of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Intervals<T> {
    /// The first number of each interval, ascending; the first is zero.
    starts: Vec<T>,
    /// The class of each interval.
    classes: Vec<u32>,
}

impl<T: Copy + Ord + Default> Intervals<T> {
    /// Intervals that begin at these numbers, and at zero; `class` gives that of the interval with a number.
    pub(super) fn new(mut bounds: Vec<T>, mut class: impl FnMut(T) -> u32) -> Self {
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
        Self { starts, classes }
    }

    /// The class of a number.
    pub(super) fn class(&self, number: T) -> u32 {
        // The first interval starts at zero.
        let at = self.starts.partition_point(|start| *start <= number).saturating_sub(1);
        self.classes.get(at).copied().unwrap_or_default()
    }
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

    // Input:  intervals all over the numbers, and thousands within one value of the leading bits; each bound and its
    //         neighbours, also the first and the last number.
    // Output: the value of the interval, as found one after the other.
    #[test]
    fn a_number_has_the_value_of_its_interval() {
        let spread: Vec<u32> = (0..2000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let dense: Vec<u32> = (0..4000_u32).map(|n| 0x0a00_0000 + 3 * n).chain([u32::MAX]).collect();
        for bounds in [spread, dense, vec![], vec![1], vec![u32::MAX]] {
            let class = |number: u32| (number.wrapping_mul(0x9e37_79b1) >> 29) % 3;
            let intervals = Intervals::new(bounds.clone(), class);
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
