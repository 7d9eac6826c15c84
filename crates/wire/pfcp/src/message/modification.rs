//! Session modification messages.

use causeway_types::FSeid;

use crate::group::{
    AtsssControlParameters, CreateBar, CreateFar, CreateMar, CreatePdr, CreateQer, CreateSrr,
    CreateTrafficEndpoint, CreateUrr, CreatedPdr, CreatedTrafficEndpoint, DscpToPpiControlInformation,
    EthernetContextInformation, LoadControlInformation, MbsSessionN4ControlInformation,
    MbsSessionN4Information, OverloadControlInformation, PacketRateStatusReport, PartialFailureInformation,
    ProvideAtsssControlInformation, QueryPacketRateStatus, QueryUrr, RemoveBar, RemoveFar, RemoveMar,
    RemovePdr, RemoveQer, RemoveSrr, RemoveTrafficEndpoint, RemoveUrr, TscManagementInformation, UpdateBar,
    UpdateFar, UpdateMar, UpdatePdr, UpdateQer, UpdateSrr, UpdateTrafficEndpoint, UpdateUrr, UpdatedPdr,
    UsageReport,
};
use crate::ie::{
    AccessAvailabilityInformation, AdditionalUsageReports, Cause, FailedRuleId, FqCsid, GroupId, NodeId,
    OffendingIe, QueryUrrReference, RatType, SNssai, SessionModificationFlags, TraceInformation,
    UserPlaneInactivityTimer,
};
use crate::message::message;

message! {
    /// PFCP Session Modification Request (Table 7.5.4.1-1). Changes the rules of a session.
    SessionModificationRequest<'a> = SessionModificationRequest {
        con cp_f_seid: FSeid,
        many remove_pdrs: RemovePdr<'a>,
        many remove_fars: RemoveFar<'a>,
        many remove_urrs: RemoveUrr<'a>,
        many remove_qers: RemoveQer<'a>,
        con remove_bar: RemoveBar<'a>,
        many remove_traffic_endpoints: RemoveTrafficEndpoint<'a>,
        many create_pdrs: CreatePdr<'a>,
        many create_fars: CreateFar<'a>,
        many create_urrs: CreateUrr<'a>,
        many create_qers: CreateQer<'a>,
        con create_bar: CreateBar<'a>,
        many create_traffic_endpoints: CreateTrafficEndpoint<'a>,
        many update_pdrs: UpdatePdr<'a>,
        many update_fars: UpdateFar<'a>,
        many update_urrs: UpdateUrr<'a>,
        many update_qers: UpdateQer<'a>,
        con update_bar: UpdateBar<'a>,
        many update_traffic_endpoints: UpdateTrafficEndpoint<'a>,
        con flags: SessionModificationFlags,
        many query_urrs: QueryUrr<'a>,
        many fq_csids: FqCsid<'a>,
        con user_plane_inactivity_timer: UserPlaneInactivityTimer,
        opt query_urr_reference: QueryUrrReference,
        opt trace_information: TraceInformation<'a>,
        many remove_mars: RemoveMar<'a>,
        many update_mars: UpdateMar<'a>,
        many create_mars: CreateMar<'a>,
        con node_id: NodeId<'a>,
        many tsc_management_information: TscManagementInformation<'a> = 199,
        many remove_srrs: RemoveSrr<'a>,
        many create_srrs: CreateSrr<'a>,
        many update_srrs: UpdateSrr<'a>,
        con provide_atsss_control_information: ProvideAtsssControlInformation<'a>,
        con ethernet_context_information: EthernetContextInformation<'a>,
        opt access_availability_information: AccessAvailabilityInformation,
        many query_packet_rate_status: QueryPacketRateStatus<'a>,
        opt s_nssai: SNssai,
        opt rat_type: RatType,
        con group_id: GroupId<'a>,
        many mbs_session_n4_control_information: MbsSessionN4ControlInformation<'a>,
        con dscp_to_ppi_control_information: DscpToPpiControlInformation<'a>,
    }
}

message! {
    /// PFCP Session Modification Response (Table 7.5.5.1-1). The result of a modification, with allocations and
    /// usage.
    SessionModificationResponse<'a> = SessionModificationResponse {
        req cause: Cause,
        con offending_ie: OffendingIe,
        many created_pdrs: CreatedPdr<'a>,
        opt load_control_information: LoadControlInformation<'a>,
        opt overload_control_information: OverloadControlInformation<'a>,
        many usage_reports: UsageReport<'a> = 78,
        con failed_rule_id: FailedRuleId,
        con additional_usage_reports: AdditionalUsageReports,
        many created_traffic_endpoints: CreatedTrafficEndpoint<'a>,
        many tsc_management_information: TscManagementInformation<'a> = 200,
        con atsss_control_parameters: AtsssControlParameters<'a>,
        many updated_pdrs: UpdatedPdr<'a>,
        many packet_rate_status_reports: PacketRateStatusReport<'a> = 264,
        many partial_failure_information: PartialFailureInformation<'a>,
        many mbs_session_n4_information: MbsSessionN4Information<'a>,
    }
}
