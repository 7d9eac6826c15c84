//! The metadata of packets for their next hop.

use std::borrow::Cow;

use causeway_model::{Pdr, PduSessionType, TosMarking};
use causeway_packet::UserPacket;
use causeway_packet::rewrite::{Dscp, set_dscp};
use causeway_types::{Direction, Ppi, Qfi};

use crate::apply_far::{Matched, qfi_marking};
use crate::carried_extensions::CarriedExtensions;
use crate::session::{Session, direction_of};

/// The content of the GTP-U extension headers of a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Marks {
    /// The QoS flow; without it there is no PDU Session Container.
    pub(crate) qfi: Option<Qfi>,
    /// Reflective QoS Indicator.
    pub(crate) reflective: bool,
    /// Paging Policy Indicator.
    pub(crate) ppi: Option<Ppi>,
    /// Service Class Indicator.
    pub(crate) service_class: Option<u16>,
    /// The extension headers that the packet carried in another tunnel.
    pub(crate) extensions: CarriedExtensions,
}

impl Marks {
    /// The marks of the QERs of its PDR, the first that sets each; then the QFI it arrived with, and the paging
    /// policies of the session.
    pub(crate) fn of(session: &Session, matched: &Matched<'_>, arrived: Option<Qfi>) -> Self {
        let pdr = matched.pdr;
        let qfi = qfi_marking(session, pdr).or(arrived);
        let is_ip = session.rules.pdu_type == PduSessionType::Ip;
        let by_dscp = || paging(session, qfi, tos_of(matched.packet).filter(|_| is_ip)?);
        Self {
            qfi,
            reflective: session.qers_of(pdr).any(|qer| qer.reflective),
            ppi: session.qers_of(pdr).find_map(|qer| qer.ppi).or_else(by_dscp),
            service_class: session.qers_of(pdr).find_map(|qer| qer.flow_marking.service_class),
            extensions: matched.extensions.clone(),
        }
    }
}

fn paging(session: &Session, qfi: Option<Qfi>, tos: u8) -> Option<Ppi> {
    let is_about =
        |qfis: causeway_types::QfiSet| qfis.is_empty() || qfi.is_some_and(|qfi| qfis.contains(qfi));
    let policies = session.rules.paging.iter().filter(|policy| is_about(policy.qfis));
    policies.into_iter().find_map(|policy| policy.ppis.get(&Dscp::of_tos(tos).value()).copied())
}

/// The Type of Service or Traffic Class of a user packet; `None` if it is no IP packet.
pub(crate) fn tos_of(packet: &[u8]) -> Option<u8> {
    UserPacket::parse(packet).ok().map(|user| user.flow.tos)
}

/// The user packet with the DSCP that its QERs set on the downlink (clause 5.4.5).
pub(crate) fn mark_flow<'p>(session: &Session, pdr: &Pdr, packet: &'p [u8]) -> Cow<'p, [u8]> {
    let wanted = session.qers_of(pdr).find_map(|qer| qer.flow_marking.tos);
    let is_ip = session.rules.pdu_type == PduSessionType::Ip;
    match wanted.filter(|_| is_ip && direction_of(pdr) == Direction::Downlink) {
        Some(marking) => mark(marking, packet),
        None => Cow::Borrowed(packet),
    }
}

/// The user packet with this DSCP. Other packets than IP are unchanged.
pub(crate) fn mark(marking: TosMarking, packet: &[u8]) -> Cow<'_, [u8]> {
    let Some(tos) = tos_of(packet) else { return Cow::Borrowed(packet) };
    let mut marked = packet.to_vec();
    match set_dscp(&mut marked, Dscp::of_tos(marking.apply(tos))) {
        Ok(()) => Cow::Owned(marked),
        Err(_) => Cow::Borrowed(packet),
    }
}
