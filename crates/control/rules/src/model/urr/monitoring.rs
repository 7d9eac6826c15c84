//! Points and intervals of time that a URR measures by.

use causeway_types::{Span, WallTime};

use super::UsageLimits;

/// A monitoring time (TS 29.244 clauses 5.2.2.2.1 and 7.5.2.4): usage before and after it is reported apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Monitoring {
    /// When, by the wall clock; one that has passed when it is given is reached at once.
    pub at: WallTime,
    /// The thresholds from then on. Where there is none, what is left of the old one goes on.
    pub thresholds: UsageLimits,
    /// The quotas from then on. Where there is none, what is left of the old one goes on.
    pub quotas: UsageLimits,
}

/// A Time Quota Mechanism (TS 29.244 clauses 5.2.2.2.1 and 8.2.81): time is measured in whole base intervals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BaseInterval {
    /// CTP: from the first packet to the end of the first interval of this length without packets.
    Continuous(Span),
    /// DTP: one interval of this length from each packet that comes outside of one.
    Discrete(Span),
}
