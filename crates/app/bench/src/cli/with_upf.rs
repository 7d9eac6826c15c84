//! Benchmarks that need the daemon, ports or a switch.

use clap::Subcommand;

use crate::report::Report;
use crate::{BenchError, Common, events, idle, observers, overload, pauses, placement, ports, switch, upf};

/// These benchmarks.
#[derive(Subcommand, Clone, Debug)]
pub enum WithUpf {
    /// Idle sessions at scale, in memory and in a file: memory, rate of active ones, first packet of the others
    Idle(idle::Options),
    /// Pauses of N4 and of packets while sessions are created and end: longest and 99.9th percentile, at each doubling
    Pauses(pauses::Options),
    /// Sessions on several packet threads: ns to place one that begins, is handed over or ends, without a data plane
    Placement(placement::Options),
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
}

impl WithUpf {
    /// All with their default options, in the order of the list.
    pub(super) fn all_with_defaults() -> Vec<Self> {
        vec![
            Self::Idle(idle::Options::default()),
            Self::Pauses(pauses::Options::default()),
            Self::Placement(placement::Options::default()),
            Self::Switch(switch::Options::default()),
            Self::Ports(ports::Options::default()),
            Self::Upf(upf::Options::default()),
            Self::Overload(overload::Options::default()),
            Self::Observers(observers::Options::default()),
            Self::Events(events::Options::default()),
        ]
    }

    /// The name on the command line.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Idle(_) => "idle",
            Self::Pauses(_) => "pauses",
            Self::Placement(_) => "placement",
            Self::Switch(_) => "switch",
            Self::Ports(_) => "ports",
            Self::Upf(_) => "upf",
            Self::Overload(_) => "overload",
            Self::Observers(_) => "observers",
            Self::Events(_) => "events",
        }
    }

    pub(super) fn run(&self, common: &Common) -> Result<Vec<Report>, BenchError> {
        match self {
            Self::Idle(options) => idle::run(options, common),
            Self::Pauses(options) => pauses::run(options, common),
            Self::Placement(options) => placement::run(options, common),
            Self::Switch(options) => switch::run(options, common),
            Self::Ports(options) => ports::run(options, common),
            Self::Upf(options) => upf::run(options, common),
            Self::Overload(options) => overload::run(options, common),
            Self::Observers(options) => observers::run(options, common),
            Self::Events(options) => events::run(options, common),
        }
    }
}
