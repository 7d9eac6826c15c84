//! Which PDR a packet matches (TS 29.244 clause 5.2.1).

use causeway_dataplane::DropReason;
use causeway_rules::{Pdi, Pdr, UeSide};
use causeway_types::{NetworkInstance, Time};

use crate::arrival::{Arrival, Tunnelled};
use crate::filter;
use crate::link_scope::is_unnumbered_ue;
use crate::session::{Session, direction_of};

/// The first PDR, by precedence and then by id, that is active and that the packet matches.
///
/// # Errors
/// [`DropReason::SpoofedSource`] when only the UE's address in the source field is wrong, else
/// [`DropReason::NoMatchingPdr`].
pub(crate) fn find_pdr<'s>(
    session: &'s Session,
    arrival: &Arrival<'_>,
    now: Time,
) -> Result<&'s Pdr, DropReason> {
    let pdrs = session.pdrs_in_order();
    let active = || pdrs.iter().copied().filter(|pdr| pdr.is_active(now));
    let candidates = || active().filter(|pdr| matches_around_ue(pdr, arrival));
    candidates().find(|pdr| matches_ue(&pdr.pdi, arrival)).ok_or_else(|| {
        let asks_source = |pdr: &Pdr| pdr.pdi.names_ue() && pdr.pdi.ue_side() == UeSide::Source;
        let is_spoofed = candidates().any(asks_source);
        if is_spoofed { DropReason::SpoofedSource } else { DropReason::NoMatchingPdr }
    })
}

/// Everything in the PDI matches but, perhaps, the UE address.
fn matches_around_ue(pdr: &Pdr, arrival: &Arrival<'_>) -> bool {
    let pdi = &pdr.pdi;
    matches_tunnel(pdi, arrival.origin.tunnel)
        && matches_network(pdi, arrival.origin.network.as_ref())
        && matches_qfi(pdi, arrival.origin.tunnel)
        && matches_filters(pdr, arrival)
}

/// One of the filters matches, if there are any.
pub(crate) fn matches_filters(pdr: &Pdr, arrival: &Arrival<'_>) -> bool {
    let (pdi, flow) = (&pdr.pdi, &arrival.user.flow);
    let is_unnumbered = is_unnumbered_ue(flow) && names_prefix(pdi);
    let is_assigned = |ip| pdi.covers_ue(ip) || is_unnumbered && ip == flow.src;
    let direction = direction_of(pdr);
    let matches = |wanted| filter::matches(wanted, flow, direction, is_assigned);
    pdi.filters.is_empty() || pdi.filters.iter().any(matches)
}

pub(crate) fn matches_tunnel(pdi: &Pdi, tunnel: Option<Tunnelled>) -> bool {
    match (pdi.tunnel, tunnel) {
        (None, None) => true,
        (Some(asked), Some(found)) => asked.teid == found.teid && asked.addr.contains(found.local),
        _ => false,
    }
}

pub(crate) fn matches_network(pdi: &Pdi, network: Option<&NetworkInstance>) -> bool {
    match (&pdi.network_instance, network) {
        (Some(asked), Some(found)) => asked == found,
        _ => true,
    }
}

pub(crate) fn matches_qfi(pdi: &Pdi, tunnel: Option<Tunnelled>) -> bool {
    let found = tunnel.and_then(|tunnel| tunnel.qfi);
    pdi.qfis.is_empty() || found.is_some_and(|qfi| pdi.qfis.contains(qfi))
}

/// What a UE with an IPv6 prefix sends before it knows that prefix is its own too.
fn matches_ue(pdi: &Pdi, arrival: &Arrival<'_>) -> bool {
    let flow = &arrival.user.flow;
    match pdi.ue_side() {
        UeSide::Source => pdi.covers_ue(flow.src) || names_prefix(pdi) && is_unnumbered_ue(flow),
        UeSide::Destination => pdi.covers_ue(flow.dst),
    }
}

fn names_prefix(pdi: &Pdi) -> bool {
    pdi.ue.is_some_and(|ue| ue.v6.is_some())
}
