//! The parts that an update of a URR can provision again.

/// A part of a URR that starts over when the SMF provisions it, even with an equal value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UrrPart {
    /// Volume Threshold.
    VolumeThreshold,
    /// Time Threshold.
    TimeThreshold,
    /// Event Threshold.
    EventThreshold,
    /// Volume Quota.
    VolumeQuota,
    /// Time Quota.
    TimeQuota,
    /// Event Quota.
    EventQuota,
    /// Dropped DL Traffic Threshold.
    DroppedThreshold,
    /// Measurement Period.
    Period,
    /// Quota Holding Time.
    HoldingTime,
    /// Quota Validity Time.
    ValidityTime,
    /// User Plane Inactivity Timer.
    InactivityTimer,
    /// Number of Reports.
    NumberOfReports,
}
