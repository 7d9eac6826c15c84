//! Buffering Action Rules.

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
