//! The keys of a P4 switch.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use causeway_rules::TeidPool;
use causeway_types::{IpNet, MacAddr, NetworkInstance, Span};
use serde::Serialize;

use super::check::Problems;
use super::enums::{GtpuMode, N6Mode, RouteOf};
use super::model::{GTPU_PORT, Session, Upf};
use super::problem::Problem;
use super::section::Section;
use super::serialize::{shown, span};
use super::vxlan::VxlanSegment;
use super::{quantities, values};

/// A P4 switch, outside this process, as the data plane.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct P4Switch {
    /// Host and port of the P4Runtime server; `None`: a switch model in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The P4Runtime device id.
    pub device_id: u64,
    /// The election id of this controller; the controller with the highest may write.
    pub election_id: u64,
    /// The P4Info of its program, in text form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p4info: Option<PathBuf>,
    /// The compiled program; `None` for a switch that runs its program already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_config: Option<PathBuf>,
    /// The clone session for copies to the CPU port, if the switch needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_session: Option<u32>,
    /// The CPU port, for that session.
    pub cpu_port: u32,
    /// The minimum interval between reads of the counters.
    #[serde(serialize_with = "span")]
    pub read_interval: Span,
    /// The counters count the octets of frames as received, on both sides, as those of BMv2 do.
    pub counts_as_received: bool,
    /// The routes of the switch.
    pub route: Vec<SwitchRoute>,
    /// Its ports with N3 and N6, and the ports of this UPF's interfaces, for the data plane `hybrid`.
    pub link: Vec<SwitchLink>,
}

impl Default for P4Switch {
    fn default() -> Self {
        Self {
            address: None,
            device_id: 1,
            election_id: 1,
            p4info: None,
            device_config: None,
            copy_session: None,
            cpu_port: 510,
            read_interval: Span::from_millis(100),
            counts_as_received: false,
            route: Vec::new(),
            link: Vec::new(),
        }
    }
}

/// A route of the switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SwitchRoute {
    /// The destination prefix: remote endpoints of tunnels, hosts of the data network, or other ends of VXLAN segments.
    #[serde(serialize_with = "shown")]
    pub to: IpNet,
    /// The kind of destinations.
    pub of: RouteOf,
    /// The egress port.
    pub port: u16,
    /// The MAC address of the switch at that port.
    #[serde(serialize_with = "shown")]
    pub mac: MacAddr,
    /// The MAC address of the next hop.
    #[serde(serialize_with = "shown")]
    pub next_hop: MacAddr,
}

/// A port of the switch with N3 or N6, and the port to which an interface of this UPF is connected instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SwitchLink {
    /// The port with N3 or N6.
    pub port: u16,
    /// The port of the UPF's interface.
    pub software: u16,
}

impl P4Switch {
    pub(super) fn read(switch: &mut Section<'_>) -> Self {
        let default = Self::default();
        let id = || values::number(1..=u64::MAX);
        Self {
            address: switch.value("address", values::host_and_port),
            device_id: switch.value("device_id", values::number(0..=u64::MAX)).unwrap_or(default.device_id),
            election_id: switch.value("election_id", id()).unwrap_or(default.election_id),
            p4info: switch.value("p4info", values::text).map(PathBuf::from),
            device_config: switch.value("device_config", values::text).map(PathBuf::from),
            copy_session: switch.value("copy_session", values::number(1..=32_767)),
            cpu_port: switch.value("cpu_port", values::number(1..=u32::MAX)).unwrap_or(default.cpu_port),
            read_interval: switch
                .value("read_interval", quantities::positive_span)
                .unwrap_or(default.read_interval),
            counts_as_received: switch
                .value("counts_as_received", values::flag)
                .unwrap_or(default.counts_as_received),
            route: switch.list("route", route).unwrap_or_default(),
            link: switch.list("link", link).unwrap_or_default(),
        }
    }
}

/// A placeholder from the documentation range: a list item with an error is not used.
const NO_MAC: MacAddr = MacAddr([0, 0, 0x5e, 0, 0x53, 0]);

