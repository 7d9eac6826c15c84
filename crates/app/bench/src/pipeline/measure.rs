//! The measurement of one mix of packets.

use std::hint::black_box;
use std::time::Duration;

use causeway_packet::{Batch, Meta};
use causeway_types::{Span, Teid, Time};

use super::options::Direction;
use super::traffic::{CHUNK, Chunk, Mix};
use crate::BenchError;
use crate::kit::{CpuTimer, Samples};
use crate::world::Population;

/// From one batch to the next, as the data plane sees it: that of 32 million packets a second.
const PER_BATCH: Span = Duration::from_micros(1);

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
    /// Packets that the flow entries passed to the slow path.
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

/// The time that the data plane sees. It stands but for the batches, so that no session pauses for long: neither because there
/// are many, nor because other processes take the core away.
struct Clock(Time);

impl Clock {
    fn next(&mut self) -> Time {
        self.0 = self.0 + PER_BATCH;
        self.0
    }
}

/// What all trials share.
pub(crate) struct BenchSetup {
    pub(super) random: fastrand::Rng,
    chunk: Chunk,
    clock: Clock,
    /// Nanoseconds per packet of a loop that only looks at the packets.
    pub(super) baseline: Samples,
}

impl BenchSetup {
    pub(crate) fn new(seed: u64) -> Self {
        let (random, clock) = (fastrand::Rng::with_seed(seed), Clock(Time::from_secs(1_000_000)));
        Self { random, chunk: Chunk::new(), clock, baseline: Samples::default() }
    }

    /// The time that the data plane sees.
    pub(crate) const fn now(&self) -> Time {
        self.clock.0
    }

    /// A packet of each session and direction that must get through, not measured: caches and branch predictors see the kind of packet,
    /// and what only the first packet does is done.
    pub(crate) fn warm_up(&mut self, population: &mut Population, mix: Mix) -> Result<(), BenchError> {
        if mix.way == Direction::Both {
            self.warm_up(population, Mix { way: Direction::Uplink, ..mix })?;
            return self.warm_up(population, Mix { way: Direction::Downlink, ..mix });
        }
        for first in (0..population.teids.len()).step_by(CHUNK) {
            self.chunk.fill_in_turn(mix, &population.teids, first, &mut self.random)?;
            let before = population.worker.counters();
            for batch in self.chunk.batches() {
                population.worker.warm_up(self.clock.next(), batch);
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
        self.read_clock();
        if let Some(segments) = &mut population.worker.segments {
            segments.wrap(self.chunk.batches())?;
        }
        let before = (population.worker.counters().forwarded, population.worker.fast_path_packets());
        let elapsed = match population.worker.segments {
            None => self.run(population).1,
            Some(_) => self.run_in_segments(population)?,
        };
        let forwarded = population.worker.counters().forwarded - before.0;
        let hot = population.worker.fast_path_packets() - before.1;
        trial.used += elapsed;
        trial.packets.add(per_packet(elapsed));
        trial.sent += CHUNK as u64;
        trial.lost += (CHUNK as u64).saturating_sub(forwarded);
        trial.slow += (CHUNK as u64).saturating_sub(hot);
        self.change(population, trial, elapsed)?;
        population.worker.forget_events();
        Ok(())
    }

    /// Makes a chunk of packets, each of which may be changed before it is taken in.
    pub(crate) fn fill(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        change: impl FnMut((&mut Meta, &mut Vec<u8>), &mut fastrand::Rng),
    ) -> Result<(), BenchError> {
        self.chunk.fill_with(mix, teids, &mut self.random, change)
    }

    /// The chunk through the data plane. Returns how many packets these were, and CPU time.
    pub(crate) fn run(&mut self, population: &mut Population) -> (u64, Duration) {
        let timer = CpuTimer::start();
        for batch in self.chunk.batches() {
            population.worker.run(self.clock.next(), batch);
        }
        (CHUNK as u64, timer.elapsed())
    }

    fn run_in_segments(&mut self, population: &mut Population) -> Result<Duration, BenchError> {
        let timer = CpuTimer::start();
        for batch in self.chunk.batches().iter_mut().enumerate() {
            population.worker.run_in_segments(self.clock.next(), batch)?;
        }
        Ok(timer.elapsed())
    }

    fn read_clock(&mut self) {
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
