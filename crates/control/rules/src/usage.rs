//! Measured usage on its way from the data plane to a usage report.

use causeway_types::{Time, UrrId, Volume};

/// What a URR measured since its last report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The rule.
    pub urr: UrrId,
    /// Why it is reported now.
    pub reason: UsageReason,
    /// What was counted since the last report, nothing twice and nothing left out.
    pub volume: Volume,
    /// When this measurement began: rule creation or the last report.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// The first packet counted in it.
    pub first_packet: Option<Time>,
    /// The last packet counted in it.
    pub last_packet: Option<Time>,
}

/// The cause of a usage report (Usage Report Trigger, TS 29.244 clause 8.2.41).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UsageReason {
    /// VOLTH: the volume threshold was reached.
    VolumeThreshold,
    /// IMMER: asked for by Query URR.
    Queried,
    /// TERMR: the URR was removed, or the last PDR that used it.
    Removed,
    /// TERMR: the session was deleted.
    SessionEnded,
}
