//! Latencies, in model time.

use causeway_types::Span;

/// Latencies of one kind, in seconds of model time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Latencies {
    sorted: Vec<f64>,
}

impl Latencies {
    /// Creates them from spans.
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Self {
        Self::of_seconds(spans.into_iter().map(|span| span.as_secs_f64()))
    }

    /// Creates them from seconds.
    pub fn of_seconds(seconds: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = seconds.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    /// The number of latencies.
    pub const fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The mean; zero if there are none.
    pub fn mean(&self) -> f64 {
        if self.sorted.is_empty() { 0.0 } else { self.sorted.iter().sum::<f64>() / self.sorted.len() as f64 }
    }

    /// The percentile: the smallest latency that this percentage does not exceed; zero if there are none.
    pub fn percentile(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The longest; zero if there are none.
    pub fn longest(&self) -> f64 {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// The percentage of latencies of at most this many seconds.
    pub fn within(&self, seconds: f64) -> f64 {
        let within = self.sorted.partition_point(|latency| *latency <= seconds);
        within as f64 * 100.0 / self.sorted.len().max(1) as f64
    }

    /// The cumulative distribution, as points of a curve: at most about 200, the last ones individually.
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        let len = self.sorted.len();
        let point = |rank: usize| Some((*self.sorted.get(rank.checked_sub(1)?)?, rank as f64 / len as f64));
        let step = len.div_ceil(200).max(1);
        let tail = len.saturating_sub(10).max(1)..=len;
        (1..=len)
            .step_by(step)
            .filter(|rank| *rank < len.saturating_sub(10))
            .chain(tail)
            .filter_map(point)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a hundred latencies of 1 to 100 ms, in any order; none.
    // Output: their mean, percentiles and shares; zeros.
    #[test]
    fn ranks_are_those_of_latencies() {
        let latencies = Latencies::new((1..=100).rev().map(Span::from_millis));
        assert!((latencies.mean() - 0.0505).abs() < 1e-9);
        assert_eq!([50.0, 99.0, 100.0].map(|rank| latencies.percentile(rank)), [0.05, 0.099, 0.1]);
        assert_eq!((latencies.within(0.02), latencies.longest()), (20.0, 0.1));
        assert_eq!(latencies.distribution().last(), Some(&(0.1, 1.0)));
        let none = Latencies::default();
        assert_eq!((none.mean(), none.percentile(50.0), none.within(1.0)), (0.0, 0.0, 0.0));
        assert!(none.distribution().is_empty());
    }
}
