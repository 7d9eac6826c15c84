//! The tables of the UPF programs, by profile and capacity.

mod accounting;
mod causeway;
mod common_tables;
mod fields;
mod population;
mod red;
mod split;
mod ue_table;

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use crate::error::PlanError;
use crate::pipeline::Pipeline;
pub use population::{Population, Ratio};
pub use ue_table::{Entry, Found, UeTable};

/// A program.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Three PDR tables, then tables of FARs and meters by PDR_ID
    Baseline,
    /// FARs and meters in the PDR tables (RED)
    Red,
    /// Also seven PDR tables by direction and interface (RED + SPT)
    RedSpt,
    /// Also shared action data in three small tables of templates (RED + SPT + CAD)
    Hip4,
    /// As hip4, with simple PDRs and counters addressed by index
    Direct,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Baseline, Self::Red, Self::RedSpt, Self::Hip4, Self::Direct];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Red => "red",
            Self::RedSpt => "red-spt",
            Self::Hip4 => "hip4",
            Self::Direct => "direct",
        }
    }

    /// Whether its PDR tables are split by direction and interface.
    const fn is_split(self) -> bool {
        matches!(self, Self::RedSpt | Self::Hip4 | Self::Direct)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Tables addressed by index instead of by a stored key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Indexed {
    /// Nothing
    None,
    /// The tables of simple PDRs
    Simple,
    /// The counters
    Accounting,
    /// Both
    Both,
}

/// The filters of complex UEs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Filters {
    /// Own filters: TCAM rows for every complex UE
    Unique,
    /// Shared ones: packets are classified once, then looked up by UE and filter in SRAM
    Shared,
}

/// The place of usage counting.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Before and after QoS enforcement
    Both,
    /// After QoS enforcement only
    PostQos,
}

/// A program with its options.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Program {
    /// Which.
    pub profile: Profile,
    /// Whether it is Causeway's, of `p4/`, which has more tables than the paper's.
    pub own: bool,
    /// Accounting tables on each side, 1 or 2: with pendulum access one is read while the other is written.
    pub partitions: u32,
    /// One accounting partition is in two tables, by a bit of the PDR_ID. A table has one counter in a stage, whose
    /// blocks must be within reach of its ALU, which on Tofino 2 is 24 of 48: two tables use more of a stage than one.
    pub halves: bool,
    /// Tables addressed by index.
    pub indexed: Indexed,
    /// The filters of complex UEs.
    pub filters: Filters,
    /// The place of usage counting.
    pub counting: Counting,
    /// Whether TCAM keys of uplink PDRs are limited to 17 octets (no DSCP), so that three blocks hold them instead of
    /// four.
    pub narrow_keys: bool,
}

impl Program {
    /// A profile with default options.
    pub const fn of(profile: Profile) -> Self {
        let indexed = match profile {
            Profile::Direct => Indexed::Both,
            _ => Indexed::None,
        };
        let narrow_keys = matches!(profile, Profile::Direct);
        Self {
            profile,
            own: false,
            partitions: 1,
            halves: false,
            indexed,
            filters: Filters::Unique,
            counting: Counting::Both,
            narrow_keys,
        }
    }

    /// Causeway's program of a profile.
    pub const fn causeway_program(profile: Profile) -> Self {
        Self { own: true, ..Self::of(profile) }
    }

    /// The tables for a population.
    ///
    /// # Errors
    /// [`PlanError`] when the profile has no such option, or there are fewer simple UEs than N9 ones.
    pub fn pipeline(&self, population: &Population) -> Result<Pipeline, PlanError> {
        self.check(population)?;
        if self.own {
            return causeway::build(self, population);
        }
        match self.profile {
            Profile::Baseline | Profile::Red => red::build(self, population),
            Profile::RedSpt | Profile::Hip4 | Profile::Direct => split::build(self, population),
        }
    }

    fn check(&self, population: &Population) -> Result<(), PlanError> {
        let wrong = |why: &str| Err(PlanError::Profile { profile: self.profile.name(), why: why.to_owned() });
        if self.own && !self.is_causeway() {
            return wrong(
                "Causeway's own programs count on both sides; but for direct, which is as it is, they have no index, narrow keys or shared filters",
            );
        }
        if !self.profile.is_split()
            && (self.filters == Filters::Shared || self.narrow_keys || self.index_simple())
        {
            return wrong(
                "its PDR tables are not split, so they have no index, narrow keys or shared filters",
            );
        }
        if self.index_accounting() && self.partitions != 1 {
            return wrong("counters addressed by index need no partitions, as nothing is inserted");
        }
        if self.halves && (self.partitions != 1 || self.index_accounting()) {
            return wrong(
                "halves are for keyed counters in one partition; others are in several tables anyway",
            );
        }
        if !(1..=2).contains(&self.partitions) {
            return wrong("an accounting table has 1 or 2 partitions");
        }
        if population.simple == 0 || population.simple <= population.n9 {
            return wrong("the N9 UEs are among the simple ones, of which there must be more");
        }
        Ok(())
    }

    /// Whether Causeway has such a program.
    fn is_causeway(&self) -> bool {
        let asked = (self.indexed, self.counting, self.narrow_keys);
        match self.profile {
            Profile::Direct => asked == (Indexed::Both, Counting::Both, true),
            _ => asked == (Indexed::None, Counting::Both, false) && self.filters == Filters::Unique,
        }
    }

    const fn index_simple(&self) -> bool {
        matches!(self.indexed, Indexed::Simple | Indexed::Both)
    }

    const fn index_accounting(&self) -> bool {
        matches!(self.indexed, Indexed::Accounting | Indexed::Both)
    }
}
