//! CPU time of the calling thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Measures CPU time of the thread that made it: what other processes take away does not count.
///
/// Reading it is a system call, so measure chunks of some hundred microseconds.
#[derive(Clone, Copy, Debug)]
pub struct CpuTimer {
    start: Duration,
}

impl CpuTimer {
    /// Starts now.
    pub fn start() -> Self {
        Self { start: now() }
    }

    /// CPU time of this thread since the start.
    pub fn elapsed(self) -> Duration {
        now().saturating_sub(self.start)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The clock starts at zero with the thread, so neither field is negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a thread that computes until its own clock has moved.
    // Output: it gets there, and the timer never runs backwards.
    #[test]
    fn work_takes_time() {
        let timer = CpuTimer::start();
        let mut last = Duration::ZERO;
        while last < Duration::from_micros(50) {
            let next = timer.elapsed();
            assert!(next >= last);
            last = next;
        }
    }
}
