//! Session deletion messages.

use crate::group::{
    LoadControlInformation, MbsSessionN4Information, OverloadControlInformation, PacketRateStatusReport,
    SessionReport, UsageReport,
};
use crate::ie::{AdditionalUsageReports, Cause, OffendingIe, SessionDeletionResponseFlags};
use crate::message::message;

message! {
    /// PFCP Session Deletion Request (Table 7.5.6-1). Deletes a session.
    SessionDeletionRequest<'a> = SessionDeletionRequest {}
}

message! {
    /// PFCP Session Deletion Response (Table 7.5.7.1-1). The result of a deletion, with the final usage.
    SessionDeletionResponse<'a> = SessionDeletionResponse {
        req cause: Cause,
        con offending_ie: OffendingIe,
        opt load_control_information: LoadControlInformation<'a>,
        opt overload_control_information: OverloadControlInformation<'a>,
        many usage_reports: UsageReport<'a> = 79,
        con additional_usage_reports: AdditionalUsageReports,
        many packet_rate_status_reports: PacketRateStatusReport<'a>,
        many session_reports: SessionReport<'a>,
        many mbs_session_n4_information: MbsSessionN4Information<'a>,
        con flags: SessionDeletionResponseFlags,
    }
}
