//! Checks of one QER, and of the paging policies.

use causeway_model::{Capabilities, FlowMarking, Qer, RuleSet};

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::require;

pub(super) fn check(qer: &Qer, capabilities: &Capabilities) -> Result<(), Reason> {
    refuse_if(qer.mbr.is_some() && !capabilities.mbr, ie::MBR, "MBR enforcement")?;
    let correlated = qer.correlation.is_some() && !capabilities.qer_correlation;
    refuse_if(correlated, ie::QER_CORRELATION_ID, "one allowance for several sessions")?;
    check_packet_rate(qer, capabilities)?;
    check_markings(qer, capabilities)
}

fn check_packet_rate(qer: &Qer, capabilities: &Capabilities) -> Result<(), Reason> {
    let limited = qer.packet_rate.is_some() && !capabilities.packet_rate;
    refuse_if(limited, ie::PACKET_RATE, "packet rate enforcement")?;
    let status = qer.packet_rate_status.is_some();
    require(!status || qer.packet_rate.is_some(), ie::PACKET_RATE, "a packet rate status is given")
}

fn check_markings(qer: &Qer, capabilities: &Capabilities) -> Result<(), Reason> {
    let container = capabilities.pdu_session_container;
    refuse_if(qer.qfi.is_some() && !container, ie::QFI, "PDU Session Containers")?;
    refuse_if(qer.reflective && !container, ie::RQI, "PDU Session Containers")?;
    refuse_if(qer.ppi.is_some() && !container, ie::PAGING_POLICY_INDICATOR, "PDU Session Containers")?;
    let marks = qer.flow_marking != FlowMarking::default() && !capabilities.tos_marking;
    refuse_if(marks, ie::DL_FLOW_LEVEL_MARKING, "marking of flows")
}

/// # Errors
/// [`Reason::Unsupported`].
pub(super) fn check_paging(rules: &RuleSet, capabilities: &Capabilities) -> Result<(), Reason> {
    let unable = !rules.paging.is_empty() && !capabilities.paging_by_dscp;
    refuse_if(unable, ie::DSCP_TO_PPI, "paging policies by DSCP")
}
