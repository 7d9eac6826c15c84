//! How much memory the UPF may take.

use std::fmt;

use serde::{Serialize, Serializer};

use super::problem::Problem;
use super::quantities::{octets, octets_text};
use super::values::wrong;

/// How much memory the UPF may take, beside what the system allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// As much as the system allows: the cgroups of the process, its resource limits, the machine.
    #[default]
    Detect,
    /// So many octets, and no more than the system allows.
    Octets(u64),
}

impl Memory {
    /// The least that can be given, in octets: below it there is nothing left for sessions.
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
