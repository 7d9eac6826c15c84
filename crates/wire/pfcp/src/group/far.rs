//! Groups about Forwarding Action Rules.

use causeway_types::{BarId, FarId};

use crate::group::{AddMbsUnicastParameters, MbsMulticastParameters, RemoveMbsUnicastParameters};
use crate::ie::{
    ApplyAction, DataNetworkAccessIdentifier, DestinationInterface, ForwardingPolicy, HeaderEnrichment,
    InterfaceType, IpAddressAndPortReplacement, NetworkInstance, OuterHeaderCreation, Proxying,
    RedirectInformation, SessionModificationFlags, TrafficEndpointId, TransportLevelMarking,
};
use crate::structure::group;

group! {
    /// Create FAR (Table 7.5.2.3-1). A new Forwarding Action Rule.
    CreateFar<'a> = 3, "Create FAR" {
        req far_id: FarId,
        req apply_action: ApplyAction,
        con forwarding_parameters: ForwardingParameters<'a>,
        many duplicating_parameters: DuplicatingParameters<'a>,
        opt bar_id: BarId,
        con redundant_transmission_forwarding_parameters: RedundantTransmissionForwardingParameters<'a>,
        con mbs_multicast_parameters: MbsMulticastParameters<'a>,
        many add_mbs_unicast_parameters: AddMbsUnicastParameters<'a>,
    }
}

group! {
    /// Update FAR (Table 7.5.4.3-1). Changes of a Forwarding Action Rule.
    UpdateFar<'a> = 10, "Update FAR" {
        req far_id: FarId,
        con apply_action: ApplyAction,
        con update_forwarding_parameters: UpdateForwardingParameters<'a>,
        many update_duplicating_parameters: UpdateDuplicatingParameters<'a>,
        con redundant_transmission_forwarding_parameters: RedundantTransmissionForwardingParameters<'a>,
        con bar_id: BarId,
        many add_mbs_unicast_parameters: AddMbsUnicastParameters<'a>,
        many remove_mbs_unicast_parameters: RemoveMbsUnicastParameters<'a>,
    }
}

group! {
    /// Remove FAR (Table 7.5.4.7-1). Removes a Forwarding Action Rule.
    RemoveFar<'a> = 16, "Remove FAR" {
        req far_id: FarId,
    }
}

group! {
    /// Forwarding Parameters (Table 7.5.2.3-2). Where and how packets are forwarded.
    ForwardingParameters<'a> = 4, "Forwarding Parameters" {
        req destination_interface: DestinationInterface,
        opt network_instance: NetworkInstance<'a>,
        con redirect_information: RedirectInformation<'a>,
        con outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        con forwarding_policy: ForwardingPolicy<'a>,
        many header_enrichment: HeaderEnrichment<'a>,
        con linked_traffic_endpoint_id: TrafficEndpointId,
        con proxying: Proxying,
        opt destination_interface_type: InterfaceType,
        con dnai: DataNetworkAccessIdentifier<'a>,
        con ip_address_and_port_replacement: IpAddressAndPortReplacement,
    }
}

group! {
    /// Update Forwarding Parameters (Table 7.5.4.3-2). Changes of where and how packets are forwarded.
    UpdateForwardingParameters<'a> = 11, "Update Forwarding Parameters" {
        con destination_interface: DestinationInterface,
        con network_instance: NetworkInstance<'a>,
        con redirect_information: RedirectInformation<'a>,
        con outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        con forwarding_policy: ForwardingPolicy<'a>,
        many header_enrichment: HeaderEnrichment<'a>,
        con flags: SessionModificationFlags,
        con linked_traffic_endpoint_id: TrafficEndpointId,
        con destination_interface_type: InterfaceType,
        con dnai: DataNetworkAccessIdentifier<'a>,
        con ip_address_and_port_replacement: IpAddressAndPortReplacement,
    }
}

group! {
    /// Duplicating Parameters (Table 7.5.2.3-3). Where and how packets are duplicated.
    DuplicatingParameters<'a> = 5, "Duplicating Parameters" {
        req destination_interface: DestinationInterface,
        con outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        con forwarding_policy: ForwardingPolicy<'a>,
    }
}

group! {
    /// Update Duplicating Parameters (Table 7.5.4.3-3). Changes of where and how packets are duplicated.
    UpdateDuplicatingParameters<'a> = 105, "Update Duplicating Parameters" {
        con destination_interface: DestinationInterface,
        con outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        con forwarding_policy: ForwardingPolicy<'a>,
    }
}

group! {
    /// Redundant Transmission Forwarding Parameters (Table 7.5.2.3-4). The second tunnel of redundant
    /// transmission.
    RedundantTransmissionForwardingParameters<'a> = 270, "Redundant Transmission Forwarding Parameters" {
        req outer_header_creation: OuterHeaderCreation,
        con network_instance: NetworkInstance<'a>,
    }
}
