//! Usage Reporting Rules: what is counted and when it is reported.

mod limit;
mod monitoring;
mod part;

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use causeway_pfcp::ReportingTriggers;
use causeway_types::{FarId, Span, UrrId};

pub use limit::{DirectionalLimit, DroppedLimit, UsageLimits};
pub use monitoring::{BaseInterval, Monitoring};
pub use part::UrrPart;

use super::SdfFilter;

/// A Usage Reporting Rule (TS 29.244 clause 7.5.2.4).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Urr {
    /// Unique in the session.
    pub id: UrrId,
    /// What is measured.
    pub method: MeasurementMethod,
    /// What causes a report. A limit or timer below causes one only with its trigger.
    pub triggers: ReportingTriggers,
    /// What is reported when it is reached, counted anew after each report that a threshold caused.
    pub thresholds: UsageLimits,
    /// What may pass at the most, until the next quota is given. Zero: nothing.
    pub quotas: UsageLimits,
    /// The dropped downlink traffic after which that is reported (DROTH), counted anew after each such report.
    pub dropped_threshold: Option<DroppedLimit>,
    /// From one periodic report (PERIO) to the next; with that trigger not zero.
    pub period: Option<Span>,
    /// How long without packets until what is left of the quotas is void.
    pub holding_time: Option<Span>,
    /// How long after it was given a quota is void.
    pub validity_time: Option<Span>,
    /// How long without packets until that is reported (UPINT); not zero.
    pub inactivity_timer: Option<Span>,
    /// How long without frames of a MAC address until that is reported as gone (Ethernet Inactivity Timer); not
    /// zero, and with the trigger MACAR only.
    pub mac_inactivity: Option<Span>,
    /// How long without packets until the measurement of time pauses; not zero. `None`: it never does.
    pub inactivity_detection: Option<Span>,
    /// Time is measured in whole intervals.
    pub base_interval: Option<BaseInterval>,
    /// When usage is split, and which limits hold from then on.
    pub monitoring: Option<Monitoring>,
    /// The same for later times.
    pub additional_monitoring: Vec<Monitoring>,
    /// The URRs whose reports cause one of this URR (LIUSA).
    pub linked: BTreeSet<UrrId>,
    /// What becomes of packets when a quota is exhausted; `None`: they are dropped.
    pub quota_far: Option<FarId>,
    /// The flows that an exhausted quota does not concern.
    pub exempted_filters: Vec<SdfFilter>,
    /// After so many reports nothing is measured any more.
    pub number_of_reports: Option<NonZeroU16>,
    /// Measure before QoS enforcement instead of after it (MBQE).
    pub before_qos: bool,
    /// Nothing is measured for now (INAM).
    pub inactive: bool,
    /// Time runs from the start of the measurement, not from its first packet (ISTM).
    pub immediate_start: bool,
}

impl Urr {
    /// Measures this and reports only when asked and at the end.
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
    /// EVENT: how often traffic started.
    pub events: bool,
}
