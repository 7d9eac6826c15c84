//! Ethernet PDU sessions.

use std::borrow::Cow;

use causeway_types::MacAddr;

use super::leaf::{flags_ies, integer_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Identifies an Ethernet packet filter (clause 8.2.98).
    EthernetFilterId(u32) = 138, "Ethernet Filter ID";
    /// Protocol in the frame, with the numbers of IEEE 802.3 (clause 8.2.96).
    Ethertype(u16) = 136, "Ethertype";
}

flags_ies! {
    /// Properties of an Ethernet packet filter (clause 8.2.99).
    EthernetFilterProperties(u8; 1) = 139, "Ethernet Filter Properties" {
        /// Bidirectional.
        BIDE = 0;
    }

    /// All downlink traffic of the Ethernet PDU session (clause 8.2.102).
    EthernetPduSessionInformation(u8; 1) = 142, "Ethernet PDU Session Information" {
        /// Ethernet indication.
        ETHI = 0;
    }

    /// Requests that the UPF answers as a proxy of the UE (clause 8.2.97).
    Proxying(u8; 1) = 137, "Proxying" {
        /// ARP.
        ARP = 0;
        /// IPv6 Neighbour Solicitation.
        INS = 1;
    }
}

pub(super) fn mac(fields: &mut Reader<'_>) -> Result<MacAddr, IeError> {
    fields.array().map(MacAddr)
}

/// MAC address (clause 8.2.93): source, destination, or ranges of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MacAddress {
    /// Source, or the first of a range.
    pub source: Option<MacAddr>,
    /// Destination, or the first of a range.
    pub destination: Option<MacAddr>,
    /// Last source of a range.
    pub upper_source: Option<MacAddr>,
    /// Last destination of a range.
    pub upper_destination: Option<MacAddr>,
}

impl<'a> Ie<'a> for MacAddress {
    const TYPE: u16 = 133;
    const NAME: &'static str = "MAC address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self {
            source: fields.when(flags & 1 != 0, mac)?,
            destination: fields.when(flags & 2 != 0, mac)?,
            upper_source: fields.when(flags & 4 != 0, mac)?,
            upper_destination: fields.when(flags & 8 != 0, mac)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let macs = [self.source, self.destination, self.upper_source, self.upper_destination];
        out.put_u8(macs.iter().rev().fold(0, |bits, mac| bits << 1 | u8::from(mac.is_some())));
        macs.iter().flatten().for_each(|mac| out.put(&mac.0));
    }
}

/// A VLAN tag (clauses 8.2.94 and 8.2.95): an absent part is neither matched nor set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VlanTag {
    /// Priority code point, 0 to 7.
    pub pcp: Option<u8>,
    /// Drop eligible indicator.
    pub dei: Option<bool>,
    /// VLAN identifier, 0 to 4095.
    pub vid: Option<u16>,
}

impl VlanTag {
    pub(crate) fn read(fields: &mut Reader<'_>) -> Result<Self, IeError> {
        let [flags, high, low] = fields.array()?;
        Ok(Self {
            pcp: (flags & 1 != 0).then_some(high & 7),
            dei: (flags & 2 != 0).then_some(high & 8 != 0),
            vid: (flags & 4 != 0).then_some(u16::from(high >> 4) << 8 | u16::from(low)),
        })
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let present = [self.pcp.is_some(), self.dei.is_some(), self.vid.is_some()];
        let flags = present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        let [high, low] = self.vid.unwrap_or_default().to_be_bytes();
        let dei = u8::from(self.dei.unwrap_or_default()) << 3;
        out.put(&[flags, high << 4 | dei | self.pcp.unwrap_or_default() & 7, low]);
    }
}

macro_rules! vlan_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub VlanTag);

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                VlanTag::read(&mut Reader::new(value)).map(Self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
        }
    )*};
}

vlan_ies! {
    /// Customer VLAN tag (clause 8.2.94).
    CTag = 134, "C-TAG";
    /// Service VLAN tag (clause 8.2.95).
    STag = 135, "S-TAG";
}

/// MAC addresses of UEs behind one pair of VLAN tags (clauses 8.2.103 and 8.2.104).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MacList<'a> {
    /// The addresses, at most 255; borrowed from the decoded octets.
    pub macs: Cow<'a, [[u8; 6]]>,
    /// Customer VLAN tag of the frames.
    pub c_tag: Option<VlanTag>,
    /// Service VLAN tag of the frames.
    pub s_tag: Option<VlanTag>,
}

impl<'a> MacList<'a> {
    fn read(mut fields: Reader<'a>) -> Result<Self, IeError> {
        let count = fields.u8()?;
        let macs = Cow::Borrowed(fields.arrays(count.into())?);
        Ok(Self { macs, c_tag: read_tag(&mut fields)?, s_tag: read_tag(&mut fields)? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        let macs = self.macs.get(..usize::from(u8::MAX)).unwrap_or(&self.macs);
        out.put_u8(macs.len() as u8);
        out.put(macs.as_flattened());
        for tag in [self.c_tag, self.s_tag] {
            match tag {
                None => out.put_u8(0),
                Some(tag) => {
                    out.put_u8(3);
                    tag.put(out);
                }
            }
        }
    }
}

/// A tag after its length. Early releases, which have no tags, end before it.
fn read_tag(fields: &mut Reader<'_>) -> Result<Option<VlanTag>, IeError> {
    let octets = fields.when(fields.remaining() > 0, Reader::counted8)?.unwrap_or_default();
    if octets.is_empty() { Ok(None) } else { VlanTag::read(&mut Reader::new(octets)).map(Some) }
}

macro_rules! mac_list_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name<'a>(pub MacList<'a>);

        impl<'a> Ie<'a> for $name<'a> {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                MacList::read(Reader::new(value)).map(Self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
        }
    )*};
}

mac_list_ies! {
    /// Addresses seen for the first time (clause 8.2.103).
    MacAddressesDetected = 144, "MAC Addresses Detected";
    /// Addresses no longer seen (clause 8.2.104).
    MacAddressesRemoved = 145, "MAC Addresses Removed";
}
