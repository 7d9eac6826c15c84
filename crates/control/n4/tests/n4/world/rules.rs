//! Session requests as an SMF sends them.

use std::net::Ipv4Addr;

use causeway_pfcp::*;
use causeway_types::{DualIp, FSeid, FarId, PdrId, Precedence, UrrId};

/// The tunnel of a gNB.
pub(crate) fn gnb(teid: u32) -> OuterHeaderCreation {
    OuterHeaderCreation::gtpu(teid, DualIp::from(Ipv4Addr::new(192, 0, 2, 200)))
}

/// A PDU session of one UE: uplink from a tunnel that the UPF chooses, downlink buffered for the idle UE,
/// URR 1 measures the volume of both.
pub(crate) fn establishment(node: NodeId<'static>, cp: FSeid) -> SessionEstablishmentRequest<'static> {
    let smf = cp.addr.v4.map_or(45, |ip| ip.octets()[3]);
    let ue = Ipv4Addr::new(10, smf, (cp.seid.0 >> 8) as u8, cp.seid.0 as u8);
    let ue = |destination| UeIpAddress { ipv4: Some(ue), destination, ..UeIpAddress::default() };
    let uplink = CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        urr_ids: [UrrId(1)].into(),
        ..CreatePdr::new(
            PdrId(1),
            Precedence(100),
            Pdi {
                local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
                ue_ip_addresses: [ue(false)].into(),
                ..Pdi::new(SourceInterface::Access)
            },
        )
    };
    let downlink = CreatePdr {
        far_id: Some(FarId(2)),
        urr_ids: [UrrId(1)].into(),
        ..CreatePdr::new(
            PdrId(2),
            Precedence(100),
            Pdi { ue_ip_addresses: [ue(true)].into(), ..Pdi::new(SourceInterface::Core) },
        )
    };
    let to_internet = CreateFar {
        forwarding_parameters: Some(ForwardingParameters::new(DestinationInterface::Core)),
        ..CreateFar::new(FarId(1), ApplyAction::FORW)
    };
    let to_idle_ue = CreateFar::new(FarId(2), ApplyAction::BUFF | ApplyAction::NOCP);
    SessionEstablishmentRequest {
        create_urrs: [volume_urr(1)].into(),
        pdn_type: Some(PdnType::Ipv4),
        ..SessionEstablishmentRequest::new(node, cp, [uplink, downlink], [to_internet, to_idle_ue])
    }
}

/// A URR that reports each 1000 octets.
pub(crate) fn volume_urr(id: u32) -> CreateUrr<'static> {
    let volumes = Volumes { total: Some(1000), uplink: None, downlink: None };
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(volumes)),
        ..CreateUrr::new(UrrId(id), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}

/// Service request: the downlink is forwarded to this tunnel of the gNB.
pub(crate) fn activation(teid: u32) -> SessionModificationRequest<'static> {
    let forwarding = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(gnb(teid)),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(forwarding),
        ..UpdateFar::new(FarId(2))
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
}

/// All URRs are to report now.
pub(crate) fn query() -> SessionModificationRequest<'static> {
    let flags = Some(SessionModificationFlags::QAURR);
    SessionModificationRequest { flags, ..SessionModificationRequest::default() }
}

/// A FAR that does not exist is to be updated.
pub(crate) fn wrong_update() -> SessionModificationRequest<'static> {
    let update_fars = [UpdateFar::new(FarId(77))].into();
    SessionModificationRequest { update_fars, ..SessionModificationRequest::default() }
}
