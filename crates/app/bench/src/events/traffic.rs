//! Traffic over all sessions, with its usage reports, and handovers in flight.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use causeway_lab::smf::SmfEvent;

use super::environment::Environment;
use crate::BenchError;
use crate::kit::{Progress, Samples};

/// What is not there by then does not come.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Packets in flight while every session has its first one.
const WINDOW: u64 = 128;

/// What sessions were sent, and what is expected of them.
pub(super) struct Traffic {
    /// Packets of each session since its last report.
    counts: Vec<u32>,
    /// When the packets were sent that each session's reports are due for, the oldest first.
    crossed: Vec<VecDeque<Instant>>,
    /// When the handovers were asked for that are not answered, by sequence number.
    asked: HashMap<u32, Instant>,
    sent: u64,
    arrived: u64,
}

/// What was measured in a span.
#[derive(Default)]
pub(super) struct Measured {
    /// Microseconds from the packet that crosses a threshold to the report.
    pub(super) reports: Samples,
    /// Microseconds from the request of a handover to its response.
    pub(super) handovers: Samples,
    /// Reports and responses that did not come.
    pub(super) missing: (u64, u64),
    /// Reports that were not expected: a packet was lost.
    pub(super) unexpected: u64,
    /// Reports that the UPF sent again, as it had no answer in time.
    pub(super) again: u64,
    /// Packets that did not arrive at the server.
    pub(super) lost: u64,
}

/// How much goes on, in a second.
#[derive(Clone, Copy)]
pub(super) struct EventRates {
    pub(super) packets: u64,
    pub(super) handovers: u64,
}

/// When the next of something is due that happens so often in a second.
struct RateTimer {
    next: Duration,
    interval: Duration,
}

impl RateTimer {
    fn all_with_defaults(rate: u64) -> Self {
        let rate = u32::try_from(rate).unwrap_or(u32::MAX);
        let interval = Duration::from_secs(1).checked_div(rate).unwrap_or(Duration::MAX);
        Self { next: interval, interval }
    }

    /// It is now; what was missed while the kernel had other plans is not made up for.
    fn is(&mut self, now: Duration) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = self.next.saturating_add(self.interval).max(now);
        }
        is_due
    }
}

impl Traffic {
    pub(super) fn new(sessions: usize) -> Self {
        let (counts, crossed) = (vec![0; sessions], vec![VecDeque::new(); sessions]);
        Self { counts, crossed, asked: HashMap::new(), sent: 0, arrived: 0 }
    }

    /// A packet of each session, not measured: what only the first one does is done.
    pub(super) fn begin(
        &mut self,
        world: &mut Environment,
        progress: &mut Progress,
    ) -> Result<(), BenchError> {
        let mut measured = Measured::default();
        let sessions = self.counts.len();
        for number in 0..sessions {
            self.send(world, number)?;
            let start = Instant::now();
            while self.sent - self.arrived >= WINDOW && start.elapsed() < TIMEOUT {
                self.hear(world, &mut measured)?;
                std::thread::yield_now();
            }
            progress.set_progress(number as u64, sessions as u64);
        }
        self.settle(world, &mut measured)?;
        if self.arrived == 0 {
            return Err(BenchError::NotForwarded { sent: self.sent, forwarded: 0 });
        }
        Ok(())
    }

    /// Packets and handovers of random sessions at an even pace, for a span.
    pub(super) fn run(
        &mut self,
        world: &mut Environment,
        pace: EventRates,
        span: Duration,
        random: &mut fastrand::Rng,
        progress: &mut Progress,
    ) -> Result<Measured, BenchError> {
        let mut measured = Measured::default();
        let sessions = self.counts.len();
        let (before, again) = (self.sent - self.arrived, world.smf.duplicate_reports());
        let (mut packet, mut handover) =
            (RateTimer::all_with_defaults(pace.packets), RateTimer::all_with_defaults(pace.handovers));
        let start = Instant::now();
        loop {
            let now = start.elapsed();
            if now >= span {
                break;
            }
            if packet.is(now) {
                self.send(world, random.usize(..sessions))?;
            }
            if handover.is(now) {
                let at = Instant::now();
                let asked = world.hand_over(random.usize(..sessions), random.u32(1..))?;
                self.asked.extend(asked.map(|sequence| (sequence, at)));
            }
            self.hear(world, &mut measured)?;
            // The control thread of the UPF may have the same core.
            std::thread::yield_now();
            progress.set_progress(0, 0);
        }
        self.settle(world, &mut measured)?;
        measured.lost = (self.sent - self.arrived).saturating_sub(before);
        measured.again = world.smf.duplicate_reports() - again;
        Ok(measured)
    }

    /// Sends a packet; the session's report is due if that is as many as it takes.
    fn send(&mut self, world: &mut Environment, number: usize) -> Result<(), BenchError> {
        let at = Instant::now();
        if !world.send_uplink(number)? {
            return Ok(());
        }
        self.sent += 1;
        let period = world.periods.get(number).copied();
        if let (Some(count), Some(crossed)) = (self.counts.get_mut(number), self.crossed.get_mut(number)) {
            *count += 1;
            if Some(*count) == period {
                *count = 0;
                crossed.push_back(at);
            }
        }
        Ok(())
    }

    /// Takes all that has come.
    fn hear(&mut self, world: &mut Environment, measured: &mut Measured) -> Result<(), BenchError> {
        while let Some(heard) = world.smf.poll()? {
            let micros = |at: Instant| at.elapsed().as_secs_f64() * 1e6;
            match heard {
                SmfEvent::Response(sequence) => {
                    let asked = self.asked.remove(&sequence);
                    asked.into_iter().for_each(|at| measured.handovers.add(micros(at)));
                }
                SmfEvent::Report(session, count) => {
                    let index = usize::try_from(session.0).ok().and_then(|seid| seid.checked_sub(1));
                    let mut crossed = index.and_then(|index| self.crossed.get_mut(index));
                    // What crosses twice before the first is told may be told in one request.
                    for _ in 0..count.max(1) {
                        match crossed.as_mut().and_then(|due| due.pop_front()) {
                            Some(at) => measured.reports.add(micros(at)),
                            None => measured.unexpected += 1,
                        }
                    }
                }
            }
        }
        self.arrived += world.drain_server();
        world.drain_gnb(|_, _| ())
    }

    /// Waits for what is still due; what does not come is missing.
    fn settle(&mut self, world: &mut Environment, measured: &mut Measured) -> Result<(), BenchError> {
        let start = Instant::now();
        let due = |traffic: &Self| traffic.crossed.iter().flatten().count();
        let mut left = due(self);
        while (left > 0 || !self.asked.is_empty() || self.arrived < self.sent) && start.elapsed() < TIMEOUT {
            self.hear(world, measured)?;
            left = due(self);
            std::thread::yield_now();
        }
        measured.missing = (left as u64, self.asked.len() as u64);
        self.crossed.iter_mut().for_each(VecDeque::clear);
        self.asked.clear();
        Ok(())
    }
}
