//! A timer wheel of rule numbers.

use causeway_types::{Span, Time};

use crate::SwitchPdr;

/// The resolution.
const TICK: Span = Span::from_millis(1);

/// The number of ticks: 16 s, more than twice the longest time that a counter remains unread.
const TICKS: u64 = 1 << 14;

/// The position of a number in the wheel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    bucket: u32,
    index: u32,
}

/// Numbers in buckets of a millisecond each. Insertion and removal are O(1); picking is linear in the picked numbers.
///
/// A time before the first bucket counts as the first bucket, one beyond the last as the last: it comes up too early,
/// which costs a reading.
#[derive(Clone, Debug, Default)]
pub(super) struct Wheel {
    buckets: Vec<Vec<SwitchPdr>>,
    /// A bit for each bucket that is not empty.
    filled: Vec<u64>,
    /// The tick of the first bucket. No number is earlier.
    first: u64,
}

impl Wheel {
    /// Allocates the buckets with the first number.
    fn begin(&mut self) {
        if self.filled.is_empty() {
            self.buckets = vec![Vec::new(); TICKS as usize];
            self.filled = vec![0; TICKS as usize / 64];
        }
    }

    /// Adds a number that is needed at this time.
    pub(super) fn insert(&mut self, number: SwitchPdr, now: Time, needed: Time) -> Slot {
        self.begin();
        self.advance(now);
        let tick = tick(needed).clamp(self.first, self.first + (TICKS - 1));
        let bucket = bucket(tick);
        let numbers = &mut self.buckets[bucket];
        numbers.push(number);
        self.filled[bucket / 64] |= 1 << (bucket % 64);
        Slot { bucket: bucket as u32, index: (numbers.len() - 1) as u32 }
    }

    /// Removes a number. Another number may move to its slot: it is returned.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<SwitchPdr> {
        let bucket = slot.bucket as usize;
        let numbers = self.buckets.get_mut(bucket)?;
        if (slot.index as usize) < numbers.len() {
            numbers.swap_remove(slot.index as usize);
        }
        if numbers.is_empty() {
            self.filled[bucket / 64] &= !(1 << (bucket % 64));
        }
        numbers.get(slot.index as usize).copied()
    }

    /// Adds to `picked` the numbers that are needed first, at most `budget`, and none that is needed after `until` (to
    /// the tick). They stay in the wheel until their counters have been read.
    pub(super) fn pick(&self, until: Time, budget: usize, picked: &mut Vec<SwitchPdr>) {
        let mut remaining = budget;
        for numbers in self.until(until) {
            if remaining == 0 {
                return;
            }
            picked.extend(numbers.iter().take(remaining));
            remaining = remaining.saturating_sub(numbers.len());
        }
    }

    /// The number of entries that are due by then.
    pub(super) fn due(&self, until: Time) -> usize {
        self.until(until).map(Vec::len).sum()
    }

    /// The buckets that are not empty, up to that of a time.
    fn until(&self, until: Time) -> impl Iterator<Item = &Vec<SwitchPdr>> {
        let last = tick(until).min(self.first + (TICKS - 1));
        let first = self.filled(self.first, last);
        let ticks = std::iter::successors(first, move |tick| self.filled(tick + 1, last));
        ticks.filter_map(|tick| self.buckets.get(bucket(tick)))
    }

    /// Skips empty buckets of the past.
    pub(super) fn advance(&mut self, now: Time) {
        let now = tick(now);
        if self.first < now {
            let end = now.min(self.first + (TICKS - 1));
            let whole_turn = now > end;
            let filled = self.filled(self.first, end);
            self.first = filled.unwrap_or(if whole_turn { now } else { end });
        }
    }

    /// The first tick from this one on, up to `last`, whose bucket is not empty.
    fn filled(&self, tick: u64, last: u64) -> Option<u64> {
        let mut tick = tick;
        while tick <= last {
            let bucket = bucket(tick);
            let ahead = self.filled.get(bucket / 64)? >> (bucket % 64);
            if ahead != 0 {
                let found = tick + u64::from(ahead.trailing_zeros());
                return (found <= last).then_some(found);
            }
            tick += 64 - bucket as u64 % 64;
        }
        None
    }
}

fn tick(moment: Time) -> u64 {
    moment.as_nanos() / TICK.as_nanos() as u64
}

fn bucket(tick: u64) -> usize {
    (tick % TICKS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_secs(1000) + Span::from_millis(millis)
    }

    fn numbers(wheel: &mut Wheel, now: u64, until: u64, budget: usize) -> Vec<u32> {
        let mut picked = Vec::new();
        wheel.advance(at(now));
        wheel.pick(at(until), budget, &mut picked);
        picked.iter().map(|number| number.0).collect()
    }

    // Input:  numbers needed at several times, before the wheel's first bucket, within it and beyond it.
    // Output: they are picked in that order, up to the given count and time; a removed one is not.
    #[test]
    fn numbers_come_in_their_order() {
        let mut wheel = Wheel::default();
        assert!(numbers(&mut wheel, 0, 60_000, 9).is_empty());
        let slots: Vec<Slot> = [(1, 300), (2, 100), (3, 100_000), (4, 200), (5, 200)]
            .map(|(number, millis)| wheel.insert(SwitchPdr(number), at(0), at(millis)))
            .to_vec();
        wheel.insert(SwitchPdr(6), at(0), Time::from_secs(3));
        assert_eq!(numbers(&mut wheel, 50, 60_000, 9), [6, 2, 4, 5, 1, 3]);
        assert_eq!(numbers(&mut wheel, 50, 200, 9), [6, 2, 4, 5]);
        assert_eq!(numbers(&mut wheel, 50, 60_000, 3), [6, 2, 4]);
        assert_eq!(wheel.remove(slots[3]), Some(SwitchPdr(5)));
        assert_eq!(numbers(&mut wheel, 400, 60_000, 9), [6, 2, 5, 1, 3]);
    }

    // Input:  nothing is picked for an hour, with and without waiting numbers.
    // Output: the numbers that waited come first, then the later ones.
    #[test]
    fn a_long_pause_keeps_the_order() {
        for waiting in [vec![], vec![7]] {
            let mut wheel = Wheel::default();
            wheel.advance(at(0));
            waiting.iter().for_each(|number| _ = wheel.insert(SwitchPdr(*number), at(0), at(10)));
            wheel.advance(at(3_600_000));
            wheel.insert(SwitchPdr(8), at(3_600_000), at(3_600_100));
            let expected: Vec<u32> = waiting.into_iter().chain([8]).collect();
            assert_eq!(numbers(&mut wheel, 3_600_200, 3_600_200, 9), expected);
        }
    }
}
