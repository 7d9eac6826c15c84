//! Groups about QoS Enforcement Rules.

use causeway_types::{QerId, Qfi};

use crate::ie::{
    AveragingWindow, DlFlowLevelMarking, DscpToPpiMapping, GateStatus, Gbr, Mbr, PacketRate,
    PacketRateStatus, PagingPolicyIndicator, QerControlIndications, QerCorrelationId, QerIndications, Rqi,
};
use crate::structure::group;

group! {
    /// Create QER (Table 7.5.2.5-1). A new QoS Enforcement Rule.
    CreateQer<'a> = 7, "Create QER" {
        req qer_id: QerId,
        con qer_correlation_id: QerCorrelationId,
        req gate_status: GateStatus,
        con mbr: Mbr,
        con gbr: Gbr,
        con packet_rate: PacketRate,
        con packet_rate_status: PacketRateStatus,
        con dl_flow_level_marking: DlFlowLevelMarking,
        con qfi: Qfi,
        con rqi: Rqi,
        con paging_policy_indicator: PagingPolicyIndicator,
        opt averaging_window: AveragingWindow,
        con qer_control_indications: QerControlIndications,
        con qer_indications: QerIndications,
    }
}

group! {
    /// Update QER (Table 7.5.4.5-1). Changes of a QoS Enforcement Rule.
    UpdateQer<'a> = 14, "Update QER" {
        req qer_id: QerId,
        con qer_correlation_id: QerCorrelationId,
        con gate_status: GateStatus,
        con mbr: Mbr,
        con gbr: Gbr,
        con packet_rate: PacketRate,
        con dl_flow_level_marking: DlFlowLevelMarking,
        con qfi: Qfi,
        con rqi: Rqi,
        con paging_policy_indicator: PagingPolicyIndicator,
        opt averaging_window: AveragingWindow,
        con qer_control_indications: QerControlIndications,
    }
}

group! {
    /// Remove QER (Table 7.5.4.9-1). Removes a QoS Enforcement Rule.
    RemoveQer<'a> = 18, "Remove QER" {
        req qer_id: QerId,
    }
}

group! {
    /// Query Packet Rate Status (Table 7.5.4.22-1). Requests the packet rate status of a QER.
    QueryPacketRateStatus<'a> = 263, "Query Packet Rate Status" {
        req qer_id: QerId,
    }
}

group! {
    /// Packet Rate Status Report (Table 7.5.7.1-2). The packet rate status of a QER.
    PacketRateStatusReport<'a> = 252, "Packet Rate Status Report" {
        req qer_id: QerId,
        req packet_rate_status: PacketRateStatus,
    }
}

group! {
    /// DSCP to PPI Control Information (Table 7.5.2.1-6). The paging policies of DSCPs.
    DscpToPpiControlInformation<'a> = 316, "DSCP to PPI Control Information" {
        req_many dscp_to_ppi_mapping_information: DscpToPpiMapping<'a>,
        opt_many qfis: Qfi,
    }
}
