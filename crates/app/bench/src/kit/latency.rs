//! Distributions of latencies.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A histogram of durations up to a minute, exact to 0.1 %.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

/// The longest that is told apart: longer ones count as this.
const LONGEST: u64 = 60_000_000_000;

impl Latency {
    /// Without any.
    pub fn new() -> Self {
        // The bounds are constants that the library accepts; it has no infallible constructor.
        let histogram = Histogram::new_with_bounds(1, LONGEST, 3);
        Self(histogram.unwrap_or_else(|_| unreachable!("constant bounds")))
    }

    /// Adds one.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST));
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Not exceeded by this share of them, 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(share))
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  1 to 1000 microseconds, and an hour.
    // Output: the median and the 99th percentile to 0.1 %; the hour counts as the longest there is.
    #[test]
    fn quantiles_are_exact_to_a_thousandth() {
        let mut latency = Latency::new();
        for micros in 1..=1000 {
            latency.record(Duration::from_micros(micros));
        }
        let near = |found: Duration, micros: f64| (found.as_secs_f64() * 1e6 / micros - 1.0).abs() < 0.001;
        assert!(near(latency.quantile(0.5), 500.0) && near(latency.quantile(0.99), 990.0));
        latency.record(Duration::from_secs(3600));
        assert!((59..=61).contains(&latency.max().as_secs()));
        assert_eq!(latency.len(), 1001);
    }
}
