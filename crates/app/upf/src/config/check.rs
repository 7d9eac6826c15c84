//! Checks across keys: values that contradict each other.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use causeway_model::UE_PREFIX_BITS;
use causeway_types::IpNet;

use super::cold_storage;
use super::enums::{GtpuMode, N4Mode, N6Mode};
use super::ethernet;
use super::firewall;
use super::hybrid;
use super::management;
use super::model::{Config, GTPU_PORT, Session, Upf};
use super::pfcp::PfcpServer;
use super::problem::Problem;
use super::switch;
use super::traffic;
use super::vxlan;
use super::workers;

/// All contradictions, each with its key.
pub(super) fn check(config: &Config) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let upf = &config.upf;
    servers(upf, &mut found);
    advertised(upf, &mut found);
    smfs(upf, &mut found);
    ethernet::check(upf, &mut found);
    vxlan::check(upf, &mut found);
    switch::check(upf, &mut found);
    hybrid::check(upf, &mut found);
    for (n, application) in upf.applications.iter().enumerate() {
        found.extend(application.problem().map(|problem| (format!("upf.applications[{n}]"), problem)));
    }
    for (n, rule) in upf.predefined_rules.iter().enumerate() {
        found.extend(rule.problem().map(|problem| (format!("upf.predefined_rules[{n}]"), problem)));
    }
    slices(upf, &mut found);
    programs(upf, &mut found);
    found.extend(workers::check(upf));
    found.extend(management::check(upf));
    found.extend(traffic::check(upf));
    found.extend(cold_storage::check(upf));
    found.extend(firewall::check(upf));
    for (n, session) in upf.session.iter().enumerate() {
        gateway(n, session, &mut found);
        pool(n, session, &mut found);
        if upf.dataplane.is_switch() {
            prefixes_of_switch(n, session, &mut found);
        }
        for (m, earlier) in upf.session[..n].iter().enumerate() {
            pair((m, earlier), (n, session), &mut found);
        }
    }
    framed_routes(upf, &mut found);
    n6_tunnels(upf, &mut found);
    forwarding_policies(upf, &mut found);
    found
}

/// Forwarding policies have unique names and existing networks.
fn forwarding_policies(upf: &Upf, found: &mut Problems) {
    for (n, policy) in upf.forwarding_policy.iter().enumerate() {
        let key = |name: &str| format!("upf.forwarding_policy[{n}].{name}");
        if let Some(m) = upf.forwarding_policy[..n].iter().position(|earlier| earlier.name == policy.name) {
            let first = format!("upf.forwarding_policy[{m}].name");
            found.push((key("name"), Problem::DuplicatePolicy { name: policy.name.clone(), first }));
        }
        let there = |dnn: &String| upf.session.iter().any(|session| session.dnn == *dnn);
        if let Some(dnn) = policy.dnn.as_ref().filter(|dnn| !there(dnn)) {
            found.push((key("dnn"), Problem::NoSuchNetwork { dnn: dnn.clone() }));
        }
    }
}

/// The framed-route prefixes of a data network do not overlap those of another.
fn framed_routes(upf: &Upf, found: &mut Problems) {
    let overlap = |one: &IpNet, other: &IpNet| one.contains(&other.addr()) || other.contains(&one.addr());
    for (n, session) in upf.session.iter().enumerate() {
        let key = format!("upf.session[{n}].framed_routes");
        for range in &session.framed_routes {
            if !causeway_rules::is_routable(range) {
                found.push((key.clone(), Problem::RangeNotRoutable { range: *range }));
            }
            let others = upf.session.iter().enumerate().filter(|(_, other)| other.dnn != session.dnn);
            for (m, other) in others {
                let earlier = if m < n { &other.framed_routes[..] } else { &[] };
                let of_other = [("subnet", std::slice::from_ref(&other.subnet)), ("framed_routes", earlier)];
                for (name, nets) in of_other {
                    if let Some(net) = nets.iter().find(|net| overlap(net, range)) {
                        let first = format!("upf.session[{m}].{name}");
                        let problem = Problem::RangesOverlap { range: *range, other: *net, first };
                        found.push((key.clone(), problem));
                    }
                }
            }
        }
    }
}

/// N6 tunnels belong to an existing network, and their addresses lie outside the UE pools.
fn n6_tunnels(upf: &Upf, found: &mut Problems) {
    for (n, tunnel) in upf.n6_tunnel.iter().enumerate() {
        let key = |name: &str| format!("upf.n6_tunnel[{n}].{name}");
        if !upf.session.iter().any(|session| session.dnn == tunnel.dnn) {
            found.push((key("dnn"), Problem::NoSuchNetwork { dnn: tunnel.dnn.clone() }));
        }
        let address = tunnel.address;
        if let Some(pool) = upf.session.iter().find(|session| session.subnet.contains(&address)) {
            found.push((key("address"), Problem::AddressInPool { address, subnet: pool.subnet }));
        }
    }
}

