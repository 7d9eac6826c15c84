//! The message header (TS 29.244 clause 7.2.2).

use std::hash::BuildHasher;

use causeway_types::Seid;
use foldhash::quality::FixedState;

use crate::HeaderError;
use crate::read::{Put, Reader};

/// The only version of PFCP.
const VERSION: u8 = 1;
/// Octets that the length field does not count.
const HEADER_UNCOUNTED_LEN: usize = 4;
/// S: the SEID is present.
const S: u8 = 1;
/// MP: the message priority is present.
const MP: u8 = 1 << 1;
/// FO: another message follows in the datagram.
const FO: u8 = 1 << 2;

/// The header of a message, decoded before its body, so that a malformed body can be rejected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    /// The message type; see [`crate::MessageType::from_code`].
    pub message_type: u8,
    /// The session at the receiver; absent in node related messages.
    pub seid: Option<Seid>,
    /// Sequence number, 24 bits.
    pub sequence: u32,
    /// Message priority, 0 (highest) to 15.
    pub priority: Option<u8>,
    /// Another message follows in the same datagram (clause 7.2.1A).
    pub follow_on: bool,
}

impl Header {
    /// Splits a datagram into the header of its first message, the body of that message, and the messages that
    /// follow (clause 6.5); call it again for those.
    ///
    /// # Errors
    /// Too short for a header; another version; or a length field that does not fit the datagram: it exceeds the
    /// end, or ends before it without the follow-on flag.
    pub fn decode(datagram: &[u8]) -> Result<(Self, &[u8], &[u8]), HeaderError> {
        let truncated = HeaderError::Truncated { octets: datagram.len() };
        let version = datagram.first().ok_or(truncated)? >> 5;
        if version != VERSION {
            return Err(HeaderError::Version { version });
        }
        let mut fields = Reader::new(datagram);
        let (header, declared) = Self::read(&mut fields).map_err(|_| truncated)?;
        let available = datagram.len() - HEADER_UNCOUNTED_LEN;
        let too_short = declared < header.octets() - HEADER_UNCOUNTED_LEN;
        if declared > available || too_short || (declared < available && !header.follow_on) {
            return Err(HeaderError::Length { header, declared, available });
        }
        let (body, rest) = fields.rest().split_at(declared + HEADER_UNCOUNTED_LEN - header.octets());
        Ok((header, body, rest))
    }

    /// The fields, and the value of the length field.
    fn read(fields: &mut Reader<'_>) -> Result<(Self, usize), crate::IeError> {
        let [flags, message_type] = fields.array()?;
        let declared = fields.u16()?;
        let seid = fields.when(flags & S != 0, Reader::u64)?.map(Seid);
        let sequence = fields.u24()?;
        let last = fields.u8()?;
        let priority = (flags & MP != 0).then_some(last >> 4);
        let follow_on = flags & FO != 0;
        Ok((Self { message_type, seid, sequence, priority, follow_on }, declared.into()))
    }

    /// Octets of the header.
    const fn octets(&self) -> usize {
        if self.seid.is_some() { 16 } else { 8 }
    }

    /// Appends the header of a message without a body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut flags = VERSION << 5;
        for (set, flag) in [(self.seid.is_some(), S), (self.priority.is_some(), MP), (self.follow_on, FO)] {
            flags |= if set { flag } else { 0 };
        }
        out.put(&[flags, self.message_type]);
        out.put_u16(self.length_field(0) as u16);
        self.seid.into_iter().for_each(|seid| out.put_u64(seid.0));
        out.put_u24(self.sequence);
        out.put_u8(self.priority.unwrap_or_default() << 4);
    }

    /// The value of the length field for a body of this many octets.
    pub(crate) const fn length_field(&self, body: usize) -> usize {
        self.octets() - HEADER_UNCOUNTED_LEN + body
    }
}

/// A digest of the SEID and the body of a request: it tells a repeated request from another one with its sequence number.
/// The same in every process.
pub fn request_digest(seid: Option<Seid>, body: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one((seid, body))
}
