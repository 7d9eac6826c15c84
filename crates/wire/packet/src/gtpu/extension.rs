//! GTP-U extension headers (TS 29.281 clause 5.2).

use super::extension_type::{NONE, PDU_SESSION_CONTAINER, UDP_PORT};
use super::pdu_session::PduSession;
use crate::reader::Reader;
use crate::{BuildError, Layer, ParseError};

/// Extension headers accepted in one packet. Current senders write one, two during a handover.
pub const MAX_EXTENSION_HEADERS: usize = 8;

/// The unit of the length of an extension header, in octets.
const UNIT: usize = 4;

/// Which nodes must comprehend an extension header: the upper two bits of its type (TS 29.281 clause 5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comprehension {
    /// None; an intermediate node forwards it.
    OptionalForward,
    /// None; an intermediate node drops it.
    OptionalDiscard,
    /// The endpoint of the tunnel.
    Endpoint,
    /// The endpoint and every intermediate node.
    AllNodes,
}

impl Comprehension {
    /// The comprehension that the type of an extension header requires.
    pub const fn of(kind: u8) -> Self {
        match kind >> 6 {
            0 => Self::OptionalForward,
            1 => Self::OptionalDiscard,
            2 => Self::Endpoint,
            _ => Self::AllNodes,
        }
    }

    /// An endpoint that does not know the header must drop the packet and send a Supported Extension Headers
    /// Notification.
    pub const fn required_at_endpoint(self) -> bool {
        matches!(self, Self::Endpoint | Self::AllNodes)
    }
}

/// One extension header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension<'a> {
    /// PDU Session Container.
    PduSession(PduSession),
    /// UDP source port of the packet that triggered an Error Indication.
    UdpPort(u16),
    /// A header that is not decoded here.
    Other {
        /// Its type; not zero.
        kind: u8,
        /// The octets between its length and the type of the next one, 4n - 2 octets.
        content: &'a [u8],
    },
}

impl<'a> Extension<'a> {
    /// The type on the wire.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::PduSession(_) => PDU_SESSION_CONTAINER,
            Self::UdpPort(_) => UDP_PORT,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn decode(kind: u8, content: &'a [u8]) -> Result<Self, ParseError> {
        Ok(match kind {
            PDU_SESSION_CONTAINER => Self::PduSession(PduSession::decode(content)?),
            UDP_PORT => Self::UdpPort(Reader::new(Layer::GtpuExtension, content).u16()?),
            _ => Self::Other { kind, content },
        })
    }

    /// Appends length, content, padding and the type of the next header.
    pub(super) fn write(&self, next: u8, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let start = out.len();
        out.push(0);
        match self {
            Self::PduSession(info) => info.write(out),
            Self::UdpPort(port) => out.extend_from_slice(&port.to_be_bytes()),
            Self::Other { content, .. } => out.extend_from_slice(content),
        }
        let length = (out.len() - start + 1).next_multiple_of(UNIT);
        let units = u8::try_from(length / UNIT).map_err(|_| BuildError::TooLong {
            layer: Layer::GtpuExtension,
            length,
            limit: usize::from(u8::MAX) * UNIT,
        })?;
        out.resize(start + length - 1, 0);
        out.push(next);
        if let Some(first) = out.get_mut(start) {
            *first = units;
        }
        Ok(())
    }
}

/// The extension headers of one packet, all of them validated. Iterates in wire order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extensions<'a> {
    first: u8,
    bytes: &'a [u8],
    pdu_session: Option<PduSession>,
    udp_port: Option<u16>,
    first_not_comprehended: Option<u8>,
}

impl<'a> Extensions<'a> {
    /// Validates the chain that starts with a header of type `first`. Also returns the octets after it.
    pub(super) fn parse(first: u8, body: &'a [u8]) -> Result<(Self, &'a [u8]), ParseError> {
        let mut chain = Self { first, bytes: body, ..Self::default() };
        let mut steps = ExtensionWalk { next: first, rest: body };
        for _ in 0..MAX_EXTENSION_HEADERS {
            match steps.step()? {
                Some(extension) => chain.note(&extension),
                None => return Ok((chain, steps.rest)),
            }
        }
        if steps.next != NONE {
            return Err(ParseError::TooMany { layer: Layer::GtpuExtension, limit: MAX_EXTENSION_HEADERS });
        }
        Ok((chain, steps.rest))
    }

    /// There are no extension headers.
    pub const fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first PDU Session Container.
    pub const fn pdu_session(&self) -> Option<PduSession> {
        self.pdu_session
    }

    /// The first UDP Port.
    pub const fn udp_port(&self) -> Option<u16> {
        self.udp_port
    }

    /// Type of the first header that an endpoint must comprehend and that is not decoded here.
    pub const fn first_not_comprehended(&self) -> Option<u8> {
        self.first_not_comprehended
    }

    /// The headers, in order.
    pub fn iter(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let mut steps = ExtensionWalk { next: self.first, rest: self.bytes };
        // The chain was validated before.
        std::iter::from_fn(move || steps.step().ok().flatten()).take(MAX_EXTENSION_HEADERS)
    }

    fn note(&mut self, extension: &Extension<'_>) {
        match extension {
            Extension::PduSession(info) => self.pdu_session = self.pdu_session.or(Some(*info)),
            Extension::UdpPort(port) => self.udp_port = self.udp_port.or(Some(*port)),
            Extension::Other { kind, .. } if Comprehension::of(*kind).required_at_endpoint() => {
                self.first_not_comprehended = self.first_not_comprehended.or(Some(*kind));
            }
            Extension::Other { .. } => {}
        }
    }
}

/// A position in the chain.
struct ExtensionWalk<'a> {
    next: u8,
    rest: &'a [u8],
}

impl<'a> ExtensionWalk<'a> {
    /// The header at this position; moves to the next. `None` at the end of the chain.
    fn step(&mut self) -> Result<Option<Extension<'a>>, ParseError> {
        if self.next == NONE {
            return Ok(None);
        }
        let mut reader = Reader::new(Layer::GtpuExtension, self.rest);
        let length = usize::from(reader.u8()?) * UNIT;
        let content_len = length.checked_sub(2).ok_or(ParseError::LengthTooSmall {
            layer: Layer::GtpuExtension,
            found: length,
            minimum: UNIT,
        })?;
        let content = reader.take(content_len)?;
        let kind = std::mem::replace(&mut self.next, reader.u8()?);
        self.rest = reader.rest();
        Extension::decode(kind, content).map(Some)
    }
}
