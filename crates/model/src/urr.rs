//! Usage Reporting Rules.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use causeway_types::{FarId, ReportingTriggers, Span, UrrId, Volume, WallTime};

use super::SdfFilter;

/// A Usage Reporting Rule (TS 29.244 clause 7.5.2.4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Urr {
    /// Unique in the session.
    pub id: UrrId,
    /// What is measured.
    pub method: MeasurementMethod,
    /// The triggers of reports. A limit or timer below causes a report only with its trigger.
    pub triggers: ReportingTriggers,
    /// The limits that cause a report, counted anew after each report that a threshold caused.
    pub thresholds: UsageLimits,
    /// The usage that may pass until the next quota. Zero: none.
    pub quotas: UsageLimits,
    /// The dropped downlink traffic that causes a report (DROTH), counted anew after each such report.
    pub dropped_threshold: Option<DroppedLimit>,
    /// The interval of periodic reports (PERIO); not zero with that trigger.
    pub period: Option<Span>,
    /// The time without packets until remaining quotas become void.
    pub holding_time: Option<Span>,
    /// The time from its provisioning until a quota becomes void.
    pub validity_time: Option<Span>,
    /// The time without packets until inactivity is reported (UPINT); not zero.
    pub inactivity_timer: Option<Span>,
    /// The time without frames of a MAC address until it is reported as removed (Ethernet Inactivity Timer); not
    /// zero, and with the trigger MACAR only.
    pub mac_inactivity: Option<Span>,
    /// The time without packets until the measurement of time pauses; not zero. `None`: it never pauses.
    pub inactivity_detection: Option<Span>,
    /// Time is measured in whole intervals.
    pub base_interval: Option<BaseInterval>,
    /// The monitoring time, and the limits after it.
    pub monitoring: Option<Monitoring>,
    /// The same for later times.
    pub additional_monitoring: Vec<Monitoring>,
    /// The URRs whose reports cause one of this URR (LIUSA).
    pub linked: BTreeSet<UrrId>,
    /// The FAR for packets after a quota is exhausted; `None`: they are dropped.
    pub quota_far: Option<FarId>,
    /// The flows that are exempt from an exhausted quota.
    pub exempted_filters: Vec<SdfFilter>,
    /// The number of reports after which measurement ends.
    pub number_of_reports: Option<NonZeroU16>,
    /// Measure before QoS enforcement instead of after it (MBQE).
    pub before_qos: bool,
    /// Measurement is paused (INAM).
    pub inactive: bool,
    /// Time runs from the start of the measurement, not from its first packet (ISTM).
    pub immediate_start: bool,
}

impl Urr {
    /// Measures with this method and reports only on query and at the end.
    pub fn new(id: UrrId, method: MeasurementMethod) -> Self {
        Self {
            id,
            method,
            triggers: ReportingTriggers::empty(),
            thresholds: UsageLimits::default(),
            quotas: UsageLimits::default(),
            dropped_threshold: None,
            period: None,
            holding_time: None,
            validity_time: None,
            inactivity_timer: None,
            mac_inactivity: None,
            inactivity_detection: None,
            base_interval: None,
            monitoring: None,
            additional_monitoring: Vec::new(),
            linked: BTreeSet::new(),
            quota_far: None,
            exempted_filters: Vec::new(),
            number_of_reports: None,
            before_qos: false,
            inactive: false,
            immediate_start: false,
        }
    }

    /// All its monitoring times, the earliest first.
    pub fn monitoring_times(&self) -> Vec<&Monitoring> {
        let mut times: Vec<_> = self.monitoring.iter().chain(&self.additional_monitoring).collect();
        times.sort_by_key(|monitoring| monitoring.at);
        times
    }
}

/// What a URR measures (TS 29.244 clause 8.2.40).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MeasurementMethod {
    /// VOLUM: octets.
    pub volume: bool,
    /// DURAT: time.
    pub duration: bool,
    /// EVENT: the number of traffic starts.
    pub events: bool,
}

/// Thresholds, or quotas, of one URR; reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UsageLimits {
    /// Octets.
    pub volume: Option<DirectionalLimit>,
    /// Time of use, in whole seconds.
    pub time: Option<Span>,
    /// Events.
    pub events: Option<u32>,
}

impl UsageLimits {
    /// Whether there is a limit.
    pub const fn has_any(&self) -> bool {
        self.volume.is_some() || self.time.is_some() || self.events.is_some()
    }

    /// These limits if there are any, otherwise `held`.
    pub fn or(self, held: Self) -> Self {
        Self {
            volume: self.volume.or(held.volume),
            time: self.time.or(held.time),
            events: self.events.or(held.events),
        }
    }
}

/// Octet limits per direction (TS 29.244 clause 8.2.13). Reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DirectionalLimit {
    /// Octets of both directions together.
    pub total: Option<u64>,
    /// Octets from the UE.
    pub uplink: Option<u64>,
    /// Octets to the UE.
    pub downlink: Option<u64>,
}

impl DirectionalLimit {
    /// The volume has reached one of the limits.
    pub fn is_reached_by(&self, volume: &Volume) -> bool {
        self.any(volume, |limit, octets| octets >= limit)
    }

    /// The volume exceeds one of the limits.
    pub fn is_exceeded_by(&self, volume: &Volume) -> bool {
        self.any(volume, |limit, octets| octets > limit)
    }

    fn any(&self, volume: &Volume, holds: impl Fn(u64, u64) -> bool) -> bool {
        let holds = |limit: Option<u64>, octets: u64| limit.is_some_and(|limit| holds(limit, octets));
        holds(self.total, volume.total())
            || holds(self.uplink, volume.uplink)
            || holds(self.downlink, volume.downlink)
    }
}

/// Limits of dropped downlink traffic (TS 29.244 clause 8.2.49). Reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DroppedLimit {
    /// Packets.
    pub packets: Option<u64>,
    /// Octets.
    pub octets: Option<u64>,
}

impl DroppedLimit {
    /// This number of dropped packets, with this number of octets, has reached one of the limits.
    pub fn is_reached_by(&self, packets: u64, octets: u64) -> bool {
        self.packets.is_some_and(|limit| packets >= limit) || self.octets.is_some_and(|limit| octets >= limit)
    }
}

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
