//! IP of either version.

use std::net::IpAddr;

use crate::{BuildError, IpProtocol, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr, Layer, ParseError, UdpRepr};

/// An IP packet of either version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ip<'a> {
    /// IPv4.
    V4(Ipv4<'a>),
    /// IPv6.
    V6(Ipv6<'a>),
}

impl<'a> Ip<'a> {
    /// Parses a packet of the version in the first four bits.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Ip`] for another version or no octet at all, or of the version's own layer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let first = bytes.first().ok_or(ParseError::Truncated { layer: Layer::Ip, need: 1, have: 0 })?;
        match first >> 4 {
            4 => Ipv4::parse(bytes).map(Self::V4),
            6 => Ipv6::parse(bytes).map(Self::V6),
            found => Err(ParseError::Version { layer: Layer::Ip, found }),
        }
    }

    /// Source address.
    pub fn src(&self) -> IpAddr {
        match self {
            Self::V4(ip) => ip.src().into(),
            Self::V6(ip) => ip.src().into(),
        }
    }

    /// Destination address.
    pub fn dst(&self) -> IpAddr {
        match self {
            Self::V4(ip) => ip.dst().into(),
            Self::V6(ip) => ip.dst().into(),
        }
    }

    /// Type of service or traffic class.
    pub const fn tos(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.tos(),
            Self::V6(ip) => ip.traffic_class(),
        }
    }

    /// Time to live or hop limit.
    pub const fn hop_limit(&self) -> u8 {
        match self {
            Self::V4(ip) => ip.ttl(),
            Self::V6(ip) => ip.hop_limit(),
        }
    }

    /// Length of the packet in octets; the parsed slice may have been longer.
    pub const fn total_len(&self) -> usize {
        match self {
            Self::V4(ip) => ip.total_len(),
            Self::V6(ip) => ip.total_len(),
        }
    }
}

/// The fields of an IP header of either version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpRepr {
    /// IPv4, without options.
    V4(Ipv4Repr),
    /// IPv6, without extension headers.
    V6(Ipv6Repr),
}

impl IpRepr {
    /// A packet with hop limit 64.
    ///
    /// # Errors
    /// [`BuildError::MixedFamilies`].
    pub const fn new(src: IpAddr, dst: IpAddr, protocol: IpProtocol) -> Result<Self, BuildError> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Ok(Self::V4(Ipv4Repr::new(src, dst, protocol))),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Ok(Self::V6(Ipv6Repr::new(src, dst, protocol))),
            _ => Err(BuildError::MixedFamilies),
        }
    }

    /// With this type of service or traffic class.
    #[must_use]
    pub const fn with_tos(mut self, tos: u8) -> Self {
        match &mut self {
            Self::V4(ip) => ip.tos = tos,
            Self::V6(ip) => ip.traffic_class = tos,
        }
        self
    }

    /// With this time to live or hop limit.
    #[must_use]
    pub const fn with_hop_limit(mut self, hop_limit: u8) -> Self {
        match &mut self {
            Self::V4(ip) => ip.ttl = hop_limit,
            Self::V6(ip) => ip.hop_limit = hop_limit,
        }
        self
    }

    /// Source address.
    pub const fn src(&self) -> IpAddr {
        match self {
            Self::V4(ip) => IpAddr::V4(ip.src),
            Self::V6(ip) => IpAddr::V6(ip.src),
        }
    }

    /// Destination address.
    pub const fn dst(&self) -> IpAddr {
        match self {
            Self::V4(ip) => IpAddr::V4(ip.dst),
            Self::V6(ip) => IpAddr::V6(ip.dst),
        }
    }

    /// Appends the header for a payload of this many octets, which the caller appends.
    ///
    /// # Errors
    /// [`BuildError::TooLong`]; nothing is appended then.
    pub fn write_header(&self, payload_len: usize, out: &mut Vec<u8>) -> Result<(), BuildError> {
        match self {
            Self::V4(ip) => out.extend_from_slice(&ip.header(payload_len)?),
            Self::V6(ip) => out.extend_from_slice(&ip.header(payload_len)?),
        }
        Ok(())
    }

    /// Appends the header and the payload.
    ///
    /// # Errors
    /// Those of [`IpRepr::write_header`].
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        self.write_header(payload.len(), out)?;
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Appends a whole UDP datagram with a payload in parts, for example a GTP-U prefix and a packet. `summed`:
    /// with a UDP checksum, mandatory for IPv6 (RFC 8200) and optional for IPv4.
    ///
    /// # Errors
    /// [`BuildError::TooLong`]; nothing is appended then.
    pub fn write_udp(
        &self,
        udp: UdpRepr,
        summed: bool,
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<(), BuildError> {
        let payload_len: usize = parts.iter().map(|part| part.len()).sum();
        let header = if summed {
            udp.header(self.src(), self.dst(), parts)?
        } else {
            udp.header_without_checksum(payload_len)?
        };
        self.write_header(header.len() + payload_len, out)?;
        out.extend_from_slice(&header);
        parts.iter().for_each(|part| out.extend_from_slice(part));
        Ok(())
    }
}
