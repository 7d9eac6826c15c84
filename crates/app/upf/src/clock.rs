//! The clock of the daemon.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use causeway_types::{Time, WallTime};

/// The monotonic clock (`CLOCK_MONOTONIC`), which starts at a reading of the wall clock. Copies agree with each other.
///
/// Never goes backwards, and does not follow when the wall clock is set: spans between two times are exact, and a clock
/// that is set
/// back ends no timer early. It does not count while the machine is suspended, when no packet passes either. Where the
/// kernel slews
/// the wall clock, it slews this one alike.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Time,
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self::counting_from(system())
    }

    /// A clock that starts at this reading of the wall clock.
    pub fn counting_from(wall: WallTime) -> Self {
        Self { anchor: Time::from_nanos(wall.as_nanos()), start: Instant::now() }
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.anchor + self.start.elapsed()
    }

    /// The start time.
    pub fn anchor(&self) -> Time {
        self.anchor
    }

    /// The time left until then; zero when it is past.
    pub fn until(&self, time: Time) -> Duration {
        time.since(self.now())
    }
}

/// The wall clock of the system (`CLOCK_REALTIME`).
pub fn system() -> WallTime {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_from_the_anchor() {
        let clock = Clock::new();
        let earlier = clock.now();
        assert!(earlier >= clock.anchor());
        assert!(clock.now() >= earlier);
        assert_eq!(clock.until(clock.anchor()), Duration::ZERO);
        assert!(clock.until(clock.now() + Duration::from_secs(10)) > Duration::from_secs(9));
    }
}
