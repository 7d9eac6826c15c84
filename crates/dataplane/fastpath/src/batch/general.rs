//! Packets of any kind between the stages of a batch: those that [`crate::batch::state`] does not cover.

use arrayvec::ArrayVec;
use causeway_dataplane::DropReason;
use causeway_packet::BATCH;
use causeway_packet::rewrite::Ecn;
use causeway_types::Qfi;

use crate::parse::user_header::UserHeader;
use crate::table::key::FlowKey;

/// A packet between the stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneralPacket {
    pub(crate) stage: GeneralStage,
    /// The user packet; zero octets if it is malformed.
    pub(crate) user: UserHeader,
    /// Where it starts in the frame.
    pub(crate) start: u16,
    pub(crate) qfi: Option<Qfi>,
    /// Its GTP-U header contains no value for the next tunnel except the QFI.
    pub(crate) is_common: bool,
    /// The outer header has a congestion mark and the packet is not ECN-capable: its session drops it.
    pub(crate) is_congested: bool,
    /// It has an unsupported extension header that requires comprehension.
    pub(crate) has_unsupported_extension: bool,
    /// The new ECN field, if it changes.
    pub(crate) ecn: Option<Ecn>,
    /// The index of its frame in the batch.
    pub(crate) index: u8,
}

/// The stage of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GeneralStage {
    /// To the slow path.
    SlowPath,
    /// Dropped.
    Drop(DropReason),
    /// The tunnel does not exist.
    UnknownTunnel,
    /// Its session does not support one of its extension headers.
    UnsupportedExtension,
    /// No flow entry has its destination.
    UnknownUe,
    /// Its flow entry, if there is one, is at the direct position or found through the index.
    Lookup { key: FlowKey, near: Option<u32> },
    /// A rule matched: the program, the step, and the flow entry of the first lookup key.
    Matched { program: u32, step: u8, entry: u32 },
}

/// The packets of a batch outside the common case.
pub(crate) type GeneralPackets = ArrayVec<GeneralPacket, BATCH>;

impl GeneralPacket {
    /// A packet for the slow path.
    pub(crate) const fn nothing(index: usize) -> Self {
        let index = index as u8;
        Self {
            index,
            stage: GeneralStage::SlowPath,
            user: UserHeader::NOTHING,
            start: 0,
            qfi: None,
            is_common: true,
            is_congested: false,
            has_unsupported_extension: false,
            ecn: None,
        }
    }
}
