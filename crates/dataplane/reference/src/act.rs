//! What a matched PDR does with a packet: FAR, QERs and URRs.
//!
//! A packet whose FAR forwards is counted by the URRs that measure before QoS enforcement, passes the gates
//! and meters of all QERs, is counted by the other URRs, and leaves. What a FAR drops or buffers is
//! not counted; a buffered packet is when it leaves.

use causeway_dataplane::{DropReason, Egress, Topology, Usage};
use causeway_packet::UserPacket;
use causeway_rules::{ApplyAction, Forwarding, Pdr, PduSessionType};
use causeway_types::{Interface, Qfi, Time};

use crate::egress::Way;
use crate::link_scope::stays_on_link;
use crate::marks::{Marks, mark_flow};
use crate::qos::{Shared, check_gates, enforce};
use crate::route::{Refusal, fit_frame, routed};
use crate::session::{Session, direction_of};

/// What becomes of a packet.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It leaves, with its outer header, in one piece or in fragments.
    Send(Egress, Vec<Vec<u8>>),
    /// It waits.
    Wait,
}

/// A packet that a PDR matched.
pub(crate) struct Matched<'a> {
    pub(crate) pdr: &'a Pdr,
    /// The QFI it arrived with.
    pub(crate) qfi: Option<Qfi>,
    pub(crate) packet: &'a [u8],
    /// It waited in the buffer. Bit rates charge such a packet but do not drop it: the SMF asked for its delivery.
    pub(crate) has_waited: bool,
}

/// Decides about a packet and counts it. Usage reports that become due are appended to `reports`.
pub(crate) fn act(
    session: &mut Session,
    shared: &mut Shared,
    matched: &Matched<'_>,
    topology: &Topology,
    now: Time,
    reports: &mut Vec<Usage>,
) -> Result<Decision, Refusal> {
    let (pdr, octets) = (matched.pdr, matched.packet.len());
    let direction = direction_of(pdr);
    let far = session.rules.fars.get(&pdr.far).ok_or(DropReason::FarDrop)?;
    let forwarding = match (far.action, &far.forwarding) {
        (ApplyAction::Forward, Some(forwarding)) => forwarding,
        (ApplyAction::Buffer { .. }, _) => {
            check_gates(session, pdr, direction)?;
            return Ok(Decision::Wait);
        }
        (ApplyAction::Drop | ApplyAction::Forward, _) => return Err(DropReason::FarDrop.into()),
    };
    let network = pdr.pdi.network_instance.as_ref();
    let kind = session.rules.pdu_type;
    let way = match kind {
        PduSessionType::Ip => Way::of(forwarding, network, topology)?,
        PduSessionType::Ethernet => Way::of_frame(forwarding, network, topology)?,
    };
    let way = way.carrying(direction);
    let leaves_link = way.leaves_link() && kind == PduSessionType::Ip;
    if leaves_link && UserPacket::parse(matched.packet).is_ok_and(|user| stays_on_link(&user.flow)) {
        return Err(DropReason::LinkLocal.into());
    }
    let marked = mark_flow(session, pdr, matched.packet);
    let arrived = matched.qfi.filter(|_| carries_qfi_on(pdr, forwarding));
    let marks = Marks::of(session, matched, arrived);
    let (egress, pieces) = match kind {
        PduSessionType::Ip => routed(pdr, &way, &marked, &marks, topology)?,
        PduSessionType::Ethernet => fit_frame(&way, &marked, &marks, topology)?,
    };
    count(session, pdr, true, now, octets, reports);
    enforce(session, shared, matched, direction, now)?;
    count(session, pdr, false, now, octets, reports);
    Ok(Decision::Send(egress, pieces))
}

/// The QFI that a packet of this PDR is marked with by its QERs. Zero names no QoS flow (TS 24.501 clause
/// 9.11.4.12), so it marks only when no QER says more.
pub(crate) fn marking(session: &Session, pdr: &Pdr) -> Option<Qfi> {
    let marks = || session.qers_of(pdr).filter_map(|qer| qer.qfi);
    marks().find(|qfi| qfi.value() != 0).or_else(|| marks().next())
}

/// A QFI goes on with its packet, but not from the access to the SMF: what a UE sends to the SMF comes in the
/// tunnel of its session, and only what a QER adds goes along (TS 29.244 clauses 5.3.1 and 5.3.3.2).
fn carries_qfi_on(pdr: &Pdr, forwarding: &Forwarding) -> bool {
    pdr.pdi.source != Interface::Access || forwarding.destination != Interface::CpFunction
}

fn count(
    session: &mut Session,
    pdr: &Pdr,
    before_qos: bool,
    now: Time,
    octets: usize,
    reports: &mut Vec<Usage>,
) {
    for id in &pdr.urrs {
        let urr = session.rules.urrs.get(id).filter(|urr| urr.before_qos == before_qos);
        if let (Some(urr), Some(measurement)) = (urr, session.measurements.get_mut(id)) {
            reports.extend(measurement.count(urr, now, direction_of(pdr), octets));
        }
    }
}
