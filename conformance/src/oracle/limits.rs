//! Limits of the oracle.

use causeway_types::Span;

/// What the oracle holds at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions.
    pub max_sessions: u32,
    /// Packets that wait in one session.
    pub buffer_packets_per_session: usize,
    /// Octets that wait in one session.
    pub buffer_octets_per_session: usize,
    /// Packets that wait in all sessions.
    pub buffer_packets: usize,
    /// Octets that wait in all sessions.
    pub buffer_octets: usize,
    /// How long a packet waits; `None`: without a limit.
    pub buffer_time: Option<Span>,
    /// A full buffer drops its oldest packet, not the newest.
    pub drops_oldest: bool,
    /// The time after which the SMF is notified again of packets of a flow; `None`: never.
    pub notify_again: Option<Span>,
}
