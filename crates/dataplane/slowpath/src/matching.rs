//! Which PDR a packet matches (TS 29.244 clause 5.2.1).

use causeway_dataplane::DropReason;
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
    let pdrs = session.pdrs_in_order();
    let active = || pdrs.iter().copied().filter(|pdr| pdr.is_active(now));
    let candidates = || active().filter(|pdr| matches_around_ue(pdr, arrival, detection));
    candidates().find(|pdr| matches_ue(&pdr.pdi, arrival)).ok_or_else(|| {
        let asks_source = |pdr: &Pdr| pdr.pdi.names_ue() && pdr.pdi.ue_side() == UeSide::Source;
        let is_spoofed = candidates().any(asks_source);
        if is_spoofed { DropReason::SpoofedSource } else { DropReason::NoMatchingPdr }
    })
}

/// Everything in the PDI matches, except perhaps the UE address.
fn matches_around_ue(pdr: &Pdr, arrival: &ReceivedPacket<'_>, detection: &Detection<'_>) -> bool {
    let pdi = &pdr.pdi;
    matches_tunnel(pdi, arrival.origin.tunnel)
        && matches_network(pdi, arrival.origin.network.as_ref())
        && matches_qfi(pdi, arrival.origin.tunnel)
        && matches_filters(&pdi.filters, pdr, arrival)
        && matches_application(pdi.application.as_ref(), pdr, arrival, detection)
        && matches_predefined(pdr, arrival, detection)
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
    detection.applications.detects(id, fits, detection.seen)
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
