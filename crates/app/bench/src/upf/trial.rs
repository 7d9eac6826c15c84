//! The measurement of one direction, size and number of sessions through one UPF.

use std::time::{Duration, Instant};

use super::ends::{Ends, Stream};
use crate::BenchError;
use crate::kit::{Samples, Threads};

/// No packet arrives any more: those in flight are lost.
const TIMEOUT: Duration = Duration::from_millis(50);

/// How long the first packets may take, while neighbours are found.
const START: Duration = Duration::from_secs(5);

/// What was measured so far.
#[derive(Default)]
pub struct Trial {
    /// Nanoseconds of CPU time of the UPF's packet thread for each packet.
    pub cpu: Samples,
    /// Nanoseconds of wall time for each packet.
    pub wall: Samples,
    /// Microseconds from one end to the other.
    pub latency: Samples,
    /// Packets that did not arrive while the rate was measured.
    pub lost: u64,
    /// Packets that did not arrive while the latency was measured.
    pub lost_marked: u64,
}

/// Sees to it that packets get through.
///
/// # Errors
/// [`BenchError::NotForwarded`] when none does.
pub fn warm_up(ends: &mut Ends, stream: &mut Stream) -> Result<(), BenchError> {
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < START {
        sent += ends.send(stream, 1)? as u64;
        let tried = Instant::now();
        while tried.elapsed() < TIMEOUT {
            if ends.receive(stream, |_| ())? > 0 {
                // Nobody waits for the others of these first ones.
                return settle(ends, stream, usize::MAX).map(drop);
            }
            std::thread::yield_now();
        }
    }
    Err(BenchError::NotForwarded { sent, forwarded: 0 })
}

/// Waits for the packets in flight. Returns the number of lost packets.
fn settle(ends: &mut Ends, stream: &Stream, mut under_way: usize) -> Result<u64, BenchError> {
    let mut last = Instant::now();
    while under_way > 0 && last.elapsed() < TIMEOUT {
        let got = ends.receive(stream, |_| ())?;
        under_way = under_way.saturating_sub(got);
        if got > 0 {
            last = Instant::now();
        }
        std::thread::yield_now();
    }
    Ok(under_way as u64)
}

impl Trial {
    /// The packets delivered in a span, `window` of them in flight at most.
    ///
    /// # Errors
    /// [`BenchError`] when a socket or a thread of the UPF is gone.
    pub fn pump(
        &mut self,
        ends: &mut Ends,
        stream: &mut Stream,
        threads: &Threads,
        window: usize,
        span: Duration,
    ) -> Result<(), BenchError> {
        let before = threads.cpu_time()?;
        let start = Instant::now();
        let (mut arrived, mut under_way) = (0_u64, 0);
        let mut last = start;
        // On a busy machine it may be long until the first one arrives.
        while start.elapsed() < span || (arrived == 0 && start.elapsed() < START) {
            // In halves, so that many go together.
            if under_way <= window / 2 {
                under_way += ends.send(stream, window - under_way)?;
            }
            let got = ends.receive(stream, |_| ())?;
            arrived += got as u64;
            under_way = under_way.saturating_sub(got);
            if got > 0 {
                last = Instant::now();
            } else if arrived > 0 && last.elapsed() > TIMEOUT {
                self.lost += under_way as u64;
                under_way = 0;
                last = Instant::now();
            } else {
                std::thread::yield_now();
            }
        }
        let wall = start.elapsed();
        let used = threads.cpu_time()?.saturating_sub(before);
        if arrived > 0 {
            self.cpu.add(used.as_nanos() as f64 / arrived as f64);
            self.wall.add(wall.as_nanos() as f64 / arrived as f64);
        }
        self.lost += settle(ends, stream, under_way)?;
        Ok(())
    }

    /// Single packets at even distances, each with the time at which it was sent.
    ///
    /// # Errors
    /// As [`Trial::pump`].
    pub fn pace(
        &mut self,
        ends: &mut Ends,
        stream: &mut Stream,
        rate: u64,
        span: Duration,
    ) -> Result<(), BenchError> {
        let start = Instant::now();
        let interval = Duration::from_secs(1) / u32::try_from(rate).unwrap_or(u32::MAX).max(1);
        let (mut sent, mut arrived) = (0, 0);
        let mut due = interval;
        let mut last = start;
        let latency = &mut self.latency;
        loop {
            let now = start.elapsed();
            if now >= due && (now < span || sent == 0) {
                // Zero is the mark of packets from before.
                let mark = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).max(1);
                sent += ends.send_marked(stream, mark)? as u64;
                last = Instant::now();
                // What was missed while the kernel had other plans is not made up for.
                due = (due + interval).max(now);
            }
            ends.receive(stream, |mark| {
                if let Some(took) = start.elapsed().checked_sub(Duration::from_nanos(mark))
                    && mark > 0
                {
                    latency.add(took.as_secs_f64() * 1e6);
                    arrived += 1;
                }
            })?;
            let patience = if arrived == 0 { START } else { TIMEOUT };
            if now >= span && sent > 0 && (arrived >= sent || last.elapsed() > patience) {
                break;
            }
            std::hint::spin_loop();
        }
        self.lost_marked += sent.saturating_sub(arrived);
        Ok(())
    }
}
