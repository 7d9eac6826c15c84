//! The IEs that `rs-pfcp` 0.5 codes according to TS 29.244 Release 17.
//!
//! IEs with another coding there are left out: it writes timers and port numbers with another length, cuts single
//! IEs in Remove groups, keeps one of several repeated IEs, clears spare codes, or does not know a field (FQ-CSID
//! node type, NID, upper packet rate unit). The tests in `octets` compare those with the figures of the
//! specification.

use rs_pfcp::ie::*;

/// The result of `marshal` of `rs-pfcp`: octets in one form or another.
trait Marshalled {
    fn octets(self) -> Option<Vec<u8>>;
}

impl Marshalled for Vec<u8> {
    fn octets(self) -> Option<Vec<u8>> {
        Some(self)
    }
}

impl<const N: usize> Marshalled for [u8; N] {
    fn octets(self) -> Option<Vec<u8>> {
        Some(self.to_vec())
    }
}

impl<E> Marshalled for Result<Vec<u8>, E> {
    fn octets(self) -> Option<Vec<u8>> {
        self.ok()
    }
}

/// Decodes and encodes with `rs-pfcp`; `None` if it refuses the value.
pub(crate) type Theirs = fn(&[u8]) -> Option<Vec<u8>>;

macro_rules! theirs {
    ($( $ie_type:literal = $module:ident::$name:ident; )*) => {
        pub(crate) const THEIRS: &[(u16, Theirs)] = &[$(
            ($ie_type, |value| $module::$name::unmarshal(value).ok()?.marshal().octets()),
        )*];
    };
}

