//! Parses GTP-U messages that the batch parser does not cover.

use causeway_dataplane::DropReason;
use causeway_packet::gtpu::{self, MessageType};
use causeway_slowpath::drop_reason_of;
use causeway_types::{Qfi, Teid};

const G_PDU: u8 = 255;
/// Extension header types below this value do not require comprehension.
const COMPREHENSION_REQUIRED: u8 = 0x80;
/// The flag for extension headers.
const FLAG_E: u8 = 0x04;
/// The offset of the first extension header.
const FIRST_EXTENSION_AT: usize = 12;
const PDU_SESSION_CONTAINER: u8 = gtpu::extension_type::PDU_SESSION_CONTAINER;

/// A G-PDU up to its user packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GPdu {
    pub(crate) teid: u32,
    /// Where the user packet starts.
    pub(crate) start: u16,
    /// Where the message ends.
    pub(crate) end: u16,
    /// The QFI of the PDU Session Container.
    pub(crate) qfi: Option<Qfi>,
    /// Its extension headers contain no value for the next tunnel except the QFI.
    pub(crate) is_common: bool,
    /// It has an unsupported extension header that requires comprehension by an endpoint.
    pub(crate) has_unsupported_extension: bool,
}

/// The result for a message that is no G-PDU with a user packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotGPdu {
    /// To the slow path, which handles all message types.
    SlowPath,
    /// Drop.
    Drop(DropReason),
}

/// The result of walking a chain of extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chain {
    Read(GPdu),
    /// It ends beyond the message, or nowhere.
    Malformed,
    /// It belongs to an unknown message type.
    OtherMessage,
    /// The full parser must decide.
    Unknown,
}

impl GPdu {
    /// # Errors
    /// [`NotGPdu`]
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, NotGPdu> {
        Self::parse_usual(bytes).map_or_else(|| Self::parse_unusual(bytes), Ok)
    }

    /// Parses messages that the common case does not cover.
    ///
    /// # Errors
    /// [`NotGPdu`]
    #[inline(always)]
    pub(crate) fn parse_unusual(bytes: &[u8]) -> Result<Self, NotGPdu> {
        match Self::parse_chain(bytes) {
            Chain::Read(tunnelled) => Ok(tunnelled),
            Chain::Malformed => Err(NotGPdu::Drop(DropReason::MalformedGtpu)),
            Chain::OtherMessage => Err(NotGPdu::Drop(DropReason::UnsupportedGtpMessage)),
            // No further parse for data that is not GTP-U.
            Chain::Unknown if bytes.first().is_some_and(|flags| flags & 0xf0 != 0x30) => {
                Err(NotGPdu::Drop(DropReason::UnsupportedGtpVersion))
            }
            Chain::Unknown => Self::parse_any(bytes),
        }
    }

    /// A G-PDU with several extension headers and a container with only a QFI, or with a sequence number.
    #[inline(always)]
    fn parse_chain(bytes: &[u8]) -> Chain {
        let Some([flags @ 0x31..=0x37, message_type, hi, lo, a, b, c, d, _, _, _, first]) =
            bytes.first_chunk::<FIRST_EXTENSION_AT>()
        else {
            return Chain::Unknown;
        };
        let end = 8 + usize::from(u16::from_be_bytes([*hi, *lo]));
        let Some(message) = bytes.get(..end).filter(|_| end <= usize::from(u16::MAX)) else {
            return if end > bytes.len() { Chain::Malformed } else { Chain::Unknown };
        };
        let Some(mut rest) = message.get(FIRST_EXTENSION_AT..) else { return Chain::Unknown };
        let (mut qfi, mut has_unsupported_extension) = (None, false);
        let mut kind = if flags & FLAG_E != 0 { *first } else { 0 };
        for _ in 0..gtpu::MAX_EXTENSION_HEADERS {
            if kind == 0 {
                break;
            }
            let (header, tail) = match rest.split_first_chunk::<4>() {
                // Nearly all extension headers are one word long: the next one is read before the length of this one is
                // known.
                Some((header @ [1, ..], tail)) => (&header[..], tail),
                _ => {
                    let len = rest.first().map_or(0, |units| usize::from(*units) * 4);
                    let Some(parts) = rest.split_at_checked(len) else { return Chain::Malformed };
                    parts
                }
            };
            // A header of zero octets has no last octet, and ends within the message.
            let [.., next] = header else { return Chain::Malformed };
            if kind == PDU_SESSION_CONTAINER {
                match header {
                    [1, 0 | 0x10, flow @ 0..0x40, _] if qfi.is_none() => qfi = Qfi::new(*flow),
                    _ => return Chain::Unknown,
                }
            } else {
                has_unsupported_extension |= kind >= COMPREHENSION_REQUIRED;
            }
            (rest, kind) = (tail, *next);
        }
        if kind != 0 {
            // The chain exceeds the supported length.
            return Chain::Malformed;
        }
        match MessageType(*message_type) {
            MessageType::G_PDU => {}
            MessageType::ECHO_REQUEST
            | MessageType::ECHO_RESPONSE
            | MessageType::ERROR_INDICATION
            | MessageType::SUPPORTED_EXTENSION_HEADERS
            | MessageType::END_MARKER => return Chain::Unknown,
            _ => return Chain::OtherMessage,
        }
        let Some(teid) = Teid::new(u32::from_be_bytes([*a, *b, *c, *d])) else { return Chain::Unknown };
        let (teid, start) = (teid.value(), end - rest.len());
        let is_common = start == FIRST_EXTENSION_AT;
        Chain::Read(Self {
            teid,
            start: start as u16,
            end: end as u16,
            qfi,
            is_common,
            has_unsupported_extension,
        })
    }

