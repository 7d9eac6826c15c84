//! The treatment of every IE that a session request may contain, in one table.
//!
//! - `acted`: the IE is applied, here or in another file of this folder, which may refuse single values.
//! - `information`: the IE has no effect on the UPF, or concerns the N4 session rather than its rules. Accepted.
//! - `refused`: the IE is not supported. A request with it is rejected, with it as the offending IE.
//!
//! IEs that no release defines, and those of vendors, are ignored (TS 29.244 clause 7.6.9). The compiler checks
//! that no IE of a group is missing here.

use causeway_pfcp::{
    CreateBar, CreateFar, CreatePdr, CreateQer, CreateTrafficEndpoint, CreateUrr, DuplicatingParameters,
    EthernetPacketFilter, Field, ForwardingParameters, Ie, Many, Pdi, SessionEstablishmentRequest,
    SessionModificationRequest, UpdateBar, UpdateDuplicatingParameters, UpdateFar,
    UpdateForwardingParameters, UpdatePdr, UpdateQer, UpdateTrafficEndpoint, UpdateUrr, ie_name,
};

use crate::{Reason, ie};

/// A message or group with a treatment for each of its IEs.
pub(super) trait CheckSupport {
    /// # Errors
    /// [`Reason::Unsupported`] with the first IE that is refused.
    fn refuse_unsupported(&self) -> Result<(), Reason>;

    /// Null length requests removal of an earlier value (clause 5.6.3). A new rule has nothing to remove, and
    /// without the IE it would match or pass more. A network instance without a name is none.
    ///
    /// # Errors
    /// [`Reason::Incorrect`] with the first IE of null length.
    fn refuse_nulls(&self) -> Result<(), Reason>;
}

macro_rules! treatment {
    ($(
        $group:ident {
            acted { $($acted:ident)* }
            information { $($information:ident)* }
            refused { $($refused:ident)* }
        }
    )*) => {$(
        impl CheckSupport for $group<'_> {
            fn refuse_unsupported(&self) -> Result<(), Reason> {
                let Self { $($acted: _,)* $($information: _,)* $($refused,)* other: _ } = self;
                let given: &[(&str, bool)] = &[$((stringify!($refused), $refused.is_given()),)*];
                given.iter().find(|(_, given)| *given).map_or(Ok(()), |(name, _)| Err(refused(Self::FIELDS, name)))
            }

            fn refuse_nulls(&self) -> Result<(), Reason> {
                let types = Self::FIELDS.iter().map(|field| field.ie_type);
                let mut nulls = types.filter(|ie| *ie != ie::NETWORK_INSTANCE && self.other.removes_type(*ie));
                let reason = "it has null length, and there is no value to remove";
                nulls.next().map_or(Ok(()), |ie| Err(Reason::Incorrect { ie, why: reason }))
            }
        }
    )*};
}

