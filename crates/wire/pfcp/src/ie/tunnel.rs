//! Tunnels: their ends, and outer headers created and removed.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::{DualIp, FSeid, Seid, Teid};

use super::addr;
use super::ethernet::VlanTag;
use super::leaf::{bits, code};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

/// F-TEID (clause 8.2.3): a tunnel end, or the request to choose one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FTeid {
    /// The end is known.
    Assigned {
        /// The TEID. Zero is possible on the wire and names no tunnel.
        teid: u32,
        /// Where the tunnel ends: IPv4 or IPv6 or both.
        addr: DualIp,
    },
    /// The UP function chooses.
    Choose {
        /// With an IPv4 address.
        v4: bool,
        /// With an IPv6 address.
        v6: bool,
        /// PDRs of one request with the same number get the same F-TEID.
        choose_id: Option<u8>,
    },
}

impl FTeid {
    /// The end as the rest of the house knows it; `None` if it is to be chosen or the TEID is zero.
    pub fn assigned(&self) -> Option<causeway_types::FTeid> {
        match *self {
            Self::Assigned { teid, addr } => Some(causeway_types::FTeid { teid: Teid::new(teid)?, addr }),
            Self::Choose { .. } => None,
        }
    }
}

impl From<causeway_types::FTeid> for FTeid {
    fn from(end: causeway_types::FTeid) -> Self {
        Self::Assigned { teid: end.teid.value(), addr: end.addr }
    }
}

impl<'a> Ie<'a> for FTeid {
    const TYPE: u16 = 21;
    const NAME: &'static str = "F-TEID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        if flags & 3 == 0 {
            return Err(IeError::incorrect());
        }
        if flags & 4 == 0 {
            let teid = fields.u32()?;
            return Ok(Self::Assigned { teid, addr: addr::read_v4_first(&mut fields, flags)? });
        }
        let choose_id = fields.when(flags & 8 != 0, Reader::u8)?;
        Ok(Self::Choose { v4: flags & 1 != 0, v6: flags & 2 != 0, choose_id })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Assigned { teid, addr } => {
                out.put_u8(addr::flags_v4_first(addr));
                out.put_u32(teid);
                addr::write(addr, out);
            }
            Self::Choose { v4, v6, choose_id } => {
                let with_id = u8::from(choose_id.is_some()) << 3;
                out.put_u8(u8::from(v4) | u8::from(v6) << 1 | 4 | with_id);
                choose_id.into_iter().for_each(|id| out.put_u8(id));
            }
        }
    }
}

impl<'a> Ie<'a> for FSeid {
    const TYPE: u16 = 57;
    const NAME: &'static str = "F-SEID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let seid = Seid(fields.u64()?);
        let addr = addr::read_v6_first(&mut fields, flags)?;
        if addr.is_empty() { Err(IeError::incorrect()) } else { Ok(Self { seid, addr }) }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(addr::flags_v6_first(self.addr));
        out.put_u64(self.seid.0);
        addr::write(self.addr, out);
    }
}

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

        /// Those with a TEID.
        const WITH_TEID = Self::GTPU_IPV4.bits() | Self::GTPU_IPV6.bits();
        /// Those with an IPv4 address.
        const WITH_IPV4 = Self::GTPU_IPV4.bits() | Self::UDP_IPV4.bits() | Self::IPV4.bits();
        /// Those with an IPv6 address.
        const WITH_IPV6 = Self::GTPU_IPV6.bits() | Self::UDP_IPV6.bits() | Self::IPV6.bits();
        /// Those with a port.
        const WITH_PORT = Self::UDP_IPV4.bits() | Self::UDP_IPV6.bits();
    }
}

/// Outer Header Creation (clause 8.2.56). The description says which fields are there.
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
    /// GTP-U towards this end.
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

    /// A field that the description asks for and that is not there is sent as zero.
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

    /// Of this header, keeping its extension headers.
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

/// Local Ingress Tunnel (clause 8.2.209): a UDP/IP tunnel for multicast, or the request to choose one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LocalIngressTunnel {
    /// The end is known.
    Assigned {
        /// UDP port.
        port: u16,
        /// Its address.
        addr: DualIp,
    },
    /// The UP function chooses.
    Choose {
        /// With an IPv4 address.
        v4: bool,
        /// With an IPv6 address.
        v6: bool,
    },
}

impl<'a> Ie<'a> for LocalIngressTunnel {
    const TYPE: u16 = 308;
    const NAME: &'static str = "Local Ingress Tunnel";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        if flags & 4 != 0 {
            return Ok(Self::Choose { v4: flags & 1 != 0, v6: flags & 2 != 0 });
        }
        let port = fields.u16()?;
        Ok(Self::Assigned { port, addr: addr::read_v4_first(&mut fields, flags)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Choose { v4, v6 } => out.put_u8(u8::from(v4) | u8::from(v6) << 1 | 4),
            Self::Assigned { port, addr } => {
                out.put_u8(addr::flags_v4_first(addr));
                out.put_u16(port);
                addr::write(addr, out);
            }
        }
    }
}
