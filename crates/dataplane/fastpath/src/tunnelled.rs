//! What is looked at in a GTP-U message that does not look plain.

use causeway_dataplane::DropReason;
use causeway_packet::gtpu;
use causeway_reference::drop_reason_of;
use causeway_types::Qfi;

const G_PDU: u8 = 255;
const PDU_SESSION_CONTAINER: u8 = gtpu::extension_type::PDU_SESSION_CONTAINER;

/// A G-PDU up to its user packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tunnelled {
    pub(crate) teid: u32,
    /// Where the user packet begins.
    pub(crate) start: u16,
    /// Where the message ends.
    pub(crate) end: u16,
    /// The QFI of the PDU Session Container.
    pub(crate) qfi: Option<Qfi>,
    /// There is nothing in its extension headers that could be for the next tunnel but the QFI.
    pub(crate) is_plain: bool,
    /// It has an extension header that an endpoint has to understand and we do not.
    pub(crate) is_strange: bool,
}

/// What is no G-PDU with a user packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfit {
    /// It is for the slow room, which knows all messages.
    Ask,
    /// It ends here.
    Drop(DropReason),
}

impl Tunnelled {
    /// # Errors
    /// [`Unfit`]
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Unfit> {
        Self::parse_usual(bytes).map_or_else(|| Self::parse_any(bytes), Ok)
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
        let (start, qfi, is_plain) = match flags {
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
        Some(Self { teid, start, end: end as u16, qfi, is_plain, is_strange: false })
    }

    /// Sequence numbers, containers with more in them, and other extension headers.
    #[cold]
    fn parse_any(bytes: &[u8]) -> Result<Self, Unfit> {
        let packet = gtpu::Packet::parse(bytes).map_err(|error| Unfit::Drop(drop_reason_of(&error)))?;
        let user = match packet.message {
            gtpu::Message::GPdu(user) => user,
            gtpu::Message::Other { .. } => return Err(Unfit::Drop(DropReason::UnsupportedGtpMessage)),
            _ => return Err(Unfit::Ask),
        };
        let teid = packet.header.teid.ok_or(Unfit::Drop(DropReason::UnknownTeid))?;
        let qfi = packet.extensions.pdu_session().as_ref().map(gtpu::PduSession::qfi);
        Ok(Self {
            teid: teid.value(),
            start: u16::try_from(packet.body_offset).map_err(|_| Unfit::Ask)?,
            end: u16::try_from(packet.body_offset + user.len()).map_err(|_| Unfit::Ask)?,
            qfi,
            is_plain: packet.extensions.is_empty(),
            is_strange: packet.extensions.not_understood().is_some(),
        })
    }
}
