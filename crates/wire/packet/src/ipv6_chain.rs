//! The chain of IPv6 extension headers (RFC 8200 clause 4).

use crate::reader::Reader;
use crate::{IpProtocol, Layer, ParseError};

/// Extension headers accepted in one packet. RFC 8200 recommends at most seven.
pub const MAX_IPV6_EXTENSIONS: usize = 8;

/// The end of the chain of extension headers, and the Fragment header in it.
///
/// The chain ends at the upper-layer header, at ESP and AH (whose SPI packet filters match), at Mobility and HIP
/// (which are last), at an unknown header, or after the Fragment header of a later fragment, whose data are not
/// headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv6Chain<'a> {
    /// Type of `payload`.
    pub protocol: IpProtocol,
    /// The octets from there on.
    pub payload: &'a [u8],
    /// The Fragment header, if there is one.
    pub fragment: Option<FragmentHeader>,
}

/// An IPv6 Fragment header (RFC 8200 clause 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentHeader {
    /// Offset of the data in the fragmentable part of the original packet, octets; a multiple of 8.
    pub offset: usize,
    /// More fragments follow this one.
    pub more: bool,
    /// Identification, shared by the fragments of one packet.
    pub identification: u32,
}

impl FragmentHeader {
    /// Offset zero and no further fragment: the packet is whole (RFC 6946).
    pub const fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }
}

impl<'a> Ipv6Chain<'a> {
    pub(crate) fn walk(first: IpProtocol, payload: &'a [u8]) -> Result<Self, ParseError> {
        let mut chain = Self { protocol: first, payload, fragment: None };
        for position in 0..=MAX_IPV6_EXTENSIONS {
            if !chain.step(position)? {
                return Ok(chain);
            }
        }
        Err(ParseError::TooMany { layer: Layer::Ipv6Extension, limit: MAX_IPV6_EXTENSIONS })
    }

    /// Skips one extension header. `false`: the current header is not one.
    fn step(&mut self, position: usize) -> Result<bool, ParseError> {
        if self.fragment.is_some_and(|fragment| fragment.offset > 0) {
            return Ok(false);
        }
        match self.protocol {
            IpProtocol::HOP_BY_HOP if position > 0 => Err(ParseError::HopByHopNotFirst),
            IpProtocol::FRAGMENT if self.fragment.is_some() => Err(ParseError::NestedFragment),
            IpProtocol::FRAGMENT => self.pass_fragment().map(|()| true),
            IpProtocol::HOP_BY_HOP | IpProtocol::ROUTING | IpProtocol::DESTINATION_OPTIONS => {
                self.pass_sized().map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Skips a header whose second octet counts its 8-octet units beyond the first.
    fn pass_sized(&mut self) -> Result<(), ParseError> {
        let mut reader = Reader::new(Layer::Ipv6Extension, self.payload);
        let &[next, units] = reader.array()?;
        reader.take(usize::from(units) * 8 + 6)?;
        (self.protocol, self.payload) = (IpProtocol(next), reader.rest());
        Ok(())
    }

    fn pass_fragment(&mut self) -> Result<(), ParseError> {
        let mut reader = Reader::new(Layer::Ipv6Extension, self.payload);
        let &[next, _reserved] = reader.array()?;
        let offset_and_more = reader.u16()?;
        let fragment = FragmentHeader {
            offset: usize::from(offset_and_more & 0xfff8),
            more: offset_and_more & 1 != 0,
            identification: reader.u32()?,
        };
        let end = fragment.offset + reader.rest().len();
        if end > usize::from(u16::MAX) {
            return Err(ParseError::FragmentOverrun { layer: Layer::Ipv6Extension, end });
        }
        (self.protocol, self.payload, self.fragment) = (IpProtocol(next), reader.rest(), Some(fragment));
        Ok(())
    }
}
