//! For tests of other crates: the rules that an SMF asks for, for a PDU session of one UE with IPv4.
//!
//! PDR 1 and FAR 1 are the uplink, PDR 2 and FAR 2 the downlink. Tests change what is special to them:
//!
//! ```
//! use causeway_pfcp::testing::{downlink_far_to, downlink_pdr, uplink_far, uplink_pdr};
//! use causeway_pfcp::{NodeId, SessionEstablishmentRequest};
//! use causeway_types::{FSeid, Seid, UrrId};
//!
//! let [smf, ue, gnb] = [[192, 0, 2, 10], [10, 45, 0, 2], [192, 0, 2, 50]].map(std::net::Ipv4Addr::from);
//! let mut pdrs = [uplink_pdr(ue), downlink_pdr(ue)];
//! pdrs.iter_mut().for_each(|pdr| pdr.urr_ids = [UrrId(1)].into());
//! let cp = FSeid { seid: Seid(1), addr: smf.into() };
//! SessionEstablishmentRequest::new(NodeId::Ip(smf.into()), cp, pdrs, [uplink_far(), downlink_far_to(0x100, gnb)]);
//! ```

use std::net::Ipv4Addr;

use causeway_types::{DualIp, FarId, PdrId, Precedence, ReportingTriggers, UrrId};

use crate::{
    ApplyAction, CreateFar, CreatePdr, CreateUrr, DestinationInterface, FTeid, ForwardingParameters,
    MeasurementMethod, OuterHeaderCreation, OuterHeaderRemoval, Pdi, RemovedHeader, SourceInterface,
    UeIpAddress, VolumeThreshold, Volumes,
};

/// Of both PDRs: they never compete.
const PRECEDENCE: Precedence = Precedence(255);

/// PDR 1: packets with this source address, from a tunnel over IPv4 that the UPF chooses.
#[must_use]
pub fn uplink_pdr(ue: Ipv4Addr) -> CreatePdr<'static> {
    let pdi = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
        ue_ip_addresses: [UeIpAddress { ipv4: Some(ue), ..UeIpAddress::default() }].into(),
        ..Pdi::new(SourceInterface::Access)
    };
    CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        ..CreatePdr::new(PdrId(1), PRECEDENCE, pdi)
    }
}

/// PDR 2: packets from the data network for this address.
#[must_use]
pub fn downlink_pdr(ue: Ipv4Addr) -> CreatePdr<'static> {
    let ue = UeIpAddress { ipv4: Some(ue), destination: true, ..UeIpAddress::default() };
    let pdi = Pdi { ue_ip_addresses: [ue].into(), ..Pdi::new(SourceInterface::Core) };
    CreatePdr { far_id: Some(FarId(2)), ..CreatePdr::new(PdrId(2), PRECEDENCE, pdi) }
}

/// FAR 1: to the data network.
#[must_use]
pub fn uplink_far() -> CreateFar<'static> {
    let forwarding = Some(ForwardingParameters::new(DestinationInterface::Core));
    CreateFar { forwarding_parameters: forwarding, ..CreateFar::new(FarId(1), ApplyAction::FORW) }
}

/// FAR 2 of an idle UE: packets are buffered, and the SMF is notified.
#[must_use]
pub fn downlink_far() -> CreateFar<'static> {
    let forwarding = Some(ForwardingParameters::new(DestinationInterface::Access));
    let action = ApplyAction::BUFF | ApplyAction::NOCP;
    CreateFar { forwarding_parameters: forwarding, ..CreateFar::new(FarId(2), action) }
}

/// FAR 2 of a connected UE: into this tunnel of a gNB.
#[must_use]
pub fn downlink_far_to(teid: u32, gnb: Ipv4Addr) -> CreateFar<'static> {
    let forwarding = ForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, DualIp::from(gnb))),
        ..ForwardingParameters::new(DestinationInterface::Access)
    };
    CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(FarId(2), ApplyAction::FORW) }
}

/// A URR that reports each time that so many octets of both directions were counted.
#[must_use]
pub fn volume_urr(id: u32, threshold: u64) -> CreateUrr<'static> {
    let volumes = Volumes { total: Some(threshold), ..Volumes::default() };
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(volumes)),
        ..CreateUrr::new(UrrId(id), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}
