//! The PFCP messages that attackers send.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use causeway_pfcp::testing::{downlink_far_to, downlink_pdr, uplink_far, uplink_pdr};
use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, AssociationSetupRequest, CreateFar, DestinationInterface,
    ForwardingParameters, FramedRoute, HeartbeatRequest, Message, NetworkInstance as Network, NodeId,
    OuterHeaderCreation, RecoveryTimeStamp, SessionDeletionRequest, SessionEstablishmentRequest,
    SessionModificationRequest, SourceIpAddress, UpdateFar, UpdateForwardingParameters,
};
use causeway_types::{DualIp, FSeid, FarId, NtpSeconds, Seid, Teid};

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
    let mut pdrs = [uplink_pdr(wish.ue), downlink_pdr(wish.ue)];
    pdrs[1].pdi.network_instance = Some(Network::from(&*NETWORK));
    pdrs[1].pdi.framed_routes = wish.routes.iter().map(|route| FramedRoute(route.as_bytes())).collect();
    let to_core = ForwardingParameters {
        network_instance: Some(Network::from(&*NETWORK)),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    let (teid, peer) = wish.tunnel;
    let fars =
        [CreateFar { forwarding_parameters: Some(to_core), ..uplink_far() }, downlink_far_to(teid, peer)];
    let cp = FSeid { seid: wish.cp.1, addr: DualIp::from(IpAddr::V4(wish.cp.0)) };
    SessionEstablishmentRequest::new(NodeId::Ip(wish.node.into()), cp, pdrs, fars).into()
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
