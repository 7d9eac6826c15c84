//! What the backend counts.

use super::switch::Switch;

/// What has happened since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Operations that came to be.
    pub done: u64,
    /// Operations that were refused.
    pub refused: u64,
    /// Batches whose outcome had to be read from the switch.
    pub read_back: u64,
    /// Requests that the switch could not be reached for.
    pub unavailable: u64,
    /// Counters of rules in use that were not there: the switch has lost them.
    pub lost_counters: u64,
    /// Frames for the control plane that nothing could be done with.
    pub ignored_frames: u64,
    /// Writes of templates and routes that the switch refused.
    pub refused_chores: u64,
    /// How often all that the switch holds was compared with what it should, and written again where it was not.
    pub refills: u64,
    /// Counters that started from zero then: what they had counted since they were read last is lost.
    pub restarted_counters: u64,
}

impl<D> Switch<D> {
    /// What has happened since the start.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
