//! Outer headers created and removed.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::DualIp;

use super::ethernet::VlanTag;
use super::leaf::{bits, code};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

bitflags::bitflags! {
    /// Outer headers to create (Table 8.2.56-1), octet 5 in the low byte.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct OuterHeaders: u16 {
        /// GTP-U/UDP/IPv4.
        const GTPU_IPV4 = 1;
        /// GTP-U/UDP/IPv6.
        const GTPU_IPV6 = 1 << 1;
        /// UDP/IPv4.
        const UDP_IPV4 = 1 << 2;
        /// UDP/IPv6.
        const UDP_IPV6 = 1 << 3;
        /// IPv4.
        const IPV4 = 1 << 4;
        /// IPv6.
        const IPV6 = 1 << 5;
        /// Customer VLAN tag.
        const C_TAG = 1 << 6;
        /// Service VLAN tag.
        const S_TAG = 1 << 7;
        /// Internal mark: from N19.
        const N19 = 1 << 8;
        /// Internal mark: from N6.
        const N6 = 1 << 9;
        /// Low layer source specific multicast and common TEID.
        const LOW_LAYER_SSM = 1 << 10;

        /// Headers with a TEID.
        const WITH_TEID = Self::GTPU_IPV4.bits() | Self::GTPU_IPV6.bits();
        /// Headers with an IPv4 address.
        const WITH_IPV4 = Self::GTPU_IPV4.bits() | Self::UDP_IPV4.bits() | Self::IPV4.bits();
        /// Headers with an IPv6 address.
        const WITH_IPV6 = Self::GTPU_IPV6.bits() | Self::UDP_IPV6.bits() | Self::IPV6.bits();
        /// Headers with a port.
        const WITH_PORT = Self::UDP_IPV4.bits() | Self::UDP_IPV6.bits();
    }
}

/// Outer Header Creation (clause 8.2.56). The description determines the present fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OuterHeaderCreation {
    /// The headers.
    pub description: OuterHeaders,
    /// With GTP-U: the TEID.
    pub teid: Option<u32>,
    /// With IPv4: the destination.
    pub ipv4: Option<Ipv4Addr>,
    /// With IPv6: the destination.
    pub ipv6: Option<Ipv6Addr>,
    /// With UDP and no GTP-U: the destination port.
    pub port: Option<u16>,
    /// With a customer VLAN tag.
    pub c_tag: Option<VlanTag>,
    /// With a service VLAN tag.
    pub s_tag: Option<VlanTag>,
}

impl OuterHeaderCreation {
    /// GTP-U to this endpoint.
    pub fn gtpu(teid: u32, addr: DualIp) -> Self {
        let mut description = OuterHeaders::empty();
        description.set(OuterHeaders::GTPU_IPV4, addr.v4.is_some());
        description.set(OuterHeaders::GTPU_IPV6, addr.v6.is_some());
        Self { description, teid: Some(teid), ipv4: addr.v4, ipv6: addr.v6, ..Self::default() }
    }

    /// The addresses.
    pub const fn addr(&self) -> DualIp {
        DualIp { v4: self.ipv4, v6: self.ipv6 }
    }
}

impl<'a> Ie<'a> for OuterHeaderCreation {
    const TYPE: u16 = 84;
    const NAME: &'static str = "Outer Header Creation";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let description = OuterHeaders::from_bits_truncate(bits(fields.take(2)?)? as u16);
        let with = |headers| description.intersects(headers);
        Ok(Self {
            description,
            teid: fields.when(with(OuterHeaders::WITH_TEID), Reader::u32)?,
            ipv4: fields.when(with(OuterHeaders::WITH_IPV4), Reader::ipv4)?,
            ipv6: fields.when(with(OuterHeaders::WITH_IPV6), Reader::ipv6)?,
            port: fields.when(with(OuterHeaders::WITH_PORT), Reader::u16)?,
            c_tag: fields.when(with(OuterHeaders::C_TAG), VlanTag::read)?,
            s_tag: fields.when(with(OuterHeaders::S_TAG), VlanTag::read)?,
        })
    }

    /// A field that the description requires and that is absent is sent as zero.
    fn encode(&self, out: &mut Vec<u8>) {
        let with = |headers| self.description.intersects(headers);
        out.put(&self.description.bits().to_le_bytes());
        if with(OuterHeaders::WITH_TEID) {
            out.put_u32(self.teid.unwrap_or_default());
        }
        if with(OuterHeaders::WITH_IPV4) {
            out.put(&self.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        }
        if with(OuterHeaders::WITH_IPV6) {
            out.put(&self.ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
        }
        if with(OuterHeaders::WITH_PORT) {
            out.put_u16(self.port.unwrap_or_default());
        }
        for (headers, tag) in [(OuterHeaders::C_TAG, self.c_tag), (OuterHeaders::S_TAG, self.s_tag)] {
            if with(headers) {
                tag.unwrap_or_default().put(out);
            }
        }
    }
}

code! {
    /// The outer header to remove (Table 8.2.64-1).
    RemovedHeader {
        /// GTP-U/UDP/IPv4.
        GtpuIpv4 = 0;
        /// GTP-U/UDP/IPv6.
        GtpuIpv6 = 1;
        /// UDP/IPv4.
        UdpIpv4 = 2;
        /// UDP/IPv6.
        UdpIpv6 = 3;
        /// IPv4.
        Ipv4 = 4;
        /// IPv6.
        Ipv6 = 5;
        /// GTP-U/UDP over either IP version.
        GtpuIp = 6;
        /// One VLAN tag.
        VlanTag = 7;
        /// Two VLAN tags.
        VlanTags = 8;
    }
}

/// Outer Header Removal (clause 8.2.64), 1 octet or 2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OuterHeaderRemoval {
    /// The header to remove.
    pub header: RemovedHeader,
    /// The second octet: GTP-U extension headers to delete. Bit 1: the PDU Session Container.
    pub extensions: Option<u8>,
}

impl OuterHeaderRemoval {
    /// Bit of [`Self::extensions`] for the PDU Session Container.
    pub const PDU_SESSION_CONTAINER: u8 = 1;

    /// Removal of this header, with its extension headers kept.
    pub const fn new(header: RemovedHeader) -> Self {
        Self { header, extensions: None }
    }
}

impl<'a> Ie<'a> for OuterHeaderRemoval {
    const TYPE: u16 = 95;
    const NAME: &'static str = "Outer Header Removal";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let header = RemovedHeader::from_code(fields.u8()?);
        Ok(Self { header, extensions: fields.when(fields.remaining() > 0, Reader::u8)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.header.code());
        self.extensions.into_iter().for_each(|bits| out.put_u8(bits));
    }
}
