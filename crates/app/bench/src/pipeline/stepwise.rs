//! The pipeline as one side of a comparison.

use std::time::Duration;

use super::measure::{BenchSetup, Trial};
use super::traffic::Mix;
use super::{Direction, Size};
use crate::BenchError;
use crate::kit::{Count, Progress, Summary};
use crate::world::{self, Backend, Founding, Populated, Population, Rules, Shape};

/// What a [`StepwisePipeline`] measures.
#[derive(Clone, Debug)]
pub struct StepwiseOptions {
    /// The data plane.
    pub backend: Backend,
    /// Sessions; each packet is of a random one.
    pub sessions: Count,
    /// PDRs of each direction.
    pub pdrs: u16,
    /// What sessions have beside PDRs and FARs.
    pub rules: Rules,
    /// The user's IP packets.
    pub size: Size,
    /// Seed of everything random.
    pub seed: u64,
}

/// A data plane with its sessions, measured chunk by chunk.
pub struct StepwisePipeline {
    population: Box<Population>,
    bench: BenchSetup,
    trials: Vec<Trial>,
}

impl StepwisePipeline {
    /// Sets up the sessions, and sees to it that packets of each of these ways get through. Each way is measured for
    /// itself, and known by its index.
    ///
    /// # Errors
    /// [`BenchError`], also when there is not enough memory for the sessions.
    pub fn new(
        options: &StepwiseOptions,
        ways: &[Direction],
        progress: &mut Progress,
    ) -> Result<Self, BenchError> {
        world::check_sessions(&[options.sessions])?;
        world::check_pdrs(&[options.pdrs])?;
        let mut bench = BenchSetup::new(options.seed);
        let shape = Shape::new(options.pdrs, options.rules);
        let founding = Founding {
            backend: options.backend,
            // It is checked: below 2^24.
            sessions: options.sessions.0 as u32,
            shape: &shape,
            now: bench.now(),
        };
        let mut population = match founding.populate(progress)? {
            Populated::Done(population) => population,
            Populated::TooLarge(why) => return Err(BenchError::TooLarge(why)),
        };
        let mix = |way: &Direction| Mix { way: *way, size: options.size, pdrs: options.pdrs };
        let trials: Vec<_> = ways.iter().map(|way| Trial::new(mix(way), 0)).collect();
        for trial in &trials {
            bench.warm_up(&mut population, trial.mix)?;
        }
        Ok(Self { population, bench, trials })
    }

    /// One chunk of the way with this index; nothing where there is none.
    ///
    /// # Errors
    /// [`BenchError`] when a packet cannot be built.
    pub fn step(&mut self, way: usize) -> Result<(), BenchError> {
        match self.trials.get_mut(way) {
            Some(trial) => self.bench.step(&mut self.population, trial),
            None => Ok(()),
        }
    }

    /// CPU time that the way has taken so far.
    pub fn used(&self, way: usize) -> Duration {
        self.trials.get(way).map_or(Duration::ZERO, |trial| trial.used)
    }

    /// Nanoseconds per packet of the way, net of looking at packets. `None` before the first step.
    pub fn summary(&self, way: usize) -> Option<Summary> {
        let gross = self.trials.get(way)?.packets.summary()?;
        Some(gross.minus_overhead(self.bench.baseline.summary()?))
    }

    /// Packets of the way that were not sent on.
    pub fn lost(&self, way: usize) -> u64 {
        self.trials.get(way).map_or(0, |trial| trial.lost)
    }
}
