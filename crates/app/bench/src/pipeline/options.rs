//! What to measure.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::BenchError;
use crate::kit::{Count, count};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Data planes, interleaved
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().backend)]
    pub backend: Vec<Backend>,
    /// Sessions; each packet is of a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// PDRs of each direction, told apart by SDF filters; each packet matches a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().pdrs)]
    pub pdrs: Vec<u16>,
    /// What sessions have beside PDRs and FARs
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().rules)]
    pub rules: Vec<Rules>,
    /// Which way packets go
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().direction)]
    pub direction: Vec<Way>,
    /// The user's IP packets
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().size)]
    pub size: Vec<Size>,
    /// Rule changes in each second of the worker's time: handovers of random sessions
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().changes)]
    pub changes: Vec<Count>,
    /// Milliseconds of CPU time for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: vec![Backend::Fastpath, Backend::Reference],
            sessions: vec![count(10_000), count(100_000), count(1_000_000)],
            pdrs: vec![1],
            rules: vec![Rules::Full],
            direction: vec![Way::Uplink, Way::Downlink],
            size: vec![Size::Small],
            changes: vec![count(0)],
            time: 1000,
        }
    }
}

/// UE addresses are of 10.0.0.0/8, tunnels of 24 bits.
const MOST_SESSIONS: u64 = 16_000_000;

impl Options {
    /// The same in little time.
    pub(super) fn quick(mut self) -> Self {
        self.sessions = vec![count(1000)];
        self.time = 1;
        self
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let sessions = self.sessions.iter().find(|sessions| !(1..=MOST_SESSIONS).contains(&sessions.0));
        if let Some(sessions) = sessions {
            let allowed = "from 1 to 16M";
            return Err(BenchError::OutOfRange {
                what: "the number of sessions",
                value: sessions.0,
                allowed,
            });
        }
        match self.pdrs.iter().find(|pdrs| !(1..=100).contains(*pdrs)) {
            Some(pdrs) => {
                let allowed = "from 1 to 100";
                Err(BenchError::OutOfRange { what: "the number of PDRs", value: (*pdrs).into(), allowed })
            }
            None => Ok(()),
        }
    }
}

/// A data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Backend {
    /// The software fast path
    Fastpath,
    /// The oracle
    Reference,
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
    pub(super) const fn qer(self) -> bool {
        matches!(self, Self::Qer | Self::Full)
    }

    pub(super) const fn urr(self) -> bool {
        matches!(self, Self::Urr | Self::Full)
    }

    pub(super) const fn sdf(self) -> bool {
        matches!(self, Self::Sdf | Self::Full)
    }
}

/// Which way packets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Way {
    /// From the gNB to the data network
    Uplink,
    /// From the data network to the gNB
    Downlink,
    /// In turns
    Both,
}

/// The user's IP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Size {
    /// 64 octets
    #[value(name = "64")]
    Small,
    /// 7 of 64, 4 of 576 and 1 of 1400 octets
    Imix,
    /// 1400 octets
    #[value(name = "1400")]
    Large,
}

impl Size {
    /// The sizes of packets, in turns.
    pub(super) const fn octets(self) -> &'static [usize] {
        match self {
            Self::Small => &[64],
            Self::Imix => &[64, 576, 64, 64, 576, 64, 1400, 64, 576, 64, 64, 576],
            Self::Large => &[1400],
        }
    }
}

/// As on the command line.
macro_rules! displayed {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
            }
        }
    )*};
}

displayed!(Backend, Rules, Way, Size);
