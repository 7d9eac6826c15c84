//! The action of a rule on its packets, as far as its rules alone determine it.

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_model::{
    ApplyAction, Far, Forwarding, Gate, HeaderRemoval, OuterHeader, Pdr, Qer, RemovedHeader, Steering,
    TosMarking,
};
use causeway_types::{Direction, Interface, Teid};

use crate::apply_far::{Matched, qfi_marking};
use crate::carried_extensions::CarriedExtensions;
use crate::egress::EgressRoute;
use crate::marks::Marks;
use crate::route::max_payload;
use crate::session::{Session, direction_of};

/// The action of a rule on its packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RuleAction {
    /// The slow path decides.
    SlowPath,
    /// Drop, after counting before QoS enforcement.
    Drop(DropReason),
    /// Forward.
    Send(SendAction),
}

/// The forwarding of packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SendAction {
    /// The egress; its type of service is that of a packet whose own is zero.
    pub egress: Egress,
    /// The header in front of the user packet: a GTP-U header for a user packet of no octets, or nothing.
    pub header: Vec<u8>,
    /// The marking of the outer type of service, which has the ECN of the user packet.
    pub marking: Option<TosMarking>,
    /// The largest user packet, in octets.
    pub max_payload: usize,
    /// The packet is routed: its hop count decreases, and link-scoped packets are not forwarded.
    pub is_routed: bool,
    /// The packet leaves the link of the UE for a data network.
    pub leaves_link: bool,
    /// A gate is closed: the packet is dropped at the end.
    pub is_gated: bool,
}

impl RuleAction {
    /// Sets the TEID of the remote tunnel, if there is one.
    pub(super) fn with_remote_teid(&mut self, teid: Option<Teid>) {
        if let (Self::Send(SendAction { header, .. }), Some(teid)) = (self, teid)
            && let Some(octets) = header.get_mut(4..8)
        {
            octets.copy_from_slice(&teid.value().to_be_bytes());
        }
    }
}

/// The action on the packets of a PDR.
pub(super) fn action_of(session: &Session, pdr: &Pdr, topology: &Topology) -> RuleAction {
    let Some(far) = session.rules.fars.get(&pdr.far).filter(|far| !far.duplicate) else {
        return RuleAction::SlowPath;
    };
    match (far.action, &far.forwarding) {
        (ApplyAction::Forward, Some(forwarding)) => {
            send(session, pdr, forwarding, topology).map_or(RuleAction::SlowPath, RuleAction::Send)
        }
        (ApplyAction::Drop, _) if !is_notified(far, pdr) && fits(pdr) => {
            RuleAction::Drop(DropReason::FarDrop)
        }
        _ => RuleAction::SlowPath,
    }
}

fn is_notified(far: &Far, pdr: &Pdr) -> bool {
    far.delivery_status.discarded && direction_of(pdr) == Direction::Downlink
}

/// The PDR removes exactly the outer header of its packets.
fn fits(pdr: &Pdr) -> bool {
    let header = pdr.removal.map(|HeaderRemoval { header, .. }| header);
    match (pdr.pdi.tunnel.map(|tunnel| tunnel.addr), header) {
        (None, None) | (Some(_), Some(RemovedHeader::Gtpu)) => true,
        (Some(addr), Some(RemovedHeader::GtpuIpv4)) => addr.v6.is_none(),
        (Some(addr), Some(RemovedHeader::GtpuIpv6)) => addr.v4.is_none(),
        _ => false,
    }
}

/// `None`: the slow path decides.
fn send(session: &Session, pdr: &Pdr, forwarding: &Forwarding, topology: &Topology) -> Option<SendAction> {
    let direction = direction_of(pdr);
    let is_tunnelled = matches!(forwarding.outer, Some(OuterHeader::Gtpu(_)));
    let is_ordinary = fits(pdr)
        && (is_tunnelled || forwarding.outer.is_none())
        && forwarding.destination != Interface::CpFunction
        && forwarding.steering == Steering::default()
        && session.rules.paging.is_empty()
        && session.qers_of(pdr).all(|qer| is_plain(qer, direction));
    let is_alone = has_no_slice_limit(session, pdr, topology) && drops_qfi(session, pdr, is_tunnelled);
    if !(is_ordinary && is_alone) {
        return None;
    }
    let route = EgressRoute::of(forwarding, pdr.pdi.network_instance.as_ref(), topology).ok()?;
    let route = route.carrying(direction);
    if forwarding.marking.is_some() && !is_tunnelled {
        return None;
    }
    let (extensions, packet) = (CarriedExtensions::default(), &[][..]);
    let from_tunnel = pdr.pdi.tunnel.is_some();
    let matched =
        Matched { pdr, qfi: None, extensions: &extensions, packet, from_tunnel, was_buffered: false };
    let marks = Marks::of(session, &matched, None);
    let (egress, header) = route.wrap(packet, &marks).ok()?;
    Some(SendAction {
        egress,
        header,
        marking: forwarding.marking,
        max_payload: max_payload(&route, &marks, topology).ok()?,
        is_routed: pdr.pdi.tunnel.is_none() || route.leaves_link(),
        leaves_link: route.leaves_link(),
        is_gated: session.qers_of(pdr).any(|qer| qer.gate(direction) == Gate::Closed),
    })
}

fn is_plain(qer: &Qer, direction: Direction) -> bool {
    qer.correlation.is_none()
        && qer.packet_rate.is_none()
        && (direction == Direction::Uplink || qer.flow_marking.tos.is_none())
}

/// No slice limits it. Only such a limit distinguishes guaranteed from other traffic.
fn has_no_slice_limit(session: &Session, pdr: &Pdr, topology: &Topology) -> bool {
    let is_guaranteed = session.qers_of(pdr).any(|qer| qer.gbr.is_some());
    let is_limited = session.rules.slice.is_some_and(|slice| topology.is_limited(slice));
    !is_limited && (topology.slices.is_empty() || !is_guaranteed)
}

/// The QFI of a received packet is not forwarded with it.
fn drops_qfi(session: &Session, pdr: &Pdr, is_tunnelled: bool) -> bool {
    !is_tunnelled
        || pdr.pdi.tunnel.is_none()
        || qfi_marking(session, pdr).is_some()
        || pdr.removal.is_some_and(|removal| removal.deletes_container)
}
