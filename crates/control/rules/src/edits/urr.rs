//! Updates of a URR, and the parts of it that start over.

use std::collections::BTreeSet;

use causeway_model::{
    BaseInterval, DirectionalLimit, DroppedLimit, MeasurementMethod, Monitoring, SdfFilter, Urr, UrrPart,
    UsageLimits,
};
use causeway_types::{FarId, ReportingTriggers, Span, UrrId, WallTime};

use super::Setting;
use crate::{Reason, ie};

/// A URR to be created: its method, and the other parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UrrDraft {
    pub(crate) urr: Urr,
    pub(crate) settings: UrrUpdate,
}

/// The changes to a URR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UrrUpdate {
    pub(crate) id: UrrId,
    pub(crate) method: Option<MeasurementMethod>,
    pub(crate) triggers: Option<ReportingTriggers>,
    pub(crate) thresholds: LimitsUpdate,
    pub(crate) quotas: LimitsUpdate,
    pub(crate) dropped_threshold: Setting<DroppedLimit>,
    pub(crate) period: Setting<Span>,
    pub(crate) holding_time: Setting<Span>,
    pub(crate) validity_time: Setting<Span>,
    pub(crate) inactivity_timer: Setting<Span>,
    pub(crate) mac_inactivity: Setting<Span>,
    pub(crate) inactivity_detection: Setting<Span>,
    pub(crate) base_interval: Setting<BaseInterval>,
    pub(crate) monitoring: MonitoringUpdate,
    pub(crate) additional_monitoring: Setting<Vec<Monitoring>>,
    pub(crate) linked: Setting<BTreeSet<UrrId>>,
    pub(crate) quota_far: Setting<FarId>,
    pub(crate) exempted_filters: Setting<Vec<SdfFilter>>,
    pub(crate) number_of_reports: Setting<std::num::NonZeroU16>,
    pub(crate) measuring: Option<Measuring>,
}

/// The changes to thresholds or quotas.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LimitsUpdate {
    pub(crate) volume: Setting<DirectionalLimit>,
    pub(crate) time: Setting<Span>,
    pub(crate) events: Setting<u32>,
}

/// The changes to the monitoring time and the limits after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct MonitoringUpdate {
    pub(crate) at: Setting<WallTime>,
    pub(crate) thresholds: LimitsUpdate,
    pub(crate) quotas: LimitsUpdate,
}

/// The flags of Measurement Information (TS 29.244 clause 8.2.68).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Measuring {
    pub(crate) before_qos: bool,
    pub(crate) inactive: bool,
    pub(crate) immediate_start: bool,
    /// MNOP: for the reports only.
    pub(crate) packets: bool,
    /// RADI: for the reports only.
    pub(crate) reduced_detection: bool,
}

#[cfg(any(test, feature = "testing"))]
impl UrrDraft {
    pub(crate) fn of(urr: Urr) -> Self {
        Self { settings: UrrUpdate::new(urr.id), urr }
    }
}

impl UrrUpdate {
    /// An update without changes, except that a paused measurement resumes.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn new(id: UrrId) -> Self {
        Self {
            id,
            method: None,
            triggers: None,
            thresholds: LimitsUpdate::default(),
            quotas: LimitsUpdate::default(),
            dropped_threshold: Setting::Keep,
            period: Setting::Keep,
            holding_time: Setting::Keep,
            validity_time: Setting::Keep,
            inactivity_timer: Setting::Keep,
            mac_inactivity: Setting::Keep,
            inactivity_detection: Setting::Keep,
            base_interval: Setting::Keep,
            monitoring: MonitoringUpdate::default(),
            additional_monitoring: Setting::Keep,
            linked: Setting::Keep,
            quota_far: Setting::Keep,
            exempted_filters: Setting::Keep,
            number_of_reports: Setting::Keep,
            measuring: None,
        }
    }

    /// The parts that start over, whether or not their value changes.
    pub(crate) fn renewed(&self) -> BTreeSet<UrrPart> {
        let parts = [
            (UrrPart::VolumeThreshold, self.thresholds.volume.is_given()),
            (UrrPart::TimeThreshold, self.thresholds.time.is_given()),
            (UrrPart::EventThreshold, self.thresholds.events.is_given()),
            (UrrPart::VolumeQuota, self.quotas.volume.is_given()),
            (UrrPart::TimeQuota, self.quotas.time.is_given()),
            (UrrPart::EventQuota, self.quotas.events.is_given()),
            (UrrPart::DroppedThreshold, self.dropped_threshold.is_given()),
            (UrrPart::Period, self.period.is_given()),
            (UrrPart::HoldingTime, self.holding_time.is_given()),
            (UrrPart::ValidityTime, self.validity_time.is_given()),
            (UrrPart::InactivityTimer, self.inactivity_timer.is_given()),
            (UrrPart::NumberOfReports, self.number_of_reports.is_given()),
        ];
        parts.into_iter().filter(|(_, given)| *given).map(|(part, _)| part).collect()
    }
}

