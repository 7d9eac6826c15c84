//! The command line of all benchmarks.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::report::{self, Conditions, IoCost, Report};
use crate::{
    BenchError, events, filters, floods, idle, index, kit, memory, observers, overload, pauses, pfcp,
    pipeline, placement, ports, switch, unassociated, upf, workers,
};

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
    /// Idle sessions at scale, in memory and in a file: memory, rate of active ones, first packet of the others
    Idle(idle::Options),
    /// Pauses of N4 and of packets while sessions are created and end: longest and 99.9th percentile, at each doubling
    Pauses(pauses::Options),
    /// PFCP requests through the control plane in memory: ns per establishment, handover and deletion, by stage
    Pfcp(pfcp::Options),
    /// Sessions on several packet threads: ns to place one that begins, is handed over or ends, without a data plane
    Placement(placement::Options),
    /// Unwanted PFCP datagrams: ns of each kind, compared with those of an SMF, and the state that remains
    UnassociatedPeers(unassociated::Options),
    /// Flow entries of the fast path: ns to find one by TEID, UE address or prefix
    Index(index::Options),
    /// Filter sets of the fast path: ns to find the rule that a packet matches
    Filters(filters::Options),
    /// The controller of a P4 switch: ns to number a rule, and to choose and process a counter
    Switch(switch::Options),
    /// Ports of N3 and N6 without a data plane: ns to receive and send a packet (needs root)
    Ports(ports::Options),
    /// A whole UPF over veth: packets a second, CPU time and end-to-end latency (needs root)
    Upf(upf::Options),
    /// A whole UPF beyond saturation: rate delivered, and loss of a session during a flood of another (needs root)
    Overload(overload::Options),
    /// A whole UPF: loss and latency of a UE while clients trace and capture another one that floods (needs root)
    Observers(observers::Options),
    /// A whole UPF: microseconds from a threshold to its report, from a handover to its response, until a rule applies
    Events(events::Options),
    /// Every benchmark with its default options, one after the other
    All,
}

impl Benchmark {
    /// All with their default options, in the order of the list.
    fn all_with_defaults() -> Vec<Self> {
        vec![
            Self::Pipeline(pipeline::Options::default()),
            Self::Workers(workers::Options::default()),
            Self::Floods(floods::Options::default()),
            Self::Memory(memory::Options::default()),
            Self::Idle(idle::Options::default()),
            Self::Pauses(pauses::Options::default()),
            Self::Pfcp(pfcp::Options::default()),
            Self::Placement(placement::Options::default()),
            Self::UnassociatedPeers(unassociated::Options::default()),
            Self::Index(index::Options::default()),
            Self::Filters(filters::Options::default()),
            Self::Switch(switch::Options::default()),
            Self::Ports(ports::Options::default()),
            Self::Upf(upf::Options::default()),
            Self::Overload(overload::Options::default()),
            Self::Observers(observers::Options::default()),
            Self::Events(events::Options::default()),
        ]
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
            Self::Idle(_) => "idle",
            Self::Pauses(_) => "pauses",
            Self::Pfcp(_) => "pfcp",
            Self::Placement(_) => "placement",
            Self::UnassociatedPeers(_) => "unassociated-peers",
            Self::Index(_) => "index",
            Self::Filters(_) => "filters",
            Self::Switch(_) => "switch",
            Self::Ports(_) => "ports",
            Self::Upf(_) => "upf",
            Self::Overload(_) => "overload",
            Self::Observers(_) => "observers",
            Self::Events(_) => "events",
            Self::All => "all",
        }
    }

    fn run(&self, common: &Common) -> Result<Vec<Report>, BenchError> {
        match self {
            Self::Pipeline(options) => pipeline::run(options, common),
            Self::Workers(options) => workers::run(options, common),
            Self::Floods(options) => floods::run(options, common),
            Self::Memory(options) => memory::run(options, common),
            Self::Idle(options) => idle::run(options, common),
            Self::Pauses(options) => pauses::run(options, common),
            Self::Pfcp(options) => pfcp::run(options, common),
            Self::Placement(options) => placement::run(options, common),
            Self::UnassociatedPeers(options) => unassociated::run(options, common),
            Self::Index(options) => index::run(options, common),
            Self::Filters(options) => filters::run(options, common),
            Self::Switch(options) => switch::run(options, common),
            Self::Ports(options) => ports::run(options, common),
            Self::Upf(options) => upf::run(options, common),
            Self::Overload(options) => overload::run(options, common),
            Self::Observers(options) => observers::run(options, common),
            Self::Events(options) => events::run(options, common),
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
