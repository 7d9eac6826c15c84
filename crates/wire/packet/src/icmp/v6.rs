//! ICMP for IPv6 (RFC 4443).

use std::net::Ipv6Addr;

use super::Echo;
use crate::checksum::Checksum;
use crate::reader::Reader;
use crate::{IpProtocol, Layer, ParseError};

const UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const REDIRECT: u8 = 137;

/// An ICMPv6 message. It has no length field: it fills the IP payload after the extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Icmpv6<'a> {
    /// The message.
    pub message: Icmpv6Message<'a>,
    bytes: &'a [u8],
}

/// The content of an ICMPv6 message. `original` is the start of the packet that caused an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icmpv6Message<'a> {
    /// Destination Unreachable (type 1).
    Unreachable {
        /// The code.
        code: u8,
        /// See above.
        original: &'a [u8],
    },
    /// Packet Too Big (type 2).
    PacketTooBig {
        /// MTU of the next hop, octets.
        mtu: u32,
        /// See above.
        original: &'a [u8],
    },
    /// Time Exceeded (type 3).
    TimeExceeded {
        /// 0: in transit; 1: during reassembly.
        code: u8,
        /// See above.
        original: &'a [u8],
    },
    /// Echo Request (type 128).
    EchoRequest(Echo<'a>),
    /// Echo Reply (type 129).
    EchoReply(Echo<'a>),
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

impl<'a> Icmpv6<'a> {
    /// Parses an IP payload. Does not verify the checksum.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 octets.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Icmpv6, bytes);
        let &[kind, code, _, _, s0, s1, s2, s3] = reader.array()?;
        let (second_word, body) = ([s0, s1, s2, s3], reader.rest());
        let message = match (kind, code) {
            (UNREACHABLE, _) => Icmpv6Message::Unreachable { code, original: body },
            (PACKET_TOO_BIG, 0) => {
                Icmpv6Message::PacketTooBig { mtu: u32::from_be_bytes(second_word), original: body }
            }
            (TIME_EXCEEDED, _) => Icmpv6Message::TimeExceeded { code, original: body },
            (ECHO_REQUEST, 0) => Icmpv6Message::EchoRequest(Echo::read(second_word, body)),
            (ECHO_REPLY, 0) => Icmpv6Message::EchoReply(Echo::read(second_word, body)),
            _ => Icmpv6Message::Other { kind, code, second_word, body },
        };
        Ok(Self { message, bytes })
    }

    /// The checksum with the pseudo header of the two addresses is valid.
    pub fn checksum_is_valid(&self, src: Ipv6Addr, dst: Ipv6Addr) -> bool {
        let sum = Checksum::new().pseudo_v6(src, dst, IpProtocol::ICMPV6, self.bytes.len());
        sum.with(self.bytes).finish() == 0
    }
}

impl<'a> Icmpv6Message<'a> {
    /// Type, code, second word and body, as on the wire.
    fn parts(&self) -> (u8, u8, [u8; 4], &'a [u8]) {
        match *self {
            Self::Unreachable { code, original } => (UNREACHABLE, code, [0; 4], original),
            Self::PacketTooBig { mtu, original } => (PACKET_TOO_BIG, 0, mtu.to_be_bytes(), original),
            Self::TimeExceeded { code, original } => (TIME_EXCEEDED, code, [0; 4], original),
            Self::EchoRequest(echo) => (ECHO_REQUEST, 0, echo.second_word(), echo.data),
            Self::EchoReply(echo) => (ECHO_REPLY, 0, echo.second_word(), echo.data),
            Self::Other { kind, code, second_word, body } => (kind, code, second_word, body),
        }
    }

    /// No error may be sent for the message: it is an error or a redirect (RFC 4443 clause 2.4).
    pub fn is_error(&self) -> bool {
        let (kind, ..) = self.parts();
        kind < ECHO_REQUEST || kind == REDIRECT
    }

    /// Appends the message with its checksum, which covers the two addresses.
    pub fn write(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut Vec<u8>) {
        let (kind, code, second_word, body) = self.parts();
        let sum = Checksum::new().pseudo_v6(src, dst, IpProtocol::ICMPV6, 8 + body.len());
        let [s0, s1] = sum.with(&[kind, code]).with(&second_word).with(body).finish().to_be_bytes();
        out.extend([kind, code, s0, s1]);
        out.extend(second_word);
        out.extend_from_slice(body);
    }
}