impl LimitsUpdate {
    fn apply(&self, current: &mut UsageLimits) {
        self.volume.apply(&mut current.volume);
        self.time.apply(&mut current.time);
        self.events.apply(&mut current.events);
    }

    fn sets_any(&self) -> bool {
        self.volume.is_given() || self.time.is_given() || self.events.is_given()
    }
}

/// The URR of a draft.
pub(super) fn create(draft: &UrrDraft) -> Result<Urr, Reason> {
    let mut urr = draft.urr.clone();
    if let Some(measuring) = draft.settings.measuring {
        urr.before_qos = measuring.before_qos;
    }
    update(&mut urr, &draft.settings)?;
    Ok(urr)
}

/// Without Measurement Information the measurement is active (TS 29.244 table 7.5.4.4-1).
pub(super) fn update(urr: &mut Urr, update: &UrrUpdate) -> Result<(), Reason> {
    set_measuring(urr, update.measuring)?;
    urr.method = update.method.unwrap_or(urr.method);
    if let Some(triggers) = update.triggers {
        urr.triggers = triggers;
        drop_without_trigger(urr);
    }
    update.thresholds.apply(&mut urr.thresholds);
    update.quotas.apply(&mut urr.quotas);
    update.dropped_threshold.apply(&mut urr.dropped_threshold);
    update.period.apply(&mut urr.period);
    update.holding_time.apply(&mut urr.holding_time);
    update.validity_time.apply(&mut urr.validity_time);
    update.inactivity_timer.apply(&mut urr.inactivity_timer);
    update.mac_inactivity.apply(&mut urr.mac_inactivity);
    update.inactivity_detection.apply(&mut urr.inactivity_detection);
    update.base_interval.apply(&mut urr.base_interval);
    update.additional_monitoring.apply_or_default(&mut urr.additional_monitoring);
    update.linked.apply_or_default(&mut urr.linked);
    update.quota_far.apply(&mut urr.quota_far);
    update.exempted_filters.apply_or_default(&mut urr.exempted_filters);
    update.number_of_reports.apply(&mut urr.number_of_reports);
    set_monitoring(&mut urr.monitoring, &update.monitoring)?;
    let links = !urr.linked.is_empty() || !urr.triggers.contains(ReportingTriggers::LIUSA);
    let reason = "the reporting triggers require it";
    if links { Ok(()) } else { Err(Reason::ConditionalMissing { ie: ie::LINKED_URR_ID, why: reason }) }
}

/// MBQE cannot be changed, only repeated (TS 29.244 table 7.5.4.4-1).
fn set_measuring(urr: &mut Urr, measuring: Option<Measuring>) -> Result<(), Reason> {
    let Some(measuring) = measuring else {
        urr.inactive = false;
        return Ok(());
    };
    if measuring.before_qos && !urr.before_qos {
        let what = "a change to measurement before QoS enforcement";
        return Err(Reason::Unsupported { ie: ie::MEASUREMENT_INFORMATION, what });
    }
    (urr.inactive, urr.immediate_start) = (measuring.inactive, measuring.immediate_start);
    Ok(())
}

/// Removal of a trigger also removes its threshold, or the timer of MAC addresses.
fn drop_without_trigger(urr: &mut Urr) {
    let has = |trigger| urr.triggers.contains(trigger);
    urr.mac_inactivity = urr.mac_inactivity.filter(|_| has(ReportingTriggers::MACAR));
    urr.thresholds = UsageLimits {
        volume: urr.thresholds.volume.filter(|_| has(ReportingTriggers::VOLTH)),
        time: urr.thresholds.time.filter(|_| has(ReportingTriggers::TIMTH)),
        events: urr.thresholds.events.filter(|_| has(ReportingTriggers::EVETH)),
    };
}

fn set_monitoring(current: &mut Option<Monitoring>, update: &MonitoringUpdate) -> Result<(), Reason> {
    let subsequent = update.thresholds.sets_any() || update.quotas.sets_any();
    match (&update.at, current.as_mut()) {
        (Setting::Remove, _) => *current = None,
        (Setting::Set(at), None) => {
            let (thresholds, quotas) = (UsageLimits::default(), UsageLimits::default());
            *current = Some(Monitoring { at: *at, thresholds, quotas });
        }
        (Setting::Set(at), Some(current)) => current.at = *at,
        (Setting::Keep, None) if subsequent => {
            let reason = "there are limits for the time after it";
            return Err(Reason::ConditionalMissing { ie: ie::MONITORING_TIME, why: reason });
        }
        (Setting::Keep, _) => {}
    }
    if let Some(current) = current {
        update.thresholds.apply(&mut current.thresholds);
        update.quotas.apply(&mut current.quotas);
    }
    Ok(())
}
