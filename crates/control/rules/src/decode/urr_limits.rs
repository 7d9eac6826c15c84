//! Thresholds, quotas and monitoring times of a URR.

use causeway_model::{DirectionalLimit, Monitoring, UsageLimits};
use causeway_pfcp::{
    AdditionalMonitoringTime, EventQuota, EventThreshold, MonitoringTime, SubsequentEventQuota,
    SubsequentEventThreshold, SubsequentTimeQuota, SubsequentTimeThreshold, SubsequentVolumeQuota,
    SubsequentVolumeThreshold, TimeQuota, TimeThreshold, UpdateUrr, VolumeQuota, VolumeThreshold, Volumes,
};
use causeway_types::Span;

use super::setting;
use crate::edits::{LimitsUpdate, MonitoringUpdate, Setting};

pub(super) fn thresholds(group: &UpdateUrr<'_>) -> LimitsUpdate {
    let others = &group.other;
    LimitsUpdate {
        volume: setting::<VolumeThreshold, _>(group.volume_threshold.map(|it| volume(it.0)), others),
        time: setting::<TimeThreshold, _>(group.time_threshold.map(|it| seconds(it.0)), others),
        events: setting::<EventThreshold, _>(group.event_threshold.map(|it| it.0), others),
    }
}

pub(super) fn quotas(group: &UpdateUrr<'_>) -> LimitsUpdate {
    let others = &group.other;
    LimitsUpdate {
        volume: setting::<VolumeQuota, _>(group.volume_quota.map(|it| volume(it.0)), others),
        time: setting::<TimeQuota, _>(group.time_quota.map(|it| seconds(it.0)), others),
        events: setting::<EventQuota, _>(group.event_quota.map(|it| it.0), others),
    }
}

pub(super) fn monitoring(group: &UpdateUrr<'_>) -> MonitoringUpdate {
    let others = &group.other;
    MonitoringUpdate {
        at: setting::<MonitoringTime, _>(group.monitoring_time.map(|it| it.0.to_wall()), others),
        thresholds: LimitsUpdate {
            volume: setting::<SubsequentVolumeThreshold, _>(
                group.subsequent_volume_threshold.map(|it| volume(it.0)),
                others,
            ),
            time: setting::<SubsequentTimeThreshold, _>(
                group.subsequent_time_threshold.map(|it| seconds(it.0)),
                others,
            ),
            events: setting::<SubsequentEventThreshold, _>(
                group.subsequent_event_threshold.map(|it| it.0),
                others,
            ),
        },
        quotas: LimitsUpdate {
            volume: setting::<SubsequentVolumeQuota, _>(
                group.subsequent_volume_quota.map(|it| volume(it.0)),
                others,
            ),
            time: setting::<SubsequentTimeQuota, _>(
                group.subsequent_time_quota.map(|it| seconds(it.0)),
                others,
            ),
            events: setting::<SubsequentEventQuota, _>(group.subsequent_event_quota.map(|it| it.0), others),
        },
    }
}

/// The full set, which replaces the existing one.
pub(super) fn additional_monitoring(group: &UpdateUrr<'_>) -> Setting<Vec<Monitoring>> {
    let times: Vec<_> = group.additional_monitoring_times.iter().map(|time| additional(&time)).collect();
    setting::<AdditionalMonitoringTime<'_>, _>((!times.is_empty()).then_some(times), &group.other)
}

fn additional(group: &AdditionalMonitoringTime<'_>) -> Monitoring {
    Monitoring {
        at: group.monitoring_time.0.to_wall(),
        thresholds: UsageLimits {
            volume: group.subsequent_volume_threshold.map(|it| volume(it.0)),
            time: group.subsequent_time_threshold.map(|it| seconds(it.0)),
            events: group.subsequent_event_threshold.map(|it| it.0),
        },
        quotas: UsageLimits {
            volume: group.subsequent_volume_quota.map(|it| volume(it.0)),
            time: group.subsequent_time_quota.map(|it| seconds(it.0)),
            events: group.subsequent_event_quota.map(|it| it.0),
        },
    }
}

fn volume(volumes: Volumes) -> DirectionalLimit {
    DirectionalLimit { total: volumes.total, uplink: volumes.uplink, downlink: volumes.downlink }
}

fn seconds(seconds: u32) -> Span {
    Span::from_secs(seconds.into())
}
