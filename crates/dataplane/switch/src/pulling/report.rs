//! Usage that the control plane asked for.

use bitflags::bitflags;
use causeway_types::{Time, Volume};

bitflags! {
    /// Why usage is reported (TS 29.244 clause 8.2.41).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Triggers: u8 {
        /// A period is over (PERIO).
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
    /// The traffic of the URR must stop: a quota is exhausted.
    pub const fn must_stop(self) -> bool {
        self.intersects(Self::VOLUME_QUOTA.union(Self::TIME_QUOTA))
    }
}

/// Usage of one URR since its last report. All reports of a URR together have what its counters held, to the octet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report<K> {
    /// The URR.
    pub key: K,
    /// Why.
    pub triggers: Triggers,
    /// How much.
    pub usage: Volume,
    /// The end of the last report, or when measurement started; `None` if it has not.
    pub from: Option<Time>,
    /// When its counters were read.
    pub until: Time,
}