    #[inline]
    fn parse_usual(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<8>()?;
        let [flags, G_PDU, hi, lo, a, b, c, d] = *head else { return None };
        let teid = u32::from_be_bytes([a, b, c, d]);
        let end = 8 + u16::from_be_bytes([hi, lo]) as usize;
        if end > bytes.len() || end > usize::from(u16::MAX) {
            return None;
        }
        let (start, qfi, is_common) = match flags {
            0x30 => (8, None, true),
            0x34 if end >= 16 => {
                let head = bytes.first_chunk::<16>()?;
                match [head[11], head[12], head[13] & 0x0f, head[14] & 0xc0, head[15]] {
                    [PDU_SESSION_CONTAINER, 1, 0, 0, 0] if head[13] >> 4 <= 1 => {
                        (16, Qfi::new(head[14]), true)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Self { teid, start, end: end as u16, qfi, is_common, has_unsupported_extension: false })
    }

    /// Containers with more fields.
    #[cold]
    fn parse_any(bytes: &[u8]) -> Result<Self, NotGPdu> {
        let packet = gtpu::Packet::parse(bytes).map_err(|error| NotGPdu::Drop(drop_reason_of(&error)))?;
        let user = match packet.message {
            gtpu::Message::GPdu(user) => user,
            gtpu::Message::Other { .. } => return Err(NotGPdu::Drop(DropReason::UnsupportedGtpMessage)),
            _ => return Err(NotGPdu::SlowPath),
        };
        let teid = packet.header.teid.ok_or(NotGPdu::Drop(DropReason::UnknownTeid))?;
        let qfi = packet.extensions.pdu_session().as_ref().map(gtpu::PduSession::qfi);
        Ok(Self {
            teid: teid.value(),
            start: u16::try_from(packet.body_offset).map_err(|_| NotGPdu::SlowPath)?,
            end: u16::try_from(packet.body_offset + user.len()).map_err(|_| NotGPdu::SlowPath)?,
            qfi,
            is_common: packet.extensions.is_empty(),
            has_unsupported_extension: packet.extensions.first_not_comprehended().is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 4096 }))]

        // Input:  G-PDUs with up to ten extension headers of the relevant types, with or without the flag for them; one
        //         octet may be changed.
        // Output: the fast parser agrees with the parser of all messages.
        #[test]
        fn chains_equal_the_general_parser(
            kinds in proptest::collection::vec(prop_oneof![Just(PDU_SESSION_CONTAINER), Just(0x3f_u8), Just(0x40), Just(0x41), any::<u8>()], 0..10),
            flow in 0..80_u8,
            words in 1..3_u8,
            flags in prop_oneof![Just(0x34), 0x30..0x38_u8],
            change in (0..60_usize, any::<u8>()),
        ) {
            let mut frame = vec![flags, G_PDU, 0, 0, 1, 2, 3, 4, 0, 0, 0];
            for kind in &kinds {
                let is_container = *kind == PDU_SESSION_CONTAINER;
                let words = if is_container { 1 } else { words };
                frame.extend([*kind, words, if is_container { 0x10 } else { 7 }, flow]);
                frame.extend(vec![0x5a; usize::from(words - 1) * 4]);
            }
            frame.push(0);
            frame.extend([0x45; 24]);
            let len = frame.len() as u16 - 8;
            frame[2..4].copy_from_slice(&len.to_be_bytes());
            let (at, octet) = change;
            for octets in [frame.clone(), {
                frame.get_mut(at).into_iter().for_each(|place| *place = octet);
                frame
            }] {
                match GPdu::parse_chain(&octets) {
                    Chain::Read(read) => prop_assert_eq!(GPdu::parse_any(&octets), Ok(read)),
                    Chain::Malformed => {
                        let dropped = Err(NotGPdu::Drop(DropReason::MalformedGtpu));
                        prop_assert_eq!(GPdu::parse_any(&octets), dropped);
                    }
                    Chain::OtherMessage => {
                        let dropped = Err(NotGPdu::Drop(DropReason::UnsupportedGtpMessage));
                        prop_assert_eq!(GPdu::parse_any(&octets), dropped);
                    }
                    Chain::Unknown => {}
                }
                match (GPdu::parse(&octets), GPdu::parse_any(&octets)) {
                    (Ok(read), Ok(all)) => prop_assert_eq!(GPdu { is_common: all.is_common, ..read }, all),
                    // The full parser decides the rest; no tunnel has TEID zero.
                    (Ok(read), Err(_)) => prop_assert_eq!(read.teid, 0),
                    (read, all) => prop_assert_eq!(read, all),
                }
            }
        }
    }
}
