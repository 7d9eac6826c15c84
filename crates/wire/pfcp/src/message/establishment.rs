//! Session establishment messages.

use causeway_types::FSeid;

use crate::group::{
    AtsssControlParameters, CreateBar, CreateFar, CreateMar, CreatePdr, CreateQer, CreateSrr,
    CreateTrafficEndpoint, CreateUrr, CreatedBridgeInfoForTsc, CreatedL2tpSession, CreatedPdr,
    CreatedTrafficEndpoint, DscpToPpiControlInformation, L2tpSessionInformation, L2tpTunnelInformation,
    LoadControlInformation, MbsSessionN4ControlInformation, MbsSessionN4Information,
    MbsSessionN4mbControlInformation, MbsSessionN4mbInformation, OverloadControlInformation,
    PartialFailureInformation, ProvideAtsssControlInformation, ProvideRdsConfigurationInformation,
};
use crate::ie::{
    Cause, CreateBridgeInfoForTsc, Dnn, FailedRuleId, FqCsid, GroupId, NodeId, OffendingIe, PdnType, RatType,
    RdsConfigurationInformation, RecoveryTimeStamp, SNssai, SessionEstablishmentFlags, TraceInformation,
    UserId, UserPlaneInactivityTimer,
};
use crate::message::message;

message! {
    /// PFCP Session Establishment Request (Table 7.5.2.1-1). Sets up a session with its rules.
    SessionEstablishmentRequest<'a> = SessionEstablishmentRequest {
        req node_id: NodeId<'a>,
        req cp_f_seid: FSeid,
        req_many create_pdrs: CreatePdr<'a>,
        req_many create_fars: CreateFar<'a>,
        many create_urrs: CreateUrr<'a>,
        many create_qers: CreateQer<'a>,
        opt create_bar: CreateBar<'a>,
        many create_traffic_endpoints: CreateTrafficEndpoint<'a>,
        con pdn_type: PdnType,
        many fq_csids: FqCsid<'a>,
        opt user_plane_inactivity_timer: UserPlaneInactivityTimer,
        opt user_id: UserId<'a>,
        opt trace_information: TraceInformation<'a>,
        opt dnn: Dnn<'a>,
        many create_mars: CreateMar<'a>,
        con flags: SessionEstablishmentFlags,
        con create_bridge_info: CreateBridgeInfoForTsc,
        opt_many create_srrs: CreateSrr<'a>,
        con provide_atsss_control_information: ProvideAtsssControlInformation<'a>,
        opt recovery_time_stamp: RecoveryTimeStamp,
        opt s_nssai: SNssai,
        opt provide_rds_configuration: ProvideRdsConfigurationInformation<'a>,
        opt rat_type: RatType,
        many l2tp_tunnel_information: L2tpTunnelInformation<'a>,
        con l2tp_session_information: L2tpSessionInformation<'a>,
        opt group_id: GroupId<'a>,
        con mbs_session_n4mb_control_information: MbsSessionN4mbControlInformation<'a>,
        many mbs_session_n4_control_information: MbsSessionN4ControlInformation<'a>,
        opt_many dscp_to_ppi_control_information: DscpToPpiControlInformation<'a>,
    }
}

message! {
    /// PFCP Session Establishment Response (Table 7.5.3.1-1). The result of an establishment, with the allocations.
    SessionEstablishmentResponse<'a> = SessionEstablishmentResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        con offending_ie: OffendingIe,
        con up_f_seid: FSeid,
        many created_pdrs: CreatedPdr<'a>,
        opt load_control_information: LoadControlInformation<'a>,
        opt overload_control_information: OverloadControlInformation<'a>,
        con fq_csid: FqCsid<'a>,
        con failed_rule_id: FailedRuleId,
        many created_traffic_endpoints: CreatedTrafficEndpoint<'a>,
        con created_bridge_info: CreatedBridgeInfoForTsc<'a>,
        con atsss_control_parameters: AtsssControlParameters<'a>,
        opt rds_configuration: RdsConfigurationInformation,
        many partial_failure_information: PartialFailureInformation<'a>,
        opt created_l2tp_session: CreatedL2tpSession<'a>,
        con mbs_session_n4mb_information: MbsSessionN4mbInformation<'a>,
        many mbs_session_n4_information: MbsSessionN4Information<'a>,
    }
}
