//! How much the reference data plane holds.

use causeway_types::Span;

/// Limits of a [`crate::Reference`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Sessions at the same time.
    pub max_sessions: u32,
    /// PDRs in one session.
    pub max_pdrs_per_session: u16,
    /// Packets that one session may buffer, unless a BAR suggests fewer.
    pub buffer_packets_per_session: usize,
    /// Octets that all sessions may buffer together.
    pub buffer_octets: usize,
    /// How much may come at once after a pause, as time at the full rate, under rates of QERs without an averaging
    /// window of their own, and of slices.
    pub averaging_window: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sessions: 100_000,
            max_pdrs_per_session: 64,
            buffer_packets_per_session: 256,
            buffer_octets: 256 << 20,
            // With a packet of as much, the excess over one second stays below 1 %.
            averaging_window: Span::from_millis(5),
        }
    }
}
