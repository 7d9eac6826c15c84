//! Groups about traffic endpoints.

use causeway_types::Qfi;

use crate::group::{IpMulticastAddressingInfo, RedundantTransmissionDetectionParameters};
use crate::ie::{
    AreaSessionId, EthernetPduSessionInformation, FTeid, FramedIpv6Route, FramedRoute, FramedRouting,
    InterfaceType, LocalIngressTunnel, MbsSessionIdentifier, NetworkInstance, RatType, TrafficEndpointId,
    UeIpAddress,
};
use crate::structure::group;

group! {
    /// Create Traffic Endpoint (Table 7.5.2.7-1). A traffic endpoint that PDIs refer to.
    ///
    /// A local F-TEID or UE IP address with an incorrect value is refused although the IE is optional: without it,
    /// the rule would match too many packets.
    CreateTrafficEndpoint<'a> = 127, "Create Traffic Endpoint" {
        req traffic_endpoint_id: TrafficEndpointId,
        con local_f_teid: FTeid,
        opt network_instance: NetworkInstance<'a>,
        con redundant_transmission_detection_parameters: RedundantTransmissionDetectionParameters<'a>,
        many ue_ip_addresses: UeIpAddress,
        con ethernet_pdu_session_information: EthernetPduSessionInformation,
        opt_many framed_routes: FramedRoute<'a>,
        opt framed_routing: FramedRouting,
        opt_many framed_ipv6_routes: FramedIpv6Route<'a>,
        opt_many qfis: Qfi,
        opt source_interface_type: InterfaceType,
        con local_ingress_tunnel: LocalIngressTunnel,
        con ip_multicast_addressing_info: IpMulticastAddressingInfo<'a>,
        con mbs_session_identifier: MbsSessionIdentifier,
        con area_session_id: AreaSessionId,
        opt rat_type: RatType,
    }
}

group! {
    /// Update Traffic Endpoint (Table 7.5.4.13-1). Changes of a traffic endpoint.
    UpdateTrafficEndpoint<'a> = 129, "Update Traffic Endpoint" {
        req traffic_endpoint_id: TrafficEndpointId,
        con local_f_teid: FTeid,
        opt network_instance: NetworkInstance<'a>,
        con redundant_transmission_detection_parameters: RedundantTransmissionDetectionParameters<'a>,
        many ue_ip_addresses: UeIpAddress,
        many framed_routes: FramedRoute<'a>,
        con framed_routing: FramedRouting,
        many framed_ipv6_routes: FramedIpv6Route<'a>,
        many qfis: Qfi,
        con source_interface_type: InterfaceType,
        opt rat_type: RatType,
    }
}

group! {
    /// Remove Traffic Endpoint (Table 7.5.4.14-1). Removes a traffic endpoint and the PDRs that refer to it.
    RemoveTrafficEndpoint<'a> = 130, "Remove Traffic Endpoint" {
        req traffic_endpoint_id: TrafficEndpointId,
    }
}

group! {
    /// Created Traffic Endpoint (Table 7.5.3.5-1). The allocations of the UP function for a traffic endpoint.
    CreatedTrafficEndpoint<'a> = 128, "Created Traffic Endpoint" {
        req traffic_endpoint_id: TrafficEndpointId,
        con local_f_teid: FTeid,
        con redundant_f_teid: FTeid,
        many ue_ip_addresses: UeIpAddress,
        con local_ingress_tunnel: LocalIngressTunnel,
    }
}
