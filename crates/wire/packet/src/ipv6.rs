//! IPv6 fixed headers (RFC 8200): view and builder.

use std::net::Ipv6Addr;

use crate::ipv6_chain::Ipv6Chain;
use crate::reader::Reader;
use crate::{BuildError, IpProtocol, Layer, ParseError};

/// Octets of the fixed header.
const HEADER: usize = 40;

/// An IPv6 flow label (RFC 6437), 20 bits, host byte order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// No flow.
    pub const ZERO: Self = Self(0);
    /// The largest legal value.
    pub const MAX: u32 = 0x000f_ffff;

    /// `None` above [`FlowLabel::MAX`].
    pub const fn new(raw: u32) -> Option<Self> {
        if raw <= Self::MAX { Some(Self(raw)) } else { None }
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// An IPv6 packet with a validated payload length. Octets after it (link padding) are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6<'a> {
    fixed: &'a [u8; HEADER],
    payload: &'a [u8],
}

impl<'a> Ipv6<'a> {
    /// Checks version and payload length; [`Ipv6::chain`] walks the extension headers.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Ipv6`], or [`ParseError::Jumbogram`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Ipv6, bytes);
        let fixed = reader.array::<HEADER>()?;
        if fixed[0] >> 4 != 6 {
            return Err(ParseError::Version { layer: Layer::Ipv6, found: fixed[0] >> 4 });
        }
        let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        // Only a jumbogram has options but no payload length.
        if payload_len == 0 && IpProtocol(fixed[6]) == IpProtocol::HOP_BY_HOP {
            return Err(ParseError::Jumbogram);
        }
        Ok(Self { fixed, payload: reader.take(payload_len)? })
    }

    /// Source address.
    pub fn src(&self) -> Ipv6Addr {
        address(self.fixed, 8)
    }

    /// Destination address.
    pub fn dst(&self) -> Ipv6Addr {
        address(self.fixed, 24)
    }

    /// Traffic class: DSCP in the upper six bits, ECN in the lower two.
    pub const fn traffic_class(&self) -> u8 {
        self.fixed[0] << 4 | self.fixed[1] >> 4
    }

    /// Flow label.
    pub const fn flow_label(&self) -> FlowLabel {
        FlowLabel(u32::from_be_bytes([0, self.fixed[1] & 0x0f, self.fixed[2], self.fixed[3]]))
    }

    /// Hop limit.
    pub const fn hop_limit(&self) -> u8 {
        self.fixed[7]
    }

    /// Type of the first header after the fixed one.
    pub const fn next_header(&self) -> IpProtocol {
        IpProtocol(self.fixed[6])
    }

    /// The octets after the fixed header, extension headers first, without link padding.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Octets of the whole packet.
    pub const fn total_len(&self) -> usize {
        HEADER + self.payload.len()
    }

    /// Walks the extension headers to the upper-layer header.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Ipv6Extension`], [`ParseError::HopByHopNotFirst`] or
    /// [`ParseError::NestedFragment`].
    pub fn chain(&self) -> Result<Ipv6Chain<'a>, ParseError> {
        Ipv6Chain::walk(self.next_header(), self.payload)
    }

    /// The fixed header's fields.
    pub fn repr(&self) -> Ipv6Repr {
        Ipv6Repr {
            src: self.src(),
            dst: self.dst(),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
        }
    }
}

/// The fields of an IPv6 fixed header. The payload length is computed while writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6Repr {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Type of the first header after the fixed one.
    pub next_header: IpProtocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label.
    pub flow_label: FlowLabel,
}

impl Ipv6Repr {
    /// A packet with hop limit 64 and no flow label.
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr, next_header: IpProtocol) -> Self {
        Self { src, dst, next_header, hop_limit: 64, traffic_class: 0, flow_label: FlowLabel::ZERO }
    }

    /// The header for `payload_len` octets, extension headers included.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] above 65,535 octets of payload.
    pub fn header(&self, payload_len: usize) -> Result<[u8; HEADER], BuildError> {
        let length = u16::try_from(payload_len).map_err(|_| BuildError::TooLong {
            layer: Layer::Ipv6,
            length: payload_len,
            limit: usize::from(u16::MAX),
        })?;
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label.0;
        let mut header = [0; HEADER];
        let parts: [&[u8]; 5] = [
            &first.to_be_bytes(),
            &length.to_be_bytes(),
            &[self.next_header.0, self.hop_limit],
            &self.src.octets(),
            &self.dst.octets(),
        ];
        let octets = parts.into_iter().flatten();
        header.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
        Ok(header)
    }

    /// Appends the header and the payload.
    ///
    /// # Errors
    /// [`BuildError::TooLong`]; nothing is appended then.
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        out.extend_from_slice(&self.header(payload.len())?);
        out.extend_from_slice(payload);
        Ok(())
    }
}

fn address(fixed: &[u8; HEADER], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(|i| fixed[at + i]))
}
