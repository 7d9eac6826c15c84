//! What the SMF is told of downlink packets that wait or are thrown away, and buffering for longer than usual.

use causeway_types::{BarId, Span};

/// Which packets the SMF is told of for the delivery status of downlink data (feature DDDS, TS 29.244
/// clause 5.28): the first of each PDR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DeliveryStatus {
    /// BDPN: the first packet that is buffered.
    pub buffered: bool,
    /// DDPN: the first packet that is discarded, by the FAR or by a limit of the buffer.
    pub discarded: bool,
}

impl DeliveryStatus {
    /// Nothing is told.
    pub const NONE: Self = Self { buffered: false, discarded: false };
}

/// Buffering for longer than usual (TS 29.244 clause 5.2.4.2). It is no part of the rules: it ends by itself,
/// without the SMF asking for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtendedBuffering {
    /// Whose FARs it is about.
    pub bar: BarId,
    /// DL Buffering Duration; `None` when it is not said.
    pub duration: Option<BufferingDuration>,
    /// DL Buffering Suggested Packet Count: how many packets may wait meanwhile.
    pub packets: Option<u16>,
}

/// How long packets are buffered without the SMF being told of new ones (TS 29.244 clause 8.2.29).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferingDuration {
    /// Not any longer: what was asked for before ends.
    Stopped,
    /// So long, then what waits is discarded.
    For(Span),
    /// Until the SMF says something else.
    Unlimited,
}
