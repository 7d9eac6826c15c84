//! QoS enforcement: gates, bit rates and flags.

use causeway_types::{Bitrate, Qfi};

use super::leaf::flags_ies;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

impl<'a> Ie<'a> for Qfi {
    const TYPE: u16 = 124;
    const NAME: &'static str = "QFI";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self::from_low_bits(Reader::new(value).u8()?))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.value());
    }
}

flags_ies! {
    /// Reflective QoS (clause 8.2.88).
    Rqi(u8; 1) = 123, "RQI" {
        /// Reflective QoS is active.
        RQI = 0;
    }

    /// Reports of a QER (clause 8.2.174).
    QerControlIndications(u8; 1) = 251, "QER Control Indications" {
        /// Report the rate control status when the session is released.
        RCSR = 0;
    }

    /// Multicast marking of a QER (clause 8.2.216).
    QerIndications(u8; 1) = 319, "QER Indications" {
        /// Insert the DL MBS QFI sequence number.
        IQFISN = 0;
    }
}

/// Gate Status (clause 8.2.7). Values for future use are treated as closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GateStatus {
    /// Uplink packets may pass.
    pub uplink_open: bool,
    /// Downlink packets may pass.
    pub downlink_open: bool,
}

impl GateStatus {
    /// Both gates are open.
    pub const OPEN: Self = Self { uplink_open: true, downlink_open: true };
}

impl<'a> Ie<'a> for GateStatus {
    const TYPE: u16 = 25;
    const NAME: &'static str = "Gate Status";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let gates = Reader::new(value).u8()?;
        Ok(Self { uplink_open: gates & 0x0c == 0, downlink_open: gates & 0x03 == 0 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(!self.uplink_open) << 2 | u8::from(!self.downlink_open));
    }
}

macro_rules! bitrate_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name {
            /// From the UE.
            pub uplink: Bitrate,
            /// To the UE.
            pub downlink: Bitrate,
        }

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                let mut fields = Reader::new(value);
                Ok(Self { uplink: rate(&mut fields)?, downlink: rate(&mut fields)? })
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.put_u40(self.uplink.kbps());
                out.put_u40(self.downlink.kbps());
            }
        }
    )*};
}

bitrate_ies! {
    /// Maximum bit rates (clause 8.2.8).
    Mbr = 26, "MBR";
    /// Guaranteed bit rates (clause 8.2.9).
    Gbr = 27, "GBR";
}

/// Five octets cover exactly the range of a bit rate.
fn rate(fields: &mut Reader<'_>) -> Result<Bitrate, IeError> {
    Bitrate::from_kbps(fields.u40()?).ok_or_else(IeError::incorrect)
}
