//! The capacity of the slow path.

use causeway_types::Span;

/// Limits of a [`crate::SlowPath`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Sessions at the same time.
    pub max_sessions: u32,
    /// PDRs in one session.
    pub max_pdrs_per_session: u16,
    /// MAC addresses that one Ethernet session may have.
    pub macs_per_session: usize,
    /// MAC addresses that all Ethernet sessions may have together.
    pub macs: usize,
    /// Neighbour entries for proxying that one Ethernet session may have.
    pub neighbours_per_session: usize,
    /// Neighbour entries for proxying that one Ethernet network may have, beside those of sessions.
    pub neighbours_per_network: usize,
    /// Neighbour entries for proxying in all.
    pub neighbours: usize,
    /// Packets that one session may buffer, unless a BAR suggests fewer.
    pub buffer_packets_per_session: usize,
    /// Octets that one session may buffer, with the extension headers for the next tunnel.
    pub buffer_octets_per_session: usize,
    /// Packets that all sessions may buffer together.
    pub buffer_packets: usize,
    /// Octets that all sessions may buffer together.
    pub buffer_octets: usize,
    /// What may pass together after a pause, as time at the full rate, under rates of QERs without an averaging
    /// window and of slices.
    pub averaging_window: Span,
    /// How long a packet may be buffered, unless the SMF requests a longer time. `None`: without limit.
    pub buffer_time: Option<Span>,
    /// Which packet is dropped when a buffer is full.
    pub when_full: WhenFull,
    /// After this time, further packets are reported to the SMF again. `None`: once per buffering period.
    pub notify_again: Option<Span>,
}

/// Which packet is dropped when a buffer is full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WhenFull {
    /// The new packet.
    DropNewest,
    /// The oldest packet, of the session or the BAR whose limit it is, or of all.
    DropOldest,
}

impl Limits {
    /// A packet of `octets` octets fits into empty buffers.
    pub(crate) fn can_ever_hold(&self, octets: usize) -> bool {
        octets <= self.buffer_octets_per_session && octets <= self.buffer_octets
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sessions: 100_000,
            max_pdrs_per_session: 64,
            macs_per_session: 256,
            macs: 65_536,
            neighbours_per_session: 256,
            neighbours_per_network: 8192,
            neighbours: 16_384,
            buffer_packets_per_session: 256,
            buffer_octets_per_session: 1 << 20,
            buffer_packets: 1 << 20,
            buffer_octets: 256 << 20,
            // With a packet of the same size, the excess over one second stays below 1 %.
            averaging_window: Span::from_millis(5),
            buffer_time: Some(Span::from_secs(300)),
            when_full: WhenFull::DropNewest,
            notify_again: None,
        }
    }
}
