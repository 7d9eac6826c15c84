//! Points in time, periods and timers.

use std::fmt;
use std::time::Duration;

use super::leaf::{integer_ies, time_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

time_ies! {
    /// When the sender started (clause 8.2.65).
    RecoveryTimeStamp = 96, "Recovery Time Stamp";
    /// When thresholds are applied again (clause 8.2.15).
    MonitoringTime = 33, "Monitoring Time";
    /// When the collection of a report began (clause 8.2.52).
    StartTime = 75, "Start Time";
    /// When the collection of a report ended (clause 8.2.53).
    EndTime = 76, "End Time";
    /// When the first packet of a report was sent (clause 8.2.46).
    TimeOfFirstPacket = 69, "Time of First Packet";
    /// When the last packet of a report was sent (clause 8.2.47).
    TimeOfLastPacket = 70, "Time of Last Packet";
    /// When an event happened (clause 8.2.114).
    TimeStamp = 156, "Time Stamp";
    /// When a PDR becomes active (clause 8.2.121).
    ActivationTime = 163, "Activation Time";
    /// When a PDR becomes inactive (clause 8.2.122).
    DeactivationTime = 164, "Deactivation Time";
}

integer_ies! {
    /// Seconds of traffic after which usage is reported (clause 8.2.14).
    TimeThreshold(u32) = 32, "Time Threshold";
    /// Time threshold after the monitoring time, seconds (clause 8.2.17).
    SubsequentTimeThreshold(u32) = 35, "Subsequent Time Threshold";
    /// Seconds of traffic that are granted (clause 8.2.51).
    TimeQuota(u32) = 74, "Time Quota";
    /// Time quota after the monitoring time, seconds (clause 8.2.87).
    SubsequentTimeQuota(u32) = 122, "Subsequent Time Quota";
    /// Seconds without packets that stop a time measurement (clause 8.2.18).
    InactivityDetectionTime(u32) = 36, "Inactivity Detection Time";
    /// Seconds between periodic reports (clause 8.2.42).
    MeasurementPeriod(u32) = 64, "Measurement Period";
    /// Measured seconds (clause 8.2.45).
    DurationMeasurement(u32) = 67, "Duration Measurement";
    /// Seconds without packets after which a quota is returned (clause 8.2.48).
    QuotaHoldingTime(u32) = 71, "Quota Holding Time";
    /// Seconds a quota is valid (clause 8.2.132).
    QuotaValidityTime(u32) = 181, "Quota Validity Time";
    /// Seconds without packets of the session until its inactivity is reported; 0 stops (clause 8.2.83).
    UserPlaneInactivityTimer(u32) = 117, "User Plane Inactivity Timer";
    /// Seconds after which a MAC address is inactive (clause 8.2.105).
    EthernetInactivityTimer(u32) = 146, "Ethernet Inactivity Timer";
    /// Milliseconds over which a guaranteed or maximum rate is averaged (clause 8.2.115).
    AveragingWindow(u32) = 157, "Averaging Window";
    /// Minimum seconds between two event-triggered QoS reports (clause 8.2.170).
    MinimumWaitTime(u32) = 246, "Minimum Wait Time";
    /// Seconds a usage report of UE IP addresses is valid (clause 8.2.184).
    ValidityTimer(u16) = 269, "Validity Timer";
}

/// A timer of one octet: a unit and five bits of count (for example clause 8.2.35).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CodedTimer(pub u8);

impl fmt::Debug for CodedTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span() {
            Some(span) => write!(f, "{span:?} ({:#04x})", self.0),
            None => write!(f, "infinite ({:#04x})", self.0),
        }
    }
}

impl CodedTimer {
    /// Never expires.
    pub const INFINITE: Self = Self(0b1110_0000);

    /// Units by code, in seconds. Codes 5 and 6 count minutes.
    const UNITS: [(u8, u64); 5] = [(0, 2), (1, 60), (2, 600), (3, 3600), (4, 36_000)];

    /// The time, `None` if it never expires.
    pub fn span(self) -> Option<Duration> {
        let count = u64::from(self.0 & 0x1f);
        let unit = match self.0 >> 5 {
            7 => return None,
            code => Self::UNITS.iter().find(|unit| unit.0 == code).map_or(60, |unit| unit.1),
        };
        Some(Duration::from_secs(count * unit))
    }

    /// The shortest codable time that is at least `span`, limited to 310 hours.
    pub fn at_least(span: Duration) -> Self {
        let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
        let fitting = Self::UNITS.iter().find(|unit| seconds.div_ceil(unit.1) <= 31);
        let (code, unit) = *fitting.unwrap_or(&(4, 36_000));
        Self(code << 5 | seconds.div_ceil(unit).min(31) as u8)
    }
}

macro_rules! timer_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub CodedTimer);

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                Ok(Self(CodedTimer(Reader::new(value).u8()?)))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.put_u8(self.0.0);
            }
        }
    )*};
}

timer_ies! {
    /// A timer whose use depends on its group (clause 8.2.35).
    Timer = 55, "Timer";
    /// How long downlink packets are buffered (clause 8.2.29).
    DlBufferingDuration = 47, "DL Buffering Duration";
    /// How long a graceful release may take (clause 8.2.78).
    GracefulReleasePeriod = 112, "Graceful Release Period";
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  10 s, 61 s, 62 s, 63 s, 32 min, 100 days.
    // Output: the shortest timer that lasts at least as long; 310 hours at most.
    #[test]
    fn a_timer_rounds_up() {
        let cases = [(10, 10), (61, 62), (62, 62), (63, 120), (1920, 2400), (8_640_000, 1_116_000)];
        for (asked, coded) in cases {
            let timer = CodedTimer::at_least(Duration::from_secs(asked));
            assert_eq!(timer.span(), Some(Duration::from_secs(coded)), "{asked}");
        }
    }

    #[test]
    fn units_without_a_name_count_minutes_and_the_last_is_infinite() {
        assert_eq!(CodedTimer(0b1010_0011).span(), Some(Duration::from_secs(180)));
        assert_eq!(CodedTimer::INFINITE.span(), None);
    }
}
