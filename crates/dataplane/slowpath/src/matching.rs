//! Which PDR a packet matches (TS 29.244 clause 5.2.1).

use std::net::IpAddr;

use causeway_dataplane::{DropReason, PdrMismatch};
use causeway_model::{ApplicationId, Pdi, Pdr, SdfFilter, UeSide};
use causeway_packet::UserPacket;
use causeway_types::{Direction, Interface, NetworkInstance, QfiSet, WallTime};

use crate::application_detection::Detection;
use crate::filter;
use crate::link_scope::{is_on_link_of_ue, is_unnumbered_ue};
use crate::received::{PacketOrigin, ReceivedPacket, TunnelSource};
use crate::session::{Session, direction_of};

/// The first PDR, by precedence and then by id, that is active at the given wall-clock time and that the packet
/// matches.
///
/// # Errors
/// [`DropReason::SpoofedSource`] when only the UE's address in the source field is wrong, else
/// [`DropReason::NoMatchingPdr`].
pub(crate) fn find_pdr<'s>(
    session: &'s Session,
    arrival: &ReceivedPacket<'_>,
    detection: &Detection<'_>,
    now: WallTime,
) -> Result<&'s Pdr, DropReason> {
    let mut is_spoofed = false;
    for pdr in session.pdrs_in_order() {
        match mismatch(pdr, arrival, detection, now) {
            None => return Ok(pdr),
            Some(PdrMismatch::UeAddress) => {
                is_spoofed |= pdr.pdi.names_ue() && pdr.pdi.ue_side() == UeSide::Source;
            }
            Some(_) => {}
        }
    }
    Err(if is_spoofed { DropReason::SpoofedSource } else { DropReason::NoMatchingPdr })
}

/// The first PDR against a direction, for a packet that the UPF itself sends to the source of a packet: by the same rules, but
/// for its tunnel, network and QFI, which such a packet does not have.
pub(crate) fn find_pdr_back<'s>(
    session: &'s Session,
    against: Direction,
    user: UserPacket<'_>,
    detection: &Detection<'_>,
    now: WallTime,
) -> Option<&'s Pdr> {
    let arrival = ReceivedPacket { origin: PacketOrigin { is_own: true, ..PacketOrigin::default() }, user };
    let is_back = |pdr: &&Pdr| pdr.pdi.source != Interface::CpFunction && direction_of(pdr) != against;
    let mut back = session.pdrs_in_order().into_iter().filter(is_back);
    back.find(|pdr| mismatch(pdr, &arrival, detection, now).is_none())
}

/// The first part of a PDR that the packet does not match; the UE address is the last one. `None`: the PDR matches.
pub(crate) fn mismatch(
    pdr: &Pdr,
    arrival: &ReceivedPacket<'_>,
    detection: &Detection<'_>,
    now: WallTime,
) -> Option<PdrMismatch> {
    let pdi = &pdr.pdi;
    if !pdr.is_active(now) {
        Some(PdrMismatch::NotActive)
    } else if !arrival.origin.is_own && !matches_tunnel(pdi, arrival.origin.tunnel) {
        Some(PdrMismatch::Tunnel)
    } else if !matches_network(pdi, arrival.origin.network.as_ref()) {
        Some(PdrMismatch::NetworkInstance)
    } else if !arrival.origin.is_own && !matches_qfi(pdi, arrival.origin.tunnel) {
        Some(PdrMismatch::Qfi)
    } else if !matches_filters(&pdi.filters, pdr, arrival) {
        Some(PdrMismatch::SdfFilters)
    } else if !matches_application(pdi.application.as_ref(), pdr, arrival, detection) {
        Some(PdrMismatch::Application)
    } else if !matches_predefined(pdr, arrival, detection) {
        Some(PdrMismatch::PredefinedRules)
    } else if !matches_ue(pdi, arrival) {
        Some(PdrMismatch::UeAddress)
    } else {
        None
    }
}