pub(super) type Problems = Vec<(String, Problem)>;

/// A listening address with its key.
type Server<'a> = (String, Option<IpAddr>, Option<&'a str>, u16);

fn servers(upf: &Upf, found: &mut Problems) {
    let pfcp: Vec<Server<'_>> = (upf.pfcp.server.iter().enumerate())
        .map(|(n, s)| (format!("upf.pfcp.server[{n}]"), s.address, s.dev.as_deref(), s.port))
        .collect();
    let gtpu: Vec<Server<'_>> = (upf.gtpu.server.iter().enumerate())
        .map(|(n, s)| (format!("upf.gtpu.server[{n}]"), s.address, s.dev.as_deref(), s.port))
        .collect();
    let http: Vec<Server<'_>> = (upf.metrics.server.iter().enumerate())
        .map(|(n, s)| (format!("upf.metrics.server[{n}]"), Some(s.address), None, s.port))
        .chain(
            (upf.management.server.iter().enumerate())
                .map(|(n, s)| (format!("upf.management.server[{n}]"), Some(s.address), None, s.port)),
        )
        .collect();
    if pfcp.is_empty() {
        found.push((
            "upf.pfcp.server".into(),
            Problem::Missing("give an address at which SMFs reach the UPF"),
        ));
    }
    if gtpu.is_empty() {
        found.push((
            "upf.gtpu.server".into(),
            Problem::Missing("give an address at which gNBs reach the UPF"),
        ));
    }
    let mode = upf.gtpu.mode.word();
    let (below_ip, needs_dev) = match upf.gtpu.mode {
        GtpuMode::Udp => (false, ""),
        GtpuMode::Tpacket => (true, "mode tpacket needs the interface of the address"),
        GtpuMode::AfXdp => (true, "mode af_xdp needs the interface of the address"),
        GtpuMode::Vxlan => (true, "mode vxlan needs the name of an item of upf.vxlan"),
    };
    for (key, ..) in gtpu.iter().filter(|(_, _, dev, _)| below_ip && dev.is_none()) {
        found.push((format!("{key}.dev"), Problem::Missing(needs_dev)));
    }
    for (key, ..) in gtpu.iter().filter(|(.., port)| below_ip && *port != GTPU_PORT) {
        found.push((format!("{key}.port"), Problem::PortIsFixed { mode }));
    }
    let fragments = upf.gtpu.server.iter().enumerate().filter(|(_, server)| below_ip && server.fragment);
    found.extend(
        fragments.map(|(n, _)| (format!("upf.gtpu.server[{n}].fragment"), Problem::NoFragments { mode })),
    );
    let is_n4_xdp = upf.pfcp.mode == N4Mode::AfXdp;
    for (key, ..) in pfcp.iter().filter(|(_, _, dev, _)| is_n4_xdp && dev.is_none()) {
        let problem = Problem::Missing("mode af_xdp needs the interface of the address");
        found.push((format!("{key}.dev"), problem));
    }
    // Ports below IP need both if their interface has several addresses.
    let either = pfcp.iter().filter(|_| !is_n4_xdp).chain(gtpu.iter().filter(|_| !below_ip));
    for (key, ..) in either.filter(|(_, address, dev, _)| address.is_some() && dev.is_some()) {
        found.push((format!("{key}.dev"), Problem::AddressAndDev));
    }
    endpoints(pfcp.iter().chain(&gtpu), found);
    endpoints(http.iter(), found);
}

/// An advertised address has the IP version of the address that it stands for.
fn advertised(upf: &Upf, found: &mut Problems) {
    let pfcp = upf.pfcp.server.iter().map(|server| (server.address, &server.advertise));
    let pfcp = pfcp.enumerate().map(|(n, server)| (format!("upf.pfcp.server[{n}].advertise"), server));
    let gtpu = upf.gtpu.server.iter().map(|server| (server.address, &server.advertise));
    let gtpu = gtpu.enumerate().map(|(n, server)| (format!("upf.gtpu.server[{n}].advertise"), server));
    let is_switch = upf.remote_switch().is_some();
    let of_switch = gtpu.clone().filter(|(_, (_, all))| is_switch && !all.is_empty());
    found.extend(of_switch.map(|(key, _)| (key, Problem::SwitchAdvertises)));
    for (key, (address, all)) in pfcp.chain(gtpu) {
        let Some(address) = address else { continue };
        if let Some(other) = all.iter().find(|ip| ip.is_ipv4() != address.is_ipv4()) {
            found.push((key, Problem::AdvertisedVersion { advertised: *other, address }));
        }
    }
}

