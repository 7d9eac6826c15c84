//! Which PDR a packet matches (TS 29.244 clause 5.2.1).

use causeway_dataplane::{DropReason, PdrMismatch};
use causeway_model::{ApplicationId, Pdi, Pdr, SdfFilter, UeSide};
use causeway_types::{NetworkInstance, QfiSet, WallTime};

use crate::application_detection::Detection;
use crate::filter;
use crate::link_scope::is_unnumbered_ue;
use crate::received::{ReceivedPacket, TunnelSource};
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
    } else if !matches_tunnel(pdi, arrival.origin.tunnel) {
        Some(PdrMismatch::Tunnel)
    } else if !matches_network(pdi, arrival.origin.network.as_ref()) {
        Some(PdrMismatch::NetworkInstance)
    } else if !matches_qfi(pdi, arrival.origin.tunnel) {
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
            contains_qfi(rule.qfis, arrival.origin.tunnel)
                && matches_filters(&rule.filters, pdr, arrival)
                && matches_application(rule.application.as_ref(), pdr, arrival, detection)
        })
}

/// One of the filters matches, if there are any.
pub(crate) fn matches_filters(filters: &[SdfFilter], pdr: &Pdr, arrival: &ReceivedPacket<'_>) -> bool {
    let (pdi, flow) = (&pdr.pdi, &arrival.user.flow);
    let is_unnumbered = is_unnumbered_ue(flow) && names_prefix(pdi);
    let is_assigned = |ip| pdi.covers_ue(ip) || is_unnumbered && ip == flow.src;
    let direction = direction_of(pdr);
    let matches = |wanted| filter::matches(wanted, flow, direction, is_assigned);
    filters.is_empty() || filters.iter().any(matches)
}

fn matches_application(
    id: Option<&ApplicationId>,
    pdr: &Pdr,
    arrival: &ReceivedPacket<'_>,
    detection: &Detection<'_>,
) -> bool {
    let Some(id) = id else { return true };
    let (direction, flow) = (direction_of(pdr), &arrival.user.flow);
    let is_assigned = |ip| pdr.pdi.covers_ue(ip);
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
        UeSide::Source => pdi.covers_ue(flow.src) || names_prefix(pdi) && is_unnumbered_ue(flow),
        UeSide::Destination => pdi.covers_ue(flow.dst),
    }
}

fn names_prefix(pdi: &Pdi) -> bool {
    pdi.ue.is_some_and(|ue| ue.v6.is_some())
}
