//! Ethernet frames (IEEE 802.3) with VLAN tags (802.1Q, 802.1ad): view and builder.

use causeway_types::MacAddr;

use crate::reader::Reader;
use crate::{BuildError, Layer, ParseError};

/// VLAN tags accepted in one frame: a service tag and a customer tag.
pub const MAX_VLAN_TAGS: usize = 2;

/// The largest value of the type field that means a length.
const MAX_LENGTH: u16 = 1500;
/// The smallest value of the type field that means a type.
const MIN_TYPE: u16 = 0x0600;

/// The protocol of a frame's payload, 0x0600 or above; below that the frame has none (see
/// [`Ethernet::ether_type`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EtherType(u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// 802.1Q customer VLAN tag.
    pub const VLAN: Self = Self(0x8100);
    /// 802.1ad service VLAN tag.
    pub const SERVICE_VLAN: Self = Self(0x88a8);

    /// `None` below 0x0600.
    pub const fn new(raw: u16) -> Option<Self> {
        if raw >= MIN_TYPE { Some(Self(raw)) } else { None }
    }

    /// The number.
    pub const fn value(self) -> u16 {
        self.0
    }
}

/// One VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VlanTag {
    /// A service tag (802.1ad), not a customer tag (802.1Q).
    pub service: bool,
    /// Priority (3 bits), drop eligible (1 bit) and VLAN identifier (12 bits), host byte order.
    pub control: u16,
}

impl VlanTag {
    /// VLAN identifier, 0 to 4095; 0 marks a tag that only carries the priority.
    pub const fn id(self) -> u16 {
        self.control & 0x0fff
    }

    /// Priority Code Point, 0 to 7.
    pub const fn priority(self) -> u8 {
        (self.control >> 13) as u8
    }

    /// Drop Eligible Indicator.
    pub const fn drop_eligible(self) -> bool {
        self.control & 0x1000 != 0
    }
}

/// An Ethernet frame without its frame check sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet<'a> {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    /// VLAN tags, the outer one first; the second is present only if the first is.
    pub tags: [Option<VlanTag>; MAX_VLAN_TAGS],
    /// The type of the payload. `None`: the field was a length, and the payload begins with an LLC header (802.2).
    pub ether_type: Option<EtherType>,
    /// The payload; with padding, unless the field was a length.
    pub payload: &'a [u8],
}

impl<'a> Ethernet<'a> {
    /// Parses a frame that begins with the destination address.
    ///
    /// # Errors
    /// [`ParseError`] of [`Layer::Ethernet`], or [`ParseError::EtherType`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Ethernet, bytes);
        let (dst, src) = (MacAddr(*reader.array()?), MacAddr(*reader.array()?));
        let mut kind = reader.u16()?;
        let mut tags = [None; MAX_VLAN_TAGS];
        for tag in &mut tags {
            let Some(service) = is_tag(kind) else { break };
            *tag = Some(VlanTag { service, control: reader.u16()? });
            kind = reader.u16()?;
        }
        if is_tag(kind).is_some() {
            return Err(ParseError::TooMany { layer: Layer::Ethernet, limit: MAX_VLAN_TAGS });
        }
        let (ether_type, payload) = match kind {
            0..=MAX_LENGTH => (None, reader.take(usize::from(kind))?),
            _ => (Some(EtherType::new(kind).ok_or(ParseError::EtherType(kind))?), reader.rest()),
        };
        Ok(Self { dst, src, tags, ether_type, payload })
    }

    /// Appends the frame. Padding to the minimum length is left to the link.
    ///
    /// # Errors
    /// [`BuildError::TooLong`] for more than 1500 octets under a length field; nothing is appended then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let kind = match self.ether_type {
            Some(ether_type) => ether_type.0,
            None => self.length_field()?,
        };
        out.extend(self.dst.0);
        out.extend(self.src.0);
        for tag in self.tags.iter().flatten() {
            let kind = if tag.service { EtherType::SERVICE_VLAN } else { EtherType::VLAN };
            out.extend(kind.0.to_be_bytes());
            out.extend(tag.control.to_be_bytes());
        }
        out.extend(kind.to_be_bytes());
        out.extend_from_slice(self.payload);
        Ok(())
    }

    fn length_field(&self) -> Result<u16, BuildError> {
        u16::try_from(self.payload.len()).ok().filter(|length| *length <= MAX_LENGTH).ok_or(
            BuildError::TooLong {
                layer: Layer::Ethernet,
                length: self.payload.len(),
                limit: usize::from(MAX_LENGTH),
            },
        )
    }
}

/// The type is that of a VLAN tag: a service tag or not.
const fn is_tag(kind: u16) -> Option<bool> {
    match EtherType(kind) {
        EtherType::SERVICE_VLAN => Some(true),
        EtherType::VLAN => Some(false),
        _ => None,
    }
}
