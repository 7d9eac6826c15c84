//! The measurement of one mix of packets.

use std::time::{Duration, Instant};

use causeway_dataplane::Fate;
use causeway_types::Time;

use super::lane::Lanes;
use super::population::Population;
use super::traffic::{CHUNK, Chunk, Ingresses, Mix};
use crate::BenchError;
use crate::kit::{CpuTimer, Samples};

/// Packets of one kind through one data plane, with what was measured of them so far.
pub(super) struct Trial {
    pub(super) mix: Mix,
    /// Rule changes in a second of the worker's time.
    pub(super) changes: u64,
    /// Nanoseconds per packet.
    pub(super) packets: Samples,
    /// Nanoseconds per packet of handing it over and looking at it, without a data plane.
    pub(super) baseline: Samples,
    /// Nanoseconds per rule change.
    pub(super) changed: Samples,
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) used: Duration,
    due: f64,
    turn: u32,
}

impl Trial {
    pub(super) fn new(mix: Mix, changes: u64) -> Self {
        let (packets, baseline, changed) = (Samples::default(), Samples::default(), Samples::default());
        Self {
            mix,
            changes,
            packets,
            baseline,
            changed,
            sent: 0,
            lost: 0,
            used: Duration::ZERO,
            due: 0.0,
            turn: 0,
        }
    }
}

/// What all trials share.
pub(super) struct Bench {
    pub(super) random: fastrand::Rng,
    chunk: Chunk,
    ingress: Ingresses,
    start: Instant,
    lanes: Lanes,
}

impl Bench {
    pub(super) fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (chunk, ingress) = (Chunk::new(), Ingresses::new());
        Self { random, chunk, ingress, start: Instant::now(), lanes: Lanes::new() }
    }

    /// The time that the data plane sees.
    pub(super) fn now(&self) -> Time {
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(Time::from_secs(1_000_000).as_nanos().saturating_add(since))
    }

    /// A packet of each session that must get through, not measured: caches and branch predictors see the kind of packet, and
    /// what only the first packet of a session does has been done.
    pub(super) fn warm_up(&mut self, population: &mut Population, mix: Mix) -> Result<(), BenchError> {
        for first in (0..population.teids.len()).step_by(CHUNK) {
            let now = self.now();
            self.chunk.fill_in_turn(mix, &population.teids, first, &mut self.random)?;
            for (number, ingress, packet) in self.chunk.iter(&self.ingress) {
                let fate = population.engine.plane().process(now, ingress, packet, &mut Vec::new());
                if fate != Fate::Forwarded {
                    return Err(BenchError::WrongFate { number, fate });
                }
            }
        }
        Ok(())
    }

    /// One chunk of the trial, then the same packets through the loop that only looks at them, then the rule changes
    /// that are due.
    pub(super) fn step(&mut self, population: &mut Population, trial: &mut Trial) -> Result<(), BenchError> {
        self.chunk.fill(trial.mix, &population.teids, &mut self.random)?;
        let now = self.now();
        let timer = CpuTimer::start();
        let forwarded = self.lanes.drive(&mut population.engine, now, self.chunk.iter(&self.ingress));
        let elapsed = timer.elapsed();
        trial.used += elapsed;
        trial.packets.add(per_packet(elapsed));
        trial.sent += CHUNK as u64;
        trial.lost += CHUNK as u64 - forwarded;
        self.look(population, trial);
        self.change(population, trial, elapsed)?;
        while population.engine.plane().poll_event().is_some() {}
        Ok(())
    }

    fn look(&mut self, population: &Population, trial: &mut Trial) {
        let timer = CpuTimer::start();
        self.lanes.look(&population.engine, self.chunk.iter(&self.ingress));
        trial.baseline.add(per_packet(timer.elapsed()));
    }

    /// The changes that are due after so much of the worker's time.
    fn change(
        &mut self,
        population: &mut Population,
        trial: &mut Trial,
        elapsed: Duration,
    ) -> Result<(), BenchError> {
        trial.due += elapsed.as_secs_f64() * trial.changes as f64;
        let due = trial.due as u32;
        if due == 0 {
            return Ok(());
        }
        trial.due -= f64::from(due);
        let last = population.teids.len() as u32;
        let plans: Vec<_> = (0..due)
            .map(|index| population.handover(self.random.u32(..last), trial.turn.wrapping_add(index)))
            .collect();
        trial.turn = trial.turn.wrapping_add(due);
        let now = self.now();
        let timer = CpuTimer::start();
        for plan in &plans {
            population.engine.plane().apply(now, plan)?;
        }
        let elapsed = timer.elapsed();
        trial.changed.add(elapsed.as_secs_f64() * 1e9 / f64::from(due));
        Ok(())
    }
}

fn per_packet(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e9 / CHUNK as f64
}
