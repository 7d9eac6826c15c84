//! The estimate of one flow in floating point, without limits of counts, ages or positions.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

/// The counts of one flow.
#[derive(Clone, Debug)]
pub(crate) struct SlidingOracle {
    length: f64,
    full: u64,
    /// Sub-windows by number, and their units.
    counts: VecDeque<(u64, f64)>,
}

/// What the oracle says of a window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Units in the window.
    pub(crate) units: f64,
    /// Units in the oldest sub-window, of which a part lies in the window.
    pub(crate) oldest: f64,
}

impl SlidingOracle {
    /// No packets yet; `full` sub-windows of this length are a window.
    pub(crate) fn new(sub_window: Span, full: u64) -> Self {
        Self { length: sub_window.as_nanos() as f64, full, counts: VecDeque::new() }
    }

    /// Counts a packet of this weight, and estimates. Times must not run back.
    pub(crate) fn observe(&mut self, weight: f64, now: Time) -> Estimate {
        let place = now.as_nanos() as f64 / self.length;
        let index = place as u64;
        while self.counts.front().is_some_and(|(first, _)| first + self.full < index) {
            self.counts.pop_front();
        }
        match self.counts.back_mut() {
            Some((last, count)) if *last == index => *count += weight,
            _ => self.counts.push_back((index, weight)),
        }
        let is_oldest = |(first, _): &&(u64, f64)| first + self.full == index;
        let oldest = self.counts.front().filter(is_oldest).map_or(0.0, |(_, count)| *count);
        let all: f64 = self.counts.iter().map(|(_, count)| count).sum();
        Estimate { units: all - oldest * place.fract(), oldest }
    }
}
