//! Buffering of downlink data, and its reports to the CP function.

use std::time::Duration;

use causeway_types::Qfi;

use super::leaf::{flags_ies, integer_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Packets, uplink and downlink, suggested to be buffered (clause 8.2.100).
    SuggestedBufferingPacketsCount(u8) = 140, "Suggested Buffering Packets Count";
    /// Sum of the octets of downlink packets that led to a report (clause 8.2.173).
    DlDataPacketsSize(u16) = 250, "DL Data Packets Size";
    /// Delay of a downlink data notification, in steps of 50 ms; 0 for none (clause 8.2.28).
    DownlinkDataNotificationDelay(u8) = 46, "Downlink Data Notification Delay";
}

impl DownlinkDataNotificationDelay {
    /// The delay.
    pub fn span(self) -> Duration {
        Duration::from_millis(50) * u32::from(self.0)
    }
}

flags_ies! {
    /// Whether sizes of downlink packets are reported (clause 8.2.172).
    MtEdtControlInformation(u8; 1) = 249, "MT-EDT Control Information" {
        /// The sum of sizes is to be reported.
        RDSI = 0;
    }

    /// Treatment of the first downlink packet (clause 8.2.179).
    DataStatus(u8; 1) = 260, "Data Status" {
        /// Discarded.
        DROP = 0;
        /// Buffered.
        BUFF = 1;
    }
}

/// DL Buffering Suggested Packet Count (clause 8.2.30), 1 octet or 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DlBufferingSuggestedPacketCount(pub u16);

impl<'a> Ie<'a> for DlBufferingSuggestedPacketCount {
    const TYPE: u16 = 48;
    const NAME: &'static str = "DL Buffering Suggested Packet Count";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        match *value {
            [] => Err(IeError::length()),
            [count] => Ok(Self(count.into())),
            [high, low, ..] => Ok(Self(u16::from_be_bytes([high, low]))),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match u8::try_from(self.0) {
            Ok(count) => out.put_u8(count),
            Err(_) => out.put_u16(self.0),
        }
    }
}

/// Downlink Data Service Information (clause 8.2.27).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DownlinkDataServiceInformation {
    /// Paging policy indication: the DSCP of the packet, 0 to 63.
    pub paging_policy: Option<u8>,
    /// QoS flow of the packet.
    pub qfi: Option<Qfi>,
}

impl<'a> Ie<'a> for DownlinkDataServiceInformation {
    const TYPE: u16 = 45;
    const NAME: &'static str = "Downlink Data Service Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let paging_policy = fields.when(flags & 1 != 0, Reader::u8)?.map(|octet| octet & 0x3f);
        let qfi = fields.when(flags & 2 != 0, Reader::u8)?.map(Qfi::from_low_bits);
        Ok(Self { paging_policy, qfi })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.paging_policy.is_some()) | u8::from(self.qfi.is_some()) << 1);
        self.paging_policy.into_iter().for_each(|dscp| out.put_u8(dscp & 0x3f));
        self.qfi.into_iter().for_each(|qfi| out.put_u8(qfi.value()));
    }
}