treatment! {
    SessionEstablishmentRequest {
        acted {
            node_id create_pdrs create_fars create_urrs create_qers create_bar create_traffic_endpoints pdn_type
            flags user_plane_inactivity_timer s_nssai dscp_to_ppi_control_information
        }
        information { cp_f_seid fq_csids user_id dnn recovery_time_stamp rat_type group_id }
        refused {
            trace_information create_mars
            create_bridge_info create_srrs provide_atsss_control_information provide_rds_configuration
            l2tp_tunnel_information l2tp_session_information mbs_session_n4mb_control_information
            mbs_session_n4_control_information
        }
    }
    SessionModificationRequest {
        acted {
            remove_pdrs remove_fars remove_urrs remove_qers remove_bar
            create_pdrs create_fars create_urrs create_qers create_bar
            update_pdrs update_fars update_urrs update_qers update_bar
            remove_traffic_endpoints create_traffic_endpoints update_traffic_endpoints
            flags query_urrs ethernet_context_information query_urr_reference user_plane_inactivity_timer query_packet_rate_status s_nssai
            dscp_to_ppi_control_information
        }
        information { cp_f_seid node_id fq_csids rat_type group_id }
        refused {
            trace_information remove_mars update_mars create_mars
            tsc_management_information remove_srrs create_srrs update_srrs
            provide_atsss_control_information
            access_availability_information mbs_session_n4_control_information
        }
    }
    CreatePdr {
        acted {
            pdr_id precedence pdi outer_header_removal far_id urr_ids qer_ids activate_predefined_rules
            activation_time deactivation_time pool_identities
        }
        information { rat_type }
        refused {
            mar_id packet_replication ip_multicast_addressing_info
            mptcp_applicable_indication transport_delay_reporting
        }
    }
    UpdatePdr {
        acted {
            pdr_id precedence pdi outer_header_removal far_id urr_ids qer_ids activate_predefined_rules
            deactivate_predefined_rules activation_time deactivation_time
        }
        information { rat_type }
        refused {
            ip_multicast_addressing_info transport_delay_reporting
        }
    }
    Pdi {
        acted {
            source_interface local_f_teid network_instance ue_ip_addresses sdf_filters application_id qfis
            ethernet_pdu_session_information ethernet_packet_filters
            traffic_endpoint_ids framed_routes framed_ipv6_routes
        }
        information { source_interface_type framed_routing }
        refused {
            local_ingress_tunnel redundant_transmission_detection_parameters
            ip_multicast_addressing_info dns_query_filters mbs_session_identifier
            area_session_id
        }
    }
    EthernetPacketFilter {
        acted {
            ethernet_filter_id ethernet_filter_properties mac_addresses ethertype c_tag s_tag sdf_filters
        }
        information { }
        refused { }
    }
    CreateTrafficEndpoint {
        acted {
            traffic_endpoint_id local_f_teid network_instance ue_ip_addresses framed_routes framed_ipv6_routes
            ethernet_pdu_session_information qfis
        }
        information { source_interface_type framed_routing rat_type }
        refused {
            redundant_transmission_detection_parameters local_ingress_tunnel
            ip_multicast_addressing_info mbs_session_identifier area_session_id
        }
    }
    UpdateTrafficEndpoint {
        acted {
            traffic_endpoint_id local_f_teid network_instance ue_ip_addresses framed_routes framed_ipv6_routes
            qfis
        }
        information { source_interface_type framed_routing rat_type }
        refused { redundant_transmission_detection_parameters }
    }
    CreateFar {
        acted { far_id apply_action forwarding_parameters duplicating_parameters bar_id }
        information { }
        refused {
            redundant_transmission_forwarding_parameters mbs_multicast_parameters
            add_mbs_unicast_parameters
        }
    }
    UpdateFar {
        acted { far_id apply_action update_forwarding_parameters update_duplicating_parameters bar_id }
        information { }
        refused {
            redundant_transmission_forwarding_parameters
            add_mbs_unicast_parameters remove_mbs_unicast_parameters
        }
    }
    ForwardingParameters {
        acted {
            proxying destination_interface network_instance outer_header_creation forwarding_policy
            transport_level_marking redirect_information ip_address_and_port_replacement header_enrichment
        }
        information { destination_interface_type linked_traffic_endpoint_id }
        refused {
            dnai
        }
    }
    UpdateForwardingParameters {
        acted {
            destination_interface network_instance outer_header_creation forwarding_policy flags
            transport_level_marking redirect_information ip_address_and_port_replacement header_enrichment
        }
        information { destination_interface_type linked_traffic_endpoint_id }
        refused {
            dnai
        }
    }
    DuplicatingParameters {
        acted { destination_interface outer_header_creation forwarding_policy }
        information { }
        refused { transport_level_marking }
    }
    UpdateDuplicatingParameters {
        acted { destination_interface outer_header_creation forwarding_policy }
        information { }
        refused { transport_level_marking }
    }
    CreateQer {
        acted {
            qer_id qer_correlation_id gate_status mbr gbr packet_rate packet_rate_status
            dl_flow_level_marking qfi rqi paging_policy_indicator averaging_window qer_control_indications
            qer_indications
        }
        information { }
        refused { }
    }
    UpdateQer {
        acted {
            qer_id qer_correlation_id gate_status mbr gbr packet_rate dl_flow_level_marking qfi rqi
            paging_policy_indicator averaging_window qer_control_indications
        }
        information { }
        refused { }
    }
    CreateUrr {
        acted {
            urr_id measurement_method reporting_triggers measurement_period volume_threshold volume_quota
            event_threshold event_quota time_threshold time_quota quota_holding_time
            dropped_dl_traffic_threshold quota_validity_time monitoring_time subsequent_volume_threshold
            subsequent_time_threshold subsequent_volume_quota subsequent_time_quota
            subsequent_event_threshold subsequent_event_quota inactivity_detection_time linked_urr_ids
            measurement_information time_quota_mechanism far_id_for_quota_action
            additional_monitoring_times number_of_reports exempted_sdf_filter_for_quota_actions
            user_plane_inactivity_timer ethernet_inactivity_timer
        }
        information { }
        refused { aggregated_urrs exempted_application_id_for_quota_actions }
    }
    UpdateUrr {
        acted {
            urr_id measurement_method reporting_triggers measurement_period volume_threshold volume_quota
            event_threshold event_quota time_threshold time_quota quota_holding_time
            dropped_dl_traffic_threshold quota_validity_time monitoring_time subsequent_volume_threshold
            subsequent_time_threshold subsequent_volume_quota subsequent_time_quota
            subsequent_event_threshold subsequent_event_quota inactivity_detection_time linked_urr_ids
            measurement_information time_quota_mechanism far_id_for_quota_action
            additional_monitoring_times number_of_reports exempted_sdf_filter_for_quota_actions
            user_plane_inactivity_timer ethernet_inactivity_timer
        }
        information { }
        refused { aggregated_urrs exempted_application_id_for_quota_actions }
    }
    CreateBar {
        acted { bar_id downlink_data_notification_delay suggested_buffering_packets_count }
        information { }
        refused { mt_edt_control_information }
    }
    UpdateBar {
        acted {
            bar_id downlink_data_notification_delay suggested_buffering_packets_count dl_buffering_duration
            dl_buffering_suggested_packet_count
        }
        information { }
        refused { mt_edt_control_information }
    }
}

/// The IE is present. One of null length is not: it removes a value that was never provisioned.
trait IsPresent {
    fn is_given(&self) -> bool;
}

impl<T> IsPresent for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<'a, T: Ie<'a>> IsPresent for Many<'a, T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

fn refused(fields: &[Field], name: &str) -> Reason {
    let ie = fields.iter().find(|field| field.name == name).map_or(0, |field| field.ie_type);
    Reason::Unsupported { ie, what: ie_name(ie).unwrap_or("an IE") }
}
