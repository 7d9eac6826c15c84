//! Groups about Multi-Access Rules.

use causeway_types::{FarId, Qfi, UrrId};

use crate::ie::{
    AtsssLlControlInformation, AtsssLlInformation, MarId, MptcpAddressInformation, MptcpControlInformation,
    PmfAddressInformation, PmfControlInformation, Priority, RatType, SteeringFunctionality, SteeringMode,
    SteeringModeIndicator, Thresholds, UeLinkSpecificIpAddress, Weight,
};
use crate::structure::group;

group! {
    /// Create MAR (Table 7.5.2.8-1). A new Multi-Access Rule.
    CreateMar<'a> = 165, "Create MAR" {
        req mar_id: MarId,
        req steering_functionality: SteeringFunctionality,
        req steering_mode: SteeringMode,
        con three_gpp_access: AccessForwardingAction<'a>,
        con non_three_gpp_access: AccessForwardingAction<'a> = 167,
        con thresholds: Thresholds,
        con steering_mode_indicator: SteeringModeIndicator,
    }
}

group! {
    /// Update MAR (Table 7.5.4.16-1). Changes of a Multi-Access Rule.
    UpdateMar<'a> = 169, "Update MAR" {
        req mar_id: MarId,
        con steering_functionality: SteeringFunctionality,
        con steering_mode: SteeringMode,
        con update_three_gpp_access: UpdateAccessForwardingAction<'a>,
        con update_non_three_gpp_access: UpdateAccessForwardingAction<'a> = 176,
        con three_gpp_access: AccessForwardingAction<'a>,
        con non_three_gpp_access: AccessForwardingAction<'a> = 167,
        con thresholds: Thresholds,
        con steering_mode_indicator: SteeringModeIndicator,
    }
}

group! {
    /// Remove MAR (Table 7.5.4.15-1). Removes a Multi-Access Rule.
    RemoveMar<'a> = 168, "Remove MAR" {
        req mar_id: MarId,
    }
}

group! {
    /// 3GPP Access Forwarding Action Information (Table 7.5.2.8-2). Forwarding over one access.
    AccessForwardingAction<'a> = 166, "3GPP Access Forwarding Action Information" {
        req far_id: FarId,
        con weight: Weight,
        con priority: Priority,
        many urr_ids: UrrId,
        opt rat_type: RatType,
    }
}

group! {
    /// Update 3GPP Access Forwarding Action Information (Table 7.5.4.16-2). Changes of forwarding over one access;
    /// removes the access if empty.
    UpdateAccessForwardingAction<'a> = 175, "Update 3GPP Access Forwarding Action Information" {
        con far_id: FarId,
        con weight: Weight,
        con priority: Priority,
        many urr_ids: UrrId,
        opt rat_type: RatType,
    }
}

group! {
    /// Provide ATSSS Control Information (Table 7.5.2.10-1). Required ATSSS functions.
    ProvideAtsssControlInformation<'a> = 220, "Provide ATSSS Control Information" {
        con mptcp_control_information: MptcpControlInformation,
        con atsss_ll_control_information: AtsssLlControlInformation,
        con pmf_control_information: PmfControlInformation<'a>,
    }
}

group! {
    /// ATSSS Control Parameters (Table 7.5.3.7-1). Allocated ATSSS functions.
    AtsssControlParameters<'a> = 221, "ATSSS Control Parameters" {
        con mptcp_parameters: MptcpParameters<'a>,
        con atsss_ll_parameters: AtsssLlParameters<'a>,
        many pmf_parameters: PmfParameters<'a>,
    }
}

group! {
    /// MPTCP Parameters (Table 7.5.3.7-2). The allocated MPTCP function.
    MptcpParameters<'a> = 225, "MPTCP Parameters" {
        req mptcp_address_information: MptcpAddressInformation,
        req ue_link_specific_ip_address: UeLinkSpecificIpAddress,
    }
}

group! {
    /// ATSSS-LL Parameters (Table 7.5.3.7-3). The allocated ATSSS-LL function.
    AtsssLlParameters<'a> = 226, "ATSSS-LL Parameters" {
        req atsss_ll_information: AtsssLlInformation,
    }
}

group! {
    /// PMF Parameters (Table 7.5.3.7-4). The allocated PMF.
    PmfParameters<'a> = 227, "PMF Parameters" {
        req pmf_address_information: PmfAddressInformation,
        opt qfi: Qfi,
    }
}
