//! Time sensitive communication, and opaque containers of TS 24.539.

use super::leaf::{flags_ies, integer_ies, octets_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

octets_ies! {
    /// A port management message (clause 8.2.144).
    PortManagementInformationContainer = 202, "Port Management Information Container";
    /// A bridge management message (clause 8.2.182).
    UserPlaneNodeManagementInformationContainer = 266, "Bridge Management Information Container";
}

integer_ies! {
    /// Port on the side of the device, in the low 16 bits (clause 8.2.141).
    DsttPortNumber(u32) = 196, "DS-TT Port Number";
    /// Port on the side of the network, in the low 16 bits (clause 8.2.142).
    NwttPortNumber(u32) = 197, "NW-TT Port Number";
    /// Number of a time domain (clause 8.2.146).
    TimeDomainNumber(u8) = 206, "Time Domain Number";
    /// Threshold of the offset, nanoseconds (clause 8.2.147).
    TimeOffsetThreshold(i64) = 207, "Time Offset Threshold";
    /// Threshold of the rate ratio, (ratio - 1) * 2^41 (clause 8.2.148).
    CumulativeRateRatioThreshold(i32) = 208, "Cumulative rateRatio Threshold";
    /// Measured offset, nanoseconds (clause 8.2.149).
    TimeOffsetMeasurement(i64) = 209, "Time Offset Measurement";
    /// Measured rate ratio, (ratio - 1) * 2^41 (clause 8.2.150).
    CumulativeRateRatioMeasurement(i32) = 210, "Cumulative rateRatio Measurement";
}

flags_ies! {
    /// Requests bridge information (clause 8.2.140).
    CreateBridgeInfoForTsc(u8; 1) = 194, "Create Bridge Info for TSC" {
        /// A port number and the user plane node are requested.
        BII = 0;
    }

    /// Clock drift that is reported (clause 8.2.145).
    RequestedClockDriftInformation(u8; 1) = 204, "Requested Clock Drift Information" {
        /// Time offset.
        RRTO = 0;
        /// Cumulative rate ratio.
        RRCR = 1;
    }

    /// The time domain is the configured one (clause 8.2.218).
    ConfiguredTimeDomain(u8; 1) = 321, "Configured Time Domain" {
        /// It is the configured one.
        CTDI = 0;
    }
}

/// 5GS User Plane Node (clause 8.2.143): a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UserPlaneNode {
    /// Its identifier; with TSN the Bridge ID of IEEE 802.1Q.
    pub id: Option<u64>,
}

impl<'a> Ie<'a> for UserPlaneNode {
    const TYPE: u16 = 198;
    const NAME: &'static str = "5GS User Plane Node";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self { id: fields.when(flags & 1 != 0, Reader::u64)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.id.is_some().into());
        self.id.into_iter().for_each(|id| out.put_u64(id));
    }
}
