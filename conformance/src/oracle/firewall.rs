//! The firewall for the packets of all sessions: the first rule that matches, or else the default.

use std::net::IpAddr;

use causeway_dataplane::{DropReason, Firewall, FirewallAction};
use causeway_model::{FlowAddress, FlowEnd};
use causeway_types::Direction;

use super::packet::{Packet, Source};

/// Why the firewall drops a packet of a known session; `None`: it passes.
pub(crate) fn drop_reason(firewall: Option<&Firewall>, packet: &Packet) -> Option<DropReason> {
    let (firewall, user) = (firewall?, packet.user()?);
    let (direction, reason) = match packet.source {
        Source::Tunnel(_) => (Direction::Uplink, DropReason::FirewallUplink),
        Source::Network(_) => (Direction::Downlink, DropReason::FirewallDownlink),
    };
    let flow = user.flow;
    let (src_port, dst_port) = (flow.ports.map(|ports| ports.src), flow.ports.map(|ports| ports.dst));
    let (remote, local) = match direction {
        Direction::Uplink => ((flow.dst, dst_port), (flow.src, src_port)),
        Direction::Downlink => ((flow.src, src_port), (flow.dst, dst_port)),
    };
    if direction == Direction::Uplink && is_on_link(flow.dst) {
        return None;
    }
    let decides = firewall.rules().iter().find(|rule| {
        rule.direction == direction
            && rule.flow.protocol.is_none_or(|wanted| wanted == flow.protocol.0)
            && is_at(&rule.flow.remote, remote)
            && is_at(&rule.flow.local, local)
    });
    let action = decides.map_or(firewall.default_of(direction), |rule| rule.action);
    (action == FirewallAction::Deny).then_some(reason)
}

fn is_at(end: &FlowEnd, (address, port): (IpAddr, Option<u16>)) -> bool {
    let has_address = match &end.address {
        FlowAddress::Any => true,
        FlowAddress::Assigned => false,
        FlowAddress::Net(net) => net.contains(&address),
    };
    let has_port = |port: u16| end.ports.iter().any(|range| *range.start() <= port && port <= *range.end());
    has_address && (end.ports.is_empty() || port.is_some_and(has_port))
}

/// A destination on the UE's link, which ends at the UPF: fe80::/10, or multicast of link scope.
fn is_on_link(destination: IpAddr) -> bool {
    let IpAddr::V6(ip) = destination else { return false };
    let first = ip.segments()[0];
    first & 0xffc0 == 0xfe80 || first & 0xff0f == 0xff02
}
