//! Choices of data planes and sessions on the command line.

use clap::ValueEnum;

use crate::BenchError;
use crate::kit::{Count, within};

/// UE addresses are of 10.0.0.0/8, tunnels of 24 bits.
const MAX_SESSIONS: u64 = 16_000_000;

/// PDRs of one direction.
const MOST_PDRS: u16 = 100;

/// All are in range.
pub(crate) fn check_sessions(counts: &[Count]) -> Result<(), BenchError> {
    within("--sessions", counts.iter().map(|count| count.0), 1..=MAX_SESSIONS)
}

/// All are in range.
pub(crate) fn check_pdrs(counts: &[u16]) -> Result<(), BenchError> {
    within("--pdrs", counts.iter().map(|count| u64::from(*count)), 1..=u64::from(MOST_PDRS))
}

/// A data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Backend {
    /// The software fast path
    Fastpath,
    /// The slow path: one packet at a time
    Slowpath,
    /// X-PLANE: tables in memory of this process, behind the contract of external memory
    #[cfg(feature = "upf")]
    Xplane,
}

/// What sessions have beside PDRs and FARs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Rules {
    /// Nothing
    None,
    /// A QER with MBR, gates and QFI
    Qer,
    /// A URR with a volume threshold
    Urr,
    /// An SDF filter in every PDR
    Sdf,
    /// QER, URR and SDF filters
    Full,
}

impl Rules {
    pub(crate) const fn qer(self) -> bool {
        matches!(self, Self::Qer | Self::Full)
    }

    pub(crate) const fn urr(self) -> bool {
        matches!(self, Self::Urr | Self::Full)
    }

    pub(crate) const fn sdf(self) -> bool {
        matches!(self, Self::Sdf | Self::Full)
    }
}

/// As on the command line.
macro_rules! displayed {
    ($($name:ty),*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
            }
        }
    )*};
}

pub(crate) use displayed;

displayed!(Backend, Rules);
