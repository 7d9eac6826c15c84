//! What a detector says of a packet, and of all packets.

/// What a detector knows of a packet's flow after the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The flow has no slot.
    Untracked,
    /// The flow has a slot, and is not heavy.
    Light,
    /// The flow is heavy, and was reported before.
    Heavy,
    /// The flow has become heavy: it is to be reported now.
    Report {
        /// What the detector measured: units in the window, or tau.
        measured: u32,
    },
}

impl Outcome {
    /// Whether the flow is to be reported.
    pub const fn is_report(self) -> bool {
        matches!(self, Self::Report { .. })
    }
}

/// What a detector counts. All counters wrap after 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Flows that became heavy.
    pub reports: u64,
    /// Slots that passed to another flow.
    pub replacements: u64,
    /// Packets that a slot could not count in full, because the count was at its limit.
    pub saturations: u64,
    /// Packets that were earlier than one before them.
    pub earlier_packets: u64,
    /// Times that the detector forgot everything, since a packet was earlier by more than a window.
    pub restarts: u64,
}
