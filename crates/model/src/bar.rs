//! Buffering Action Rules, extended buffering, and reports of buffered and discarded packets.

use causeway_types::{BarId, Span};

/// A Buffering Action Rule (TS 29.244 clause 7.5.2.6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bar {
    /// Unique in the session.
    pub id: BarId,
    /// Downlink Data Notification Delay: the time from the first packet to its report to the SMF. Zero:
    /// immediately.
    pub notification_delay: Span,
    /// Suggested Buffering Packets Count: maximum number of buffered packets. `None`: the configured limit.
    pub suggested_packets: Option<u16>,
}

impl Bar {
    /// Notifies immediately and suggests no limit.
    pub fn new(id: BarId) -> Self {
        Self { id, notification_delay: Span::ZERO, suggested_packets: None }
    }
}

/// The packets that are reported for the downlink data delivery status (feature DDDS, TS 29.244 clause 5.28): the
/// first of each PDR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DeliveryStatus {
    /// BDPN: the first packet that is buffered.
    pub buffered: bool,
    /// DDPN: the first packet that is discarded, by the FAR or by a limit of the buffer.
    pub discarded: bool,
}

impl DeliveryStatus {
    /// No reports.
    pub const NONE: Self = Self { buffered: false, discarded: false };
}

/// Extended buffering (TS 29.244 clause 5.2.4.2). It is not part of the rules: it ends by itself, without a request
/// of the SMF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtendedBuffering {
    /// The BAR whose FARs are affected.
    pub bar: BarId,
    /// DL Buffering Duration; `None` if absent.
    pub duration: Option<BufferingDuration>,
    /// DL Buffering Suggested Packet Count: the number of packets buffered meanwhile.
    pub packets: Option<u16>,
}

/// How long packets are buffered without reports of new ones (TS 29.244 clause 8.2.29).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferingDuration {
    /// Extended buffering ends.
    Stopped,
    /// For this time, then buffered packets are discarded.
    For(Span),
    /// Until a further request of the SMF.
    Unlimited,
}
