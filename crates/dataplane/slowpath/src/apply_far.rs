//! The action of a matched PDR on a packet: FAR, QERs and URRs.
//!
//! Every packet is counted before QoS enforcement. A packet that the FAR forwards must pass the gates and meters of
//! all QERs and fit into all quotas; then it is counted and transmitted. A packet that the FAR drops or buffers is
//! not counted; a buffered packet is counted when it is transmitted. A FAR that buffers or copies acts only on what
//! the gates let pass.
//!
//! A packet that exceeds a quota exhausts it and is decided anew, by the FAR of the first exhausted quota of its PDR,
//! which it may also follow into the next quota (TS 29.244 clause 5.2.2.2.1). So a packet may exhaust several quotas.
//! One URR reports at most once about one packet, except that the start of traffic is reported before the packet is
//! counted.

use std::sync::Arc;

use causeway_dataplane::{DropReason, Egress, Usage, is_unroutable};
use causeway_model::{ApplyAction, Far, Forwarding, Pdr, PduSessionType};
use causeway_packet::UserPacket;
use causeway_types::{Direction, Interface, Qfi, Time};

use crate::carried_extensions::CarriedExtensions;
use crate::egress::EgressRoute;
use crate::link_scope::stays_on_link;
use crate::marks::{Marks, mark_flow};
use crate::qos::{SharedLimits, check_gates, enforce};
use crate::route::{DropWithError, fit_frame, max_payload, routed};
use crate::session::{Session, direction_of};
use crate::steer::{HttpResponse, SteeredPacket, steer};
use crate::topology_view::TopologyView;
use crate::usage::{Due, QuotaAction};

/// The decision on a packet.
#[derive(Debug)]
pub(crate) enum FarDecision {
    /// It is transmitted with its outer header, whole or in fragments.
    Send(Egress, Vec<Vec<u8>>),
    /// It is buffered.
    Buffer,
    /// The UPF responds to it.
    Respond(HttpResponse),
}

/// The decision on a packet, and the FAR that it follows; `None`: a quota stops it.
pub(crate) struct Decided {
    pub(crate) decision: Result<FarDecision, DropWithError>,
    pub(crate) far: Option<Arc<Far>>,
}

/// A packet that a PDR matched.
pub(crate) struct Matched<'a> {
    pub(crate) pdr: &'a Pdr,
    /// The QFI it arrived with.
    pub(crate) qfi: Option<Qfi>,
    /// The GTP-U extension headers for the next tunnel.
    pub(crate) extensions: &'a CarriedExtensions,
    pub(crate) packet: &'a [u8],
    /// It arrived in a tunnel.
    pub(crate) from_tunnel: bool,
    /// It was buffered. Meters charge such a packet but do not drop it: the SMF requested its delivery.
    pub(crate) was_buffered: bool,
}

/// Decides on a packet and counts it. Usage reports that become due are appended to `reports`.
pub(crate) fn apply_far(
    session: &mut Session,
    shared: &mut SharedLimits,
    matched: &Matched<'_>,
    topology: &TopologyView,
    now: Time,
    reports: &mut Vec<Usage>,
) -> Decided {
    let mut due = Due::new();
    if !matched.was_buffered {
        session.start_traffic(matched, now, reports);
        session.count_arrival(matched, now, &mut due);
    }
    let mut far = None;
    let decision = loop {
        let is_charged = far.is_some();
        let blocked = session.blocked(matched.pdr, matched.packet);
        let entirely = blocked == Some(QuotaAction::Entirely);
        let Some(next) = session.far_by(matched.pdr, blocked) else { break Err(DropReason::FarDrop.into()) };
        let is_stopped = entirely && next.action == ApplyAction::Forward;
        far = Some(next).filter(|_| !is_stopped);
        let Some(far) = &far else { break Err(DropReason::QuotaExhausted.into()) };
        match apply_far_once(session, shared, matched, far, topology, now, is_charged) {
            Ok(FarDecision::Buffer) => break Ok(FarDecision::Buffer),
            Ok(_) if session.exceeds_quota(matched, now, &mut due) => {}
            Ok(decision) => {
                session.count_passage(matched, now, &mut due);
                break Ok(decision);
            }
            Err(drop) => break Err(drop),
        }
    };
    if !matched.was_buffered {
        session.check_arrival(matched.pdr, now, &mut due);
    }
    reports.extend(session.report_all(due, now));
    Decided { decision, far }
}

