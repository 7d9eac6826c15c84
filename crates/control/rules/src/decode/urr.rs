//! Create URR and Update URR.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use causeway_model::{BaseInterval, DroppedLimit, MeasurementMethod, SdfFilter, Urr};
use causeway_pfcp::{
    CreateUrr, DroppedDlTrafficThreshold, EthernetInactivityTimer, Ie, InactivityDetectionTime, LinkedUrrId,
    MeasurementInformation, MeasurementMethod as MethodFlags, MeasurementPeriod, NumberOfReports, Others,
    QuotaHoldingTime, QuotaValidityTime, SdfFilter as WireFilter, TimeQuotaMechanism, UpdateUrr,
    UserPlaneInactivityTimer,
};
use causeway_types::{FarId, ReportingTriggers, Span, UrrId};

use super::ie_support::CheckSupport;
use super::{about, flow, not_predefined, setting, urr_limits};
use crate::edits::{Measuring, Setting, UrrDraft, UrrUpdate};
use crate::rejection::refuse_if;
use crate::{Reason, Rejection, ie};

/// Triggers whose reports are not supported.
const UNSUPPORTED: ReportingTriggers = ReportingTriggers::IPMJL;

/// A URR is created like one that is updated from nothing.
pub(super) fn create(group: &CreateUrr<'_>) -> Result<UrrDraft, Rejection> {
    about(group.urr_id, || {
        group.refuse_unsupported()?;
        group.refuse_nulls()?;
        not_predefined(group.urr_id.0, UrrId::TYPE)?;
        let urr = Urr::new(group.urr_id, method(group.measurement_method)?);
        let settings = settings(&as_update(group))?;
        Ok(UrrDraft { urr, settings })
    })
}

pub(super) fn update(group: &UpdateUrr<'_>) -> Result<UrrUpdate, Rejection> {
    about(group.urr_id, || {
        group.refuse_unsupported()?;
        settings(group)
    })
}

/// The same IEs in the group of an update.
fn as_update<'a>(group: &CreateUrr<'a>) -> UpdateUrr<'a> {
    let CreateUrr { urr_id, measurement_method, reporting_triggers, .. } = *group;
    UpdateUrr {
        measurement_method: Some(measurement_method),
        reporting_triggers: Some(reporting_triggers),
        measurement_period: group.measurement_period,
        volume_threshold: group.volume_threshold,
        volume_quota: group.volume_quota,
        time_threshold: group.time_threshold,
        time_quota: group.time_quota,
        event_threshold: group.event_threshold,
        event_quota: group.event_quota,
        quota_holding_time: group.quota_holding_time,
        dropped_dl_traffic_threshold: group.dropped_dl_traffic_threshold,
        quota_validity_time: group.quota_validity_time,
        monitoring_time: group.monitoring_time,
        subsequent_volume_threshold: group.subsequent_volume_threshold,
        subsequent_time_threshold: group.subsequent_time_threshold,
        subsequent_volume_quota: group.subsequent_volume_quota,
        subsequent_time_quota: group.subsequent_time_quota,
        subsequent_event_threshold: group.subsequent_event_threshold,
        subsequent_event_quota: group.subsequent_event_quota,
        inactivity_detection_time: group.inactivity_detection_time,
        linked_urr_ids: group.linked_urr_ids.clone(),
        measurement_information: group.measurement_information,
        time_quota_mechanism: group.time_quota_mechanism,
        far_id_for_quota_action: group.far_id_for_quota_action,
        additional_monitoring_times: group.additional_monitoring_times.clone(),
        number_of_reports: group.number_of_reports,
        exempted_sdf_filter_for_quota_actions: group.exempted_sdf_filter_for_quota_actions.clone(),
        user_plane_inactivity_timer: group.user_plane_inactivity_timer,
        ethernet_inactivity_timer: group.ethernet_inactivity_timer,
        ..UpdateUrr::new(urr_id)
    }
}

