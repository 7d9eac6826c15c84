//! Filters of packets.

use super::leaf::code;
use super::marking::TrafficClass;
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

/// SDF Filter (clause 8.2.5): one IP flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SdfFilter<'a> {
    /// FD: an IPFilterRule (TS 29.212 clause 5.4.2).
    pub flow_description: Option<Octets<'a>>,
    /// TTC: Type of Service or Traffic Class, with mask.
    pub traffic_class: Option<TrafficClass>,
    /// SPI: IPsec security parameter index.
    pub security_parameter_index: Option<u32>,
    /// FL: IPv6 flow label, 20 bits.
    pub flow_label: Option<u32>,
    /// BID: the filter is bidirectional, with this id in the session.
    pub filter_id: Option<u32>,
}

impl<'a> Ie<'a> for SdfFilter<'a> {
    const TYPE: u16 = 23;
    const NAME: &'static str = "SDF Filter";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let [flags, _spare] = fields.array()?;
        let flow_description = fields.when(flags & 1 != 0, Reader::counted16)?;
        Ok(Self {
            flow_description: flow_description.map(Octets),
            traffic_class: fields.when(flags & 2 != 0, TrafficClass::read)?,
            security_parameter_index: fields.when(flags & 4 != 0, Reader::u32)?,
            flow_label: fields.when(flags & 8 != 0, Reader::u24)?.map(|label| label & 0x0f_ffff),
            filter_id: fields.when(flags & 16 != 0, Reader::u32)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let present = [
            self.flow_description.is_some(),
            self.traffic_class.is_some(),
            self.security_parameter_index.is_some(),
            self.flow_label.is_some(),
            self.filter_id.is_some(),
        ];
        out.put_u8(present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        out.put_u8(0);
        self.flow_description.iter().for_each(|text| out.put_counted16(text));
        self.traffic_class.iter().for_each(|class| out.put(&class.octets()));
        self.security_parameter_index.iter().for_each(|index| out.put_u32(*index));
        self.flow_label.iter().for_each(|label| out.put_u24(label & 0x0f_ffff));
        self.filter_id.iter().for_each(|id| out.put_u32(*id));
    }
}

code! {
    /// Direction of a detected flow (Table 8.2.61-1).
    FlowDirection {
        /// Unspecified.
        Unspecified = 0;
        /// To the UE.
        Downlink = 1;
        /// From the UE.
        Uplink = 2;
        /// Both.
        Bidirectional = 3;
    }
}

/// Flow Information (clause 8.2.61): a flow of a detected application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlowInformation<'a> {
    /// Its direction.
    pub direction: FlowDirection,
    /// An IPFilterRule (TS 29.212 clause 5.4.2).
    pub description: Octets<'a>,
}

impl<'a> Ie<'a> for FlowInformation<'a> {
    const TYPE: u16 = 92;
    const NAME: &'static str = "Flow Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let direction = FlowDirection::from_code(fields.u8()? & 7);
        Ok(Self { direction, description: Octets(fields.counted16()?) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.direction.code() & 7);
        out.put_counted16(&self.description);
    }
}

/// DNS Query Filter (clause 8.2.201): a domain name pattern, a JSON object of TS 29.571.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DnsQueryFilter<'a>(pub Octets<'a>);

impl<'a> Ie<'a> for DnsQueryFilter<'a> {
    const TYPE: u16 = 294;
    const NAME: &'static str = "DNS Query Filter";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Octets(Reader::new(value).counted16()?)))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_counted16(&self.0);
    }
}

/// PFD Contents (clause 8.2.39): how an application is detected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PfdContents<'a> {
    /// An IPFilterRule.
    pub flow_description: Option<Octets<'a>>,
    /// A URL.
    pub url: Option<Octets<'a>>,
    /// A domain name.
    pub domain_name: Option<Octets<'a>>,
    /// Operator-defined content.
    pub custom: Option<Octets<'a>>,
    /// The protocol that carries the domain name.
    pub domain_name_protocol: Option<Octets<'a>>,
    /// More of [`Self::flow_description`].
    pub additional_flow_descriptions: Option<CountedList<'a>>,
    /// More of [`Self::url`].
    pub additional_urls: Option<CountedList<'a>>,
    /// More of [`Self::domain_name`], each followed by its protocol.
    pub additional_domain_names: Option<CountedList<'a>>,
}

/// Strings of octets, each with two octets of length in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CountedList<'a>(pub &'a [u8]);

impl<'a> CountedList<'a> {
    /// The strings; ends before a truncated one.
    pub fn iter(self) -> impl Iterator<Item = Octets<'a>> {
        let mut fields = Reader::new(self.0);
        std::iter::from_fn(move || fields.counted16().ok().map(Octets))
    }
}

impl<'a> Ie<'a> for PfdContents<'a> {
    const TYPE: u16 = 61;
    const NAME: &'static str = "PFD contents";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let [flags, _spare] = fields.array()?;
        let mut field = |bit: u8| fields.when(flags & 1 << bit != 0, Reader::counted16);
        Ok(Self {
            flow_description: field(0)?.map(Octets),
            url: field(1)?.map(Octets),
            domain_name: field(2)?.map(Octets),
            custom: field(3)?.map(Octets),
            domain_name_protocol: field(4)?.map(Octets),
            additional_flow_descriptions: field(5)?.map(CountedList),
            additional_urls: field(6)?.map(CountedList),
            additional_domain_names: field(7)?.map(CountedList),
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let lists = [self.additional_flow_descriptions, self.additional_urls, self.additional_domain_names];
        let [flows, urls, names] = lists.map(|list| list.map(|list| Octets(list.0)));
        let fields = [
            self.flow_description,
            self.url,
            self.domain_name,
            self.custom,
            self.domain_name_protocol,
            flows,
            urls,
            names,
        ];
        out.put_u8(fields.iter().rev().fold(0, |bits, field| bits << 1 | u8::from(field.is_some())));
        out.put_u8(0);
        fields.iter().flatten().for_each(|field| out.put_counted16(field));
    }
}