fn route(route: &mut Section<'_>) -> SwitchRoute {
    let to = "give the prefix of the destinations, for example 192.0.2.0/24, or 0.0.0.0/0 for all";
    let port = "give the number of the switch's port";
    let mac = "give the MAC address that the switch has at that port";
    let next_hop = "give the MAC address of the router or host behind that port";
    let any = IpNet::new_assert(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    SwitchRoute {
        to: route.required("to", to, values::subnet).unwrap_or(any),
        of: route.value("of", values::word).unwrap_or_default(),
        port: route.required("port", port, values::number(0..=511)).unwrap_or_default(),
        mac: route.required("mac", mac, values::mac).unwrap_or(NO_MAC),
        next_hop: route.required("next_hop", next_hop, values::mac).unwrap_or(NO_MAC),
    }
}

fn link(link: &mut Section<'_>) -> SwitchLink {
    let port = "give the number of the switch's port with N3 or N6";
    let software = "give the number of the switch's port that the UPF's interface is connected to";
    let number = || values::number(0..=511);
    SwitchLink {
        port: link.required("port", port, number()).unwrap_or_default(),
        software: link.required("software", software, number()).unwrap_or_default(),
    }
}

impl Upf {
    /// The switch outside this process that has the ports of the UPF, with its address.
    pub(crate) fn remote_switch(&self) -> Option<(&P4Switch, &str)> {
        self.driven_switch().filter(|_| self.dataplane.is_switch())
    }

    /// The switch outside this process in front of the ports of the UPF, with its address.
    pub(crate) fn switch_in_front(&self) -> Option<(&P4Switch, &str)> {
        self.driven_switch().filter(|_| self.dataplane.is_hybrid())
    }

    /// The switch outside this process that the UPF drives, with its address.
    pub(crate) fn driven_switch(&self) -> Option<(&P4Switch, &str)> {
        let is_chosen = self.dataplane.has_switch();
        self.switch.address.as_deref().filter(|_| is_chosen).map(|address| (&self.switch, address))
    }

    /// Pools of UEs whose TEIDs end like their addresses, so that the switch checks all of them by one entry of its
    /// source guard.
    pub(crate) fn teid_pools(&self) -> Vec<TeidPool> {
        // The switch knows by the TEID which data network a UE is in.
        let has_segments = self.session.iter().any(|session| session.mode == N6Mode::Vxlan);
        let network = |session: &Session| has_segments.then(|| NetworkInstance::new(&session.dnn));
        let subnets = self.session.iter().map(|session| (session.subnet, network(session)));
        self.driven_switch().map_or(Vec::new(), |_| TeidPool::layout(subnets))
    }

    /// The route of the switch to the other end of a segment: that of the longest prefix.
    pub(crate) fn underlay_route(&self, segment: &VxlanSegment) -> Option<&SwitchRoute> {
        let leads =
            |route: &&SwitchRoute| route.of == RouteOf::Underlay && route.to.contains(&segment.remote);
        self.switch.route.iter().filter(leads).max_by_key(|route| route.to.prefix_len())
    }

    /// The segments of N3 and N6, each once.
    fn used_segments(&self) -> impl Iterator<Item = &VxlanSegment> {
        let n6 = self.session.iter().filter(|session| session.mode == N6Mode::Vxlan);
        let n3 = self.gtpu.server.iter().filter(|_| self.gtpu.mode == GtpuMode::Vxlan);
        let names =
            n6.map(|session| session.dev.as_str()).chain(n3.filter_map(|server| server.dev.as_deref()));
        let names: BTreeSet<&str> = names.collect();
        self.vxlan.iter().filter(move |segment| names.contains(segment.name.as_str()))
    }
}

/// The problems of a configuration with a switch outside this process: unsupported and missing keys.
pub(super) fn check(upf: &Upf, found: &mut Problems) {
    let Some((switch, _)) = upf.driven_switch() else { return };
    let mut missing = |key: &str, what| found.push((format!("upf.switch.{key}"), Problem::Missing(what)));
    if switch.p4info.is_none() {
        missing(
            "p4info",
            match upf.dataplane.is_hybrid() {
                true => {
                    "give the P4Info of the switch's program, one with the tables software_ports and armed_rules"
                }
                false => "give the P4Info of the switch's program, for example p4/p4info/hip4.bmv2.txtpb",
            },
        );
    }
    let has = |kind| switch.route.iter().any(|route| route.of == kind);
    // What is in a segment goes to that segment's next hop.
    if !has(RouteOf::Tunnels) && upf.gtpu.mode != GtpuMode::Vxlan {
        missing("route", "give a route `of: tunnels` towards the gNBs");
    }
    if !has(RouteOf::Network) && upf.session.iter().any(|session| session.mode != N6Mode::Vxlan) {
        missing("route", "give a route `of: network` towards the data network");
    }
    for segment in upf.used_segments().filter(|segment| upf.underlay_route(segment).is_none()) {
        let n = upf.vxlan.iter().position(|other| other == segment).unwrap_or_default();
        let remote = segment.remote;
        found.push((format!("upf.vxlan[{n}].remote"), Problem::NoUnderlayRoute { remote }));
    }
    for (n, _) in switch.route.iter().enumerate().filter(|(_, route)| of_ipv6_tunnels(route)) {
        found.push((format!("upf.switch.route[{n}].to"), Problem::SwitchTunnelsIpv6));
    }
    // The parser of the program tells both by their addresses.
    let is_of_gtpu =
        |segment: &VxlanSegment| upf.gtpu.server.iter().any(|server| server.address == Some(segment.local));
    for (n, segment) in upf.vxlan.iter().enumerate().filter(|(_, segment)| is_of_gtpu(segment)) {
        let local = segment.local;
        found.push((format!("upf.vxlan[{n}].local"), Problem::UnderlayOfGtpu { local }));
    }
    if upf.dataplane.is_hybrid() {
        return links(switch, found);
    }
    found.extend(switch.link.first().map(|_| ("upf.switch.link".into(), Problem::LinksWithoutSoftware)));
    let is_vxlan = upf.gtpu.mode == GtpuMode::Vxlan;
    if upf.gtpu.mode != GtpuMode::Udp && !is_vxlan {
        found.push(("upf.gtpu.mode".into(), Problem::PortKeyWithSwitch));
    }
    for (n, server) in upf.gtpu.server.iter().enumerate() {
        let key = |name: &str| format!("upf.gtpu.server[{n}].{name}");
        match server.address {
            _ if server.dev.is_some() && !is_vxlan => found.push((key("dev"), Problem::PortKeyWithSwitch)),
            Some(IpAddr::V6(_)) => found.push((key("address"), Problem::SwitchTunnelsIpv6)),
            Some(IpAddr::V4(_)) | None => {}
        }
        if server.port != GTPU_PORT {
            found.push((key("port"), Problem::PortIsFixed { mode: "switch" }));
        }
    }
    let networks = upf.ethernet.iter().enumerate().map(|(n, _)| format!("upf.ethernet[{n}]"));
    let tunnels = upf.n6_tunnel.iter().enumerate().map(|(n, _)| format!("upf.n6_tunnel[{n}]"));
    found.extend(networks.chain(tunnels).map(|key| (key, Problem::UnsupportedOnSwitch)));
}

/// The problems of links: there is none, or a port is in two.
fn links(switch: &P4Switch, found: &mut Problems) {
    if switch.link.is_empty() {
        let what = "give the switch's ports with N3 and N6, and those of the UPF's interfaces: `{port: 1, software: 3}`";
        found.push(("upf.switch.link".into(), Problem::Missing(what)));
    }
    let mut known = BTreeSet::new();
    for (n, link) in switch.link.iter().enumerate() {
        for (key, port) in [("port", link.port), ("software", link.software)] {
            if !known.insert(port) {
                found.push((format!("upf.switch.link[{n}].{key}"), Problem::LinkedTwice { port }));
            }
        }
    }
}

fn of_ipv6_tunnels(route: &SwitchRoute) -> bool {
    route.of == RouteOf::Tunnels && matches!(route.to, IpNet::V6(_))
}