/// The packet matches one of the active predefined rules, if any.
fn matches_predefined(pdr: &Pdr, arrival: &ReceivedPacket<'_>, detection: &Detection<'_>) -> bool {
    let mut rules = pdr.predefined.values().flat_map(|rules| rules.iter());
    pdr.predefined.is_empty()
        || rules.any(|rule| {
            (arrival.origin.is_own || contains_qfi(rule.qfis, arrival.origin.tunnel))
                && matches_filters(&rule.filters, pdr, arrival)
                && matches_application(rule.application.as_ref(), pdr, arrival, detection)
        })
}

/// One of the filters matches, if there are any.
fn matches_filters(filters: &[SdfFilter], pdr: &Pdr, arrival: &ReceivedPacket<'_>) -> bool {
    let (direction, flow) = (direction_of(pdr), &arrival.user.flow);
    let matches = |wanted| filter::matches(wanted, flow, direction, |ip| is_assigned(ip, &pdr.pdi, arrival));
    filters.is_empty() || filters.iter().any(matches)
}

/// The address is the UE's, or stands for it in this packet.
fn is_assigned(ip: IpAddr, pdi: &Pdi, arrival: &ReceivedPacket<'_>) -> bool {
    pdi.covers_ue(ip) || stands_for_ue(ip, pdi, arrival)
}

/// The packet has this address at the UE's end: of a UE that does not know its prefix yet; or the UPF sends the packet, to the UE's link or in
/// the place of the UE.
fn stands_for_ue(ip: IpAddr, pdi: &Pdi, arrival: &ReceivedPacket<'_>) -> bool {
    let flow = &arrival.user.flow;
    let is_unnumbered = names_prefix(pdi) && is_unnumbered_ue(flow) && ip == flow.src;
    let is_of_own = match pdi.ue_side() {
        UeSide::Source => ip == flow.src,
        UeSide::Destination => ip == flow.dst && is_on_link_of_ue(ip),
    };
    is_unnumbered || arrival.origin.is_own && is_of_own
}

fn matches_application(
    id: Option<&ApplicationId>,
    pdr: &Pdr,
    arrival: &ReceivedPacket<'_>,
    detection: &Detection<'_>,
) -> bool {
    let Some(id) = id else { return true };
    let (direction, flow) = (direction_of(pdr), &arrival.user.flow);
    let is_assigned =
        |ip| pdr.pdi.covers_ue(ip) || arrival.origin.is_own && stands_for_ue(ip, &pdr.pdi, arrival);
    let fits = |requested: &_| filter::matches_description(requested, flow, direction, is_assigned);
    detection.applications.detects(id, fits, detection.seen, detection.class)
}

pub(crate) fn matches_tunnel(pdi: &Pdi, tunnel: Option<TunnelSource>) -> bool {
    match (pdi.tunnel, tunnel) {
        (None, None) => true,
        (Some(requested), Some(found)) => {
            requested.teid == found.teid && requested.addr.contains(found.local)
        }
        _ => false,
    }
}

pub(crate) fn matches_network(pdi: &Pdi, network: Option<&NetworkInstance>) -> bool {
    match (&pdi.network_instance, network) {
        (Some(requested), Some(found)) => requested == found,
        _ => true,
    }
}

pub(crate) fn matches_qfi(pdi: &Pdi, tunnel: Option<TunnelSource>) -> bool {
    contains_qfi(pdi.qfis, tunnel)
}

fn contains_qfi(requested: QfiSet, tunnel: Option<TunnelSource>) -> bool {
    let found = tunnel.and_then(|tunnel| tunnel.qfi);
    requested.is_empty() || found.is_some_and(|qfi| requested.contains(qfi))
}

/// A packet of a UE with an IPv6 prefix, sent before it knows that prefix, also matches.
fn matches_ue(pdi: &Pdi, arrival: &ReceivedPacket<'_>) -> bool {
    let flow = &arrival.user.flow;
    match pdi.ue_side() {
        UeSide::Source => is_assigned(flow.src, pdi, arrival),
        UeSide::Destination => {
            pdi.covers_ue(flow.dst) || arrival.origin.is_own && stands_for_ue(flow.dst, pdi, arrival)
        }
    }
}

fn names_prefix(pdi: &Pdi) -> bool {
    pdi.ue.is_some_and(|ue| ue.v6.is_some())
}
