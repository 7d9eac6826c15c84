//! How much the reference data plane holds.

/// Limits of a [`crate::Reference`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Sessions at the same time.
    pub max_sessions: u32,
    /// PDRs in one session.
    pub max_pdrs_per_session: u16,
    /// MAC addresses that one Ethernet session may have.
    pub macs_per_session: usize,
    /// Packets that one session may buffer, unless a BAR suggests fewer.
    pub buffer_packets_per_session: usize,
    /// Octets that all sessions may buffer together.
    pub buffer_octets: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sessions: 100_000,
            max_pdrs_per_session: 64,
            macs_per_session: 256,
            buffer_packets_per_session: 256,
            buffer_octets: 256 << 20,
        }
    }
}