/// Pairs of address and port, and of interface and port, are unique.
fn endpoints<'a>(servers: impl Iterator<Item = &'a Server<'a>>, found: &mut Problems) {
    let mut sockets: BTreeMap<SocketAddr, &str> = BTreeMap::new();
    let mut devices: BTreeMap<(&str, u16), &str> = BTreeMap::new();
    for (key, address, dev, port) in servers {
        if let Some(address) = address {
            let socket = SocketAddr::new(*address, *port);
            match sockets.get(&socket) {
                Some(first) => found.push((
                    format!("{key}.address"),
                    Problem::DuplicateEndpoint { socket, first: format!("{first}.address") },
                )),
                None => drop(sockets.insert(socket, key)),
            }
        } else if let Some(dev) = dev {
            match devices.get(&(*dev, *port)) {
                Some(first) => found.push((
                    format!("{key}.dev"),
                    Problem::DuplicateDevice { dev: (*dev).to_owned(), first: format!("{first}.dev") },
                )),
                None => drop(devices.insert((*dev, *port), key)),
            }
        }
    }
}

/// Each SMF has an N4 socket of its IP version.
fn smfs(upf: &Upf, found: &mut Problems) {
    let by_dev = upf.pfcp.server.iter().any(|server| server.dev.is_some());
    let serves = |v4: bool| {
        upf.pfcp.server.iter().filter_map(|server| server.address).any(|address| address.is_ipv4() == v4)
    };
    for (n, smf) in upf.pfcp.client.smf.iter().enumerate() {
        let address = smf.address;
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        let key = format!("upf.pfcp.client.smf[{n}].address");
        if !by_dev && !serves(address.is_ipv4()) {
            found.push((key.clone(), Problem::NoServerOfFamily { address, family }));
        }
        if let Some(m) = upf.pfcp.client.smf[..n].iter().position(|earlier| earlier == smf) {
            let first = format!("upf.pfcp.client.smf[{m}].address");
            found.push((key, Problem::DuplicateEndpoint { socket: smf.socket(), first }));
        }
    }
}

/// N3, N4 and N6 do not share an interface in mode af_xdp: the kernel accepts one XDP program. A program of N4 has one UDP port.
fn programs(upf: &Upf, found: &mut Problems) {
    let on_n3 = |dev: &str| {
        let named = upf.gtpu.server.iter().position(|server| server.dev.as_deref() == Some(dev));
        named.filter(|_| upf.gtpu.mode == GtpuMode::AfXdp)
    };
    for (n, session) in upf.session.iter().enumerate().filter(|(_, session)| session.mode == N6Mode::AfXdp) {
        if let Some(m) = on_n3(&session.dev) {
            let (dev, first) = (session.dev.clone(), format!("upf.gtpu.server[{m}].dev"));
            found.push((format!("upf.session[{n}].dev"), Problem::DuplicateDevice { dev, first }));
        }
    }
    for (n, server) in upf.pfcp.server.iter().enumerate().filter(|_| upf.pfcp.mode == N4Mode::AfXdp) {
        let Some(dev) = &server.dev else { continue };
        let of_n4 = |other: &PfcpServer| other.dev.as_ref() == Some(dev) && other.port != server.port;
        let of_n6 = |session: &Session| session.mode == N6Mode::AfXdp && session.dev == *dev;
        let n3 = on_n3(dev).map(|m| format!("upf.gtpu.server[{m}].dev"));
        let n6 = upf.session.iter().position(of_n6).map(|m| format!("upf.session[{m}].dev"));
        let n4 = upf.pfcp.server[..n].iter().position(of_n4).map(|m| format!("upf.pfcp.server[{m}].dev"));
        if let Some(first) = n3.or(n6).or(n4) {
            let problem = Problem::DuplicateDevice { dev: dev.clone(), first };
            found.push((format!("upf.pfcp.server[{n}].dev"), problem));
        }
    }
}

/// Network slices are unique.
fn slices(upf: &Upf, found: &mut Problems) {
    for (n, slice) in upf.qos.slice.iter().enumerate() {
        if let Some(m) = upf.qos.slice[..n].iter().position(|earlier| earlier.id() == slice.id()) {
            let first = format!("upf.qos.slice[{m}].sst");
            found.push((
                format!("upf.qos.slice[{n}].sst"),
                Problem::DuplicateSlice { slice: slice.id(), first },
            ));
        }
    }
}

