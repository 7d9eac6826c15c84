//! Statistics of the readers.

use std::fmt;

use causeway_types::Time;

/// Passes of readers, and their counters, in some model time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadStatistics {
    /// The start.
    pub since: Time,
    /// The end.
    pub until: Time,
    /// Passes.
    pub passes: u64,
    /// Counters that they read.
    pub counters: u64,
}

impl ReadStatistics {
    /// Counters read a second.
    pub fn counters_a_second(&self) -> f64 {
        self.counters as f64 / self.seconds()
    }

    /// Passes a second, of all readers.
    pub fn passes_a_second(&self) -> f64 {
        self.passes as f64 / self.seconds()
    }

    pub(super) const fn add(&mut self, counters: usize) {
        self.passes += 1;
        self.counters += counters as u64;
    }

    fn seconds(&self) -> f64 {
        self.until.since(self.since).as_secs_f64().max(1e-9)
    }
}

impl fmt::Display for ReadStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} counters a second in {:.1} passes", self.counters_a_second(), self.passes_a_second())
    }
}
