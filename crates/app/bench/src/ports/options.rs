//! What to measure.

use clap::Args;

use crate::BenchError;
use crate::kit::{Count, count, within};

/// Every size is measured on all paths and ports.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The user's IP packets, in octets
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().size)]
    pub size: Vec<u16>,
    /// Chunks of 256 packets for each row
    #[arg(long, value_name = "N", default_value_t = Options::default().chunks)]
    pub chunks: Count,
}

impl Default for Options {
    fn default() -> Self {
        Self { size: vec![64, 512, 1400], chunks: count(500) }
    }
}

impl Options {
    /// Options for a short run.
    pub(super) fn quick(self) -> Self {
        Self { size: vec![64], chunks: count(3) }
    }

    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--size", self.size.iter().map(|size| u64::from(*size)), 64..=1400)?;
        within("--chunks", [self.chunks.0], 1..=1_000_000)
    }
}
