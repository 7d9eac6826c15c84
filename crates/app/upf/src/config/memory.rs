//! The memory limit of the configuration.

use std::fmt;

use serde::{Serialize, Serializer};

use super::problem::Problem;
use super::quantities::{octets, octets_text};
use super::values::wrong;

/// The memory limit of the UPF, in addition to those of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// The limits of the system: the cgroups of the process, its resource limits, the memory of the host.
    #[default]
    Detect,
    /// So many octets; the limits of the system apply as well.
    Octets(u64),
}

impl Memory {
    /// The smallest legal value, in octets: below it no memory is left for sessions.
    pub const LEAST: u64 = 64 << 20;

    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        if text == "detect" {
            return Ok(Self::Detect);
        }
        let read = octets(text).ok().filter(|octets| *octets >= Self::LEAST);
        read.map(Self::Octets).ok_or_else(|| wrong(text, "detect, or octets from 64MiB on, for example 2GiB"))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detect => f.write_str("detect"),
            Self::Octets(octets) => f.write_str(&octets_text(*octets)),
        }
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
