//! Whether a packet matches an SDF filter (TS 29.244 clause 8.2.5).
//!
//! Ports are found in the first fragment of a packet and in whole packets. A filter that names ports never matches a
//! later fragment (RFC 6733 section 4.3.1), nor a protocol without ports, such as ICMP. The protocol is that after
//! the IPv6 extension headers.

use std::net::IpAddr;

use causeway_model::{FlowDescription, SdfFilter};
use causeway_packet::Flow;
use causeway_types::Direction;

/// The packet matches every part of the filter. `is_assigned` tells which addresses are the UE's own.
pub fn matches(
    filter: &SdfFilter,
    flow: &Flow,
    direction: Direction,
    is_assigned: impl Fn(IpAddr) -> bool,
) -> bool {
    filter.traffic_class.is_none_or(|class| class.covers(flow.tos))
        && filter.spi.is_none_or(|spi| flow.spi == Some(spi))
        && filter.flow_label.is_none_or(|label| flow.flow_label.is_some_and(|found| found.value() == label))
        && matches_description(&filter.flow, flow, direction, is_assigned)
}

/// A flow description is written for the downlink; for the uplink its ends are swapped.
pub(crate) fn matches_description(
    requested: &FlowDescription,
    flow: &Flow,
    direction: Direction,
    is_assigned: impl Fn(IpAddr) -> bool,
) -> bool {
    let source = (flow.src, flow.ports.map(|ports| ports.src));
    let destination = (flow.dst, flow.ports.map(|ports| ports.dst));
    let (remote, local) = match direction {
        Direction::Uplink => (destination, source),
        Direction::Downlink => (source, destination),
    };
    requested.protocol.is_none_or(|protocol| protocol == flow.protocol.0)
        && requested.remote.covers_address(remote.0, &is_assigned)
        && requested.local.covers_address(local.0, &is_assigned)
        && requested.remote.covers_port(remote.1)
        && requested.local.covers_port(local.1)
}
