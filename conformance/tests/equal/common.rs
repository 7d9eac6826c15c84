//! What the oracle has in common with the other data planes: worlds without the features that it lacks.

use std::net::IpAddr;

use causeway_conformance::Arrival;
use causeway_dataplane::{Ingress, Topology};
use causeway_model::{ApplyAction, PduSessionType, PlanOptions, RateLimit, RuleSet, Steering, UrrPart};
use causeway_packet::{UserPacket, gtpu};
use causeway_types::{Bitrate, ReportingTriggers};

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
        // Known difference: of a FAR that drops, the slow path copies also what a closed gate stops.
        far.duplicate &= !far.duplicates.is_empty() && far.action != ApplyAction::Drop;
    }
    let are_linked = rules.urrs.values().any(|urr| !urr.linked.is_empty());
    for urr in rules.urrs.values_mut() {
        // Not decided: which reports come of a packet that exceeds a second quota while it follows the FAR of a first one.
        urr.quota_far = None;
        if are_linked {
            // Known difference: the slow path reports no linked URR with a DROTH report.
            urr.triggers.remove(ReportingTriggers::DROTH);
            urr.dropped_threshold = None;
            // Known difference: one that reaches a threshold before QoS enforcement reports it twice, empty the second time.
            urr.before_qos = false;
        }
        // How long after a monitoring time both parts are reported is up to the data plane, up to ten seconds.
        urr.monitoring = None;
        // Known difference: a paused URR that loses its last PDR reports periodically in the slow path.
        urr.inactive = false;
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

/// Renews those parts of URRs alone that there are. Known difference: when a validity time that there is not is renewed,
/// the slow path reports an expired holding time again.
pub(crate) fn simplify_options(rules: &RuleSet, options: &mut PlanOptions) {
    for (id, parts) in &mut options.renewed {
        let Some(urr) = rules.urrs.get(id) else { continue };
        parts.retain(|part| match part {
            UrrPart::VolumeThreshold => urr.thresholds.volume.is_some(),
            UrrPart::TimeThreshold => urr.thresholds.time.is_some(),
            UrrPart::VolumeQuota => urr.quotas.volume.is_some(),
            UrrPart::TimeQuota => urr.quotas.time.is_some(),
            UrrPart::ValidityTime => urr.validity_time.is_some(),
            UrrPart::NumberOfReports => urr.number_of_reports.is_some(),
            _ => true,
        });
    }
}

/// The packet has hops left: its sender is not told of their end. Its source is a host: of others, the slow path passes
/// those that RFC 1812 clause 5.3.7 calls invalid to the data network, which is a known difference.
pub(crate) fn is_common((ingress, octets): &Arrival) -> bool {
    let user = match ingress {
        Ingress::Gtpu { .. } => match gtpu::Packet::parse(octets).map(|packet| packet.message) {
            Ok(gtpu::Message::GPdu(user)) => user,
            _ => return true,
        },
        _ => octets,
    };
    let is_host =
        |ip: IpAddr| !(ip.is_multicast() || ip.is_loopback() || ip.is_unspecified() && ip.is_ipv4());
    UserPacket::parse(user).is_ok_and(|user| user.ip().hop_limit() > 1 && is_host(user.flow.src))
}
