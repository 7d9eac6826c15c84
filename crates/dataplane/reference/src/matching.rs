//! Which PDR a packet matches (TS 29.244 clause 5.2.1).

use std::net::IpAddr;

use causeway_dataplane::DropReason;
use causeway_rules::{Pdi, Pdr, SdfFilter, UeSide};
use causeway_types::Direction;

use crate::arrival::Arrival;
use crate::session::{Session, direction_of};

/// The first PDR, by precedence and then by id, that the packet matches.
///
/// # Errors
/// [`DropReason::SpoofedSource`] when only the UE's address in the source field is wrong, else
/// [`DropReason::NoMatchingPdr`].
pub(crate) fn find_pdr<'s>(session: &'s Session, arrival: &Arrival<'_>) -> Result<&'s Pdr, DropReason> {
    let pdrs = session.pdrs_in_order();
    let candidates = || pdrs.iter().copied().filter(|pdr| matches_around_ue(pdr, arrival));
    candidates().find(|pdr| matches_ue(&pdr.pdi, arrival)).ok_or_else(|| {
        let is_spoofed = candidates().any(|pdr| pdr.pdi.ue.is_some_and(|ue| ue.side == UeSide::Source));
        if is_spoofed { DropReason::SpoofedSource } else { DropReason::NoMatchingPdr }
    })
}

/// Everything in the PDI matches but, perhaps, the UE address.
fn matches_around_ue(pdr: &Pdr, arrival: &Arrival<'_>) -> bool {
    let pdi = &pdr.pdi;
    matches_tunnel(pdi, arrival)
        && matches_network(pdi, arrival)
        && matches_qfi(pdi, arrival)
        && (pdi.filters.is_empty() || pdi.filters.iter().any(|filter| matches_filter(filter, pdr, arrival)))
}

fn matches_tunnel(pdi: &Pdi, arrival: &Arrival<'_>) -> bool {
    match (pdi.tunnel, &arrival.tunnel) {
        (None, None) => true,
        (Some(asked), Some(found)) => asked.teid == found.teid && asked.addr.contains(found.local),
        _ => false,
    }
}

fn matches_network(pdi: &Pdi, arrival: &Arrival<'_>) -> bool {
    match (&pdi.network_instance, &arrival.network) {
        (Some(asked), Some(found)) => asked == found,
        _ => true,
    }
}

fn matches_qfi(pdi: &Pdi, arrival: &Arrival<'_>) -> bool {
    let found = arrival.tunnel.and_then(|tunnel| tunnel.qfi);
    pdi.qfis.is_empty() || found.is_some_and(|qfi| pdi.qfis.contains(qfi))
}

fn matches_ue(pdi: &Pdi, arrival: &Arrival<'_>) -> bool {
    pdi.ue.is_none_or(|ue| {
        ue.covers(match ue.side {
            UeSide::Source => arrival.user.flow.src,
            UeSide::Destination => arrival.user.flow.dst,
        })
    })
}

/// A flow description is written for the downlink; for the uplink its ends are exchanged.
pub(crate) fn matches_filter(filter: &SdfFilter, pdr: &Pdr, arrival: &Arrival<'_>) -> bool {
    let flow = &arrival.user.flow;
    let source = (flow.src, flow.ports.map(|ports| ports.src));
    let destination = (flow.dst, flow.ports.map(|ports| ports.dst));
    let (remote, local) = match direction_of(pdr) {
        Direction::Uplink => (destination, source),
        Direction::Downlink => (source, destination),
    };
    let is_assigned = |ip: IpAddr| pdr.pdi.ue.is_none_or(|ue| ue.covers(ip));
    filter.protocol.is_none_or(|protocol| protocol == flow.protocol.0)
        && filter.remote.covers_address(remote.0, is_assigned)
        && filter.local.covers_address(local.0, is_assigned)
        && filter.remote.covers_port(remote.1)
        && filter.local.covers_port(local.1)
}
