//! IPv4 headers (RFC 791): view and builder.

use std::net::Ipv4Addr;

use crate::checksum::{Checksum, checksum};
use crate::reader::Reader;
use crate::{BuildError, IpProtocol, Layer, ParseError};

/// Octets of a header without options.
const MIN_HEADER: usize = 20;
/// Octets of the largest packet, by its 16-bit length field.
const MAX_PACKET: usize = 65_535;
/// Maximum octets of options.
const MAX_OPTIONS: usize = 40;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;

/// An IPv4 packet with validated lengths. Octets after its total length (link padding) are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4<'a> {
    fixed: &'a [u8; MIN_HEADER],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// Checks version, header length, total length and the end of a fragment. Does not verify the checksum: see
    /// [`Ipv4::checksum_is_valid`].
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Ipv4`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        const LAYER: Layer = Layer::Ipv4;
        let mut reader = Reader::new(LAYER, bytes);
        let fixed = reader.array::<MIN_HEADER>()?;
        if fixed[0] >> 4 != 4 {
            return Err(ParseError::Version { layer: LAYER, found: fixed[0] >> 4 });
        }
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let options_len = header_len.checked_sub(MIN_HEADER).ok_or(ParseError::LengthTooSmall {
            layer: LAYER,
            found: header_len,
            minimum: MIN_HEADER,
        })?;
        let options = reader.take(options_len)?;
        let total = usize::from(word(fixed, 2));
        let payload_len = total.checked_sub(header_len).ok_or(ParseError::LengthTooSmall {
            layer: LAYER,
            found: total,
            minimum: header_len,
        })?;
        let payload = reader.take(payload_len)?;
        let view = Self { fixed, options, payload };
        let end = header_len + view.fragment_offset() + payload_len;
        if end > MAX_PACKET {
            return Err(ParseError::FragmentOverrun { layer: LAYER, end });
        }
        Ok(view)
    }

    /// Source address.
    pub fn src(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }

    /// Destination address.
    pub fn dst(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }

    /// Type of service: DSCP in the upper six bits, ECN in the lower two.
    pub const fn tos(&self) -> u8 {
        self.fixed[1]
    }

    /// Time to live.
    pub const fn ttl(&self) -> u8 {
        self.fixed[8]
    }

    /// Protocol of the payload.
    pub const fn protocol(&self) -> IpProtocol {
        IpProtocol(self.fixed[9])
    }

    /// Identification, shared by the fragments of one packet.
    pub const fn identification(&self) -> u16 {
        word(self.fixed, 4)
    }

    /// Routers must not fragment the packet.
    pub const fn dont_fragment(&self) -> bool {
        word(self.fixed, 6) & DONT_FRAGMENT != 0
    }

    /// More fragments follow this one.
    pub const fn more_fragments(&self) -> bool {
        word(self.fixed, 6) & MORE_FRAGMENTS != 0
    }

    /// Offset of the payload in that of the original packet, octets; a multiple of 8.
    pub const fn fragment_offset(&self) -> usize {
        (word(self.fixed, 6) & OFFSET_MASK) as usize * 8
    }

    /// The packet is a fragment, the first or a later one.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset() > 0
    }

    /// Options, unparsed; 0 to 40 octets.
    pub const fn options(&self) -> &'a [u8] {
        self.options
    }

    /// Header octets with options, 20 to 60.
    pub const fn header_len(&self) -> usize {
        MIN_HEADER + self.options.len()
    }

    /// Octets of the whole packet.
    pub const fn total_len(&self) -> usize {
        self.header_len() + self.payload.len()
    }

    /// The payload, without link padding.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header checksum is valid.
    pub fn checksum_is_valid(&self) -> bool {
        Checksum::new().with(self.fixed).with(self.options).finish() == 0
    }

    /// The header's fields, without options.
    pub fn repr(&self) -> Ipv4Repr {
        Ipv4Repr {
            src: self.src(),
            dst: self.dst(),
            protocol: self.protocol(),
            ttl: self.ttl(),
            tos: self.tos(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_units: word(self.fixed, 6) & OFFSET_MASK,
        }
    }
}

/// The fields of an IPv4 header. Lengths and the checksum are computed while writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Repr {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// Time to live.
    pub ttl: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// Identification.
    pub identification: u16,
    /// Routers must not fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Fragment offset in units of 8 octets; its upper three bits are not written.
    pub fragment_units: u16,
}

impl Ipv4Repr {
    /// An unfragmented packet with time to live 64.
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: IpProtocol) -> Self {
        Self {
            src,
            dst,
            protocol,
            ttl: 64,
            tos: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_units: 0,
        }
    }

    /// The header without options for `payload_len` octets.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] above 65,515 octets of payload.
    pub fn header(&self, payload_len: usize) -> Result<[u8; MIN_HEADER], BuildError> {
        let mut header = self.unsummed(MIN_HEADER, payload_len)?;
        let [sum_hi, sum_lo] = checksum(&header).to_be_bytes();
        (header[10], header[11]) = (sum_hi, sum_lo);
        Ok(header)
    }

    /// Appends the header with options (whole words, at most 40 octets) and the payload.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] or [`BuildError::Unaligned`]; nothing is appended then.
    pub fn write(&self, options: &[u8], payload: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        if options.len() > MAX_OPTIONS {
            return Err(BuildError::TooLong {
                layer: Layer::Ipv4,
                length: options.len(),
                limit: MAX_OPTIONS,
            });
        }
        if !options.len().is_multiple_of(4) {
            return Err(BuildError::Unaligned { layer: Layer::Ipv4, length: options.len() });
        }
        let mut header = self.unsummed(MIN_HEADER + options.len(), payload.len())?;
        let sum = Checksum::new().with(&header).with(options).finish();
        (header[10], header[11]) = ((sum >> 8) as u8, sum as u8);
        out.extend_from_slice(&header);
        out.extend_from_slice(options);
        out.extend_from_slice(payload);
        Ok(())
    }

    fn unsummed(&self, header_len: usize, payload_len: usize) -> Result<[u8; MIN_HEADER], BuildError> {
        let length = header_len.saturating_add(payload_len);
        let total = u16::try_from(length).map_err(|_| BuildError::TooLong {
            layer: Layer::Ipv4,
            length,
            limit: MAX_PACKET,
        })?;
        let flags = (u16::from(self.dont_fragment) * DONT_FRAGMENT)
            | (u16::from(self.more_fragments) * MORE_FRAGMENTS)
            | (self.fragment_units & OFFSET_MASK);
        let [len_hi, len_lo] = total.to_be_bytes();
        let [id_hi, id_lo] = self.identification.to_be_bytes();
        let [flags_hi, flags_lo] = flags.to_be_bytes();
        let [s0, s1, s2, s3] = self.src.octets();
        let [d0, d1, d2, d3] = self.dst.octets();
        let version_ihl = 0x40 | (header_len / 4) as u8;
        #[rustfmt::skip]
        let header = [
            version_ihl, self.tos, len_hi, len_lo,
            id_hi, id_lo, flags_hi, flags_lo,
            self.ttl, self.protocol.0, 0, 0,
            s0, s1, s2, s3,
            d0, d1, d2, d3,
        ];
        Ok(header)
    }
}

const fn word(fixed: &[u8; MIN_HEADER], at: usize) -> u16 {
    u16::from_be_bytes([fixed[at], fixed[at + 1]])
}
