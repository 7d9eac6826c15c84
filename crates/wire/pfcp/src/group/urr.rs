//! Groups about Usage Reporting Rules.

use causeway_types::{FarId, ReportingTriggers, UrrId};

use crate::ie::{
    AggregatedUrrId, ApplicationId, DroppedDlTrafficThreshold, EthernetInactivityTimer, EventQuota,
    EventThreshold, InactivityDetectionTime, LinkedUrrId, MeasurementInformation, MeasurementMethod,
    MeasurementPeriod, MonitoringTime, Multiplier, NumberOfReports, QuotaHoldingTime, QuotaValidityTime,
    SdfFilter, SubsequentEventQuota, SubsequentEventThreshold, SubsequentTimeQuota, SubsequentTimeThreshold,
    SubsequentVolumeQuota, SubsequentVolumeThreshold, TimeQuota, TimeQuotaMechanism, TimeThreshold,
    UserPlaneInactivityTimer, VolumeQuota, VolumeThreshold,
};
use crate::structure::group;

group! {
    /// Create URR (Table 7.5.2.4-1). A new Usage Reporting Rule.
    CreateUrr<'a> = 6, "Create URR" {
        req urr_id: UrrId,
        req measurement_method: MeasurementMethod,
        req reporting_triggers: ReportingTriggers,
        con measurement_period: MeasurementPeriod,
        con volume_threshold: VolumeThreshold,
        con volume_quota: VolumeQuota,
        con event_threshold: EventThreshold,
        con event_quota: EventQuota,
        con time_threshold: TimeThreshold,
        con time_quota: TimeQuota,
        con quota_holding_time: QuotaHoldingTime,
        con dropped_dl_traffic_threshold: DroppedDlTrafficThreshold,
        con quota_validity_time: QuotaValidityTime,
        opt monitoring_time: MonitoringTime,
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        opt subsequent_time_threshold: SubsequentTimeThreshold,
        opt subsequent_volume_quota: SubsequentVolumeQuota,
        opt subsequent_time_quota: SubsequentTimeQuota,
        opt subsequent_event_threshold: SubsequentEventThreshold,
        opt subsequent_event_quota: SubsequentEventQuota,
        con inactivity_detection_time: InactivityDetectionTime,
        many linked_urr_ids: LinkedUrrId,
        con measurement_information: MeasurementInformation,
        con time_quota_mechanism: TimeQuotaMechanism,
        many aggregated_urrs: AggregatedUrrs<'a>,
        con far_id_for_quota_action: FarId,
        con ethernet_inactivity_timer: EthernetInactivityTimer,
        opt_many additional_monitoring_times: AdditionalMonitoringTime<'a>,
        opt number_of_reports: NumberOfReports,
        opt_many exempted_application_id_for_quota_actions: ApplicationId<'a>,
        opt_many exempted_sdf_filter_for_quota_actions: SdfFilter<'a>,
        con user_plane_inactivity_timer: UserPlaneInactivityTimer,
    }
}

group! {
    /// Update URR (Table 7.5.4.4-1). Changes of a Usage Reporting Rule.
    UpdateUrr<'a> = 13, "Update URR" {
        req urr_id: UrrId,
        con measurement_method: MeasurementMethod,
        con reporting_triggers: ReportingTriggers,
        con measurement_period: MeasurementPeriod,
        con volume_threshold: VolumeThreshold,
        con volume_quota: VolumeQuota,
        con time_threshold: TimeThreshold,
        con time_quota: TimeQuota,
        con event_threshold: EventThreshold,
        con event_quota: EventQuota,
        con quota_holding_time: QuotaHoldingTime,
        con dropped_dl_traffic_threshold: DroppedDlTrafficThreshold,
        con quota_validity_time: QuotaValidityTime,
        con monitoring_time: MonitoringTime,
        con subsequent_volume_threshold: SubsequentVolumeThreshold,
        con subsequent_time_threshold: SubsequentTimeThreshold,
        con subsequent_volume_quota: SubsequentVolumeQuota,
        con subsequent_time_quota: SubsequentTimeQuota,
        opt subsequent_event_threshold: SubsequentEventThreshold,
        opt subsequent_event_quota: SubsequentEventQuota,
        con inactivity_detection_time: InactivityDetectionTime,
        many linked_urr_ids: LinkedUrrId,
        con measurement_information: MeasurementInformation,
        con time_quota_mechanism: TimeQuotaMechanism,
        many aggregated_urrs: AggregatedUrrs<'a>,
        con far_id_for_quota_action: FarId,
        con ethernet_inactivity_timer: EthernetInactivityTimer,
        opt_many additional_monitoring_times: AdditionalMonitoringTime<'a>,
        opt number_of_reports: NumberOfReports,
        many exempted_application_id_for_quota_actions: ApplicationId<'a>,
        many exempted_sdf_filter_for_quota_actions: SdfFilter<'a>,
        con user_plane_inactivity_timer: UserPlaneInactivityTimer,
    }
}

group! {
    /// Remove URR (Table 7.5.4.8-1). Removes a Usage Reporting Rule.
    RemoveUrr<'a> = 17, "Remove URR" {
        req urr_id: UrrId,
    }
}

group! {
    /// Query URR (Table 7.5.4.10-1). Requests an immediate usage report.
    QueryUrr<'a> = 77, "Query URR" {
        req urr_id: UrrId,
    }
}

group! {
    /// Aggregated URRs (Table 7.5.2.4-2). A URR of a credit pool.
    AggregatedUrrs<'a> = 118, "Aggregated URRs" {
        req aggregated_urr_id: AggregatedUrrId,
        req multiplier: Multiplier,
    }
}

group! {
    /// Additional Monitoring Time (Table 7.5.2.4-3). A further monitoring time.
    AdditionalMonitoringTime<'a> = 147, "Additional Monitoring Time" {
        req monitoring_time: MonitoringTime,
        opt subsequent_volume_threshold: SubsequentVolumeThreshold,
        opt subsequent_time_threshold: SubsequentTimeThreshold,
        opt subsequent_volume_quota: SubsequentVolumeQuota,
        opt subsequent_time_quota: SubsequentTimeQuota,
        opt subsequent_event_threshold: EventThreshold,
        opt subsequent_event_quota: EventQuota,
    }
}
