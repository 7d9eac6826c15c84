//! The rules of the sessions that the SMF asks for.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateUrr, DestinationInterface, FTeid, ForwardingParameters,
    MeasurementMethod, OuterHeaderRemoval, Pdi, RemovedHeader, SourceInterface, UeIpAddress, VolumeThreshold,
    Volumes,
};
use causeway_types::{FarId, PdrId, Precedence, ReportingTriggers, UrrId};

pub(super) const URR: UrrId = UrrId(1);

/// Counts volumes, with a threshold that no test reaches.
pub(super) fn urr() -> CreateUrr<'static> {
    let threshold = Volumes { total: Some(1 << 40), ..Volumes::default() };
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(threshold)),
        ..CreateUrr::new(URR, MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}

pub(super) fn uplink_pdr(ue: Ipv4Addr) -> CreatePdr<'static> {
    let pdi = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
        ue_ip_addresses: [UeIpAddress { ipv4: Some(ue), ..UeIpAddress::default() }].into(),
        ..Pdi::new(SourceInterface::Access)
    };
    CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        ..CreatePdr::new(PdrId(1), Precedence(255), pdi)
    }
}

pub(super) fn downlink_pdr(ue: Ipv4Addr) -> CreatePdr<'static> {
    let ue = UeIpAddress { ipv4: Some(ue), destination: true, ..UeIpAddress::default() };
    let pdi = Pdi { ue_ip_addresses: [ue].into(), ..Pdi::new(SourceInterface::Core) };
    CreatePdr { far_id: Some(FarId(2)), ..CreatePdr::new(PdrId(2), Precedence(255), pdi) }
}

pub(super) fn uplink_far() -> CreateFar<'static> {
    let forwarding = Some(ForwardingParameters::new(DestinationInterface::Core));
    CreateFar { forwarding_parameters: forwarding, ..CreateFar::new(FarId(1), ApplyAction::FORW) }
}

pub(super) fn downlink_far() -> CreateFar<'static> {
    let forwarding = Some(ForwardingParameters::new(DestinationInterface::Access));
    let action = ApplyAction::BUFF | ApplyAction::NOCP;
    CreateFar { forwarding_parameters: forwarding, ..CreateFar::new(FarId(2), action) }
}
