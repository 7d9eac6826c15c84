//! Markings of packets: DSCP and indicators.

use crate::read::{Put, Reader};
use crate::{Ie, IeError};

/// A traffic class with its mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficClass {
    /// Type of Service (IPv4) or Traffic Class (IPv6).
    pub value: u8,
    /// Mask; 0xfc for a DSCP.
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
    /// The marking of the packet.
    pub traffic_class: Option<TrafficClass>,
    /// The Service Class Indicator of the GTP-U extension header, in the coding of TS 29.281 clause 5.2.2.3.
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
    /// Its DSCPs, one per octet, at most 63.
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
