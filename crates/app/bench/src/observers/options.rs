//! What to measure.

use clap::Args;

use crate::BenchError;
use crate::kit::{Count, MAX_TIME_MS, count, within};

/// The packets, and how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Packets a second of the UE that is observed
    #[arg(long, value_name = "N", default_value_t = Options::default().flood)]
    pub flood: Count,
    /// Packets a second of the UE beside
    #[arg(long, value_name = "N", default_value_t = Options::default().rate)]
    pub rate: Count,
    /// Milliseconds of each round
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// Rounds, in which the clients take turns
    #[arg(long, value_name = "N", default_value_t = Options::default().rounds)]
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { flood: count(20_000), rate: count(2000), time: 500, rounds: 10 }
    }
}

impl Options {
    /// Options for a short run.
    pub(super) fn quick(self) -> Self {
        Self { flood: count(3000), rate: count(200), time: 100, rounds: 1 }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--flood", [self.flood.0], 1..=10_000_000)?;
        within("--rate", [self.rate.0], 1..=100_000)?;
        within("--rounds", [self.rounds as u64], 1..=1000)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}
