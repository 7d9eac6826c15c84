//! ICMP for IPv4 (RFC 792, next-hop MTU RFC 1191).

use super::Echo;
use crate::checksum::{Checksum, checksum};
use crate::reader::Reader;
use crate::{Layer, ParseError};

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;

/// Code of Destination Unreachable: fragmentation needed and DF set.
pub(super) const FRAGMENTATION_NEEDED: u8 = 4;

/// An ICMP message. It has no length field: it fills the IP payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Icmpv4<'a> {
    /// The message.
    pub message: Icmpv4Message<'a>,
    bytes: &'a [u8],
}

/// The content of an ICMP message. `original` is the start of the packet that caused an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icmpv4Message<'a> {
    /// Echo Request (type 8).
    EchoRequest(Echo<'a>),
    /// Echo Reply (type 0).
    EchoReply(Echo<'a>),
    /// Destination Unreachable (type 3), except for fragmentation.
    Unreachable {
        /// The code; never 4.
        code: u8,
        /// See above.
        original: &'a [u8],
    },
    /// Destination Unreachable with code 4: the packet is too big and must not be fragmented.
    FragmentationNeeded {
        /// MTU of the next hop, octets; zero from routers older than RFC 1191.
        mtu: u16,
        /// See above.
        original: &'a [u8],
    },
    /// Time Exceeded (type 11).
    TimeExceeded {
        /// 0: in transit; 1: during reassembly.
        code: u8,
        /// See above.
        original: &'a [u8],
    },
    /// Another message.
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// The octets after the checksum.
        second_word: [u8; 4],
        /// The octets after the second word.
        body: &'a [u8],
    },
}

impl<'a> Icmpv4<'a> {
    /// Parses an IP payload. Does not verify the checksum.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 octets.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Icmpv4, bytes);
        let &[kind, code, _, _, s0, s1, s2, s3] = reader.array()?;
        let (second_word, body) = ([s0, s1, s2, s3], reader.rest());
        let message = match (kind, code) {
            (ECHO_REQUEST, 0) => Icmpv4Message::EchoRequest(Echo::read(second_word, body)),
            (ECHO_REPLY, 0) => Icmpv4Message::EchoReply(Echo::read(second_word, body)),
            (UNREACHABLE, FRAGMENTATION_NEEDED) => {
                Icmpv4Message::FragmentationNeeded { mtu: u16::from_be_bytes([s2, s3]), original: body }
            }
            (UNREACHABLE, _) => Icmpv4Message::Unreachable { code, original: body },
            (TIME_EXCEEDED, _) => Icmpv4Message::TimeExceeded { code, original: body },
            _ => Icmpv4Message::Other { kind, code, second_word, body },
        };
        Ok(Self { message, bytes })
    }

    /// The checksum is valid.
    pub fn checksum_is_valid(&self) -> bool {
        checksum(self.bytes) == 0
    }
}

impl<'a> Icmpv4Message<'a> {
    /// Type, code, second word and body, as on the wire.
    fn parts(&self) -> (u8, u8, [u8; 4], &'a [u8]) {
        match *self {
            Self::EchoRequest(echo) => (ECHO_REQUEST, 0, echo.second_word(), echo.data),
            Self::EchoReply(echo) => (ECHO_REPLY, 0, echo.second_word(), echo.data),
            Self::Unreachable { code, original } => (UNREACHABLE, code, [0; 4], original),
            Self::FragmentationNeeded { mtu, original } => {
                let [m0, m1] = mtu.to_be_bytes();
                (UNREACHABLE, FRAGMENTATION_NEEDED, [0, 0, m0, m1], original)
            }
            Self::TimeExceeded { code, original } => (TIME_EXCEEDED, code, [0; 4], original),
            Self::Other { kind, code, second_word, body } => (kind, code, second_word, body),
        }
    }

    /// The message is an error: no error may be sent for it (RFC 1122 clause 3.2.2).
    pub const fn is_error(&self) -> bool {
        // Source Quench, Redirect and Parameter Problem have no variant of their own.
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::FragmentationNeeded { .. }
                | Self::TimeExceeded { .. }
                | Self::Other { kind: 4 | 5 | 12, .. }
        )
    }

    /// Appends the message with its checksum.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, code, second_word, body) = self.parts();
        let [s0, s1] =
            Checksum::new().with(&[kind, code]).with(&second_word).with(body).finish().to_be_bytes();
        out.extend([kind, code, s0, s1]);
        out.extend(second_word);
        out.extend_from_slice(body);
    }
}
