//! Follows the wall clock, which may be set while the daemon runs.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use causeway_types::{Time, WallClock, WallTime};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tracing::warn;

use crate::clock::Clock;

/// A source of the wall clock time.
pub(crate) type Source = Box<dyn Fn() -> WallTime + Send>;

/// The interval of readings without a notification of the kernel, in seconds.
const PERIOD: i64 = 1;

/// Readings that differ by less count as equal.
const TOLERANCE: Duration = Duration::from_millis(10);

/// A reading that took longer is repeated: the thread was interrupted.
const AT_ONCE: Duration = Duration::from_micros(100);

/// Maximum number of readings; the last is accepted.
const READINGS: usize = 10;

/// The wall clock, with its last reading.
pub(crate) struct Wall {
    clock: Clock,
    source: Source,
    known: WallClock,
    timer: Option<AsyncFd<OwnedFd>>,
}

impl fmt::Debug for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wall").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Wall {
    /// Follows this source, whose reading was the start of the clock. To be called within the runtime.
    pub(crate) fn new(clock: Clock, source: Source) -> Self {
        let timer = timer().and_then(|timer| {
            #[expect(deprecated, reason = "the timer owns its descriptor, which stays open and the same")]
            AsyncFd::with_interest(timer, Interest::READABLE)
        });
        let timer = timer.inspect_err(|error| warn!("changes of the wall clock are not notified: {error}"));
        Self { clock, source, known: WallClock::default(), timer: timer.ok() }
    }

    /// Returns when the clock may have been set: upon a notification of the kernel, and every second. The future may be
    /// dropped and the call repeated.
    pub(crate) async fn wait(&mut self) {
        let Some(timer) = &mut self.timer else { return std::future::pending().await };
        let done = match timer.readable_mut().await {
            Ok(mut ready) => {
                let done = rearm(ready.get_inner());
                ready.clear_ready();
                done
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            warn!("changes of the wall clock are not notified any more: {error}");
            self.timer = None;
        }
    }

    /// The new reading, if it differs from the last.
    pub(crate) fn refresh(&mut self) -> Option<WallClock> {
        let (wall, now) = self.read();
        let seen = WallClock::reading(wall, now);
        let apart = seen.ahead_nanos().abs_diff(self.known.ahead_nanos());
        if u128::from(apart) < TOLERANCE.as_nanos() {
            return None;
        }
        self.known = seen;
        Some(seen)
    }

    /// A reading, with its monotonic time.
    fn read(&self) -> (WallTime, Time) {
        let read = || {
            let before = self.clock.now();
            let wall = (self.source)();
            let took = self.clock.now().since(before);
            (wall, before + took / 2, took)
        };
        let mut best = read();
        for _ in 1..READINGS {
            if best.2 <= AT_ONCE {
                break;
            }
            let again = read();
            if again.2 < best.2 {
                best = again;
            }
        }
        (best.0, best.1)
    }
}

/// By how much the wall clock was set, in words.
pub(crate) fn difference(before: WallClock, after: WallClock) -> String {
    let (old, new) = (before.ahead_nanos(), after.ahead_nanos());
    let span = Duration::from_nanos(new.abs_diff(old));
    let way = if new > old { "forward" } else { "back" };
    format!("{way} by {:.3} s", span.as_secs_f64())
}

/// A timer that the kernel cancels when the wall clock is set, and when the host resumes from suspension.
fn timer() -> io::Result<OwnedFd> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
    arm(&timer)?;
    Ok(timer)
}

/// Reads the timer, and arms it again.
fn rearm(timer: &OwnedFd) -> io::Result<()> {
    let mut expirations = [0; 8];
    match rustix::io::read(timer, &mut expirations) {
        // Cancelled: the clock was set.
        Ok(_) | Err(Errno::CANCELED | Errno::AGAIN | Errno::INTR) => arm(timer),
        Err(error) => Err(error.into()),
    }
}

fn arm(timer: impl AsFd) -> io::Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    let value = Timespec { tv_sec: now.tv_sec + PERIOD, ..now };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    match timerfd_settime(timer, flags, &once) {
        // The clock was set again in the meantime: the timer is armed, and the next read returns a cancellation.
        Ok(_) | Err(Errno::CANCELED) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    // Input:  a wall clock that goes on with the monotonic clock; it is set forward by an hour, then back by two; then
    //         by less than the
    //         tolerance.
    // Output: no change; the new reading and the difference, both times; no change.
    #[tokio::test]
    async fn it_is_known_when_it_was_set() {
        let clock = Clock::counting_from(WallTime::from_secs(1_700_000_000));
        let more = Arc::new(AtomicU64::new(7200));
        let source = Arc::clone(&more);
        let says = move || {
            let by = Duration::from_secs(source.load(Ordering::Relaxed));
            WallTime::from_nanos(clock.now().as_nanos()) + by - Duration::from_secs(7200)
        };
        let mut wall = Wall::new(clock, Box::new(says));
        assert_eq!(wall.refresh(), None);
        let mut before = WallClock::default();
        for (set_to, way) in [(10_800, "forward by"), (3600, "back by")] {
            more.store(set_to, Ordering::Relaxed);
            let known = wall.refresh().unwrap();
            let off = known.ahead_nanos() - (set_to as i64 - 7200) * 1_000_000_000;
            assert!(u128::from(off.unsigned_abs()) < TOLERANCE.as_nanos(), "{off}");
            assert!(difference(before, known).starts_with(way));
            assert_eq!(wall.refresh(), None);
            before = known;
        }
    }

    // Input:  a wall clock that is set forward by an hour and a half second.
    // Output: that, in words; the other way round, back.
    #[test]
    fn a_difference_is_said_in_seconds() {
        let now = Time::from_secs(1_700_000_000);
        let later = WallClock::reading(WallTime::from_nanos(1_700_003_600_500_000_000), now);
        assert_eq!(difference(WallClock::default(), later), "forward by 3600.500 s");
        assert_eq!(difference(later, WallClock::default()), "back by 3600.500 s");
    }

    // Input:  the timer of a wall clock; it is taken when it goes off, twice.
    // Output: the kernel has it as one of CLOCK_REALTIME that a step of that clock cancels (TFD_TIMER_ABSTIME and
    //         TFD_TIMER_CANCEL_ON_SET), and it
    //         goes off without a step, too.
    #[tokio::test]
    async fn the_kernel_is_asked_to_say_when_it_is_set() {
        let mut wall = Wall::new(Clock::new(), Box::new(crate::clock::system));
        for _ in 0..2 {
            let timer = wall.timer.as_ref().unwrap().get_ref().as_raw_fd();
            let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{timer}")).unwrap();
            let says = |line: &str| info.lines().any(|it| it.split_whitespace().eq(line.split(' ')));
            assert!(says("clockid: 0") && says("settime flags: 03"), "{info}");
            wall.wait().await;
        }
    }
}
