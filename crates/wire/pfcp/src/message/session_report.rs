//! Session report messages.

use causeway_types::FSeid;

use crate::group::{
    DownlinkDataReport, ErrorIndicationReport, LoadControlInformation, OverloadControlInformation,
    PacketRateStatusReport, SessionReport, TscManagementInformation, UpdateBar, UsageReport,
};
use crate::ie::{
    AdditionalUsageReports, AlternativeSmfIpAddress, Cause, FTeid, FqCsid, GroupId, NodeId, OffendingIe,
    ReportType, SessionReportFlags, SessionReportResponseFlags,
};
use crate::message::message;

message! {
    /// PFCP Session Report Request (Table 7.5.8.1-1). Reports an event of a session.
    SessionReportRequest<'a> = SessionReportRequest {
        req report_type: ReportType,
        con downlink_data_report: DownlinkDataReport<'a>,
        many usage_reports: UsageReport<'a>,
        con error_indication_report: ErrorIndicationReport<'a>,
        opt load_control_information: LoadControlInformation<'a>,
        opt overload_control_information: OverloadControlInformation<'a>,
        con additional_usage_reports: AdditionalUsageReports,
        con flags: SessionReportFlags,
        con old_cp_f_seid: FSeid,
        many packet_rate_status_reports: PacketRateStatusReport<'a>,
        many tsc_management_information: TscManagementInformation<'a>,
        many session_reports: SessionReport<'a>,
        opt cause: Cause,
    }
}

message! {
    /// PFCP Session Report Response (Table 7.5.9.1-1). Acknowledges a session report.
    SessionReportResponse<'a> = SessionReportResponse {
        req cause: Cause,
        con offending_ie: OffendingIe,
        con update_bar: UpdateBar<'a> = 12,
        con flags: SessionReportResponseFlags,
        opt cp_f_seid: FSeid,
        opt n4_u_f_teid: FTeid,
        opt alternative_smf_ip_address: AlternativeSmfIpAddress,
        con fq_csid: FqCsid<'a>,
        con group_id: GroupId<'a>,
        con node_id: NodeId<'a>,
    }
}
