//! Statistics of a storm.

use std::ops::AddAssign;

/// Event counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) changes: u64,
    pub(super) refused: u64,
    pub(super) packets: u64,
    pub(super) sent: u64,
    /// Packets that were transmitted by the FAR of an exhausted quota, which are not counted.
    pub(super) uncounted: u64,
    /// Packets that were counted before a restart of the switch, and not read.
    pub(super) lost: u64,
    pub(super) restarts: u64,
    /// Controllers that were replaced by others.
    pub(super) successions: u64,
    pub(super) read_back: u64,
    pub(super) reconciliations: u64,
    pub(super) checks: u64,
    /// Sessions that had filters on the switch when its tables were checked, in profile `direct`.
    pub(super) filtered: u64,
}

impl AddAssign for Done {
    fn add_assign(&mut self, other: Self) {
        self.changes += other.changes;
        self.refused += other.refused;
        self.packets += other.packets;
        self.sent += other.sent;
        self.uncounted += other.uncounted;
        self.lost += other.lost;
        self.restarts += other.restarts;
        self.successions += other.successions;
        self.read_back += other.read_back;
        self.reconciliations += other.reconciliations;
        self.checks += other.checks;
        self.filtered += other.filtered;
    }
}
