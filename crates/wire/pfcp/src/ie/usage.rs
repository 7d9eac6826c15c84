//! Usage measurement and reporting.

use causeway_types::{ReportingTriggers, UsageInformation, UsageReportTrigger};

use super::leaf::{flags_codec_ies, flags_ies, integer_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

flags_codec_ies! {
    ReportingTriggers(u32; 3) = 37, "Reporting Triggers";
    UsageReportTrigger(u32; 3) = 63, "Usage Report Trigger";
    UsageInformation(u8; 1) = 90, "Usage Information";
}

flags_ies! {
    /// The methods of a URR (clause 8.2.40).
    MeasurementMethod(u8; 1) = 62, "Measurement Method" {
        /// Duration.
        DURAT = 0;
        /// Volume.
        VOLUM = 1;
        /// Events.
        EVENT = 2;
    }

    /// Options of a measurement (clause 8.2.68).
    MeasurementInformation(u8; 1) = 100, "Measurement Information" {
        /// Before QoS enforcement.
        MBQE = 0;
        /// Inactive.
        INAM = 1;
        /// Reduced application detection information.
        RADI = 2;
        /// Time metering starts immediately.
        ISTM = 3;
        /// Packets are counted too.
        MNOP = 4;
        /// Send Start Pause of Charging.
        SSPOC = 5;
        /// Pause of charging applies.
        ASPOC = 6;
        /// Control of inactive measurement.
        CIAM = 7;
    }
}

integer_ies! {
    /// Events after which usage is reported (clause 8.2.113).
    EventThreshold(u32) = 149, "Event Threshold";
    /// Events that are granted (clause 8.2.112).
    EventQuota(u32) = 148, "Event Quota";
    /// Event threshold after the monitoring time (clause 8.2.107).
    SubsequentEventThreshold(u32) = 151, "Subsequent Event Threshold";
    /// Event quota after the monitoring time (clause 8.2.106).
    SubsequentEventQuota(u32) = 150, "Subsequent Event Quota";
    /// Reports after which a URR ends; not 0 (clause 8.2.133).
    NumberOfReports(u16) = 182, "Number of Reports";
}

/// Time Quota Mechanism (clause 8.2.81).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimeQuotaMechanism {
    /// 0: continuous time period; 1: discrete time period; 2 and 3 are spare.
    pub interval_type: u8,
    /// Base time interval, seconds.
    pub base_interval: u32,
}

impl<'a> Ie<'a> for TimeQuotaMechanism {
    const TYPE: u16 = 115;
    const NAME: &'static str = "Time Quota Mechanism";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        Ok(Self { interval_type: fields.u8()? & 3, base_interval: fields.u32()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.interval_type & 3);
        out.put_u32(self.base_interval);
    }
}

/// Multiplier (clause 8.2.84): digits times ten to the power of the exponent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Multiplier {
    /// The digits.
    pub digits: i64,
    /// The exponent.
    pub exponent: i32,
}

impl<'a> Ie<'a> for Multiplier {
    const TYPE: u16 = 119;
    const NAME: &'static str = "Multiplier";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let digits = i64::from_be_bytes(fields.array()?);
        Ok(Self { digits, exponent: i32::from_be_bytes(fields.array()?) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put(&self.digits.to_be_bytes());
        out.put(&self.exponent.to_be_bytes());
    }
}

/// Additional Usage Reports Information (clause 8.2.91).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AdditionalUsageReports {
    /// AURI: more usage reports will follow.
    Follow,
    /// This many usage reports, at most 32767, are sent in further Session Report Requests.
    Count(u16),
}

impl<'a> Ie<'a> for AdditionalUsageReports {
    const TYPE: u16 = 126;
    const NAME: &'static str = "Additional Usage Reports Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let bits = Reader::new(value).u16()?;
        Ok(if bits & 0x8000 != 0 { Self::Follow } else { Self::Count(bits) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(match *self {
            Self::Follow => 0x8000,
            Self::Count(count) => count & 0x7fff,
        });
    }
}
