//! Association messages.

use crate::group::{
    ClockDriftControlInformation, GtpuPathQosControlInformation, SessionRetentionInformation,
    UeIpAddressPoolInformation, UeIpAddressUsageInformation,
};
use crate::ie::{
    AlternativeSmfIpAddress, AssociationSetupFlags, AssociationSetupResponseFlags, AssociationUpdateFlags,
    Cause, CpFeatures, GracefulReleasePeriod, NfInstanceId, NodeId, RecoveryTimeStamp, ReleaseRequestFlags,
    SmfSetId, UpFeatures,
};
use crate::message::message;

message! {
    /// PFCP Association Setup Request (Table 7.4.4.1-1). Sets up an association.
    AssociationSetupRequest<'a> = AssociationSetupRequest {
        req node_id: NodeId<'a>,
        req recovery_time_stamp: RecoveryTimeStamp,
        con up_function_features: UpFeatures,
        con cp_function_features: CpFeatures,
        opt_many alternative_smf_ip_addresses: AlternativeSmfIpAddress,
        con smf_set_id: SmfSetId<'a>,
        opt session_retention_information: SessionRetentionInformation<'a>,
        opt_many ue_ip_address_pool_information: UeIpAddressPoolInformation<'a>,
        many gtpu_path_qos_control_information: GtpuPathQosControlInformation<'a>,
        opt_many clock_drift_control_information: ClockDriftControlInformation<'a>,
        opt upf_instance_id: NfInstanceId,
        opt flags: AssociationSetupFlags,
    }
}

message! {
    /// PFCP Association Setup Response (Table 7.4.4.2-1). Accepts or rejects an association.
    AssociationSetupResponse<'a> = AssociationSetupResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        con recovery_time_stamp: RecoveryTimeStamp,
        con up_function_features: UpFeatures,
        con cp_function_features: CpFeatures,
        opt_many alternative_smf_ip_addresses: AlternativeSmfIpAddress,
        con smf_set_id: SmfSetId<'a>,
        opt flags: AssociationSetupResponseFlags,
        many clock_drift_control_information: ClockDriftControlInformation<'a>,
        opt_many ue_ip_address_pool_information: UeIpAddressPoolInformation<'a>,
        many gtpu_path_qos_control_information: GtpuPathQosControlInformation<'a>,
        opt upf_instance_id: NfInstanceId,
    }
}

message! {
    /// PFCP Association Update Request (Table 7.4.4.3-1). Changes an association.
    AssociationUpdateRequest<'a> = AssociationUpdateRequest {
        req node_id: NodeId<'a>,
        opt up_function_features: UpFeatures,
        opt cp_function_features: CpFeatures,
        con association_release_request: ReleaseRequestFlags,
        con graceful_release_period: GracefulReleasePeriod,
        opt flags: AssociationUpdateFlags,
        opt_many alternative_smf_ip_addresses: AlternativeSmfIpAddress,
        opt smf_set_id: SmfSetId<'a>,
        many clock_drift_control_information: ClockDriftControlInformation<'a>,
        opt_many ue_ip_address_pool_information: UeIpAddressPoolInformation<'a>,
        many gtpu_path_qos_control_information: GtpuPathQosControlInformation<'a>,
        opt_many ue_ip_address_usage_information: UeIpAddressUsageInformation<'a>,
    }
}

message! {
    /// PFCP Association Update Response (Table 7.4.4.4-1). Accepts or rejects a change of an association.
    AssociationUpdateResponse<'a> = AssociationUpdateResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
        opt up_function_features: UpFeatures,
        opt cp_function_features: CpFeatures,
        opt_many ue_ip_address_usage_information: UeIpAddressUsageInformation<'a>,
    }
}

message! {
    /// PFCP Association Release Request (Table 7.4.4.5-1). Ends an association.
    AssociationReleaseRequest<'a> = AssociationReleaseRequest {
        req node_id: NodeId<'a>,
    }
}

message! {
    /// PFCP Association Release Response (Table 7.4.4.6-1). Accepts or rejects the end of an association.
    AssociationReleaseResponse<'a> = AssociationReleaseResponse {
        req node_id: NodeId<'a>,
        req cause: Cause,
    }
}
