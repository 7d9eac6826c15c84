//! Markings in packet headers: DSCP and paging policy.

use causeway_pfcp::{DlFlowLevelMarking, DscpToPpiControlInformation, TrafficClass};
use causeway_types::Ppi;

use crate::{Reason, ie};
use causeway_model::{FlowMarking, PagingPolicy, TosMarking};

/// The largest DSCP.
const LAST_DSCP: u8 = 63;

pub(super) fn tos(class: TrafficClass) -> TosMarking {
    TosMarking::new(class.value, class.mask)
}

pub(super) fn of_flow(marking: DlFlowLevelMarking) -> FlowMarking {
    FlowMarking { tos: marking.traffic_class.map(tos), service_class: marking.service_class_indicator }
}

/// A DSCP stands for one indicator only.
pub(super) fn paging(group: &DscpToPpiControlInformation<'_>) -> Result<PagingPolicy, Reason> {
    let mut policy = PagingPolicy { qfis: group.qfis.iter().collect(), ..PagingPolicy::default() };
    for mapping in group.dscp_to_ppi_mapping_information.iter() {
        let ppi = Ppi::from_low_bits(mapping.ppi);
        for dscp in mapping.dscps.iter().map(|octet| octet & LAST_DSCP) {
            if policy.ppis.insert(dscp, ppi).is_some_and(|other| other != ppi) {
                return Err(Reason::Incorrect {
                    ie: ie::DSCP_TO_PPI,
                    why: "a DSCP stands for two indicators",
                });
            }
        }
    }
    Ok(policy)
}
