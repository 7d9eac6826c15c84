//! A whole GTP-U packet: view and builder.

use std::net::IpAddr;

use causeway_types::Teid;

use super::extension::{Extension, Extensions, MAX_EXTENSION_HEADERS};
use super::extension_type::{NONE, UDP_PORT};
use super::header::{self, Header, MANDATORY};
use super::message::{ErrorIndication, Message};
use crate::{BuildError, Layer, ParseError};

/// A GTP-U packet: one UDP payload, completely validated.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Tunnel and optional numbers.
    pub header: Header,
    /// Extension headers.
    pub extensions: Extensions<'a>,
    /// The message.
    pub message: Message<'a>,
    /// Octets from the start of the packet to the message's body (of a G-PDU: to the user data).
    pub body_offset: usize,
}

impl<'a> Packet<'a> {
    /// Parses one UDP payload. Octets after the length in the header are left out.
    ///
    /// The caller decides what to do about an extension header that is unknown and must be comprehended
    /// ([`Extensions::first_not_comprehended`]): it depends on the message.
    ///
    /// # Errors
    /// [`ParseError`] of a GTP-U layer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let parsed = header::parse(bytes)?;
        let (extensions, body) = Extensions::parse(parsed.next, parsed.body)?;
        let optional = if bytes.first().is_some_and(|flags| flags & 0x07 != 0) { 4 } else { 0 };
        Ok(Self {
            header: parsed.header,
            extensions,
            message: Message::parse(parsed.message_type, body)?,
            body_offset: MANDATORY + optional + parsed.body.len() - body.len(),
        })
    }
}

/// A GTP-U packet to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// Tunnel and optional numbers.
    pub header: Header,
    /// Extension headers, in the order of the wire.
    pub extensions: &'a [Extension<'a>],
    /// The message.
    pub message: Message<'a>,
}

impl<'a> Repr<'a> {
    /// Echo Request with its sequence number (TS 29.281 clause 7.2.1).
    pub const fn echo_request(sequence: u16) -> Self {
        Self::path(sequence, Message::EchoRequest)
    }

    /// Echo Response; `sequence` is the request's, zero if it had none (TS 29.281 clause 7.2.2).
    pub const fn echo_response(sequence: u16) -> Self {
        Self::path(sequence, Message::EchoResponse)
    }

    /// Supported Extension Headers Notification (TS 29.281 clause 7.2.3) with all types that this crate decodes.
    pub const fn supported_extension_headers(sequence: u16) -> Self {
        use super::extension_type::PDU_SESSION_CONTAINER;
        Self::path(sequence, Message::SupportedExtensionHeaders(&[UDP_PORT, PDU_SESSION_CONTAINER]))
    }

    /// End Marker on a tunnel (TS 29.281 clause 7.3.2).
    pub const fn end_marker(teid: Teid) -> Self {
        let header = Header { teid: Some(teid), sequence: None, n_pdu: None };
        Self { header, extensions: &[], message: Message::EndMarker }
    }

    /// Error Indication for a G-PDU that arrived for `teid` at the address `local` (TS 29.281 clause 7.3.1).
    /// `extensions` is empty or contains [`Extension::UdpPort`] with that packet's source port.
    pub const fn error_indication(
        teid: Option<Teid>,
        local: IpAddr,
        extensions: &'a [Extension<'a>],
    ) -> Self {
        let message = Message::ErrorIndication(ErrorIndication { teid, peer: local });
        Self { extensions, ..Self::path(0, message) }
    }

    /// A message about a path, not a tunnel: TEID zero, sequence number always present.
    const fn path(sequence: u16, message: Message<'a>) -> Self {
        let header = Header { teid: None, sequence: Some(sequence), n_pdu: None };
        Self { header, extensions: &[], message }
    }

    /// Appends the packet.
    ///
    /// # Errors
    /// [`BuildError::TooLong`], [`BuildError::TooMany`] or [`BuildError::NoExtensionType`]; nothing is appended then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let start = out.len();
        let written = self.write_from(start, out);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// The packet as a new vector.
    ///
    /// # Errors
    /// Those of [`Repr::write`].
    pub fn to_vec(&self) -> Result<Vec<u8>, BuildError> {
        let mut out = Vec::new();
        self.write(&mut out).map(|()| out)
    }

    fn write_from(&self, start: usize, out: &mut Vec<u8>) -> Result<(), BuildError> {
        if self.extensions.len() > MAX_EXTENSION_HEADERS {
            return Err(BuildError::TooMany { layer: Layer::GtpuExtension, limit: MAX_EXTENSION_HEADERS });
        }
        if self.extensions.iter().any(|extension| extension.kind() == NONE) {
            return Err(BuildError::NoExtensionType);
        }
        let kinds = self.extensions.iter().map(Extension::kind).chain([NONE]);
        self.header.write(self.message.message_type(), kinds.clone().next().unwrap_or(NONE), out);
        for (extension, next) in self.extensions.iter().zip(kinds.skip(1)) {
            extension.write(next, out)?;
        }
        self.message.write(out)?;
        let length = out.len() - start - MANDATORY;
        let length = super::prefix::length_field(length)?;
        if let Some([_, _, hi, lo]) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
            [*hi, *lo] = length;
        }
        Ok(())
    }
}
