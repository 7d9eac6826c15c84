//! What to measure.

use clap::Args;

use crate::BenchError;
use crate::kit::{Count, MAX_TIME_MS, count, within};

/// Every number of sessions is measured separately.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Sessions, all with traffic and a volume threshold
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Uplink packets in a second, each of a random session
    #[arg(long, value_name = "N", default_value_t = Options::default().rate)]
    pub rate: Count,
    /// Handovers in a second, each of a random session
    #[arg(long, value_name = "N", default_value_t = Options::default().handovers)]
    pub handovers: Count,
    /// Rule changes that are measured one by one
    #[arg(long, value_name = "N", default_value_t = Options::default().changes)]
    pub changes: Count,
    /// Milliseconds with reports, and again with handovers
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// Let the packet thread of the UPF sleep without packets, as in the daemon's default; without this option it never sleeps
    #[arg(long)]
    pub sleep: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sessions: vec![count(10_000), count(150_000)],
            rate: count(20_000),
            handovers: count(1000),
            changes: count(1000),
            time: 5000,
            sleep: false,
        }
    }
}

/// UE addresses are of 10.0.0.0/8.
const MAX_SESSIONS: u64 = 4_000_000;

impl Options {
    /// Options for a short run, with a packet thread that yields its core.
    pub(super) fn quick(self) -> Self {
        Self {
            sessions: vec![count(200)],
            rate: count(1000),
            handovers: count(100),
            changes: count(5),
            time: 100,
            sleep: true,
        }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--sessions", self.sessions.iter().map(|sessions| sessions.0), 1..=MAX_SESSIONS)?;
        within("--rate", [self.rate.0], 1..=1_000_000)?;
        within("--handovers", [self.handovers.0], 1..=1_000_000)?;
        within("--changes", [self.changes.0], 1..=1_000_000)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}
