//! QoS enforcement: gates, rates and markings.

use causeway_types::{Bitrate, Qfi};

use super::leaf::{code, code_ies, flags_ies};
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

/// Gate Status (clause 8.2.7). Values for future use are read as closed.
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
            /// Towards the UE.
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

/// Five octets hold exactly the range of a bit rate.
fn rate(fields: &mut Reader<'_>) -> Result<Bitrate, IeError> {
    Bitrate::from_kbps(fields.u40()?).ok_or_else(IeError::incorrect)
}

code! {
    /// Time unit of a packet rate (Table 8.2.63.1). Spare units are read as minutes.
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
    /// Packets allowed in it.
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
    /// Towards the UE.
    pub downlink: Option<Rate>,
    /// From the UE, for packets beyond.
    pub additional_uplink: Option<Rate>,
    /// Towards the UE, for packets beyond.
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

    /// An additional rate without its rate is not sent; one missing beside the other is sent as zero.
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

/// What is left of the packets of one direction.
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
    /// Towards the UE.
    pub downlink: Option<Remaining>,
    /// Until when the numbers hold: 64-bit NTP time, with a fraction in the low half.
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

/// A traffic class with the bits of it that count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficClass {
    /// Type of Service (IPv4) or Traffic Class (IPv6).
    pub value: u8,
    /// Bits that count; 0xfc for a DSCP.
    pub mask: u8,
}

impl TrafficClass {
    /// A DSCP, 0 to 63.
    pub const fn dscp(dscp: u8) -> Self {
        Self { value: dscp << 2, mask: 0xfc }
    }

    pub(crate) fn read(fields: &mut Reader<'_>) -> Result<Self, IeError> {
        let [value, mask] = fields.array()?;
        Ok(Self { value, mask })
    }

    pub(crate) const fn octets(self) -> [u8; 2] {
        [self.value, self.mask]
    }
}

/// Transport Level Marking (clause 8.2.12): the DSCP of outer headers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TransportLevelMarking(pub TrafficClass);

impl<'a> Ie<'a> for TransportLevelMarking {
    const TYPE: u16 = 30;
    const NAME: &'static str = "Transport Level Marking";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        TrafficClass::read(&mut Reader::new(value)).map(Self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put(&self.0.octets());
    }
}

/// DL Flow Level Marking (clause 8.2.66).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DlFlowLevelMarking {
    /// Of the packet.
    pub traffic_class: Option<TrafficClass>,
    /// Of the GTP-U extension header, as TS 29.281 clause 5.2.2.3 codes it.
    pub service_class_indicator: Option<u16>,
}

impl<'a> Ie<'a> for DlFlowLevelMarking {
    const TYPE: u16 = 97;
    const NAME: &'static str = "DL Flow Level Marking";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let traffic_class = fields.when(flags & 1 != 0, TrafficClass::read)?;
        let service_class_indicator = fields.when(flags & 2 != 0, Reader::u16)?;
        Ok(Self { traffic_class, service_class_indicator })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (class, indicator) = (self.traffic_class, self.service_class_indicator);
        out.put_u8(u8::from(class.is_some()) | u8::from(indicator.is_some()) << 1);
        class.into_iter().for_each(|class| out.put(&class.octets()));
        indicator.into_iter().for_each(|indicator| out.put_u16(indicator));
    }
}

/// Paging Policy Indicator (clause 8.2.116), 0 to 7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PagingPolicyIndicator(pub u8);

impl<'a> Ie<'a> for PagingPolicyIndicator {
    const TYPE: u16 = 158;
    const NAME: &'static str = "Paging Policy Indicator";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Reader::new(value).u8()? & 7))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.0 & 7);
    }
}

/// DSCP to PPI Mapping Information (clause 8.2.214).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DscpToPpiMapping<'a> {
    /// Paging Policy Indicator, 0 to 7.
    pub ppi: u8,
    /// The DSCPs it stands for, one an octet, at most 63.
    pub dscps: &'a [u8],
}

impl<'a> Ie<'a> for DscpToPpiMapping<'a> {
    const TYPE: u16 = 317;
    const NAME: &'static str = "DSCP to PPI Mapping Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let ppi = fields.u8()? & 7;
        match fields.rest() {
            [] => Err(IeError::length()),
            dscps => Ok(Self { ppi, dscps }),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.ppi & 7);
        out.put(self.dscps);
    }
}

code_ies! {
    /// How the traffic of one multi-access session is steered (clause 8.2.124).
    SteeringFunctionality & 0x0f = 171, "Steering Functionality" {
        /// ATSSS-LL.
        AtsssLl = 0;
        /// MPTCP.
        Mptcp = 1;
    }

    /// By which rule it is steered (clause 8.2.125).
    SteeringMode & 0x0f = 172, "Steering Mode" {
        /// Active-Standby.
        ActiveStandby = 0;
        /// Smallest delay.
        SmallestDelay = 1;
        /// Load balancing.
        LoadBalancing = 2;
        /// By priority.
        PriorityBased = 3;
    }

    /// Rank of an access (clause 8.2.127).
    Priority & 0x0f = 174, "Priority" {
        /// Active.
        Active = 0;
        /// Standby.
        Standby = 1;
        /// No standby.
        NoStandby = 2;
        /// High.
        High = 3;
        /// Low.
        Low = 4;
    }
}
