//! CPU time of this thread, and what remains of many measurements.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time since it was started: what other processes take away does not count.
pub(crate) struct CpuTimer(Duration);

impl CpuTimer {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// What so many tenths of the values do not exceed. `None` without any.
pub(crate) fn tenths(values: &[f64], tenths: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len().checked_sub(1)? * tenths + 5) / 10).copied()
}
