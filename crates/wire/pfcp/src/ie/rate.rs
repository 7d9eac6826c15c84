//! Packet rates of small data.

use super::leaf::code;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

code! {
    /// Time unit of a packet rate (Table 8.2.63.1). Spare units are treated as minutes.
    RateUnit {
        /// Minute.
        Minute = 0;
        /// Six minutes.
        SixMinutes = 1;
        /// Hour.
        Hour = 2;
        /// Day.
        Day = 3;
        /// Week.
        Week = 4;
    }
}

/// Packets in a unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate {
    /// The unit.
    pub unit: RateUnit,
    /// Packets allowed per unit.
    pub packets: u16,
}

impl Rate {
    fn read(fields: &mut Reader<'_>) -> Result<Self, IeError> {
        Ok(Self { unit: RateUnit::from_code(fields.u8()? & 7), packets: fields.u16()? })
    }
}

/// Packet Rate (clause 8.2.63). Additional rates are for directions that have a rate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRate {
    /// From the UE.
    pub uplink: Option<Rate>,
    /// To the UE.
    pub downlink: Option<Rate>,
    /// From the UE, for additional packets.
    pub additional_uplink: Option<Rate>,
    /// To the UE, for additional packets.
    pub additional_downlink: Option<Rate>,
}

impl<'a> Ie<'a> for PacketRate {
    const TYPE: u16 = 94;
    const NAME: &'static str = "Packet Rate";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self {
            uplink: fields.when(flags & 1 != 0, Rate::read)?,
            downlink: fields.when(flags & 2 != 0, Rate::read)?,
            additional_uplink: fields.when(flags & 5 == 5, Rate::read)?,
            additional_downlink: fields.when(flags & 6 == 6, Rate::read)?,
        })
    }

    /// An additional rate without its rate is not sent; if only one of the two additional rates is present, the
    /// other is sent as zero.
    fn encode(&self, out: &mut Vec<u8>) {
        let (ul, dl) = (self.uplink, self.downlink);
        let more = self.additional_uplink.is_some() || self.additional_downlink.is_some();
        out.put_u8(u8::from(ul.is_some()) | u8::from(dl.is_some()) << 1 | u8::from(more) << 2);
        let none = Rate { unit: RateUnit::Minute, packets: 0 };
        let extra_ul = ul.filter(|_| more).map(|_| self.additional_uplink.unwrap_or(none));
        let extra_dl = dl.filter(|_| more).map(|_| self.additional_downlink.unwrap_or(none));
        for rate in [ul, dl, extra_ul, extra_dl].into_iter().flatten() {
            out.put_u8(rate.unit.code() & 7);
            out.put_u16(rate.packets);
        }
    }
}

/// The remaining packets of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Remaining {
    /// Packets still allowed.
    pub packets: u16,
    /// Additional packets still allowed.
    pub additional: Option<u16>,
}

/// Packet Rate Status (clause 8.2.139).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketRateStatus {
    /// From the UE.
    pub uplink: Option<Remaining>,
    /// To the UE.
    pub downlink: Option<Remaining>,
    /// End of validity: 64-bit NTP time, with a fraction in the low half.
    pub valid_until: u64,
}

impl<'a> Ie<'a> for PacketRateStatus {
    const TYPE: u16 = 193;
    const NAME: &'static str = "Packet Rate Status";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let remaining = |fields: &mut Reader<'a>| {
            let packets = fields.u16()?;
            Ok(Remaining { packets, additional: fields.when(flags & 4 != 0, Reader::u16)? })
        };
        let uplink = fields.when(flags & 1 != 0, remaining)?;
        let downlink = fields.when(flags & 2 != 0, remaining)?;
        let valid_until = fields.when(flags & 3 != 0, Reader::u64)?.unwrap_or_default();
        Ok(Self { uplink, downlink, valid_until })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let directions = [self.uplink, self.downlink];
        let more = directions.iter().flatten().any(|left| left.additional.is_some());
        let ul = u8::from(self.uplink.is_some());
        let dl = u8::from(self.downlink.is_some()) << 1;
        out.put_u8(ul | dl | u8::from(more) << 2);
        for left in directions.into_iter().flatten() {
            out.put_u16(left.packets);
            if more {
                out.put_u16(left.additional.unwrap_or_default());
            }
        }
        if ul | dl != 0 {
            out.put_u64(self.valid_until);
        }
    }
}
