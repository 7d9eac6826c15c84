//! Usage reports for the control plane.

use bitflags::bitflags;
use causeway_types::{Time, Volume};

bitflags! {
    /// Causes of a usage report (TS 29.244 clause 8.2.41).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Triggers: u8 {
        /// A period has ended (PERIO).
        const PERIODIC = 1;
        /// The volume threshold was reached (VOLTH).
        const VOLUME_THRESHOLD = 1 << 1;
        /// The time threshold was reached (TIMTH).
        const TIME_THRESHOLD = 1 << 2;
        /// The volume quota is exhausted (VOLQU).
        const VOLUME_QUOTA = 1 << 3;
        /// The time quota is exhausted (TIMQU).
        const TIME_QUOTA = 1 << 4;
    }
}

impl Triggers {
    /// Whether the traffic of the URR must stop: a quota is exhausted.
    pub const fn must_stop(self) -> bool {
        self.intersects(Self::VOLUME_QUOTA.union(Self::TIME_QUOTA))
    }
}

/// Usage of one URR since its last report. The sum of all reports of a URR equals its counters, to the octet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report<K> {
    /// The URR.
    pub key: K,
    /// The causes.
    pub triggers: Triggers,
    /// The volume.
    pub usage: Volume,
    /// The end of the last report, or the start of measurement; `None` if it has not started.
    pub from: Option<Time>,
    /// When its counters were read.
    pub until: Time,
}
