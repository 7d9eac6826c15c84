//! Node report messages.

use crate::group::{
    ClockDriftReport, GtpuPathQosReport, PeerUpRestartReport, UserPlanePathFailureReport,
    UserPlanePathRecoveryReport,
};
use crate::ie::{Cause, NodeId, NodeReportType, OffendingIe, VendorNodeReportType};
use crate::message::message;

message! {
    /// PFCP Node Report Request (Table 7.4.5.1.1-1). Reports events that concern more than one session.
    NodeReportRequest<'a> = NodeReportRequest {
        req node_id: NodeId<'a>,
        req node_report_type: NodeReportType,
        con vendor_specific_node_report_type: VendorNodeReportType<'a>,
        con user_plane_path_failure_report: UserPlanePathFailureReport<'a>,
        con user_plane_path_recovery_report: UserPlanePathRecoveryReport<'a>,
        many clock_drift_reports: ClockDriftReport<'a>,
        many gtpu_path_qos_reports: GtpuPathQosReport<'a>,
        con peer_up_restart_report: PeerUpRestartReport<'a>,
    }
}

message! {
    /// PFCP Node Report Response (Table 7.4.5.2.1-1). Acknowledges a node report.
    NodeReportResponse<'a> = NodeReportResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        con offending_ie: OffendingIe,
    }
}
