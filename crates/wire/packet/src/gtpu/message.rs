//! GTP-U messages (TS 29.281 clause 7).

use std::net::IpAddr;

use causeway_types::Teid;

use super::header::MessageType;
use super::ie;
use crate::{BuildError, Layer, ParseError};

/// The content of a GTP-U packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// User data: an IP packet, an Ethernet frame or unstructured octets.
    GPdu(&'a [u8]),
    /// Tests the path.
    EchoRequest,
    /// The response to it. The restart counter has no meaning in GTP-U and is written as zero.
    EchoResponse,
    /// The sender has no such tunnel.
    ErrorIndication(ErrorIndication),
    /// The last packet on a tunnel.
    EndMarker,
    /// The types of the extension headers that the sender comprehends.
    SupportedExtensionHeaders(&'a [u8]),
    /// A message that GTP-U of this release does not define, or that is not for a UPF.
    Other {
        /// Its type.
        message_type: MessageType,
        /// The octets after the header.
        body: &'a [u8],
    },
}

/// Error Indication (TS 29.281 clause 7.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorIndication {
    /// Tunnel Endpoint Identifier Data I: the tunnel of the packet that was refused, at the sender of this
    /// message.
    pub teid: Option<Teid>,
    /// GTP-U Peer Address: the destination address of that packet.
    pub peer: IpAddr,
}

impl<'a> Message<'a> {
    /// The type on the wire.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::GPdu(_) => MessageType::G_PDU,
            Self::EchoRequest => MessageType::ECHO_REQUEST,
            Self::EchoResponse => MessageType::ECHO_RESPONSE,
            Self::ErrorIndication(_) => MessageType::ERROR_INDICATION,
            Self::EndMarker => MessageType::END_MARKER,
            Self::SupportedExtensionHeaders(_) => MessageType::SUPPORTED_EXTENSION_HEADERS,
            Self::Other { message_type, .. } => *message_type,
        }
    }

    pub(super) fn parse(message_type: MessageType, body: &'a [u8]) -> Result<Self, ParseError> {
        Ok(match message_type {
            MessageType::G_PDU => Self::GPdu(body),
            MessageType::ECHO_REQUEST => ie::walk(body).map(|()| Self::EchoRequest)?,
            // Some peers send responses without the mandatory Recovery; they also confirm the path.
            MessageType::ECHO_RESPONSE => ie::walk(body).map(|()| Self::EchoResponse)?,
            MessageType::ERROR_INDICATION => Self::ErrorIndication(ErrorIndication::parse(body)?),
            MessageType::END_MARKER => ie::walk(body).map(|()| Self::EndMarker)?,
            MessageType::SUPPORTED_EXTENSION_HEADERS => {
                Self::SupportedExtensionHeaders(ie::require(ie::EXTENSION_HEADER_TYPES, body)?)
            }
            _ => Self::Other { message_type, body },
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), BuildError> {
        match self {
            Self::EchoRequest | Self::EndMarker => {}
            Self::EchoResponse => out.extend([ie::RECOVERY, 0]),
            Self::ErrorIndication(error) => error.write(out),
            Self::GPdu(body) | Self::Other { body, .. } => out.extend_from_slice(body),
            Self::SupportedExtensionHeaders(types) => {
                let length = u8::try_from(types.len()).map_err(|_| BuildError::TooLong {
                    layer: Layer::GtpuIe,
                    length: types.len(),
                    limit: usize::from(u8::MAX),
                })?;
                out.extend([ie::EXTENSION_HEADER_TYPES, length]);
                out.extend_from_slice(types);
            }
        }
        Ok(())
    }
}

impl ErrorIndication {
    fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let teid = ie::require(ie::TEID_DATA_I, body)?;
        let address = ie::require(ie::PEER_ADDRESS, body)?;
        let teid = teid.first_chunk().and_then(|octets| Teid::new(u32::from_be_bytes(*octets)));
        let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from);
        let v6 = <[u8; 16]>::try_from(address).map(IpAddr::from);
        let peer = v4.or(v6).map_err(|_| ParseError::AddressLength(address.len()))?;
        Ok(Self { teid, peer })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(ie::TEID_DATA_I);
        out.extend(self.teid.map_or(0, Teid::value).to_be_bytes());
        out.push(ie::PEER_ADDRESS);
        match self.peer {
            IpAddr::V4(ip) => out.extend([0, 4].into_iter().chain(ip.octets())),
            IpAddr::V6(ip) => out.extend([0, 16].into_iter().chain(ip.octets())),
        }
    }
}
