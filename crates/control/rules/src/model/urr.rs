//! Usage Reporting Rules: what is counted and when it is reported.

use causeway_types::{UrrId, Volume};

/// A Usage Reporting Rule (TS 29.244 clause 7.5.2.4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Urr {
    /// Unique in the session.
    pub id: UrrId,
    /// What is measured.
    pub method: MeasurementMethod,
    /// What causes a report.
    pub triggers: UrrTriggers,
    /// The volume after which a report is due, counted anew after each report.
    pub volume_threshold: Option<DirectionalLimit>,
    /// Count before QoS enforcement (MBQE) instead of after it.
    pub before_qos: bool,
}

impl Urr {
    /// Measures this and reports only when asked and at the end.
    pub fn new(id: UrrId, method: MeasurementMethod) -> Self {
        Self { id, method, triggers: UrrTriggers::default(), volume_threshold: None, before_qos: false }
    }
}

/// What a URR measures (TS 29.244 clause 8.2.40).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MeasurementMethod {
    /// VOLUM: octets.
    pub volume: bool,
    /// DURAT: time.
    pub duration: bool,
}

/// Reporting triggers (TS 29.244 clause 8.2.19), those that are supported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UrrTriggers {
    /// VOLTH: the volume threshold is reached.
    pub volume_threshold: bool,
}

/// Octet limits per direction (TS 29.244 clause 8.2.13). Reaching any one that is present counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DirectionalLimit {
    /// Octets of both directions together.
    pub total: Option<u64>,
    /// Octets from the UE.
    pub uplink: Option<u64>,
    /// Octets towards the UE.
    pub downlink: Option<u64>,
}

impl DirectionalLimit {
    /// The volume has reached one of the limits.
    pub fn is_reached_by(&self, volume: &Volume) -> bool {
        let reached = |limit: Option<u64>, octets: u64| limit.is_some_and(|limit| octets >= limit);
        reached(self.total, volume.total())
            || reached(self.uplink, volume.uplink)
            || reached(self.downlink, volume.downlink)
    }
}
