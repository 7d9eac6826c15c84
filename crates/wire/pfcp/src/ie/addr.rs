//! Addresses of the UE, of peers and of groups.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_types::DualIp;

use super::leaf::octets_ies;
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

octets_ies! {
    /// A route behind the UE, in the text form of RADIUS (clause 8.2.109, RFC 2865).
    FramedRoute = 153, "Framed-Route";
    /// An IPv6 route behind the UE, in the text form of RADIUS (clause 8.2.111, RFC 3162).
    FramedIpv6Route = 155, "Framed-IPv6-Route";
}

super::leaf::integer_ies! {
    /// Routing method of the UE, with the values of RADIUS (clause 8.2.110, RFC 2865).
    FramedRouting(u32) = 154, "Framed-Routing";
}

/// Reads the addresses of IEs in which bit 1 stands for IPv4 and bit 2 for IPv6.
pub(crate) fn read_v4_first(fields: &mut Reader<'_>, flags: u8) -> Result<DualIp, IeError> {
    let v4 = fields.when(flags & 1 != 0, Reader::ipv4)?;
    let v6 = fields.when(flags & 2 != 0, Reader::ipv6)?;
    Ok(DualIp { v4, v6 })
}

/// Reads the addresses of IEs in which bit 1 stands for IPv6 and bit 2 for IPv4. The IPv4 address is always first.
pub(crate) fn read_v6_first(fields: &mut Reader<'_>, flags: u8) -> Result<DualIp, IeError> {
    read_v4_first(fields, (flags & 1) << 1 | (flags & 2) >> 1)
}

/// [`read_v6_first`] with at least one address required.
pub(crate) fn read_some(fields: &mut Reader<'_>, flags: u8) -> Result<DualIp, IeError> {
    let addr = read_v6_first(fields, flags)?;
    if addr.is_empty() { Err(IeError::incorrect()) } else { Ok(addr) }
}

/// The bits of [`read_v4_first`].
pub(crate) fn flags_v4_first(addr: DualIp) -> u8 {
    u8::from(addr.v4.is_some()) | u8::from(addr.v6.is_some()) << 1
}

/// The bits of [`read_v6_first`].
pub(crate) fn flags_v6_first(addr: DualIp) -> u8 {
    u8::from(addr.v6.is_some()) | u8::from(addr.v4.is_some()) << 1
}

/// Writes the present addresses, IPv4 first.
pub(crate) fn write(addr: DualIp, out: &mut Vec<u8>) {
    addr.iter().for_each(|ip| write_ip(ip, out));
}

/// Writes 4 or 16 octets.
pub(crate) fn write_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => out.put(&ip.octets()),
        IpAddr::V6(ip) => out.put(&ip.octets()),
    }
}

macro_rules! dual_ip_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub DualIp);

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                let mut fields = Reader::new(value);
                let flags = fields.u8()?;
                read_some(&mut fields, flags).map(Self)
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.put_u8(flags_v6_first(self.0));
                write(self.0, out);
            }
        }
    )*};
}

dual_ip_ies! {
    /// Address of a PFCP entity in the CP function (clause 8.2.135).
    CpEntityIpAddress = 185, "CP PFCP Entity IP Address";
    /// Address of a CP function, for restoration (clause 8.2.199).
    CpIpAddress = 292, "CP IP Address";
}

/// UE IP Address (clause 8.2.62).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UeIpAddress {
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address; only its prefix is significant.
    pub ipv6: Option<Ipv6Addr>,
    /// S/D: matched against the destination address of packets, not against the source.
    pub destination: bool,
    /// CHV4: the UP function chooses an IPv4 address.
    pub choose_ipv4: bool,
    /// CHV6: the UP function chooses an IPv6 prefix.
    pub choose_ipv6: bool,
    /// IPv6D: bits delegated beyond /64; 4 stands for a /60. 0: the UP function decides.
    pub delegated_bits: Option<u8>,
    /// IP6PL: prefix length if it is not 64. 0: the UP function decides.
    pub prefix_len: Option<u8>,
}

impl<'a> Ie<'a> for UeIpAddress {
    const TYPE: u16 = 93;
    const NAME: &'static str = "UE IP Address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let addr = read_v6_first(&mut fields, flags)?;
        let (choose_ipv4, choose_ipv6) = (flags & 0x10 != 0, flags & 0x20 != 0);
        if choose_ipv4 && addr.v4.is_some() || choose_ipv6 && addr.v6.is_some() {
            return Err(IeError::incorrect());
        }
        Ok(Self {
            ipv4: addr.v4,
            ipv6: addr.v6,
            destination: flags & 0x04 != 0,
            choose_ipv4,
            choose_ipv6,
            delegated_bits: fields.when(flags & 0x08 != 0, Reader::u8)?,
            prefix_len: fields.when(flags & 0x40 != 0, Reader::u8)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let addr = DualIp { v4: self.ipv4, v6: self.ipv6 };
        let flags = [
            self.destination,
            self.delegated_bits.is_some(),
            self.choose_ipv4,
            self.choose_ipv6,
            self.prefix_len.is_some(),
        ];
        let flags = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(flag));
        out.put_u8(flags_v6_first(addr) | flags << 2);
        write(addr, out);
        [self.delegated_bits, self.prefix_len].into_iter().flatten().for_each(|bits| out.put_u8(bits));
    }
}

/// UE IP address Pool Identity (clause 8.2.128).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UeIpAddressPoolIdentity<'a>(pub Octets<'a>);

impl<'a> Ie<'a> for UeIpAddressPoolIdentity<'a> {
    const TYPE: u16 = 177;
    const NAME: &'static str = "UE IP address Pool Identity";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Octets(Reader::new(value).counted16()?)))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_counted16(&self.0);
    }
}

/// Source IP Address (clause 8.2.138), of a multicast flow or of a heartbeat from behind NAT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceIpAddress {
    /// The address.
    pub addr: DualIp,
    /// Length of the significant prefix.
    pub prefix_len: Option<u8>,
}

impl<'a> Ie<'a> for SourceIpAddress {
    const TYPE: u16 = 192;
    const NAME: &'static str = "Source IP Address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let addr = read_v6_first(&mut fields, flags)?;
        Ok(Self { addr, prefix_len: fields.when(flags & 4 != 0, Reader::u8)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(flags_v6_first(self.addr) | u8::from(self.prefix_len.is_some()) << 2);
        write(self.addr, out);
        self.prefix_len.into_iter().for_each(|len| out.put_u8(len));
    }
}

/// IP Multicast Address (clause 8.2.137).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IpMulticastAddress {
    /// Any group.
    Any,
    /// One group of an IP version, or one of each.
    Group(DualIp),
    /// All groups from the first to the last.
    Range {
        /// The first.
        start: DualIp,
        /// The last, of the same IP versions.
        end: DualIp,
    },
}

impl<'a> Ie<'a> for IpMulticastAddress {
    const TYPE: u16 = 191;
    const NAME: &'static str = "IP Multicast Address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        if flags & 8 != 0 {
            return Ok(Self::Any);
        }
        let start = read_v6_first(&mut fields, flags)?;
        if flags & 4 == 0 {
            return Ok(Self::Group(start));
        }
        Ok(Self::Range { start, end: read_v6_first(&mut fields, flags)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Any => out.put_u8(8),
            Self::Group(addr) => {
                out.put_u8(flags_v6_first(addr));
                write(addr, out);
            }
            Self::Range { start, end } => {
                out.put_u8(flags_v6_first(start) | 4);
                write(start, out);
                write(end, out);
            }
        }
    }
}