fn settings(group: &UpdateUrr<'_>) -> Result<UrrUpdate, Reason> {
    let others = &group.other;
    let linked: BTreeSet<_> = group.linked_urr_ids.iter().map(|linked| UrrId(linked.0)).collect();
    let filters = group.exempted_sdf_filter_for_quota_actions.iter();
    let filters: Vec<SdfFilter> = filters.map(|filter| flow::defined(&filter)).collect::<Result<_, _>>()?;
    let dropped = group.dropped_dl_traffic_threshold.map(dropped);
    Ok(UrrUpdate {
        id: group.urr_id,
        method: group.measurement_method.map(method).transpose()?,
        triggers: group.reporting_triggers.map(triggers).transpose()?,
        thresholds: urr_limits::thresholds(group),
        quotas: urr_limits::quotas(group),
        dropped_threshold: setting::<DroppedDlTrafficThreshold, _>(dropped, others),
        period: seconds::<MeasurementPeriod>(group.measurement_period.map(|time| time.0), others),
        holding_time: unless_zero::<QuotaHoldingTime>(group.quota_holding_time.map(|time| time.0), others),
        validity_time: unless_zero::<QuotaValidityTime>(group.quota_validity_time.map(|time| time.0), others),
        inactivity_timer: unless_zero::<UserPlaneInactivityTimer>(
            group.user_plane_inactivity_timer.map(|time| time.0),
            others,
        ),
        mac_inactivity: unless_zero::<EthernetInactivityTimer>(
            group.ethernet_inactivity_timer.map(|time| time.0),
            others,
        ),
        inactivity_detection: unless_zero::<InactivityDetectionTime>(
            group.inactivity_detection_time.map(|time| time.0),
            others,
        ),
        base_interval: setting::<TimeQuotaMechanism, _>(
            group.time_quota_mechanism.map(base_interval).transpose()?,
            others,
        ),
        monitoring: urr_limits::monitoring(group),
        additional_monitoring: urr_limits::additional_monitoring(group),
        linked: list::<LinkedUrrId, _>(linked, others),
        quota_far: setting::<FarId, _>(group.far_id_for_quota_action, others),
        exempted_filters: list::<WireFilter<'_>, _>(filters, others),
        number_of_reports: setting::<NumberOfReports, _>(
            group.number_of_reports.map(number_of_reports).transpose()?,
            others,
        ),
        measuring: group.measurement_information.map(measuring).transpose()?,
    })
}

fn method(flags: MethodFlags) -> Result<MeasurementMethod, Reason> {
    let reason = "nothing is measured";
    let none = Reason::Incorrect { ie: ie::MEASUREMENT_METHOD, why: reason };
    let method = MeasurementMethod {
        volume: flags.contains(MethodFlags::VOLUM),
        duration: flags.contains(MethodFlags::DURAT),
        events: flags.contains(MethodFlags::EVENT),
    };
    if method == MeasurementMethod::default() { Err(none) } else { Ok(method) }
}

fn triggers(flags: ReportingTriggers) -> Result<ReportingTriggers, Reason> {
    let what = "reports of IP multicast";
    refuse_if(flags.intersects(UNSUPPORTED), ie::REPORTING_TRIGGERS, what)?;
    Ok(flags)
}

fn measuring(flags: MeasurementInformation) -> Result<Measuring, Reason> {
    use MeasurementInformation as Flag;
    let unsupported = flags - (Flag::MBQE | Flag::INAM | Flag::RADI | Flag::ISTM | Flag::MNOP);
    let what = "a flag other than MBQE, INAM, RADI, ISTM and MNOP";
    refuse_if(!unsupported.is_empty(), ie::MEASUREMENT_INFORMATION, what)?;
    Ok(Measuring {
        before_qos: flags.contains(Flag::MBQE),
        inactive: flags.contains(Flag::INAM),
        immediate_start: flags.contains(Flag::ISTM),
        packets: flags.contains(Flag::MNOP),
        reduced_detection: flags.contains(Flag::RADI),
    })
}

fn base_interval(mechanism: TimeQuotaMechanism) -> Result<BaseInterval, Reason> {
    let length = Span::from_secs(mechanism.base_interval.into());
    match mechanism.interval_type {
        _ if length.is_zero() => incorrect(ie::TIME_QUOTA_MECHANISM, "a base interval of zero length"),
        0 => Ok(BaseInterval::Continuous(length)),
        1 => Ok(BaseInterval::Discrete(length)),
        _ => incorrect(ie::TIME_QUOTA_MECHANISM, "no release defines this type of interval"),
    }
}

fn number_of_reports(number: NumberOfReports) -> Result<NonZeroU16, Reason> {
    let reason = "the value 0 is excluded";
    NonZeroU16::new(number.0).ok_or(Reason::Incorrect { ie: ie::NUMBER_OF_REPORTS, why: reason })
}

fn dropped(threshold: DroppedDlTrafficThreshold) -> DroppedLimit {
    DroppedLimit { packets: threshold.packets, octets: threshold.octets }
}

fn seconds<'a, W: Ie<'a>>(value: Option<u32>, others: &Others<'_>) -> Setting<Span> {
    setting::<W, _>(value.map(|seconds| Span::from_secs(seconds.into())), others)
}

/// A time whose value zero means none.
fn unless_zero<'a, W: Ie<'a>>(value: Option<u32>, others: &Others<'_>) -> Setting<Span> {
    match value {
        Some(0) => Setting::Remove,
        value => seconds::<W>(value, others),
    }
}

/// The list that replaces the existing one: `None` if there is none, empty by one IE of null length.
fn list<'a, W: Ie<'a>, L: IntoIterator + Clone>(list: L, others: &Others<'_>) -> Setting<L> {
    let some = list.clone().into_iter().next().is_some();
    setting::<W, _>(some.then_some(list), others)
}

fn incorrect<T>(ie: u16, reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie, why: reason })
}
