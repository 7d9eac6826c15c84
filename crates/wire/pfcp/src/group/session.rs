//! Groups of sessions.

use crate::ie::{
    Cause, DsttPortNumber, FailedRuleId, MacAddressesDetected, NwttPortNumber, OffendingIeInformation,
    PortManagementInformationContainer, RdsConfigurationInformation, UserPlaneNode,
    UserPlaneNodeManagementInformationContainer,
};
use crate::structure::group;

group! {
    /// Partial Failure Information (Table 7.5.3.1-2). A rule that could not be applied.
    PartialFailureInformation<'a> = 272, "Partial Failure Information" {
        req failed_rule_id: FailedRuleId,
        req failure_cause: Cause,
        req_many offending_ie_information: OffendingIeInformation<'a>,
    }
}

group! {
    /// Created Bridge Info for TSC (Table 7.5.3.6-1). The bridge of a session.
    CreatedBridgeInfoForTsc<'a> = 195, "Created Bridge Info for TSC" {
        con dstt_port_number: DsttPortNumber,
        con user_plane_node: UserPlaneNode,
    }
}

group! {
    /// Provide RDS configuration information (Table 7.5.2.11-1). Requests the Reliable Data Service.
    ProvideRdsConfigurationInformation<'a> = 261, "Provide RDS configuration information" {
        opt rds_configuration: RdsConfigurationInformation,
    }
}

group! {
    /// TSC Management Information (Table 7.5.8.5-1). Port and bridge management. Type 199 in a modification
    /// request, 200 in its response, 201 in a report.
    TscManagementInformation<'a> = 201, "TSC Management Information" {
        opt port_management_information: PortManagementInformationContainer<'a>,
        opt user_plane_node_management_information: UserPlaneNodeManagementInformationContainer<'a>,
        con nwtt_port_number: NwttPortNumber,
    }
}

group! {
    /// Ethernet Context Information (Table 7.5.4.21-1). MAC addresses of a session that is relocated to this UPF.
    EthernetContextInformation<'a> = 254, "Ethernet Context Information" {
        req_many mac_addresses_detected: MacAddressesDetected<'a>,
    }
}