fn gateway(n: usize, session: &Session, found: &mut Problems) {
    let subnet = session.subnet;
    if session.mode != N6Mode::Tun && session.gateway.is_some() {
        let problem = Problem::NoGateway { mode: session.mode.word(), dev: session.dev.clone() };
        found.push((format!("upf.session[{n}].gateway"), problem));
    }
    if session.mode != N6Mode::Tun && session.nat {
        found.push((format!("upf.session[{n}].nat"), Problem::NoNat { mode: session.mode.word() }));
    }
    // The name becomes part of the rules.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if session.nat && !session.dev.chars().all(is_plain) {
        found.push((format!("upf.session[{n}].nat"), Problem::NatDevice { dev: session.dev.clone() }));
    }
    if let Some(gateway) = session.gateway.filter(|gateway| !subnet.contains(gateway)) {
        let example = subnet.hosts().next().unwrap_or(subnet.addr());
        let problem = Problem::GatewayOutside { gateway, subnet, example };
        found.push((format!("upf.session[{n}].gateway"), problem));
    }
    if matches!(subnet, IpNet::V6(_)) && session.mtu < 1280 {
        found.push((format!("upf.session[{n}].mtu"), Problem::MtuBelowIpv6 { subnet }));
    }
}

/// The pool lies inside the subnet, which alone is routed to the UPF.
fn pool(n: usize, session: &Session, found: &mut Problems) {
    let subnet = session.subnet;
    if has_no_host(&subnet) {
        found.push((format!("upf.session[{n}].subnet"), Problem::PoolOfOthers { subnet }));
    }
    if let Some(pool) = session.ue_pool.filter(|pool| !subnet.contains(pool)) {
        found.push((format!("upf.session[{n}].ue_pool"), Problem::PoolOutside { pool, subnet }));
    }
}

/// A switch has UE prefixes of 64 bits. In software an SMF may give longer ones (feature IP6PL).
fn prefixes_of_switch(n: usize, session: &Session, found: &mut Problems) {
    let nets = [("subnet", Some(session.subnet)), ("ue_pool", session.ue_pool)];
    for (name, net) in nets.into_iter().filter_map(|(name, net)| Some((name, net?))) {
        if matches!(net, IpNet::V6(_)) && net.prefix_len() > UE_PREFIX_BITS {
            found.push((format!("upf.session[{n}].{name}"), Problem::PoolBelowUePrefix { net }));
        }
    }
}

/// The prefix holds loopback or multicast addresses. That of length 0 does.
fn has_no_host(net: &IpNet) -> bool {
    let meets = |other: IpNet| net.contains(&other.addr()) || other.contains(&net.addr());
    let v4 = [(Ipv4Addr::LOCALHOST, 8), (Ipv4Addr::new(224, 0, 0, 0), 4)];
    let v6 = [(Ipv6Addr::LOCALHOST, 128), (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8)];
    let v4 = v4.map(|(ip, len)| IpNet::new(ip.into(), len));
    v4.into_iter().chain(v6.map(|(ip, len)| IpNet::new(ip.into(), len))).flatten().any(meets)
}

fn pair((m, earlier): (usize, &Session), (n, session): (usize, &Session), found: &mut Problems) {
    let key = |name: &str| format!("upf.session[{n}].{name}");
    let first = |name: &str| format!("upf.session[{m}].{name}");
    let overlap =
        session.subnet.contains(&earlier.subnet.addr()) || earlier.subnet.contains(&session.subnet.addr());
    // A segment is another world: its addresses are not those of the kernel.
    let is_apart = session.dnn != earlier.dnn && [session.mode, earlier.mode].contains(&N6Mode::Vxlan);
    if overlap && !is_apart {
        let (subnet, other) = (session.subnet, earlier.subnet);
        found.push((key("subnet"), Problem::SubnetsOverlap { subnet, other, first: first("subnet") }));
    }
    if session.dev != earlier.dev {
        if session.dnn == earlier.dnn {
            let (dnn, other) = (session.dnn.clone(), earlier.dev.clone());
            found.push((key("dev"), Problem::NetworkOnTwoDevices { dnn, other, first: first("dev") }));
        }
        return;
    }
    let dev = session.dev.clone();
    if session.dnn != earlier.dnn {
        let (dnn, other) = (session.dnn.clone(), earlier.dnn.clone());
        found.push((key("dev"), Problem::DeviceShared { dev, dnn, other, first: first("dnn") }));
    } else if session.mode != earlier.mode {
        let other = earlier.mode.word();
        found.push((key("mode"), Problem::ModeDiffers { dev, other, first: first("mode") }));
    } else if session.mtu != earlier.mtu {
        found.push((key("mtu"), Problem::MtuDiffers { dev, other: earlier.mtu, first: first("mtu") }));
    }
}
