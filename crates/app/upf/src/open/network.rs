//! N6: a TUN device or AF_XDP sockets per data network.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::Network;
use causeway_ports::netlink::Netlink;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::vxlan::SegmentTraffic;
use causeway_ports::xdp::{XdpIp, XdpOptions};
use causeway_ports::{Port, PortError, PortSharing};
use causeway_types::{IpNet, NetworkInstance};
use tracing::info;

use super::reconnect::{reconnecting, reconnecting_all};
use super::vxlan::VxlanEndpoints;
use crate::config::{N6Mode, N6Tunnel, Session, Upf, VxlanSegment};
use crate::error::StartError;
use crate::worker::PortSet;

/// The pools that share a device, with the index of the first in the configuration.
struct Device<'a> {
    name: &'a str,
    first: usize,
    sessions: Vec<&'a Session>,
}

/// Opens the devices, in the order of the configuration, for each worker.
pub(super) fn open(upf: &Upf, sets: &mut [PortSet], segments: &mut VxlanEndpoints) -> Result<(), StartError> {
    devices(&upf.session).iter().try_for_each(|device| open_one(device, upf, sets, segments))
}

fn devices(sessions: &[Session]) -> Vec<Device<'_>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut devices: Vec<Device<'_>> = Vec::new();
    for (first, session) in sessions.iter().enumerate() {
        let place = *places.entry(&session.dev).or_insert(devices.len());
        match devices.get_mut(place) {
            Some(device) => device.sessions.push(session),
            None => devices.push(Device { name: &session.dev, first, sessions: vec![session] }),
        }
    }
    devices
}

/// The options of the TUN devices.
pub(crate) fn tun_options(upf: &Upf) -> Vec<TunOptions> {
    let devices = devices(&upf.session);
    let of = |device: &Device<'_>| {
        let session = device.sessions.first().filter(|session| session.mode == N6Mode::Tun)?;
        let tunnels: Vec<_> = upf.n6_tunnel.iter().filter(|tunnel| tunnel.dnn == session.dnn).collect();
        Some(options(device, &tunnels, session.mtu))
    };
    devices.iter().filter_map(of).collect()
}

fn open_one(
    device: &Device<'_>,
    upf: &Upf,
    sets: &mut [PortSet],
    segments: &mut VxlanEndpoints,
) -> Result<(), StartError> {
    let Some(session) = device.sessions.first() else { return Ok(()) };
    let tunnels: Vec<_> = upf.n6_tunnel.iter().filter(|tunnel| tunnel.dnn == session.dnn).collect();
    let base = TunOptions { offload: upf.offload, ..options(device, &tunnels, session.mtu) };
    let name = |set: &PortSet| set.port_name(&format!("n6-{}", device.name));
    let opened: Result<Vec<Opened>, PortError> = match session.mode {
        N6Mode::Tun => sets
            .iter()
            .map(|set| open_tun(&name(set), device, &TunOptions { share: set.share(), ..base.clone() }))
            .collect(),
        N6Mode::AfXdp => open_xdp(&sets.iter().map(name).collect::<Vec<_>>(), device, &tunnels),
        // The segment was checked to exist.
        N6Mode::Vxlan => upf.vxlan_segment(device.name).map_or(Ok(Vec::new()), |segment| {
            sets.iter().map(|set| open_vxlan(set, (&name(set), segment), upf.offload, segments)).collect()
        }),
    };
    let failed = |source| StartError::Port { key: format!("upf.session[{}].dev", device.first), source };
    for (set, opened) in sets.iter_mut().zip(opened.map_err(failed)?) {
        add(set, device, session, &tunnels, opened);
    }
    Ok(())
}

fn add(
    set: &mut PortSet,
    device: &Device<'_>,
    session: &Session,
    tunnels: &[&N6Tunnel],
    Opened { port, how, own }: Opened,
) {
    let mtu = session.mtu.min(port.mtu());
    let pools: Vec<IpNet> = device.sessions.iter().map(|session| session.subnet).collect();
    if set.is_first() {
        info!("N6 of {} on {how}, pools {}, MTU {mtu}", session.dnn, listed(&pools));
    }
    for tunnel in tunnels {
        let end = SocketAddr::new(tunnel.address, tunnel.port);
        if set.is_first() {
            info!("tunnels over N6 of {} end at {end}", tunnel.dnn);
        }
        set.add_n6_tunnel(NetworkInstance::new(&tunnel.dnn), end);
    }
    set.add_network(network(device, pools, own, mtu), port);
}

/// A port, its description, and the local addresses of its interface.
struct Opened {
    port: Box<dyn Port>,
    how: String,
    own: Vec<IpAddr>,
}

fn open_tun(name: &str, device: &Device<'_>, options: &TunOptions) -> Result<Opened, PortError> {
    let there = if Netlink::open()?.link(device.name)?.is_some() { "it was there" } else { "created" };
    let port = TunPort::open(name, options)?;
    let switched_off = if options.offload { "" } else { " (offload: false)" };
    let how = format!("TUN device {} ({there}) with {}{switched_off}", device.name, port.offload());
    let own = device.sessions.iter().filter_map(|session| session.gateway).collect();
    // The first of several queues to be reopened creates the device.
    let share =
        if options.share == PortSharing::Exclusive { PortSharing::Exclusive } else { PortSharing::Further };
    let (name, options) = (name.to_owned(), TunOptions { share, ..options.clone() });
    let again = move || TunPort::open(&name, &options).map(|port| Box::new(port) as Box<dyn Port>);
    Ok(Opened { port: reconnecting(port, again), how, own })
}

