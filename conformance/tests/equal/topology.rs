//! What surrounds the UPF of a world.

use std::sync::Arc;

use causeway_conformance::topology;
use causeway_dataplane::{
    Firewall, FirewallAction, GtpuEndpoint, HostReachability, Settings, SliceLimit, Topology,
};
use causeway_model::{Applications, Pfd, TrafficClasses};
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::{Bitrate, DualIp, SNssai, Span};

use crate::genes::Genes;
use crate::place::UPF;
use crate::way::internet;

/// Those of the conformance cases, with a second N3 address and limited slices; seldom without an MTU.
pub(crate) fn random_topology(genes: &mut Genes<'_>) -> Topology {
    let mut topology = topology();
    let of = |(v4, v6)| GtpuEndpoint::new(DualIp { v4: Some(v4), v6: Some(v6) });
    topology.gtpu.push(GtpuEndpoint { network_instance: Some(internet()), ..of(UPF[1]) });
    topology.slices = vec![slice(1, 10_000_000), slice(2, 500)];
    if genes.chance(144) {
        topology.gtpu.iter_mut().for_each(|endpoint| endpoint.mtu = u16::MAX.into());
        topology.networks.iter_mut().for_each(|network| network.mtu = u16::MAX.into());
    }
    topology.routing.decrement_ttl = !genes.chance(64);
    topology.firewall = genes.chance(96).then(|| firewall(genes.chance(128)));
    topology
}

fn slice(sst: u8, kbps: u64) -> SliceLimit {
    let slice = SNssai { sst, sd: SNssai::NO_SD };
    SliceLimit { slice, uplink: Bitrate::from_kbps(kbps), downlink: Bitrate::from_kbps(kbps) }
}

/// A firewall that lets about half of the packets pass; a list of prefixes and ports, or only of prefixes.
fn firewall(by_prefix: bool) -> Arc<Firewall> {
    let prefixes = [
        "deny in ip from any to 198.51.100.8/31",
        "deny in ip from any to 2001:db8:100::/127",
        "deny out ip from 198.51.100.8/30 to any",
    ];
    let others = [
        "permit in udp from 10.45.0.0/30 to any 53,443",
        "deny in tcp from any 0-40000 to any",
        "deny in ip from any 1-65535 to any 53",
        "permit out 17 from any 53 to 10.45.0.0/16",
        "deny out ip from any to 2001:db8:45::/49",
    ];
    let texts = others.iter().filter(|_| !by_prefix).chain(&prefixes);
    let rules = texts.filter_map(|text| text.parse().ok()).collect();
    let uplink = if by_prefix { FirewallAction::Permit } else { FirewallAction::Deny };
    Arc::new(Firewall::new(rules, uplink, FirewallAction::Permit).unwrap_or_else(|_| unreachable!()))
}

/// The machine has no address beside the UPF's; or some, of which UEs may reach few.
pub(crate) fn host(all: bool) -> Arc<HostReachability> {
    let nets = |texts: &[&str]| texts.iter().filter(|_| all).filter_map(|net| net.parse().ok()).collect();
    let addresses = nets(&["198.51.100.10/32", "203.0.113.0/24", "2001:db8:101::1/128", "2001:db8:200::/48"]);
    Arc::new(HostReachability {
        addresses,
        reachable: nets(&["192.0.2.6/32", "224.0.0.1/32", "2001:db8::6/128"]),
    })
}

/// Those of the topology; or other paths, rates and policies, with the same UE addresses.
pub(crate) fn settings(at_first: &Settings, all: bool) -> Arc<Settings> {
    let mut settings = at_first.clone();
    if !all {
        let is_off = settings.echo.interval.is_zero();
        settings.echo.interval = if is_off { Span::from_secs(60) } else { Span::ZERO };
        settings.slices.iter_mut().for_each(|limit| limit.uplink = Bitrate::from_kbps(900));
        settings.slices.iter_mut().for_each(|limit| limit.downlink = None);
        // A slice comes; with the settings of the topology it goes again.
        settings.slices.push(slice(3, 700));
        settings.policies.iter_mut().for_each(|policy| policy.dscp = Some(46));
        settings.firewall = settings.firewall.is_none().then(|| firewall(true));
    }
    Arc::new(settings)
}

/// `game` by its port, and `video` too if all are known. With classes, `call` by its shape: a window of 300 ms with an
/// uplink packet.
pub(crate) fn applications(all: bool, has_classes: bool) -> Arc<Applications> {
    let of = |flow: &str| Pfd { flows: flow.parse().into_iter().collect(), ..Pfd::default() };
    let game = ("game", of("permit out 17 from any 53 to assigned"));
    let video = ("video", of("permit out 6 from any 443 to assigned"));
    let known = [game, video].into_iter().take(1 + usize::from(all));
    let configured = Applications::configured(known.map(|(name, pfd)| (name.into(), vec![pfd])));
    Arc::new(configured.with_classes(has_classes.then(classes)))
}

fn classes() -> Arc<TrafficClasses> {
    let split = Node::Split { feature: Feature::UplinkPackets, threshold: 0, below: 1, above: 2 };
    let tree = Tree::new(vec![split, Node::Leaf { class: 0 }, Node::Leaf { class: 1 }], 2).expect("a tree");
    let model = Model::new(vec!["other".into(), "call".into()], 300, 0, tree).expect("a model");
    Arc::new(TrafficClasses::new(&model).expect("small tables"))
}
