//! UDP headers (RFC 768; over IPv6 RFC 8200 clause 8.1): view and builder.

use std::net::IpAddr;

use crate::checksum::Checksum;
use crate::reader::Reader;
use crate::{BuildError, IpProtocol, Layer, ParseError};

/// Octets of the header.
const HEADER: usize = 8;

/// The state of the checksum of a received datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UdpChecksum {
    /// Valid.
    Valid,
    /// Invalid.
    Invalid,
    /// Zero over IPv4: the sender computed none.
    Absent,
    /// Zero over IPv6: only a tunnel configured for it may accept that (RFC 6935).
    AbsentOverIpv6,
}

/// A UDP datagram with a validated length. Octets after it are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp<'a> {
    header: &'a [u8; HEADER],
    payload: &'a [u8],
}

impl<'a> Udp<'a> {
    /// Checks the length field. Length zero (a jumbogram, RFC 2675) is refused.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Udp`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Udp, bytes);
        let header = reader.array::<HEADER>()?;
        let found = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let payload_len = found.checked_sub(HEADER).ok_or(ParseError::LengthTooSmall {
            layer: Layer::Udp,
            found,
            minimum: HEADER,
        })?;
        Ok(Self { header, payload: reader.take(payload_len)? })
    }

    /// Source port.
    pub const fn src_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    /// Destination port.
    pub const fn dst_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// The octets after the header.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Verifies the checksum over header, payload and the pseudo header of the two addresses, which are of one
    /// family.
    pub fn checksum(&self, src: IpAddr, dst: IpAddr) -> UdpChecksum {
        if self.header[6] == 0 && self.header[7] == 0 {
            return if src.is_ipv4() { UdpChecksum::Absent } else { UdpChecksum::AbsentOverIpv6 };
        }
        let sum = Checksum::new().pseudo(src, dst, IpProtocol::UDP, HEADER + self.payload.len());
        match sum.map(|sum| sum.with(self.header).with(self.payload).finish()) {
            Some(0) => UdpChecksum::Valid,
            _ => UdpChecksum::Invalid,
        }
    }

    /// The header's fields.
    pub const fn repr(&self) -> UdpRepr {
        UdpRepr { src_port: self.src_port(), dst_port: self.dst_port() }
    }
}

/// The fields of a UDP header. Length and checksum are computed while writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpRepr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

impl UdpRepr {
    /// The header without a checksum, for GTP-U over IPv4 and for tunnels of RFC 6935.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] above 65,527 octets of payload.
    pub fn header_without_checksum(&self, payload_len: usize) -> Result<[u8; HEADER], BuildError> {
        let length = payload_len.saturating_add(HEADER);
        let length = u16::try_from(length).map_err(|_| BuildError::TooLong {
            layer: Layer::Udp,
            length,
            limit: usize::from(u16::MAX),
        })?;
        let [s0, s1] = self.src_port.to_be_bytes();
        let [d0, d1] = self.dst_port.to_be_bytes();
        let [l0, l1] = length.to_be_bytes();
        Ok([s0, s1, d0, d1, l0, l1, 0, 0])
    }

    /// The header with the checksum over a payload in parts, in order.
    ///
    /// # Errors
    /// [`BuildError::TooLong`], or [`BuildError::MixedFamilies`].
    pub fn header(&self, src: IpAddr, dst: IpAddr, payload: &[&[u8]]) -> Result<[u8; HEADER], BuildError> {
        let payload_len = payload.iter().map(|part| part.len()).sum();
        let mut header = self.header_without_checksum(payload_len)?;
        let sum = Checksum::new()
            .pseudo(src, dst, IpProtocol::UDP, HEADER + payload_len)
            .ok_or(BuildError::MixedFamilies)?
            .with(&header);
        let sum = payload.iter().fold(sum, |sum, part| sum.with(part)).finish_udp();
        (header[6], header[7]) = ((sum >> 8) as u8, sum as u8);
        Ok(header)
    }

    /// Appends the header, with its checksum, and the payload.
    ///
    /// # Errors
    /// Those of [`UdpRepr::header`]; nothing is appended then.
    pub fn write(
        &self,
        src: IpAddr,
        dst: IpAddr,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), BuildError> {
        out.extend_from_slice(&self.header(src, dst, &[payload])?);
        out.extend_from_slice(payload);
        Ok(())
    }
}
