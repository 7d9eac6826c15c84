//! How long something took, in counts by length.

use causeway_types::Span;

/// The upper bound of the first length, in nanoseconds; each following bound is larger by a fourth root of two.
const LEAST: f64 = 100_000.0;

/// Bounds up to 26 s.
const BOUNDS: usize = 73;

/// Bounds of a power of two.
const PER_OCTAVE: usize = 4;

/// Times, counted by length: of any number of them, percentiles within a fifth. Lengths of several threads add up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitCounts {
    /// Up to each bound; the last one above all of them.
    counts: [u64; BOUNDS + 1],
    sum: Span,
}

impl Default for WaitCounts {
    fn default() -> Self {
        Self { counts: [0; BOUNDS + 1], sum: Span::ZERO }
    }
}

/// The upper bound with this number, in nanoseconds.
fn bound(number: usize) -> f64 {
    LEAST * 2_f64.powf(number as f64 / PER_OCTAVE as f64)
}

impl WaitCounts {
    /// Counts a time.
    pub fn add(&mut self, wait: Span) {
        let nanos = wait.as_nanos() as f64;
        let place = (0..BOUNDS).find(|number| nanos <= bound(*number)).unwrap_or(BOUNDS);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum += wait;
    }

    /// The times of both.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        self.sum += other.sum;
        self
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all times.
    pub const fn sum(&self) -> Span {
        self.sum
    }

    /// The time that so many percent of them do not exceed, as if those between two bounds were spread evenly; above the last
    /// bound that bound. `None`: there are none.
    pub fn percentile(&self, percent: f64) -> Option<Span> {
        let wanted = self.count() as f64 * percent / 100.0;
        let mut below = 0.0;
        for (number, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= wanted {
                let most = bound(number.min(BOUNDS - 1));
                let least = if number == 0 { 0.0 } else { bound(number - 1) };
                let nanos = least + (most - least) * ((wanted - below) / count).clamp(0.0, 1.0);
                return Some(Span::from_nanos(nanos as u64));
            }
            below += count;
        }
        None
    }

    /// The number of times up to each of some bounds, and above the one before, with the bound in seconds: each power of two of
    /// 100 µs, and infinity.
    pub fn by_octave(&self) -> impl Iterator<Item = (f64, u64)> {
        let sum = |some: &[u64]| some.iter().sum();
        let (first, others) =
            self.counts.split_first().map_or((0, &[][..]), |(first, others)| (*first, others));
        let octaves = others.chunks(PER_OCTAVE).enumerate().map(move |(number, some)| {
            let end = (number + 1) * PER_OCTAVE;
            let is_last = end >= BOUNDS;
            (if is_last { f64::INFINITY } else { bound(end) / 1e9 }, sum(some))
        });
        std::iter::once((LEAST / 1e9, first)).chain(octaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thousand times of 1 to 1,000 ms, half of them counted elsewhere; one beyond all bounds; none at all.
    // Output: the percentiles within a fifth; each time is in one octave, those up to 102.4 ms in the octaves up to that.
    #[test]
    fn percentiles_are_within_a_fifth() {
        let mut parts = [WaitCounts::default(); 2];
        assert_eq!(parts[0].percentile(50.0), None);
        for millis in 1..=1000_u64 {
            parts[(millis % 2) as usize].add(Span::from_millis(millis));
        }
        let all = parts[0].with(&parts[1]);
        assert_eq!((all.count(), all.sum()), (1000, Span::from_millis(500_500)));
        for (percent, millis) in [(1.0, 10.0), (50.0, 500.0), (99.0, 990.0), (100.0, 1000.0)] {
            let found = all.percentile(percent).unwrap().as_secs_f64() * 1000.0;
            assert!((found / millis - 1.0).abs() < 0.2, "{percent}: {found}");
        }
        assert_eq!(all.by_octave().map(|(_, count)| count).sum::<u64>(), 1000);
        let up_to: u64 = all.by_octave().filter(|(bound, _)| *bound < 0.11).map(|(_, count)| count).sum();
        assert_eq!(up_to, 102);
        let mut long = WaitCounts::default();
        long.add(Span::from_secs(3600));
        assert_eq!(long.by_octave().last(), Some((f64::INFINITY, 1)));
        assert!(long.percentile(50.0).unwrap() >= Span::from_secs(20));
    }
}
