//! Groups about Session Reporting Rules.

use causeway_types::Qfi;

use crate::ie::{
    AccessAvailabilityInformation, EventNotificationUri, MeasurementPeriod, MinimumWaitTime,
    NotificationCorrelationId, PacketDelayThresholds, QosMonitoringMeasurement, ReportingFlags,
    ReportingFrequency, RequestedAccessAvailabilityInformation, RequestedQosMonitoring, SrrId, StartTime,
    TimeStamp,
};
use crate::structure::group;

group! {
    /// Create SRR (Table 7.5.2.9-1). A new Session Reporting Rule.
    CreateSrr<'a> = 212, "Create SRR" {
        req srr_id: SrrId,
        con access_availability_control_information: AccessAvailabilityControlInformation<'a>,
        many qos_monitoring_per_qos_flow_control_information: QosMonitoringPerQosFlowControlInformation<'a>,
        con direct_reporting_information: DirectReportingInformation<'a>,
    }
}

group! {
    /// Update SRR (Table 7.5.4.20-1). Changes of a Session Reporting Rule.
    UpdateSrr<'a> = 213, "Update SRR" {
        req srr_id: SrrId,
        con access_availability_control_information: AccessAvailabilityControlInformation<'a>,
        many qos_monitoring_per_qos_flow_control_information: QosMonitoringPerQosFlowControlInformation<'a>,
        con direct_reporting_information: DirectReportingInformation<'a>,
    }
}

group! {
    /// Remove SRR (Table 7.5.4.19-1). Removes a Session Reporting Rule.
    RemoveSrr<'a> = 211, "Remove SRR" {
        req srr_id: SrrId,
    }
}

group! {
    /// Access Availability Control Information (Table 7.5.2.9-2). Changes of access that are reported.
    AccessAvailabilityControlInformation<'a> = 216, "Access Availability Control Information" {
        req requested_access_availability_information: RequestedAccessAvailabilityInformation,
    }
}

group! {
    /// QoS Monitoring per QoS flow Control Information (Table 7.5.2.9-3). Packet delays that are measured and
    /// reported.
    QosMonitoringPerQosFlowControlInformation<'a> = 242, "QoS Monitoring per QoS flow Control Information" {
        req_many qfis: Qfi,
        req requested_qos_monitoring: RequestedQosMonitoring,
        req reporting_frequency: ReportingFrequency,
        con packet_delay_thresholds: PacketDelayThresholds,
        con minimum_wait_time: MinimumWaitTime,
        con measurement_period: MeasurementPeriod,
    }
}

group! {
    /// Direct Reporting Information (Table 7.5.2.9-4). The receiver of direct reports, beside the CP function.
    DirectReportingInformation<'a> = 295, "Direct Reporting Information" {
        req event_notification_uri: EventNotificationUri<'a>,
        con notification_correlation_id: NotificationCorrelationId<'a>,
        opt reporting_flags: ReportingFlags,
    }
}

group! {
    /// Session Report (Table 7.5.8.6-1). A report of a Session Reporting Rule.
    SessionReport<'a> = 214, "Session Report" {
        req srr_id: SrrId,
        con access_availability_report: AccessAvailabilityReport<'a>,
        many qos_monitoring_reports: QosMonitoringReport<'a>,
    }
}

group! {
    /// Access Availability Report (Table 7.5.8.6-2). A change of access.
    AccessAvailabilityReport<'a> = 218, "Access Availability Report" {
        req access_availability_information: AccessAvailabilityInformation,
    }
}

group! {
    /// QoS Monitoring Report (Table 7.5.8.6-3). Measured packet delays.
    QosMonitoringReport<'a> = 247, "QoS Monitoring Report" {
        req qfi: Qfi,
        req qos_monitoring_measurement: QosMonitoringMeasurement,
        req time_stamp: TimeStamp,
        opt start_time: StartTime,
    }
}
