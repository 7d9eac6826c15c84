//! Arguments of the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use crate::architecture::Architecture;
use crate::profiles::{Counting, Filters, Indexed, Population, Profile, Program, Ratio};

/// A pipeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Target {
    /// 12 stages
    Tofino1,
    /// 20 stages
    Tofino2,
}

impl Target {
    pub(super) const fn architecture(self) -> &'static Architecture {
        match self {
            Self::Tofino1 => &Architecture::TOFINO1,
            Self::Tofino2 => &Architecture::TOFINO2,
        }
    }
}

/// The size of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Size {
    pub(super) table: String,
    pub(super) entries: u32,
}

/// A text that is no [`Size`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a table and its entries, such as far=4096")]
pub(super) struct InvalidSize;

impl FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.split_once('=').and_then(|(table, entries)| {
            let entries = entries.trim().parse().ok()?;
            Some(Self { table: table.trim().to_owned(), entries })
        });
        size.filter(|size| !size.table.is_empty()).ok_or(InvalidSize)
    }
}

/// The plan to make.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The pipeline
    #[arg(long, value_enum, default_value = "tofino1")]
    pub(super) target: Target,
    /// The program
    #[arg(long, value_enum, default_value = "hip4")]
    pub(super) profile: Profile,
    /// Causeway's program of that profile, which has more tables than the paper's
    #[arg(long)]
    pub(super) own: bool,
    /// Complex UEs to simple ones
    #[arg(long, value_name = "COMPLEX:SIMPLE", default_value = "1:50")]
    pub(super) ratio: Ratio,
    /// Check whether this many UEs fit, instead of searching for the capacity
    #[arg(long, value_name = "N")]
    pub(super) ues: Option<u32>,
    /// Simple UEs whose uplink goes to another UPF
    #[arg(long, value_name = "N", default_value_t = Population::N9)]
    pub(super) n9: u32,
    /// Accounting tables on each side; with two, each for 5/8 of the PDRs, one can be read while the other is written
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub(super) partitions: u32,
    /// One partition in two tables, by a bit of the PDR_ID: on Tofino 2 this increases the capacity
    #[arg(long)]
    pub(super) halves: bool,
    /// Tables addressed by index instead of by a stored key [default: both for direct, none otherwise]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) index: Option<Indexed>,
    /// Whether complex UEs have filters of their own or shared ones
    #[arg(long, value_enum, default_value = "unique")]
    pub(super) filters: Filters,
    /// Where usage is counted
    #[arg(long, value_enum, default_value = "both")]
    pub(super) counting: Counting,
    /// Omit DSCP from TCAM keys, so that uplink keys need three blocks instead of four (always the case in direct)
    #[arg(long)]
    pub(super) narrow_keys: bool,
    /// Check whether these sizes fit, with all other tables as the UEs need them; several with commas
    #[arg(long, value_name = "TABLE=N", value_delimiter = ',')]
    pub(super) sizes: Vec<Size>,
    /// Also print the fullest resource of each stage, and the reason why tables did not fit into it
    #[arg(long)]
    pub(super) why: bool,
    /// Write the stage map to this file
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Also write the result to this file, as JSON
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) json: Option<PathBuf>,
}

/// Other commands of the planner.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum Command {
    /// Compare with known compiler results
    Accuracy,
}

impl Arguments {
    /// The program with its options.
    pub(super) fn program(&self) -> Program {
        let own = Program::of(self.profile);
        Program {
            profile: self.profile,
            own: self.own,
            partitions: self.partitions,
            halves: self.halves,
            indexed: self.index.unwrap_or(own.indexed),
            filters: self.filters,
            counting: self.counting,
            narrow_keys: own.narrow_keys || self.narrow_keys,
        }
    }
}
