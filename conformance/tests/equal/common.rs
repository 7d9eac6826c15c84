//! What the oracle has in common with the other data planes: worlds without the features that it lacks.

use causeway_conformance::Arrival;
use causeway_dataplane::{Ingress, Topology};
use causeway_model::{PduSessionType, RateLimit, RuleSet, Steering};
use causeway_packet::{UserPacket, gtpu};
use causeway_types::Bitrate;

/// Without an MTU, since the oracle sends no ICMP errors, and without supervision of paths, Router Advertisements,
/// rates of slices, and tunnels over N6.
pub(crate) fn simplify_topology(topology: &mut Topology) {
    topology.slices.clear();
    topology.n6_tunnels.clear();
    topology.routing.router_advertisement = false;
    topology.routing.echo = Default::default();
    topology.gtpu.iter_mut().for_each(|endpoint| endpoint.mtu = u16::MAX.into());
    topology.networks.iter_mut().for_each(|network| network.mtu = u16::MAX.into());
}

/// Takes the features away that the oracle lacks.
pub(crate) fn simplify(rules: &mut RuleSet) {
    rules.pdu_type = PduSessionType::Ip;
    for pdr in rules.pdrs.values_mut() {
        pdr.vlan_removal = None;
        pdr.pdi.ethernet.clear();
        pdr.pdi.whole_ethernet_session = false;
    }
    for far in rules.fars.values_mut() {
        if let Some(way) = &mut far.forwarding {
            way.steering = Steering::default();
            way.enrichment.clear();
            way.vlan = None;
            way.proxying = Default::default();
            way.outer = way.outer.filter(|outer| outer.n6_peer().is_none());
        }
        far.duplicates
            .retain(|copy| copy.policy.is_none() && copy.outer.is_none_or(|outer| outer.n6_peer().is_none()));
        far.duplicate &= !far.duplicates.is_empty();
    }
    for urr in rules.urrs.values_mut() {
        // How long after a monitoring time both parts are reported is up to the data plane, up to ten seconds.
        urr.monitoring = None;
        urr.additional_monitoring.clear();
    }
    for qer in rules.qers.values_mut() {
        // Which packets a rate stops is up to the data plane, within 1 % or two packets. Rates are compared by cases.
        for rates in qer.mbr.iter_mut().chain(&mut qer.gbr) {
            *rates = RateLimit { uplink: Bitrate::MAX, downlink: Bitrate::MAX };
        }
        qer.averaging_window = None;
        (qer.packet_rate, qer.packet_rate_status, qer.reports_packet_rate) = (None, None, false);
    }
}

/// The packet has hops left: its sender is not told of their end.
pub(crate) fn is_common((ingress, octets): &Arrival) -> bool {
    let user = match ingress {
        Ingress::Gtpu { .. } => match gtpu::Packet::parse(octets).map(|packet| packet.message) {
            Ok(gtpu::Message::GPdu(user)) => user,
            _ => return true,
        },
        _ => octets,
    };
    UserPacket::parse(user).is_ok_and(|user| user.ip().hop_limit() > 1)
}
