//! The sub-window of a packet.

use causeway_types::{Span, Time};

/// Turns times into numbers of sub-windows. Sub-windows begin at multiples of their length since time zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    length: u64,
    window: u64,
    /// 2^48 divided by the length.
    scale: u64,
    latest: u64,
    begin: u64,
    instant: Instant,
}

/// A point in time, as slots know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Instant {
    /// Number of the sub-window.
    pub(super) index: u64,
    /// How much of it has passed, in 256ths.
    pub(super) position: u8,
}

/// How time moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It stands, or went on.
    Forward,
    /// The packet is earlier than one before it; it counts as at that one's time.
    Earlier,
    /// The packet is earlier by more than a window; slots must be forgotten.
    Restart,
}

impl Clock {
    /// Sub-windows of this length, of which so many are a window.
    pub(super) fn new(sub_window: Span, in_window: u8) -> Self {
        let length = u64::try_from(sub_window.as_nanos()).unwrap_or(u64::MAX).max(1);
        Self {
            length,
            window: length.saturating_mul(in_window.into()),
            scale: (1 << 48) / length,
            latest: 0,
            begin: 0,
            instant: Instant::default(),
        }
    }

    /// The latest time.
    pub(super) const fn instant(&self) -> Instant {
        self.instant
    }

    /// Moves to the time of a packet.
    #[inline]
    pub(super) const fn advance(&mut self, now: Time) -> Step {
        let now = now.as_nanos();
        if now == self.latest {
            return Step::Forward;
        }
        if now < self.latest {
            if self.latest - now <= self.window {
                return Step::Earlier;
            }
            (self.begin, self.instant) = (0, Instant { index: 0, position: 0 });
            self.forward(now);
            return Step::Restart;
        }
        self.forward(now);
        Step::Forward
    }

    const fn forward(&mut self, now: u64) {
        self.latest = now;
        let mut passed = now - self.begin;
        if passed >= self.length {
            let whole = passed / self.length;
            self.instant.index += whole;
            self.begin += whole * self.length;
            passed = now - self.begin;
        }
        let position = (passed * self.scale) >> 40;
        self.instant.position = if position > 255 { 255 } else { position as u8 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  times in order, in steps of nanoseconds to hours; sub-windows of 1 ms to 60 s.
    // Output: number and position are the exact ones, the position to one 256th and what the reciprocal of 60 s is inexact.
    #[test]
    fn positions_are_exact_to_a_step() {
        for millis in [1, 250, 500, 60_000] {
            let length = Span::from_millis(millis).as_nanos() as u64;
            let mut clock = Clock::new(Span::from_millis(millis), 4);
            let mut now: u64 = 0;
            for round in 0..20_000_u64 {
                now += (round * round * 7919) % (1 << (round % 42));
                assert_eq!(clock.advance(Time::from_nanos(now)), Step::Forward);
                let Instant { index, position } = clock.instant();
                assert_eq!(index, now / length);
                let exact = (now % length) as f64 / length as f64 * 256.0;
                assert!((exact - f64::from(position)).abs() <= 1.06, "{exact} {position}");
            }
        }
    }

    // Input:  a packet earlier by a window, one earlier by more, and time at its end.
    // Output: the first changes nothing; the second is the new time.
    #[test]
    fn time_may_run_back() {
        let mut clock = Clock::new(Span::from_millis(250), 4);
        clock.advance(Time::from_secs(10));
        let before = clock.instant();
        assert_eq!(clock.advance(Time::from_secs(9)), Step::Earlier);
        assert_eq!(clock.instant(), before);
        assert_eq!(clock.advance(Time::from_secs(8)), Step::Restart);
        assert_eq!(clock.instant().index, 32);
        assert_eq!(clock.advance(Time::from_nanos(u64::MAX)), Step::Forward);
    }
}
