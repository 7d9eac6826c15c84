//! Buffering Action Rules: how packets wait.

use causeway_types::{BarId, Span};

/// A Buffering Action Rule (TS 29.244 clause 7.5.2.6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bar {
    /// Unique in the session.
    pub id: BarId,
    /// Downlink Data Notification Delay: how long after the first packet the SMF is told. Zero: at once.
    pub notification_delay: Span,
    /// Suggested Buffering Packets Count: how many packets to hold at the most. `None`: the configured limit.
    pub suggested_packets: Option<u16>,
}

impl Bar {
    /// Notifies at once and suggests no limit.
    pub fn new(id: BarId) -> Self {
        Self { id, notification_delay: Span::ZERO, suggested_packets: None }
    }
}