/// Decides by this FAR. `is_charged`: the meters were charged before a quota was too small.
fn apply_far_once(
    session: &mut Session,
    shared: &mut SharedLimits,
    matched: &Matched<'_>,
    far: &Far,
    topology: &TopologyView,
    now: Time,
    is_charged: bool,
) -> Result<FarDecision, DropWithError> {
    let pdr = matched.pdr;
    let direction = direction_of(pdr);
    let forwarding = match (far.action, &far.forwarding) {
        (ApplyAction::Forward, Some(forwarding)) => forwarding,
        (ApplyAction::Buffer { .. }, _) => {
            check_gates(session, pdr, direction)?;
            return Ok(FarDecision::Buffer);
        }
        (ApplyAction::Drop | ApplyAction::Forward, _) => {
            if far.duplicate {
                check_gates(session, pdr, direction)?;
            }
            return Err(DropReason::FarDrop.into());
        }
    };
    let kind = session.rules.pdu_type;
    let packet = match (kind, direction) {
        (PduSessionType::Ip, Direction::Downlink) => session.enriched.downlink(matched.packet, now)?,
        _ => matched.packet.into(),
    };
    let steered = match kind {
        PduSessionType::Ip => steer(forwarding, &packet, direction, &mut session.redirected, topology)?,
        PduSessionType::Ethernet => SteeredPacket::unchanged(forwarding, &packet),
    };
    let decision = match steered {
        SteeredPacket::Forward { forwarding, packet } => {
            let (forwarding, packet) = (forwarding.into_owned(), packet.into_owned());
            encapsulate(session, matched, &forwarding, &packet, topology, now)?
        }
        SteeredPacket::Respond(answer) => FarDecision::Respond(answer),
    };
    match is_charged {
        true => check_gates(session, pdr, direction)?,
        false => enforce(session, shared, matched, direction, now)?,
    }
    Ok(decision)
}

/// The packet with its outer header and marks, and its egress.
fn encapsulate(
    session: &mut Session,
    matched: &Matched<'_>,
    forwarding: &Forwarding,
    packet: &[u8],
    topology: &TopologyView,
    now: Time,
) -> Result<FarDecision, DropWithError> {
    let pdr = matched.pdr;
    let kind = session.rules.pdu_type;
    let network = pdr.pdi.network_instance.as_ref();
    let route = match kind {
        PduSessionType::Ip => EgressRoute::of(forwarding, network, topology)?,
        PduSessionType::Ethernet => EgressRoute::of_frame(forwarding, network, topology)?,
    };
    let route = route.carrying(direction_of(pdr));
    let leaves_link = route.leaves_link() && kind == PduSessionType::Ip;
    if leaves_link && UserPacket::parse(packet).is_ok_and(|user| stays_on_link(&user.flow)) {
        return Err(DropReason::LinkLocal.into());
    }
    if leaves_link && direction_of(pdr) == Direction::Uplink && !is_from_host(packet) {
        return Err(DropReason::SpoofedSource.into());
    }
    if let Some(reason) = topology.egress_drop_reason(&route, packet).filter(|_| kind == PduSessionType::Ip) {
        return Err(reason.into());
    }
    let arrived = matched.qfi.filter(|_| keeps_qfi(pdr, forwarding));
    let marks = Marks::of(session, matched, arrived);
    let packet = match (kind, direction_of(pdr)) {
        (PduSessionType::Ip, Direction::Uplink) => {
            let max_payload = max_payload(&route, &marks, topology)?;
            session.enriched.uplink(packet, &forwarding.enrichment, max_payload, now)?
        }
        _ => packet.into(),
    };
    let marked = mark_flow(session, pdr, &packet);
    let (egress, pieces) = match kind {
        PduSessionType::Ip => routed(matched, &route, &marked, &marks, topology)?,
        PduSessionType::Ethernet => fit_frame(&route, &marked, &marks, topology)?,
    };
    Ok(FarDecision::Send(egress, pieces))
}

/// The source can be that of a host: a router forwards no others (RFC 1812 clause 5.3.7, RFC 4291 clauses 2.5 and 2.7).
fn is_from_host(packet: &[u8]) -> bool {
    UserPacket::parse(packet).is_ok_and(|user| !is_unroutable(user.flow.src))
}

/// The QFI that the QERs of this PDR mark packets with. Zero names no QoS flow (TS 24.501 clause 9.11.4.12), so it
/// applies only when no QER has another.
pub(crate) fn qfi_marking(session: &Session, pdr: &Pdr) -> Option<Qfi> {
    let marks = || session.qers_of(pdr).filter_map(|qer| qer.qfi);
    marks().find(|qfi| qfi.value() != 0).or_else(|| marks().next())
}

/// A QFI is forwarded with its packet, except from the access to the SMF: packets of a UE to the SMF use the tunnel
/// of its session, with only what a QER adds (TS 29.244 clauses 5.3.1 and 5.3.3.2).
fn keeps_qfi(pdr: &Pdr, forwarding: &Forwarding) -> bool {
    pdr.pdi.source != Interface::Access || forwarding.destination != Interface::CpFunction
}