fn open_vxlan(
    set: &PortSet,
    segment: (&str, &VxlanSegment),
    offload: bool,
    segments: &mut VxlanEndpoints,
) -> Result<Opened, PortError> {
    let (port, how) = segments.port(set, segment, SegmentTraffic::Ip, offload)?;
    let own = segment.1.address.into_iter().map(IpAddr::V4).collect();
    Ok(Opened { port: Box::new(port), how, own })
}

/// Receives packets to the pools and to local tunnel endpoints from an Ethernet interface.
fn open_xdp(names: &[String], device: &Device<'_>, tunnels: &[&N6Tunnel]) -> Result<Vec<Opened>, PortError> {
    let ends = tunnels.iter().map(|tunnel| IpNet::from(tunnel.address));
    let routed = device.sessions.iter().flat_map(|session| &session.framed_routes).copied();
    let pools = device.sessions.iter().map(|session| session.subnet);
    let ours: Vec<IpNet> = pools.chain(routed).chain(ends).collect();
    let own = addresses_of(device.name)?;
    let ports = XdpIp::open_each(names, &ours, &XdpOptions::on(device.name))?;
    let hows: Vec<String> =
        ports.iter().map(|port| format!("AF_XDP on {} ({})", device.name, port.description())).collect();
    let (names, name) = (names.to_vec(), device.name.to_owned());
    let ports = reconnecting_all(ports, move || XdpIp::open_each(&names, &ours, &XdpOptions::on(&name)));
    let opened = |(port, how)| Opened { port, how, own: own.clone() };
    Ok(ports.into_iter().zip(hows).map(opened).collect())
}

/// The addresses of an interface, without link-local ones.
fn addresses_of(dev: &str) -> Result<Vec<IpAddr>, PortError> {
    let mut netlink = Netlink::open()?;
    let index = netlink.link(dev)?.map(|link| link.index);
    let of_link = netlink.addresses()?.into_iter().filter(|(link, _)| Some(*link) == index);
    let addresses = of_link.map(|(_, net)| net.addr());
    Ok(addresses.filter(|ip| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local())).collect())
}

fn network(device: &Device<'_>, pools: Vec<IpNet>, gateways: Vec<IpAddr>, mtu: u32) -> Network {
    let instance = device.sessions.first().map_or("", |session| &session.dnn);
    let framed_routes = device.sessions.iter().flat_map(|session| &session.framed_routes).copied().collect();
    Network { framed_routes, gateways, mtu, ..Network::new(NetworkInstance::new(instance), pools) }
}

/// The gateway addresses with their prefixes, and routes to pools without a gateway and to local tunnel endpoints.
fn options(device: &Device<'_>, tunnels: &[&N6Tunnel], mtu: u32) -> TunOptions {
    let address =
        |session: &&Session| session.gateway.and_then(|ip| IpNet::new(ip, session.subnet.prefix_len()).ok());
    let without = |session: &&&Session| session.gateway.is_none();
    let pools = device.sessions.iter().filter(without).map(|session| session.subnet);
    TunOptions {
        device: device.name.to_owned(),
        addresses: device.sessions.iter().filter_map(address).collect(),
        mtu: Some(mtu),
        routes: pools.chain(tunnels.iter().map(|tunnel| tunnel.address.into())).collect(),
        ..TunOptions::default()
    }
}

fn listed(nets: &[IpNet]) -> String {
    nets.iter().map(IpNet::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(subnet: &str, gateway: Option<&str>, dev: &str) -> Session {
        Session {
            subnet: subnet.parse().unwrap(),
            gateway: gateway.map(|gateway| gateway.parse().unwrap()),
            dev: dev.into(),
            ..Session::default()
        }
    }

    // Input:  an IPv4 and an IPv6 pool on one device, another device between them, and an end of tunnels.
    // Output: two devices; the first has the address of the one and routes to the other and to that end.
    #[test]
    fn pools_of_one_device_are_set_up_together() {
        let sessions = [
            session("10.45.0.0/16", Some("10.45.0.1"), "a"),
            session("10.46.0.0/16", None, "b"),
            session("2001:db8::/48", None, "a"),
        ];
        let devices = devices(&sessions);
        assert_eq!(devices.iter().map(|d| (d.name, d.first)).collect::<Vec<_>>(), [("a", 0), ("b", 1)]);
        let end = N6Tunnel { dnn: "internet".into(), address: [192, 0, 2, 6].into(), port: 5555 };
        let options = options(&devices[0], &[&end], 1400);
        assert_eq!(listed(&options.addresses), "10.45.0.1/16");
        assert_eq!(listed(&options.routes), "2001:db8::/48 and 192.0.2.6/32");
        assert_eq!(options.mtu, Some(1400));
        let network = network(&devices[0], Vec::new(), vec!["10.45.0.1".parse().unwrap()], 1400);
        assert_eq!((network.gateways, network.mtu), (vec!["10.45.0.1".parse().unwrap()], 1400));
    }
}
