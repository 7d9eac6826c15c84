//! Many measurements of the same value.

/// Measurements of the same thing, for example nanoseconds per packet of one chunk each.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

/// What remains of [`Samples`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// A tenth is below: nearly what it takes undisturbed.
    pub p10: f64,
    /// Half are below.
    pub median: f64,
    /// Nine tenths are below.
    pub p90: f64,
}

impl Samples {
    /// Adds one.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds all of these.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All together.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// `None` without any.
    pub fn summary(&self) -> Option<Summary> {
        let [p10, median, p90] = self.percentiles([100, 500, 900])?;
        Some(Summary { p10, median, p90 })
    }

    /// Those that so many thousandths are below. `None` without any.
    pub fn percentiles<const N: usize>(&self, thousandths: [usize; N]) -> Option<[f64; N]> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        Some(thousandths.map(|share| sorted.get((last * share + 500) / 1000).copied().unwrap_or_default()))
    }
}

impl Summary {
    /// Each less the median of what it costs to measure nothing, and not below zero.
    pub fn minus_overhead(self, baseline: Self) -> Self {
        let net = |gross: f64| (gross - baseline.median).max(0.0);
        Self { p10: net(self.p10), median: net(self.median), p90: net(self.p90) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  0 to 100 in disorder, one sample, and none.
    // Output: 10, 50 and 90; the sample three times; nothing.
    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let samples = Samples((0..=100).map(|value| f64::from((value * 37) % 101)).collect());
        assert_eq!(samples.summary(), Some(Summary { p10: 10.0, median: 50.0, p90: 90.0 }));
        assert_eq!(Samples(vec![3.0]).summary(), Some(Summary { p10: 3.0, median: 3.0, p90: 3.0 }));
        assert_eq!(samples.percentiles([0, 990, 1000]), Some([0.0, 99.0, 100.0]));
        assert_eq!(Samples::default().summary(), None);
    }

    // Input:  a measurement that is partly below its baseline.
    // Output: the rest, never negative.
    #[test]
    fn a_baseline_is_taken_off() {
        let gross = Summary { p10: 4.0, median: 9.0, p90: 12.0 };
        let net = gross.minus_overhead(Summary { p10: 1.0, median: 5.0, p90: 7.0 });
        assert_eq!(net, Summary { p10: 0.0, median: 4.0, p90: 7.0 });
    }
}
