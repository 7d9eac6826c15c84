//! The GTP-U header without its extension headers (TS 29.281 clause 5.1).

use causeway_types::Teid;

use crate::reader::Reader;
use crate::{Layer, ParseError};

/// Octets that the length field does not count.
pub(super) const MANDATORY: usize = 8;

const VERSION: u8 = 1;
const PROTOCOL_TYPE: u8 = 0x10;
const EXTENSION: u8 = 0x04;
const SEQUENCE: u8 = 0x02;
const N_PDU: u8 = 0x01;
const OPTIONAL: u8 = EXTENSION | SEQUENCE | N_PDU;

/// A GTP-U message type (TS 29.281 clause 6.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MessageType(pub u8);

impl MessageType {
    /// Echo Request.
    pub const ECHO_REQUEST: Self = Self(1);
    /// Echo Response.
    pub const ECHO_RESPONSE: Self = Self(2);
    /// Error Indication.
    pub const ERROR_INDICATION: Self = Self(26);
    /// Supported Extension Headers Notification.
    pub const SUPPORTED_EXTENSION_HEADERS: Self = Self(31);
    /// End Marker.
    pub const END_MARKER: Self = Self(254);
    /// G-PDU: user data.
    pub const G_PDU: Self = Self(255);
}

/// The fields of a GTP-U header that the rest of the packet does not determine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The tunnel at the receiver. `None`: zero on the wire, as in path messages.
    pub teid: Option<Teid>,
    /// Sequence number, if the S flag is set.
    pub sequence: Option<u16>,
    /// N-PDU number, if the PN flag is set.
    pub n_pdu: Option<u8>,
}

/// A parsed header: its fields, and the rest of the packet.
pub(super) struct Parsed<'a> {
    pub(super) header: Header,
    pub(super) message_type: MessageType,
    /// Type of the first extension header; zero for none.
    pub(super) next: u8,
    /// The octets after the header that the length field counts.
    pub(super) body: &'a [u8],
}

/// Parses the header; octets after the packet's end are left out.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, ParseError> {
    let mut reader = Reader::new(Layer::Gtpu, bytes);
    let flags = reader.u8()?;
    if flags >> 5 != VERSION {
        return Err(ParseError::Version { layer: Layer::Gtpu, found: flags >> 5 });
    }
    if flags & PROTOCOL_TYPE == 0 {
        return Err(ParseError::GtpPrime);
    }
    let message_type = MessageType(reader.u8()?);
    let length = usize::from(reader.u16()?);
    let teid = Teid::new(reader.u32()?);
    let mut reader = Reader::new(Layer::Gtpu, reader.take(length)?);
    let mut header = Header { teid, sequence: None, n_pdu: None };
    let mut next = 0;
    if flags & OPTIONAL != 0 {
        let (sequence, n_pdu, extension) = (reader.u16()?, reader.u8()?, reader.u8()?);
        header.sequence = (flags & SEQUENCE != 0).then_some(sequence);
        header.n_pdu = (flags & N_PDU != 0).then_some(n_pdu);
        next = if flags & EXTENSION != 0 { extension } else { 0 };
    }
    Ok(Parsed { header, message_type, next, body: reader.rest() })
}

impl Header {
    /// Appends the header with a length field of zero. `next` is the first extension header's type.
    pub(super) fn write(&self, message_type: MessageType, next: u8, out: &mut Vec<u8>) {
        let flags = VERSION << 5
            | PROTOCOL_TYPE
            | if next != 0 { EXTENSION } else { 0 }
            | if self.sequence.is_some() { SEQUENCE } else { 0 }
            | if self.n_pdu.is_some() { N_PDU } else { 0 };
        out.extend_from_slice(&[flags, message_type.0, 0, 0]);
        out.extend_from_slice(&self.teid.map_or(0, Teid::value).to_be_bytes());
        if flags & OPTIONAL != 0 {
            out.extend_from_slice(&self.sequence.unwrap_or(0).to_be_bytes());
            out.extend_from_slice(&[self.n_pdu.unwrap_or(0), next]);
        }
    }
}
