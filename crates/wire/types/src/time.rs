//! Points in time and spans, without reading a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A length of time. The standard type, under the name the rest of the house uses.
pub type Span = Duration;

/// Seconds between the NTP era 0 (1900-01-01) and the Unix epoch.
const NTP_TO_UNIX: u64 = 2_208_988_800;

/// A point in time: nanoseconds since the Unix epoch, never going backwards.
///
/// The daemon anchors a monotonic clock to the wall clock once at start; tests pass any number. One
/// type serves timers and the time stamps of usage reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
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

    /// How long after `earlier`; zero if it is not after.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// As PFCP carries time: whole seconds, truncated.
    pub const fn to_ntp(self) -> NtpSeconds {
        NtpSeconds((self.0 / 1_000_000_000 + NTP_TO_UNIX) as u32)
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

/// Seconds since 1900-01-01 as PFCP carries them (TS 29.244 for example Recovery Time Stamp, clause 8.2.65; IETF RFC 5905), modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NtpSeconds(pub u32);

impl NtpSeconds {
    /// The point in time, read in the 136-year era that contains the years 1968 to 2104.
    pub const fn to_time(self) -> Time {
        let era = if self.0 & 0x8000_0000 == 0 { 1 << 32 } else { 0 };
        Time::from_secs((self.0 as u64 + era).saturating_sub(NTP_TO_UNIX))
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
            let time = Time::from_secs(secs);
            assert_eq!(time.to_ntp().to_time(), time, "{secs}");
        }
    }

    #[test]
    fn a_span_before_the_epoch_saturates() {
        assert_eq!(Time::from_secs(1) - Span::from_secs(2), Time::default());
        assert_eq!(Time::from_secs(1).since(Time::from_secs(2)), Span::ZERO);
    }
}
