//! Numbers of UEs by kind.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// UEs by the rules that they have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Population {
    /// UEs with one PDR in each direction, without filters.
    pub simple: u32,
    /// UEs with two PDRs that have filters.
    pub complex: u32,
    /// Simple UEs whose uplink goes to another UPF.
    pub n9: u32,
}

impl Population {
    /// The steps of simple UEs in which the paper searches.
    pub const STEP: u32 = 1024;
    /// The N9 UEs of the paper.
    pub const N9: u32 = 2048;

    /// This many simple UEs, and complex ones by the ratio.
    pub fn at(ratio: Ratio, simple: u32, n9: u32) -> Self {
        let (complex, all) = (u64::from(ratio.complex), u64::from(ratio.simple));
        let rounded = (u64::from(simple) * complex * 2 + all) / (all * 2);
        Self { simple, complex: u32::try_from(rounded).unwrap_or(u32::MAX), n9 }
    }

    /// All UEs.
    pub const fn ues(&self) -> u32 {
        self.simple.saturating_add(self.complex)
    }
}

impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} UEs ({} simple, {} of them N9, and {} complex)",
            self.ues(),
            self.simple,
            self.n9,
            self.complex
        )
    }
}

/// Complex UEs to simple ones, as `1:50`; `0:1` for none.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
pub struct Ratio {
    /// Complex UEs.
    pub complex: u16,
    /// For this many simple ones, 1 at least.
    pub simple: u16,
}

impl Ratio {
    /// One complex UE for this many simple ones.
    pub const fn one_to(simple: u16) -> Self {
        Self { complex: 1, simple }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.complex, self.simple)
    }
}

/// A text that is no [`Ratio`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("complex UEs to simple ones, such as 1:50, or 0:1 for none; up to 65535 each")]
pub struct InvalidRatio;

impl FromStr for Ratio {
    type Err = InvalidRatio;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once(':').and_then(|(complex, simple)| {
            Some((complex.trim().parse::<u16>().ok()?, simple.trim().parse::<u16>().ok()?))
        });
        match numbers {
            Some((complex, simple)) if simple > 0 => Ok(Self { complex, simple }),
            _ => Err(InvalidRatio),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Population, Ratio};

    // Input:  the largest populations of the paper for its baseline.
    // Output: its numbers of UEs.
    #[test]
    fn the_paper_counts_so() {
        let found = [(5, 43), (10, 60), (20, 75), (50, 80)];
        let ues = found.map(|(ratio, step)| Population::at(Ratio::one_to(ratio), step * 1024, 2048).ues());
        assert_eq!(ues, [52_838, 67_584, 80_640, 83_558]);
    }

    #[test]
    fn a_ratio_is_two_numbers() {
        assert_eq!("1:50".parse(), Ok(Ratio::one_to(50)));
        assert_eq!("0:1".parse(), Ok(Ratio { complex: 0, simple: 1 }));
        for wrong in ["", "1", "1:", ":5", "1:0", "a:b", "1:5:9", "-1:5", "1:70000"] {
            assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
        }
    }
}
