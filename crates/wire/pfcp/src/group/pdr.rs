//! Groups about Packet Detection Rules.

use causeway_types::{FarId, PdrId, Precedence, QerId, Qfi, UrrId};

use crate::group::IpMulticastAddressingInfo;
use crate::ie::{
    ActivatePredefinedRules, ActivationTime, ApplicationId, AreaSessionId, CTag, DeactivatePredefinedRules,
    DeactivationTime, DnsQueryFilter, EthernetFilterId, EthernetFilterProperties,
    EthernetPduSessionInformation, Ethertype, FTeid, FramedIpv6Route, FramedRoute, FramedRouting,
    InterfaceType, LocalIngressTunnel, MacAddress, MarId, MbsSessionIdentifier, MptcpApplicableIndication,
    NetworkInstance, OuterHeaderRemoval, PacketReplication, RatType, RemoteGtpuPeer, STag, SdfFilter,
    SourceInterface, TrafficEndpointId, TransportLevelMarking, UeIpAddress, UeIpAddressPoolIdentity,
};
use crate::structure::group;

group! {
    /// Create PDR (Table 7.5.2.2-1). A new Packet Detection Rule.
    CreatePdr<'a> = 1, "Create PDR" {
        req pdr_id: PdrId,
        req precedence: Precedence,
        req pdi: Pdi<'a>,
        con outer_header_removal: OuterHeaderRemoval,
        con far_id: FarId,
        many urr_ids: UrrId,
        many qer_ids: QerId,
        many activate_predefined_rules: ActivatePredefinedRules<'a>,
        opt activation_time: ActivationTime,
        opt deactivation_time: DeactivationTime,
        con mar_id: MarId,
        con packet_replication: PacketReplication,
        opt_many ip_multicast_addressing_info: IpMulticastAddressingInfo<'a>,
        opt_many pool_identities: UeIpAddressPoolIdentity<'a>,
        con mptcp_applicable_indication: MptcpApplicableIndication,
        con transport_delay_reporting: TransportDelayReporting<'a>,
        opt rat_type: RatType,
    }
}

group! {
    /// Update PDR (Table 7.5.4.2-1). Changes of a Packet Detection Rule.
    UpdatePdr<'a> = 9, "Update PDR" {
        req pdr_id: PdrId,
        con outer_header_removal: OuterHeaderRemoval,
        con precedence: Precedence,
        con pdi: Pdi<'a>,
        con far_id: FarId,
        many urr_ids: UrrId,
        many qer_ids: QerId,
        many activate_predefined_rules: ActivatePredefinedRules<'a>,
        many deactivate_predefined_rules: DeactivatePredefinedRules<'a>,
        opt activation_time: ActivationTime,
        opt deactivation_time: DeactivationTime,
        opt_many ip_multicast_addressing_info: IpMulticastAddressingInfo<'a>,
        con transport_delay_reporting: TransportDelayReporting<'a>,
        opt rat_type: RatType,
    }
}

group! {
    /// Remove PDR (Table 7.5.4.6-1). Removes a Packet Detection Rule.
    RemovePdr<'a> = 15, "Remove PDR" {
        req pdr_id: PdrId,
    }
}

group! {
    /// PDI (Table 7.5.2.2-2). The packets that a rule detects.
    ///
    /// A local F-TEID, UE IP address or Ethernet part with an incorrect value is refused although the IE is
    /// optional: without it, the rule would match too many packets.
    Pdi<'a> = 2, "PDI" {
        req source_interface: SourceInterface,
        con local_f_teid: FTeid,
        con local_ingress_tunnel: LocalIngressTunnel,
        opt network_instance: NetworkInstance<'a>,
        con redundant_transmission_detection_parameters: RedundantTransmissionDetectionParameters<'a>,
        many ue_ip_addresses: UeIpAddress,
        many traffic_endpoint_ids: TrafficEndpointId,
        opt_many sdf_filters: SdfFilter<'a>,
        opt application_id: ApplicationId<'a>,
        con ethernet_pdu_session_information: EthernetPduSessionInformation,
        many ethernet_packet_filters: EthernetPacketFilter<'a>,
        opt_many qfis: Qfi,
        opt_many framed_routes: FramedRoute<'a>,
        opt framed_routing: FramedRouting,
        opt_many framed_ipv6_routes: FramedIpv6Route<'a>,
        opt source_interface_type: InterfaceType,
        opt_many ip_multicast_addressing_info: IpMulticastAddressingInfo<'a>,
        opt_many dns_query_filters: DnsQueryFilter<'a>,
        con mbs_session_identifier: MbsSessionIdentifier,
        con area_session_id: AreaSessionId,
    }
}

group! {
    /// Ethernet Packet Filter (Table 7.5.2.2-3). The frames that a rule detects.
    ///
    /// A part with an incorrect value is refused although it is optional: without it, the rule would match too many
    /// frames.
    EthernetPacketFilter<'a> = 132, "Ethernet Packet Filter" {
        con ethernet_filter_id: EthernetFilterId,
        con ethernet_filter_properties: EthernetFilterProperties,
        many mac_addresses: MacAddress,
        con ethertype: Ethertype,
        con c_tag: CTag,
        con s_tag: STag,
        many sdf_filters: SdfFilter<'a>,
    }
}

group! {
    /// Redundant Transmission Detection Parameters (Table 7.5.2.2-5). The second tunnel of redundant
    /// transmission.
    RedundantTransmissionDetectionParameters<'a> = 255, "Redundant Transmission Detection Parameters" {
        req redundant_f_teid: FTeid,
        con network_instance: NetworkInstance<'a>,
    }
}

group! {
    /// Transport Delay Reporting (Table 7.5.2.2-6). Reports the delay of the path from the preceding UPF.
    TransportDelayReporting<'a> = 271, "Transport Delay Reporting" {
        req preceding_ul_gtpu_peer: RemoteGtpuPeer<'a>,
        opt dscp: TransportLevelMarking,
    }
}

group! {
    /// Created PDR (Table 7.5.3.2-1). The allocations of the UP function for a new rule.
    CreatedPdr<'a> = 8, "Created PDR" {
        req pdr_id: PdrId,
        con local_f_teid: FTeid,
        con redundant_f_teid: FTeid,
        many ue_ip_addresses: UeIpAddress,
        con local_ingress_tunnel: LocalIngressTunnel,
    }
}

group! {
    /// Updated PDR (Table 7.5.5.5-1). The allocations of the UP function for a changed rule.
    UpdatedPdr<'a> = 256, "Updated PDR" {
        req pdr_id: PdrId,
        con redundant_f_teid: FTeid,
        con local_f_teid: FTeid,
        many ue_ip_addresses: UeIpAddress,
    }
}
