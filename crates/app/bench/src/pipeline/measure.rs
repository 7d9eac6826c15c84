//! The measurement of one mix of packets.

use std::hint::black_box;
use std::time::{Duration, Instant};

use causeway_dataplane::{Egress, Fate, Transmit};
use causeway_types::Time;

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
        let (packets, changed) = (Samples::default(), Samples::default());
        Self { mix, changes, packets, changed, sent: 0, lost: 0, used: Duration::ZERO, due: 0.0, turn: 0 }
    }
}

/// What all trials share.
pub(super) struct Bench {
    pub(super) random: fastrand::Rng,
    chunk: Chunk,
    ingress: Ingresses,
    start: Instant,
    /// Nanoseconds per packet of a loop that only looks at the packets.
    pub(super) baseline: Samples,
}

impl Bench {
    pub(super) fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (chunk, ingress) = (Chunk::new(), Ingresses::new());
        Self { random, chunk, ingress, start: Instant::now(), baseline: Samples::default() }
    }

    /// The time that the data plane sees.
    pub(super) fn now(&self) -> Time {
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(Time::from_secs(1_000_000).as_nanos().saturating_add(since))
    }

    /// One chunk that must get through, not measured: caches and branch predictors see the kind of packet.
    pub(super) fn warm_up(&mut self, population: &mut Population, mix: Mix) -> Result<(), BenchError> {
        let now = self.now();
        self.chunk.fill(mix, &population.teids, &mut self.random)?;
        for (number, ingress, packet) in self.chunk.iter(&self.ingress) {
            let fate = population.engine.process(now, ingress, packet, &mut Sink::default());
            if fate != Fate::Forwarded {
                return Err(BenchError::WrongFate { number, fate });
            }
        }
        Ok(())
    }

    /// One chunk of the trial, then the same packets through the loop that only looks at them, then the rule changes
    /// that are due.
    pub(super) fn step(&mut self, population: &mut Population, trial: &mut Trial) -> Result<(), BenchError> {
        self.chunk.fill(trial.mix, &population.teids, &mut self.random)?;
        let now = self.now();
        let mut sink = Sink::default();
        let timer = CpuTimer::start();
        let mut forwarded = 0;
        for (_, ingress, packet) in self.chunk.iter(&self.ingress) {
            forwarded +=
                u64::from(population.engine.process(now, ingress, packet, &mut sink) == Fate::Forwarded);
        }
        let elapsed = timer.elapsed();
        black_box(sink);
        trial.used += elapsed;
        trial.packets.add(per_packet(elapsed));
        trial.sent += CHUNK as u64;
        trial.lost += CHUNK as u64 - forwarded;
        self.look();
        self.change(population, trial, elapsed)?;
        while population.engine.poll_event().is_some() {}
        Ok(())
    }

    fn look(&mut self) {
        let mut sink = Sink::default();
        let timer = CpuTimer::start();
        for (_, ingress, packet) in self.chunk.iter(&self.ingress) {
            black_box(ingress);
            sink.see(packet);
        }
        self.baseline.add(per_packet(timer.elapsed()));
        black_box(sink);
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
            population.engine.apply(now, plan)?;
        }
        let elapsed = timer.elapsed();
        trial.changed.add(elapsed.as_secs_f64() * 1e9 / f64::from(due));
        Ok(())
    }
}

fn per_packet(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e9 / CHUNK as f64
}

/// Looks at what is sent, and throws it away.
#[derive(Default)]
struct Sink {
    octets: usize,
    seen: u8,
}

impl Sink {
    fn see(&mut self, packet: &[u8]) {
        self.octets += packet.len();
        self.seen ^= packet.first().copied().unwrap_or_default();
    }
}

impl Transmit for Sink {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        black_box(egress);
        self.see(packet);
    }
}
