//! Groups about multicast.

use crate::ie::{
    AreaSessionId, DestinationInterface, FTeid, InterfaceType, IpMulticastAddress, MbsSessionIdentifier,
    MbsUnicastParametersId, Mbsn4RespFlags, Mbsn4mbReqFlags, MulticastTransportInformation, NetworkInstance,
    OuterHeaderCreation, SourceIpAddress, TransportLevelMarking,
};
use crate::structure::group;

group! {
    /// MBS Session N4mb Control Information (Table 7.5.2.1-4). Controls a multicast session in an MB-UPF.
    MbsSessionN4mbControlInformation<'a> = 300, "MBS Session N4mb Control Information" {
        req mbs_session_identifier: MbsSessionIdentifier,
        con area_session_id: AreaSessionId,
        con flags: Mbsn4mbReqFlags,
        con multicast_transport_information: MulticastTransportInformation,
    }
}

group! {
    /// MBS Session N4 Control Information (Table 7.5.2.1-5). Controls a multicast session in a UPF.
    MbsSessionN4ControlInformation<'a> = 310, "MBS Session N4 Control Information" {
        req mbs_session_identifier: MbsSessionIdentifier,
        con area_session_id: AreaSessionId,
        con multicast_transport_information: MulticastTransportInformation,
    }
}

group! {
    /// MBS Session N4mb Information (Table 7.5.3.1-4). The allocations of an MB-UPF for a multicast session.
    MbsSessionN4mbInformation<'a> = 303, "MBS Session N4mb Information" {
        con multicast_transport_information: MulticastTransportInformation,
    }
}

group! {
    /// MBS Session N4 Information (Table 7.5.3.1-5). The actions of a UPF for a multicast session.
    MbsSessionN4Information<'a> = 311, "MBS Session N4 Information" {
        req mbs_session_identifier: MbsSessionIdentifier,
        con area_session_id: AreaSessionId,
        con n19mb_dl_tunnel: FTeid,
        con flags: Mbsn4RespFlags,
    }
}

group! {
    /// MBS Multicast Parameters (Table 7.5.2.3-5). Forwards multicast data by multicast.
    MbsMulticastParameters<'a> = 301, "MBS Multicast Parameters" {
        req destination_interface: DestinationInterface,
        opt network_instance: NetworkInstance<'a>,
        req outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        opt_many destination_interface_types: InterfaceType,
    }
}

group! {
    /// Add MBS Unicast Parameters (Table 7.5.2.3-6). Forwards multicast data to one more unicast peer.
    AddMbsUnicastParameters<'a> = 302, "Add MBS Unicast Parameters" {
        req destination_interface: DestinationInterface,
        req mbs_unicast_parameters_id: MbsUnicastParametersId,
        opt network_instance: NetworkInstance<'a>,
        req outer_header_creation: OuterHeaderCreation,
        con transport_level_marking: TransportLevelMarking,
        opt destination_interface_type: InterfaceType,
    }
}

group! {
    /// Remove MBS Unicast Parameters (Table 7.5.4.3-4). Stops forwarding multicast data to a unicast peer.
    RemoveMbsUnicastParameters<'a> = 304, "Remove MBS Unicast Parameters" {
        req mbs_unicast_parameters_id: MbsUnicastParametersId,
    }
}

group! {
    /// IP Multicast Addressing Info (Table 7.5.2.2-4). IP multicast flows.
    IpMulticastAddressingInfo<'a> = 188, "IP Multicast Addressing Info" {
        req ip_multicast_address: IpMulticastAddress,
        opt_many source_ip_addresses: SourceIpAddress,
    }
}

group! {
    /// Join IP Multicast Information (Table 7.5.8.3-4). A multicast flow the UE joined.
    JoinIpMulticastInformation<'a> = 189, "Join IP Multicast Information" {
        req ip_multicast_address: IpMulticastAddress,
        many source_ip_addresses: SourceIpAddress,
    }
}

group! {
    /// Leave IP Multicast Information (Table 7.5.8.3-5). A multicast flow the UE left.
    LeaveIpMulticastInformation<'a> = 190, "Leave IP Multicast Information" {
        req ip_multicast_address: IpMulticastAddress,
        many source_ip_addresses: SourceIpAddress,
    }
}
