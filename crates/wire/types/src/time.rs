//! Points in time and durations, without access to a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A length of time: the standard type under the name that all crates use.
pub type Span = Duration;

/// Seconds between the NTP era 0 (1900-01-01) and the Unix epoch.
const NTP_TO_UNIX: u64 = 2_208_988_800;

/// A point in time of a monotonic clock, in nanoseconds.
///
/// In the daemon this clock starts at the wall clock's value and follows the monotonic clock; tests pass any
/// number. Timers and durations use it. Times in messages of peers are [`WallTime`], and a [`WallClock`] converts
/// between both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// From nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier`; zero if it is not after.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Span> for Time {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A point in time of the wall clock: nanoseconds since the Unix epoch.
///
/// The wall clock may be set, so that a later event can have an earlier wall time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WallTime(u64);

impl WallTime {
    /// From nanoseconds since the Unix epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From whole seconds since the Unix epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The PFCP encoding: whole seconds, truncated.
    pub const fn to_ntp(self) -> NtpSeconds {
        NtpSeconds((self.0 / 1_000_000_000 + NTP_TO_UNIX) as u32)
    }
}

impl Add<Span> for WallTime {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Span> for WallTime {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// The state of the wall clock from some time on: its offset from the clock of [`Time`].
///
/// The default has no offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WallClock {
    /// The time from which on the offset is known.
    since: Time,
    /// The offset of the wall clock, in nanoseconds.
    ahead: i64,
}

impl WallClock {
    /// A wall clock that shows `wall` at `now`. An offset beyond 292 years is limited to that.
    pub fn reading(wall: WallTime, now: Time) -> Self {
        let ahead = i128::from(wall.0) - i128::from(now.0);
        let nearest = if ahead < 0 { -i64::MAX } else { i64::MAX };
        Self { since: now, ahead: i64::try_from(ahead).unwrap_or(nearest) }
    }

    /// The same, known only since this time.
    #[must_use]
    pub const fn known_since(self, since: Time) -> Self {
        Self { since, ..self }
    }

    /// The wall time at this time; for a time before the clock was set, the same offset applies.
    pub const fn at(&self, time: Time) -> WallTime {
        WallTime(time.0.saturating_add_signed(self.ahead))
    }

    /// The first time at which the wall clock shows this or a later time: not before the offset was known.
    pub fn reaches(&self, wall: WallTime) -> Time {
        self.since.max(Time(wall.0.saturating_add_signed(self.ahead.saturating_neg())))
    }

    /// The offset from the clock of [`Time`], in nanoseconds; negative: the wall clock is behind.
    pub const fn ahead_nanos(&self) -> i64 {
        self.ahead
    }
}

/// Seconds since 1900-01-01 as in PFCP (for example Recovery Time Stamp, TS 29.244 clause 8.2.65; IETF RFC 5905),
/// modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NtpSeconds(pub u32);

impl NtpSeconds {
    /// The point in time, in the 136-year era that contains the years 1968 to 2104.
    pub const fn to_wall(self) -> WallTime {
        let era = if self.0 & 0x8000_0000 == 0 { 1 << 32 } else { 0 };
        WallTime::from_secs((self.0 as u64 + era).saturating_sub(NTP_TO_UNIX))
    }
}

impl fmt::Display for NtpSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntp_seconds_survive_the_era_of_2036() {
        for secs in [0, 1_700_000_000, 2_085_978_495, 2_085_978_496, 3_000_000_000] {
            let time = WallTime::from_secs(secs);
            assert_eq!(time.to_ntp().to_wall(), time, "{secs}");
        }
    }

    // Input:  a wall clock without offset, two hours ahead, two hours behind, or at the epoch, or at the end of
    // time.
    // Output: the wall time now; it reaches a wall time when it shows it, but never before it was set.
    #[test]
    fn a_wall_clock_leads_there_and_back() {
        let now = Time::from_secs(1_700_000_000);
        for wall in [1_700_000_000, 1_700_007_200, 1_699_992_800, 0, 18_446_744_073] {
            let wall = WallTime::from_secs(wall);
            let clock = WallClock::reading(wall, now);
            if wall.as_nanos() < i64::MAX as u64 {
                assert_eq!(clock.at(now), wall);
                assert_eq!(clock.reaches(wall + Span::from_secs(90)), now + Span::from_secs(90));
                assert_eq!(clock.reaches(wall - Span::from_secs(90)), now);
            }
            assert_eq!(clock.reaches(WallTime::default()), now);
            assert!(clock.at(clock.reaches(wall)) >= wall.min(clock.at(now)));
        }
        assert_eq!(WallClock::default().at(now).as_nanos(), now.as_nanos());
        assert_eq!(WallClock::default().reaches(WallTime::from_secs(7)), Time::from_secs(7));
    }

    #[test]
    fn a_span_before_the_epoch_saturates() {
        assert_eq!(Time::from_secs(1) - Span::from_secs(2), Time::default());
        assert_eq!(Time::from_secs(1).since(Time::from_secs(2)), Span::ZERO);
    }
}
