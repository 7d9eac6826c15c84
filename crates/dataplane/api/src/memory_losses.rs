//! What a data plane with its state in external memory lost with that.

/// Failures of external memory, and what they took, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryLosses {
    /// Failures after which all was written anew.
    pub failures: u64,
    /// Restarts of the memory among them.
    pub restarts: u64,
    /// States of sessions that only the memory had: what their packets used since the slow path granted it is not reported.
    pub states: u64,
    /// Entries of flows that were not used for long, whose place another flow took. Nothing is lost with them but a lookup of their next packet.
    pub aged_flows: u64,
}

impl MemoryLosses {
    /// The sums of both.
    #[must_use]
    pub const fn with(self, other: &Self) -> Self {
        Self {
            failures: self.failures + other.failures,
            restarts: self.restarts + other.restarts,
            states: self.states + other.states,
            aged_flows: self.aged_flows + other.aged_flows,
        }
    }
}
