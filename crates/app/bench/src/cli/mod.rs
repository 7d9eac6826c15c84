//! The command line of all benchmarks.

#[cfg(feature = "upf")]
mod with_upf;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[cfg(feature = "upf")]
pub use self::with_upf::WithUpf;
use crate::report::{self, Conditions, IoCost, Report};
use crate::{BenchError, filters, floods, index, kit, memory, pfcp, pipeline, unassociated, workers};

/// The benchmark, and the common options.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Without one, the benchmarks are listed
    #[command(subcommand)]
    benchmark: Option<Benchmark>,
    /// The common options.
    #[command(flatten)]
    pub common: Common,
}

/// Options of all benchmarks.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Also write the reports to this file, as JSON
    #[arg(long, value_name = "FILE", global = true)]
    pub json: Option<PathBuf>,
    /// Small numbers and a short time, to check that it works; the figures are meaningless
    #[arg(long, global = true)]
    pub quick: bool,
    /// Run the measured thread on this core
    #[arg(long, value_name = "CORE", global = true)]
    pub core: Option<usize>,
    /// Seed of all random values
    #[arg(long, value_name = "N", default_value_t = 1, global = true)]
    pub seed: u64,
}

/// All benchmarks.
#[derive(Subcommand, Clone, Debug)]
pub enum Benchmark {
    /// Packets through a data plane in memory: ns per packet by sessions, rules, sizes and rule changes
    Pipeline(pipeline::Options),
    /// Several workers in parallel, each with a separate data plane: ns per packet of each, and growth of the rate
    Workers(workers::Options),
    /// Unwanted packets: ns per packet of each kind, compared with valid ones
    Floods(floods::Options),
    /// Memory of a session, and time to set up so many
    Memory(memory::Options),
    /// PFCP requests through the control plane in memory: ns per establishment, handover and deletion, by stage
    Pfcp(pfcp::Options),
    /// Unwanted PFCP datagrams: ns of each kind, compared with those of an SMF, and the state that remains
    UnassociatedPeers(unassociated::Options),
    /// Flow entries of the fast path: ns to find one by TEID, UE address or prefix
    Index(index::Options),
    /// Filter sets of the fast path: ns to find the rule that a packet matches
    Filters(filters::Options),
    /// One that needs the daemon, ports or a switch.
    #[cfg(feature = "upf")]
    #[command(flatten)]
    WithUpf(WithUpf),
    /// Every benchmark with its default options, one after the other
    All,
}

impl Benchmark {
    /// All with their default options, in the order of the list.
    fn all_with_defaults() -> Vec<Self> {
        let all = vec![
            Self::Pipeline(pipeline::Options::default()),
            Self::Workers(workers::Options::default()),
            Self::Floods(floods::Options::default()),
            Self::Memory(memory::Options::default()),
            Self::Pfcp(pfcp::Options::default()),
            Self::UnassociatedPeers(unassociated::Options::default()),
            Self::Index(index::Options::default()),
            Self::Filters(filters::Options::default()),
        ];
        #[cfg(feature = "upf")]
        let all =
            all.into_iter().chain(WithUpf::all_with_defaults().into_iter().map(Self::WithUpf)).collect();
        all
    }

    /// Skips a benchmark that lacks a privilege or a tool, and prints its name.
    fn run_if_possible(&self, common: &Common) -> Result<Vec<Report>, BenchError> {
        match self.run(common) {
            Err(BenchError::Needs(what)) => {
                let name = self.name();
                let title = format!("{name}: not measured");
                let mut report = Report::new(name, &title, Conditions::here(IoCost::Gross), Vec::new());
                report.skip(name, what);
                Ok(vec![report])
            }
            measured => measured,
        }
    }

    /// The name on the command line.
    const fn name(&self) -> &'static str {
        match self {
            Self::Pipeline(_) => "pipeline",
            Self::Workers(_) => "workers",
            Self::Floods(_) => "floods",
            Self::Memory(_) => "memory",
            Self::Pfcp(_) => "pfcp",
            Self::UnassociatedPeers(_) => "unassociated-peers",
            Self::Index(_) => "index",
            Self::Filters(_) => "filters",
            #[cfg(feature = "upf")]
            Self::WithUpf(benchmark) => benchmark.name(),
            Self::All => "all",
        }
    }

    fn run(&self, common: &Common) -> Result<Vec<Report>, BenchError> {
        match self {
            Self::Pipeline(options) => pipeline::run(options, common),
            Self::Workers(options) => workers::run(options, common),
            Self::Floods(options) => floods::run(options, common),
            Self::Memory(options) => memory::run(options, common),
            Self::Pfcp(options) => pfcp::run(options, common),
            Self::UnassociatedPeers(options) => unassociated::run(options, common),
            Self::Index(options) => index::run(options, common),
            Self::Filters(options) => filters::run(options, common),
            #[cfg(feature = "upf")]
            Self::WithUpf(benchmark) => benchmark.run(common),
            Self::All => {
                let reports =
                    Self::all_with_defaults().into_iter().map(|benchmark| benchmark.run_if_possible(common));
                Ok(reports.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
            }
        }
    }
}

/// Runs the benchmarks of the command line: tables to `out`, JSON to its file.
///
/// # Errors
/// [`BenchError`] when a benchmark cannot be run, or its result cannot be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), BenchError> {
    let writing = || BenchError::io("write to standard output");
    let Some(benchmark) = &arguments.benchmark else {
        return write!(out, "{}", list()).map_err(writing());
    };
    if let Some(core) = arguments.common.core {
        kit::pin(core)?;
    }
    let reports = benchmark.run(&arguments.common)?;
    for report in &reports {
        writeln!(out, "{report}").map_err(writing())?;
    }
    match &arguments.common.json {
        Some(path) => report::write_json(&reports, path),
        None => Ok(()),
    }
}

/// The benchmarks with their descriptions.
fn list() -> String {
    let command = Benchmark::augment_subcommands(clap::Command::new("bench"));
    let line = |benchmark: &clap::Command| {
        let about = benchmark.get_about().map(ToString::to_string).unwrap_or_default();
        format!("{:18} {about}\n", benchmark.get_name())
    };
    command.get_subcommands().map(line).collect()
}
