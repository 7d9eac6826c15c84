//! Statistics of the backend.

/// Event counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that were refused.
    pub refused: u64,
    /// Batches whose outcome had to be read from the switch.
    pub read_back: u64,
    /// Requests that failed because the switch was unreachable.
    pub unavailable: u64,
    /// Counters of rules in use that were missing: the switch has lost them.
    pub lost_counters: u64,
    /// Frames for the control plane that were ignored.
    pub ignored_frames: u64,
    /// Writes of templates and routes that the switch refused.
    pub rejected_background_writes: u64,
    /// Reconciliations of the switch with the desired state.
    pub reconciliations: u64,
    /// Counters that started from zero then: their counts since the last reading are lost.
    pub restarted_counters: u64,
}
