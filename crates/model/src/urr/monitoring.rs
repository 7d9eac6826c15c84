//! Monitoring times and base intervals of a URR.

use causeway_types::{Span, WallTime};

use super::UsageLimits;

/// A monitoring time (TS 29.244 clauses 5.2.2.2.1 and 7.5.2.4): usage before and after it is reported separately.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Monitoring {
    /// The wall clock time; one in the past is reached immediately.
    pub at: WallTime,
    /// The thresholds after it. If there is none, the rest of the old one continues.
    pub thresholds: UsageLimits,
    /// The quotas after it. If there is none, the rest of the old one continues.
    pub quotas: UsageLimits,
}

/// A Time Quota Mechanism (TS 29.244 clauses 5.2.2.2.1 and 8.2.81): time is measured in whole base intervals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BaseInterval {
    /// CTP: from the first packet to the end of the first interval of this length without packets.
    Continuous(Span),
    /// DTP: one interval of this length from each packet outside of one.
    Discrete(Span),
}
