//! One simulation from its first session to its last octet.

use causeway_show::Progress;
use causeway_switch::model::Timing;
use causeway_types::Span;

use crate::ExperimentError;
use crate::cli::Common;
use crate::samples::Latencies;
use crate::simulation::{Load, OctetBalance, ReadStatistics, Simulation, SimulationConfig};
use crate::smf;
use crate::variant::Variant;

/// Named costs of the driver's requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    /// Its name in tables.
    pub name: &'static str,
    /// The costs.
    pub timing: Timing,
}

impl Costs {
    /// The driver of the paper, as far as its figures determine it.
    pub const PAPER: Self = Self { name: "paper's driver costs, modelled", timing: Timing::PAPER };
    /// With the slowest writes that are consistent with the paper.
    pub const SLOW: Self = Self { name: "slowest writes, modelled", timing: Timing::PAPER_ALL_DRIVER };
}

/// A measurement in one simulation.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The access to the accounting tables.
    pub variant: Variant,
    /// The cost of requests.
    pub costs: Costs,
    /// UEs with a session.
    pub ues: u32,
    /// Their traffic.
    pub load: Load,
    /// Model time before the measurement.
    pub before: Span,
    /// Seconds of handovers, two every 10 ms.
    pub handovers: u32,
    /// Model time without handovers in which reports are measured.
    pub reports: Span,
}

/// The results of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From a handover's request to its response.
    pub handovers: Latencies,
    /// From the packet that reached a threshold to the report.
    pub reports: Latencies,
    /// Statistics of the readers during the measurement.
    pub effort: ReadStatistics,
    /// The octet balance.
    pub ledger: OctetBalance,
}

impl Plan {
    /// Runs the measurement.
    ///
    /// # Errors
    /// [`ExperimentError`] when the workload does not fit.
    pub fn measure(&self, common: &Common, progress: &mut Progress) -> Result<Measured, ExperimentError> {
        let Self { variant, costs, ues, load, .. } = *self;
        let mut world = Simulation::new(SimulationConfig {
            variant,
            timing: costs.timing,
            ues,
            load,
            seed: common.seed,
        })?;
        progress.stage(format!("{}: {ues} sessions", variant.name));
        world.load(ues, |done, of| progress.set_progress(done, of))?;
        progress.stage(format!("{}: before the measurement", variant.name));
        smf::wait(&mut world, self.before, |done, of| progress.set_progress(done, of))?;
        world.take_reports();
        world.take_effort();
        let mut random = fastrand::Rng::with_seed(common.seed);
        progress.stage(format!("{}: handovers", variant.name));
        let handovers = smf::handovers(&mut world, &mut random, self.handovers, |done, of| {
            progress.set_progress(done, of);
        })?;
        progress.stage(format!("{}: reports", variant.name));
        smf::wait(&mut world, self.reports, |done, of| progress.set_progress(done, of))?;
        let reports = world.take_reports().into_iter().map(|(reached, made)| made.since(reached));
        let (reports, effort) = (Latencies::new(reports), world.take_effort());
        progress.stage(format!("{}: last readings", variant.name));
        Ok(Measured { handovers, reports, effort, ledger: world.finish()? })
    }
}
