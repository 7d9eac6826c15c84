//! The measurement of one mix of packets.

use std::hint::black_box;
use std::time::{Duration, Instant};

use causeway_ports::Batch;
use causeway_types::Time;

use super::traffic::{CHUNK, Chunk, Mix};
use crate::BenchError;
use crate::kit::{CpuTimer, Samples};
use crate::world::Population;

/// Packets of one kind through one data plane, with what was measured of them so far.
pub(super) struct Trial {
    pub(super) mix: Mix,
    /// Rule changes in a second of the worker's time.
    pub(super) changes: u64,
    /// Nanoseconds per packet.
    pub(super) packets: Samples,
    /// Nanoseconds per rule change.
    pub(super) changed: Samples,
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Packets that the hot lines left to the slow room.
    pub(super) slow: u64,
    pub(super) used: Duration,
    due: f64,
    turn: u32,
}

impl Trial {
    pub(super) fn new(mix: Mix, changes: u64) -> Self {
        let (packets, changed) = (Samples::default(), Samples::default());
        Self {
            mix,
            changes,
            packets,
            changed,
            sent: 0,
            lost: 0,
            slow: 0,
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
    start: Instant,
    /// Nanoseconds per packet of a loop that only looks at the packets.
    pub(super) baseline: Samples,
}

impl Bench {
    pub(super) fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { random, chunk: Chunk::new(), start: Instant::now(), baseline: Samples::default() }
    }

    /// The time that the data plane sees.
    pub(super) fn now(&self) -> Time {
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(Time::from_secs(1_000_000).as_nanos().saturating_add(since))
    }

    /// A packet of each session that must get through, not measured: caches and branch predictors see the kind of packet, and
    /// what only the first packet of a session does is done.
    pub(super) fn warm_up(&mut self, population: &mut Population, mix: Mix) -> Result<(), BenchError> {
        for first in (0..population.teids.len()).step_by(CHUNK) {
            let now = self.now();
            self.chunk.fill_in_turn(mix, &population.teids, first, &mut self.random)?;
            let before = population.worker.counters();
            for batch in self.chunk.batches() {
                population.worker.warm_up(now, batch);
            }
            let forwarded = population.worker.counters().forwarded - before.forwarded;
            if forwarded != CHUNK as u64 {
                return Err(BenchError::NotForwarded { sent: CHUNK as u64, forwarded });
            }
            population.worker.forget_events();
        }
        Ok(())
    }

    /// The loop that only looks at a chunk, then that chunk through the data plane, then the rule changes that are due.
    pub(super) fn step(&mut self, population: &mut Population, trial: &mut Trial) -> Result<(), BenchError> {
        self.chunk.fill(trial.mix, &population.teids, &mut self.random)?;
        self.look();
        let now = self.now();
        let before = (population.worker.counters().forwarded, population.worker.hot_packets());
        let timer = CpuTimer::start();
        for batch in self.chunk.batches() {
            population.worker.run(now, batch);
        }
        let elapsed = timer.elapsed();
        let forwarded = population.worker.counters().forwarded - before.0;
        let hot = population.worker.hot_packets() - before.1;
        trial.used += elapsed;
        trial.packets.add(per_packet(elapsed));
        trial.sent += CHUNK as u64;
        trial.lost += (CHUNK as u64).saturating_sub(forwarded);
        trial.slow += (CHUNK as u64).saturating_sub(hot);
        self.change(population, trial, elapsed)?;
        population.worker.forget_events();
        Ok(())
    }

    fn look(&mut self) {
        let mut seen = 0;
        let timer = CpuTimer::start();
        for frame in self.chunk.batches().iter().flat_map(Batch::frames) {
            seen ^= frame.data.first().copied().unwrap_or_default();
        }
        self.baseline.add(per_packet(timer.elapsed()));
        black_box(seen);
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
            population.worker.apply(now, plan)?;
        }
        let elapsed = timer.elapsed();
        trial.changed.add(elapsed.as_secs_f64() * 1e9 / f64::from(due));
        Ok(())
    }
}

fn per_packet(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e9 / CHUNK as f64
}
