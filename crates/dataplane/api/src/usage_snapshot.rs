//! Measured usage that goes on in the data plane of another host.

use causeway_types::UrrId;

/// A URR whose measurement goes on from a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestoredUrr {
    /// The URR.
    pub urr: UrrId,
    /// Its SMF has given it thresholds since the snapshot: they count from the last report.
    pub has_new_thresholds: bool,
    /// Its SMF has given it a quota since the snapshot: it counts from the last report.
    pub has_new_quotas: bool,
}
