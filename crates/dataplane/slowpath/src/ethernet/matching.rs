//! Which PDR a frame matches (TS 29.244 clauses 5.2.1 and 5.13).

use causeway_dataplane::{DropReason, PdrMismatch};
use causeway_model::{EthernetFilter, Pdr, TagMatch};
use causeway_packet::VlanTag;
use causeway_types::{Direction, NetworkInstance, WallTime};

use super::Frame;
use crate::filter;
use crate::matching::{matches_network, matches_qfi, matches_tunnel};
use crate::received::TunnelSource;
use crate::session::{Session, direction_of};

/// A frame and its receive source.
#[derive(Clone, Debug)]
pub(super) struct ReceivedFrame<'a> {
    /// The tunnel it was received from, if any.
    pub(super) tunnel: Option<TunnelSource>,
    /// The network it was received from; `None` where a GTP-U address serves every network.
    pub(super) network: Option<NetworkInstance>,
    /// It is for the session as a whole: ETHI matches it.
    pub(super) is_session_wide: bool,
    /// The frame.
    pub(super) frame: &'a Frame<'a>,
}

/// The first PDR, by precedence and then by id, that is active at the given wall-clock time and that the frame
/// matches.
///
/// # Errors
/// [`DropReason::NoMatchingPdr`].
pub(super) fn find_pdr<'s>(
    session: &'s Session,
    arrived: &ReceivedFrame<'_>,
    now: WallTime,
) -> Result<&'s Pdr, DropReason> {
    let mut active = session.pdrs_in_order().into_iter().filter(|pdr| pdr.is_active(now));
    active.find(|pdr| mismatch(pdr, arrived).is_none()).ok_or(DropReason::NoMatchingPdr)
}

/// The first part of an active PDR that the frame does not match.
pub(super) fn mismatch(pdr: &Pdr, arrived: &ReceivedFrame<'_>) -> Option<PdrMismatch> {
    let pdi = &pdr.pdi;
    let is_of_filter = || pdi.ethernet.iter().any(|f| matches_ethernet(f, pdr, arrived.frame));
    if !matches_tunnel(pdi, arrived.tunnel) {
        Some(PdrMismatch::Tunnel)
    } else if !matches_network(pdi, arrived.network.as_ref()) {
        Some(PdrMismatch::NetworkInstance)
    } else if !matches_qfi(pdi, arrived.tunnel) {
        Some(PdrMismatch::Qfi)
    } else if pdi.whole_ethernet_session && !arrived.is_session_wide {
        Some(PdrMismatch::EthernetSession)
    } else if !pdi.ethernet.is_empty() && !is_of_filter() {
        Some(PdrMismatch::EthernetFilters)
    } else if !matches_flows(&pdi.filters, pdr, arrived.frame) {
        Some(PdrMismatch::SdfFilters)
    } else {
        None
    }
}

/// A filter is written for the downlink; for the uplink its addresses are swapped.
fn matches_ethernet(filter: &EthernetFilter, pdr: &Pdr, frame: &Frame<'_>) -> bool {
    let (source, destination) = match direction_of(pdr) {
        Direction::Uplink => (frame.ethernet.dst, frame.ethernet.src),
        Direction::Downlink => (frame.ethernet.src, frame.ethernet.dst),
    };
    let found = frame.ethernet.ether_type.map(|found| found.value());
    (filter.macs.is_empty() || filter.macs.iter().any(|mac| mac.covers(source, destination)))
        && filter.ether_type.is_none_or(|requested| found == Some(requested))
        && matches_tag(filter.c_tag, frame.customer_tag())
        && matches_tag(filter.s_tag, frame.service_tag())
        && matches_flows(&filter.flows, pdr, frame)
}

/// One of the flow descriptions matches the IP packet in the frame.
fn matches_flows(flows: &[causeway_model::SdfFilter], pdr: &Pdr, frame: &Frame<'_>) -> bool {
    let is_of = |user: &causeway_packet::UserPacket<'_>| {
        flows.iter().any(|flow| filter::matches(flow, &user.flow, direction_of(pdr), |_| false))
    };
    flows.is_empty() || frame.user.as_ref().is_some_and(is_of)
}

/// The tag is present and matches the filter.
fn matches_tag(requested: Option<TagMatch>, found: Option<VlanTag>) -> bool {
    let Some(requested) = requested else { return true };
    found.is_some_and(|found| {
        requested.priority.is_none_or(|priority| priority == found.priority())
            && requested.drop_eligible.is_none_or(|eligible| eligible == found.drop_eligible())
            && requested.vid.is_none_or(|vid| vid == found.id())
    })
}
