//! Measured usage that goes on in the data plane of another host.

use causeway_types::UrrId;

use crate::UsageTotals;

/// A URR whose measurement goes on from a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestoredUrr {
    /// The URR.
    pub urr: UrrId,
    /// The usage that was reported since the snapshot; `None`: there was no report.
    pub reported: Option<UsageTotals>,
    /// Its thresholds count from the last report: its SMF has given them since the snapshot, or one was reported.
    pub has_new_thresholds: bool,
    /// Its SMF has given it a quota since the snapshot: it counts from the last report.
    pub has_new_quotas: bool,
}

impl RestoredUrr {
    /// It goes on from the snapshot as it is.
    pub const fn unchanged(urr: UrrId) -> Self {
        Self { urr, reported: None, has_new_thresholds: false, has_new_quotas: false }
    }
}