theirs! {
    8 = created_pdr::CreatedPdr;
    21 = f_teid::Fteid;
    22 = network_instance::NetworkInstance;
    24 = application_id::ApplicationId;
    26 = mbr::Mbr;
    27 = gbr::Gbr;
    28 = qer_correlation_id::QerCorrelationId;
    29 = precedence::Precedence;
    31 = volume_threshold::VolumeThreshold;
    32 = time_threshold::TimeThreshold;
    33 = monitoring_time::MonitoringTime;
    34 = subsequent_volume_threshold::SubsequentVolumeThreshold;
    35 = subsequent_time_threshold::SubsequentTimeThreshold;
    36 = inactivity_detection_time::InactivityDetectionTime;
    37 = reporting_triggers::ReportingTriggers;
    38 = redirect_information::RedirectInformation;
    39 = report_type::ReportType;
    40 = offending_ie::OffendingIe;
    41 = forwarding_policy::ForwardingPolicy;
    42 = destination_interface::DestinationInterface;
    43 = up_function_features::UPFunctionFeatures;
    44 = apply_action::ApplyAction;
    48 = dl_buffering_suggested_packet_count::DlBufferingSuggestedPacketCount;
    50 = pfcpsrrsp_flags::PfcpsrrspFlags;
    51 = load_control_information::LoadControlInformation;
    52 = sequence_number::SequenceNumber;
    53 = metric::Metric;
    56 = pdr_id::PdrId;
    57 = fseid::Fseid;
    59 = pfd_context::PfdContext;
    60 = node_id::NodeId;
    61 = pfd_contents::PfdContents;
    62 = measurement_method::MeasurementMethod;
    63 = usage_report_trigger::UsageReportTrigger;
    64 = measurement_period::MeasurementPeriod;
    66 = volume_measurement::VolumeMeasurement;
    67 = duration_measurement::DurationMeasurement;
    69 = time_of_first_packet::TimeOfFirstPacket;
    70 = time_of_last_packet::TimeOfLastPacket;
    71 = quota_holding_time::QuotaHoldingTime;
    72 = dropped_dl_traffic_threshold::DroppedDlTrafficThreshold;
    73 = volume_quota::VolumeQuota;
    74 = time_quota::TimeQuota;
    75 = start_time::StartTime;
    76 = end_time::EndTime;
    81 = urr_id::UrrId;
    82 = linked_urr_id::LinkedUrrId;
    88 = bar_id::BarId;
    89 = cp_function_features::CPFunctionFeatures;
    90 = usage_information::UsageInformation;
    91 = application_instance_id::ApplicationInstanceId;
    92 = flow_information::FlowInformation;
    93 = ue_ip_address::UeIpAddress;
    96 = recovery_time_stamp::RecoveryTimeStamp;
    100 = measurement_information::MeasurementInformation;
    101 = node_report_type::NodeReportType;
    102 = user_plane_path_failure_report::UserPlanePathFailureReport;
    103 = remote_gtpu_peer::RemoteGtpuPeer;
    104 = ur_seqn::UrSeqn;
    105 = update_duplicating_parameters::UpdateDuplicatingParameters;
    106 = activate_predefined_rules::ActivatePredefinedRules;
    107 = deactivate_predefined_rules::DeactivatePredefinedRules;
    108 = far_id::FarId;
    109 = qer_id::QerId;
    110 = oci_flags::OciFlags;
    111 = pfcp_association_release_request::PfcpAssociationReleaseRequest;
    113 = pdn_type::PdnType;
    115 = time_quota_mechanism::TimeQuotaMechanism;
    117 = user_plane_inactivity_timer::UserPlaneInactivityTimer;
    120 = aggregated_urr_id::AggregatedUrrId;
    121 = subsequent_volume_quota::SubsequentVolumeQuota;
    122 = subsequent_time_quota::SubsequentTimeQuota;
    123 = rqi::Rqi;
    124 = qfi::Qfi;
    125 = query_urr_reference::QueryURRReference;
    131 = traffic_endpoint_id::TrafficEndpointId;
    133 = mac_address::MacAddress;
    136 = ethertype::Ethertype;
    137 = proxying::Proxying;
    138 = ethernet_filter_id::EthernetFilterId;
    139 = ethernet_filter_properties::EthernetFilterProperties;
    141 = user_id::UserId;
    142 = ethernet_pdu_session_information::EthernetPduSessionInformation;
    143 = ethernet_traffic_information::EthernetTrafficInformation;
    144 = mac_addresses_detected::MacAddressesDetected;
    145 = mac_addresses_removed::MacAddressesRemoved;
    146 = ethernet_inactivity_timer::EthernetInactivityTimer;
    148 = event_quota::EventQuota;
    149 = event_threshold::EventThreshold;
    150 = subsequent_event_quota::SubsequentEventQuota;
    151 = subsequent_event_threshold::SubsequentEventThreshold;
    152 = trace_information::TraceInformation;
    153 = framed_route::FramedRoute;
    154 = framed_routing::FramedRouting;
    155 = framed_ipv6_route::FramedIpv6Route;
    156 = event_time_stamp::EventTimeStamp;
    157 = averaging_window::AveragingWindow;
    158 = paging_policy_indicator::PagingPolicyIndicator;
    160 = three_gpp_interface_type::ThreeGppInterfaceTypeIe;
    161 = pfcpsr_req_flags::PfcpsrReqFlags;
    162 = pfcpau_req_flags::PfcpauReqFlags;
    163 = activation_time::ActivationTime;
    164 = deactivation_time::DeactivationTime;
    165 = create_mar::CreateMar;
    166 = tgpp_access_forwarding_action_information::TgppAccessForwardingActionInformation;
    167 = non_tgpp_access_forwarding_action_information::NonTgppAccessForwardingActionInformation;
    169 = update_mar::UpdateMar;
    170 = mar_id::MarId;
    171 = steering_functionality::SteeringFunctionality;
    172 = steering_mode::SteeringMode;
    173 = weight::Weight;
    174 = priority::Priority;
    175 = update_tgpp_access_forwarding_action_information::UpdateTgppAccessForwardingActionInformation;
    176 = update_non_tgpp_access_forwarding_action_information::UpdateNonTgppAccessForwardingActionInformation;
    177 = ue_ip_address_pool_identity::UeIpAddressPoolIdentity;
    178 = alternative_smf_ip_address::AlternativeSmfIpAddress;
    179 = packet_replication_and_detection_carry_on_information::PacketReplicationAndDetectionCarryOnInformation;
    180 = smf_set_id::SmfSetId;
    181 = quota_validity_time::QuotaValidityTime;
    182 = number_of_reports::NumberOfReports;
    184 = pfcpas_rsp_flags::PfcpasRspFlags;
    185 = cp_pfcp_entity_ip_address::CpPfcpEntityIpAddress;
    186 = pfcpse_req_flags::PfcpseReqFlags;
    192 = source_ip_address::SourceIpAddress;
    193 = packet_rate_status::PacketRateStatus;
    201 = tsc_management_information_within_session_report_request::TscManagementInformationWithinSessionReportRequest;
    202 = port_management_information_container::PortManagementInformationContainer;
    204 = requested_clock_drift_information::RequestedClockDriftInformation;
    206 = tsn_time_domain_number::TsnTimeDomainNumber;
    207 = time_offset_threshold::TimeOffsetThreshold;
    208 = cumulative_rate_ratio_threshold::CumulativeRateRatioThreshold;
    209 = time_offset_measurement::TimeOffsetMeasurement;
    210 = cumulative_rate_ratio_measurement::CumulativeRateRatioMeasurement;
    212 = create_srr::CreateSrr;
    214 = session_report::SessionReport;
    215 = srr_id::SrrId;
    216 = access_availability_control_information::AccessAvailabilityControlInformation;
    217 = requested_access_availability_information::RequestedAccessAvailabilityInformation;
    218 = access_availability_report::AccessAvailabilityReport;
    219 = access_availability_information::AccessAvailabilityInformation;
    221 = atsss_control_parameters::AtsssControlParameters;
    222 = mptcp_control_information::MptcpControlInformation;
    223 = atsss_ll_control_information::AtsssLlControlInformation;
    225 = mptcp_parameters::MptcpParameters;
    226 = atsss_ll_parameters::AtsssLlParameters;
    227 = pmf_parameters::PmfParameters;
    228 = mptcp_address_information::MptcpAddressInformation;
    229 = link_specific_multipath_ip_address::LinkSpecificMultipathIpAddress;
    230 = pmf_address_information::PmfAddressInformation;
    231 = atsss_ll_information::AtsssLlInformation;
    232 = data_network_access_identifier::DataNetworkAccessIdentifier;
    234 = average_packet_delay::AveragePacketDelay;
    235 = minimum_packet_delay::MinimumPacketDelay;
    236 = maximum_packet_delay::MaximumPacketDelay;
    237 = qos_report_trigger::QosReportTrigger;
    241 = gtpu_path_interface_type::GtpuPathInterfaceType;
    242 = qos_monitoring_per_qos_flow_control_information::QosMonitoringPerQosFlowControlInformation;
    243 = requested_qos_monitoring::RequestedQosMonitoring;
    245 = packet_delay_thresholds::PacketDelayThresholds;
    246 = minimum_wait_time::MinimumWaitTime;
    247 = qos_monitoring_report::QosMonitoringReport;
    248 = qos_monitoring_measurement::QosMonitoringMeasurement;
    249 = mtedt_control_information::MtedtControlInformation;
    250 = dl_data_packets_size::DlDataPacketsSize;
    251 = qer_control_indications::QerControlIndications;
    252 = packet_rate_status_report::PacketRateStatusReport;
    253 = nf_instance_id::NfInstanceId;
    254 = ethernet_context_information::EthernetContextInformation;
    255 = redundant_transmission_parameters::RedundantTransmissionParameters;
    257 = snssai::Snssai;
    258 = ip_version::IpVersion;
    259 = pfcpas_req_flags::PfcpasReqFlags;
    260 = data_status::DataStatus;
    261 = provide_rds_configuration_information::ProvideRdsConfigurationInformation;
    262 = rds_configuration_information::RdsConfigurationInformation;
    263 = query_packet_rate_status_within_session_modification_request::QueryPacketRateStatusWithinSessionModificationRequest;
    264 = packet_rate_status_report_within_session_modification_response::PacketRateStatusReportWithinSessionModificationResponse;
    265 = mptcp_applicable_indication::MptcpApplicableIndication;
    266 = bridge_management_information_container::BridgeManagementInformationContainer;
    268 = number_of_ue_ip_addresses::NumberOfUeIpAddresses;
    269 = validity_timer::ValidityTimer;
    270 = redundant_transmission_forwarding_parameters::RedundantTransmissionForwardingParameters;
    271 = transport_delay_reporting::TransportDelayReporting;
    274 = offending_ie_information::OffendingIeInformation;
    275 = rat_type::RatType;
    276 = l2tp_tunnel_information::L2tpTunnelInformation;
    277 = l2tp_session_information::L2tpSessionInformation;
    278 = l2tp_user_authentication::L2tpUserAuthentication;
    279 = created_l2tp_session::CreatedL2tpSession;
    280 = lns_address::LnsAddress;
    281 = tunnel_preference::TunnelPreference;
    282 = calling_number::CallingNumber;
    283 = called_number::CalledNumber;
    284 = l2tp_session_indications::L2tpSessionIndications;
    285 = dns_server_address::DnsServerAddress;
    286 = nbns_server_address::NbnsServerAddress;
    287 = maximum_receive_unit::MaximumReceiveUnit;
    288 = thresholds::Thresholds;
    289 = steering_mode_indicator::SteeringModeIndicator;
    291 = group_id::GroupId;
    292 = cp_ip_address::CpIpAddress;
    293 = ip_address_and_port_number_replacement::IpAddressAndPortNumberReplacement;
    294 = dns_query_response_filter::DnsQueryResponseFilter;
    295 = direct_reporting_information::DirectReportingInformation;
    296 = event_notification_uri::EventNotificationUri;
    297 = notification_correlation_id::NotificationCorrelationId;
    298 = reporting_flags::ReportingFlags;
    299 = predefined_rules_name::PredefinedRulesName;
    303 = mbs_session_n4mb_information::MbsSessionN4mbInformation;
    304 = remove_mbs_unicast_parameters::RemoveMbsUnicastParameters;
    306 = multicast_transport_information::MulticastTransportInformation;
    307 = mbsn4mb_req_flags::Mbsn4mbReqFlags;
    309 = mbs_unicast_parameters_id::MbsUnicastParametersId;
    312 = mbsn4_resp_flags::Mbsn4RespFlags;
    313 = tunnel_password::TunnelPassword;
    314 = area_session_id::AreaSessionId;
    315 = peer_up_restart_report::PeerUpRestartReport;
    318 = pfcpsdrsp_flags::PfcpsdrspFlags;
    319 = qer_indications::QerIndications;
    321 = configured_time_domain::ConfiguredTimeDomain;
}
