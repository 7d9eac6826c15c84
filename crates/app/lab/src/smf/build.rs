//! The requests of the emulated SMF.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, AssociationSetupRequest, CpFeatures, CreateFar, CreatePdr,
    CreateQer, CreateUrr, DestinationInterface, FTeid, ForwardingParameters, GateStatus, HeartbeatRequest,
    InterfaceType, Mbr, MeasurementMethod, Message, NetworkInstance, NodeId, OuterHeaderCreation,
    OuterHeaderRemoval, Pdi, PdnType, QueryUrr, RecoveryTimeStamp, RemovedHeader, SessionDeletionRequest,
    SessionEstablishmentRequest, SessionModificationFlags, SessionModificationRequest, SourceInterface,
    UeIpAddress, UpdateFar, UpdateForwardingParameters, UpdateUrr, VolumeThreshold, Volumes,
};
use causeway_types::{DualIp, FSeid, NtpSeconds, Precedence, ReportingTriggers, Seid};

use super::model::{
    DOWNLINK_FAR, DOWNLINK_PDR, Downlink, QER, SessionPlan, UPLINK_FAR, UPLINK_PDR, URR, UeAddresses,
};

/// Of all PDRs here: they never compete.
const PRECEDENCE: Precedence = Precedence(255);

pub(super) fn heartbeat(recovery: NtpSeconds) -> Message<'static> {
    HeartbeatRequest::new(RecoveryTimeStamp(recovery)).into()
}

pub(super) fn association(smf: Ipv4Addr, recovery: NtpSeconds) -> Message<'static> {
    let features = Some(CpFeatures::empty());
    let setup = AssociationSetupRequest::new(node(smf), RecoveryTimeStamp(recovery));
    AssociationSetupRequest { cp_function_features: features, ..setup }.into()
}

pub(super) fn association_release(smf: Ipv4Addr) -> Message<'static> {
    AssociationReleaseRequest::new(node(smf)).into()
}

/// A session whose downlink waits (BUFF) until a gNB has a tunnel for it.
pub(super) fn establishment(smf: Ipv4Addr, cp_seid: Seid, plan: &SessionPlan) -> Message<'_> {
    let address = FSeid { seid: cp_seid, addr: DualIp::from(smf) };
    let pdrs = [uplink_pdr(plan), downlink_pdr(plan)];
    let session =
        SessionEstablishmentRequest::new(node(smf), address, pdrs, [uplink_far(plan), downlink_far()]);
    SessionEstablishmentRequest {
        create_qers: [qer(plan)].into(),
        create_urrs: [urr(plan)].into(),
        pdn_type: Some(pdn_type(plan.ue)),
        ..session
    }
    .into()
}

fn pdn_type(ue: UeAddresses) -> PdnType {
    match ue {
        UeAddresses::Ipv4(_) => PdnType::Ipv4,
        UeAddresses::Ipv6(_) => PdnType::Ipv6,
        UeAddresses::Ipv4v6(..) => PdnType::Ipv4v6,
    }
}

/// As a source; its IPv6 prefix has 64 bits.
fn ue_ip_address(ue: UeAddresses) -> UeIpAddress {
    UeIpAddress { ipv4: ue.ipv4(), ipv6: ue.ipv6().map(|prefix| prefix.addr()), ..UeIpAddress::default() }
}

/// From the tunnel that the UPF chooses, only with the UE's own source address.
fn uplink_pdr(plan: &SessionPlan) -> CreatePdr<'_> {
    let choose = FTeid::Choose { v4: true, v6: false, choose_id: None };
    let pdi = Pdi {
        local_f_teid: Some(choose),
        ue_ip_addresses: [ue_ip_address(plan.ue)].into(),
        qfis: [plan.qfi].into(),
        source_interface_type: Some(InterfaceType::N3),
        ..Pdi::new(SourceInterface::Access)
    };
    CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(UPLINK_FAR),
        qer_ids: [QER].into(),
        urr_ids: [URR].into(),
        ..CreatePdr::new(UPLINK_PDR, PRECEDENCE, pdi)
    }
}

fn downlink_pdr(plan: &SessionPlan) -> CreatePdr<'_> {
    let ue = UeIpAddress { destination: true, ..ue_ip_address(plan.ue) };
    let pdi = Pdi {
        network_instance: Some(NetworkInstance::from(&plan.dnn)),
        ue_ip_addresses: [ue].into(),
        source_interface_type: Some(InterfaceType::N6),
        ..Pdi::new(SourceInterface::Core)
    };
    CreatePdr {
        far_id: Some(DOWNLINK_FAR),
        qer_ids: [QER].into(),
        urr_ids: [URR].into(),
        ..CreatePdr::new(DOWNLINK_PDR, PRECEDENCE, pdi)
    }
}

fn uplink_far(plan: &SessionPlan) -> CreateFar<'_> {
    let network_instance = Some(NetworkInstance::from(&plan.dnn));
    let forwarding = ForwardingParameters {
        network_instance,
        destination_interface_type: Some(InterfaceType::N6),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(UPLINK_FAR, ApplyAction::FORW) }
}

fn downlink_far() -> CreateFar<'static> {
    let forwarding = ForwardingParameters::new(DestinationInterface::Access);
    CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(DOWNLINK_FAR, ApplyAction::BUFF) }
}

fn qer(plan: &SessionPlan) -> CreateQer<'static> {
    CreateQer {
        mbr: Some(Mbr { uplink: plan.mbr, downlink: plan.mbr }),
        qfi: Some(plan.qfi),
        ..CreateQer::new(QER, GateStatus::OPEN)
    }
}

fn urr(plan: &SessionPlan) -> CreateUrr<'static> {
    let threshold = Volumes { total: Some(plan.volume_threshold), ..Volumes::default() };
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(threshold)),
        ..CreateUrr::new(URR, MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}

/// Changes what becomes of the downlink.
pub(super) fn downlink(downlink: Downlink) -> Message<'static> {
    let (action, tunnel, flags) = match downlink {
        Downlink::Buffer => (ApplyAction::BUFF | ApplyAction::NOCP, None, None),
        Downlink::Forward(tunnel) => (ApplyAction::FORW, Some(tunnel), None),
        Downlink::HandOver(tunnel) => {
            (ApplyAction::FORW, Some(tunnel), Some(SessionModificationFlags::SNDEM))
        }
    };
    let parameters = tunnel.map(|tunnel| UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(tunnel.teid.value(), tunnel.addr)),
        flags,
        ..UpdateForwardingParameters::default()
    });
    let far = UpdateFar {
        apply_action: Some(action),
        update_forwarding_parameters: parameters,
        ..UpdateFar::new(DOWNLINK_FAR)
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }.into()
}

/// Asks for the usage so far.
pub(super) fn query_and_rearm(volume_threshold: u64) -> Message<'static> {
    let threshold = Volumes { total: Some(volume_threshold), ..Volumes::default() };
    let update = UpdateUrr { volume_threshold: Some(VolumeThreshold(threshold)), ..UpdateUrr::new(URR) };
    SessionModificationRequest {
        query_urrs: [QueryUrr::new(URR)].into(),
        update_urrs: [update].into(),
        ..SessionModificationRequest::default()
    }
    .into()
}

pub(super) fn deletion() -> Message<'static> {
    SessionDeletionRequest::default().into()
}

pub(super) fn node(smf: Ipv4Addr) -> NodeId<'static> {
    NodeId::Ip(smf.into())
}
