//! N3 and N9: the GTP-U ports.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::GtpuEndpoint;
use causeway_ports::tpacket::{EthernetGtpu, EthernetOptions};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::vxlan::SegmentTraffic;
use causeway_ports::xdp::{XdpGtpu, XdpOptions};
use causeway_ports::{AdvertisedPort, Port, PortError};
use causeway_types::NetworkInstance;
use tracing::info;

use super::address::{addresses, advertised};
use super::reconnect::{reconnecting, reconnecting_all};
use super::vxlan::VxlanEndpoints;
use crate::config::{GtpuMode, GtpuServer, Upf, VxlanSegment};
use crate::error::{StartError, Transport};
use crate::host_addresses::descriptor;
use crate::worker::PortSet;

/// The MTU assumed for addresses on the loopback interface.
const LOOPBACK_MTU: u32 = 1500;

/// Opens the GTP-U ports, of each worker.
pub(super) fn open(upf: &Upf, sets: &mut [PortSet], segments: &mut VxlanEndpoints) -> Result<(), StartError> {
    let gtpu = &upf.gtpu;
    match gtpu.mode {
        GtpuMode::Udp => sets.iter_mut().try_for_each(|set| {
            let mut servers = gtpu.server.iter().enumerate();
            servers.try_for_each(|(n, server)| open_udp(n, server, upf, set))
        }),
        GtpuMode::Tpacket | GtpuMode::AfXdp | GtpuMode::Vxlan => {
            let first = |n: usize, server: &GtpuServer| {
                gtpu.server.iter().position(|other| other.dev == server.dev) == Some(n)
            };
            let devices = gtpu.server.iter().enumerate().filter(|(n, server)| first(*n, server));
            devices.map(|(n, _)| n).try_for_each(|n| open_below_ip(n, upf, sets, segments))
        }
    }
}

fn key(n: usize) -> String {
    format!("upf.gtpu.server[{n}]")
}

fn failed(n: usize) -> impl Fn(PortError) -> StartError {
    move |source| StartError::Port { key: key(n), source }
}

/// An endpoint with its MTU. Larger outer packets are not sent, unless the kernel may fragment them.
fn endpoint(server: &GtpuServer, address: IpAddr, interface_mtu: u32) -> GtpuEndpoint {
    let network_instance = server.network_instance.as_deref().map(NetworkInstance::new);
    let any = GtpuEndpoint::new(address.into());
    // Packets from a loopback address are sent on another interface.
    let of_interface = if interface_mtu > any.mtu { LOOPBACK_MTU } else { interface_mtu };
    let mtu = if server.fragment { any.mtu } else { server.mtu.unwrap_or(of_interface) };
    GtpuEndpoint { network_instance, mtu, ..any }
}

fn announce(
    server: &GtpuServer,
    endpoint: &GtpuEndpoint,
    (address, instead): (IpAddr, Option<IpAddr>),
    how: &str,
) {
    let serves = server.network_instance.as_deref().unwrap_or("every network instance");
    let socket = SocketAddr::new(address, server.port);
    let instead = instead.map_or_else(String::new, |instead| format!(", advertised as {instead}"));
    info!("N3 on {socket} over {how}{instead}, serves {serves}, MTU {}", endpoint.mtu);
}

/// The port, with the advertised addresses in place of the local ones.
fn advertising(port: Box<dyn Port>, addresses: &[(IpAddr, Option<IpAddr>)]) -> Box<dyn Port> {
    let pairs: Vec<_> = addresses.iter().filter_map(|(own, instead)| Some((*own, (*instead)?))).collect();
    if pairs.is_empty() { port } else { Box::new(AdvertisedPort::new(port, pairs)) }
}

/// A socket for each address.
fn open_udp(n: usize, server: &GtpuServer, upf: &Upf, set: &mut PortSet) -> Result<(), StartError> {
    let offload = upf.offload;
    let all = addresses(&key(n), server.address, server.dev.as_deref())?;
    for (address, instead) in advertised(&key(n), &all, &server.advertise)? {
        let socket = SocketAddr::new(address, server.port);
        let share = set.share();
        let may_be_elsewhere = upf.chain.has(address);
        let dont_fragment = !server.fragment;
        let options = UdpOptions { dont_fragment, offload, share, may_be_elsewhere, ..UdpOptions::default() };
        let name = set.port_name(&format!("n3-{address}"));
        let port = UdpPort::bind(&name, socket, &options).map_err(failed(n))?;
        let descriptor = descriptor(&port).map_err(|source| StartError::Socket {
            key: key(n),
            address: socket,
            transport: Transport::Udp,
            source,
        })?;
        set.add_socket(port.local(), descriptor);
        let endpoint = endpoint(server, instead.unwrap_or(address), port.mtu());
        let switched_off = if offload { "" } else { " (offload: false)" };
        let how = format!("UDP with {}{switched_off}", port.offload());
        if set.is_first() {
            announce(server, &endpoint, (address, instead), &how);
        }
        set.add_gtpu([endpoint], advertising(Box::new(port), &[(address, instead)]));
    }
    Ok(())
}

/// For each worker one port for all addresses of an interface; the item at `first` is the first that names it.
fn open_below_ip(
    first: usize,
    upf: &Upf,
    sets: &mut [PortSet],
    segments: &mut VxlanEndpoints,
) -> Result<(), StartError> {
    let gtpu = &upf.gtpu;
    let servers = &gtpu.server;
    let dev = servers.get(first).and_then(|server| server.dev.as_deref()).unwrap_or_default();
    let mut own = Vec::new();
    for (n, server) in servers.iter().enumerate().filter(|(_, server)| server.dev.as_deref() == Some(dev)) {
        let all = match gtpu.mode {
            // A segment is no interface of the kernel: its address is the one that is given.
            GtpuMode::Vxlan => server.address.into_iter().collect(),
            _ => addresses(&key(n), server.address, Some(dev))?,
        };
        for address in advertised(&key(n), &all, &server.advertise)? {
            own.push((server, address));
        }
    }
    let addresses: Vec<IpAddr> = own.iter().map(|(_, (address, _))| *address).collect();
    let translated: Vec<_> = own.iter().map(|(_, address)| *address).collect();
    let names: Vec<String> = sets.iter().map(|set| set.port_name(&format!("n3-{dev}"))).collect();
    let ports = match upf.vxlan_segment(dev).filter(|_| gtpu.mode == GtpuMode::Vxlan) {
        Some(segment) => open_vxlan(segment, &names, &addresses, (upf.offload, sets, segments)),
        None => open_on(dev, &names, &addresses, gtpu.mode),
    };
    let ports = ports.map_err(failed(first))?;
    for (set, (port, how)) in sets.iter_mut().zip(ports) {
        let mut endpoints = Vec::new();
        for (server, address) in &own {
            let (local, instead) = *address;
            let endpoint = endpoint(server, instead.unwrap_or(local), port.mtu());
            announce(server, &endpoint, *address, &how);
            endpoints.push(endpoint);
        }
        set.add_gtpu(endpoints, advertising(port, &translated));
    }
    Ok(())
}

/// A port and its description.
type Opened = (Box<dyn Port>, String);

/// The ports of a segment.
fn open_vxlan(
    segment: &VxlanSegment,
    names: &[String],
    addresses: &[IpAddr],
    (offload, sets, segments): (bool, &[PortSet], &mut VxlanEndpoints),
) -> Result<Vec<Opened>, PortError> {
    let open = |(set, name): (&PortSet, &String)| {
        let traffic = SegmentTraffic::Gtpu(addresses.to_vec());
        let (port, how) = segments.port(set, (name, segment), traffic, offload)?;
        Ok((Box::new(port) as Box<dyn Port>, how))
    };
    sets.iter().zip(names).map(open).collect()
}

/// The ports on an interface. Packet rings have one.
fn open_on(
    dev: &str,
    names: &[String],
    addresses: &[IpAddr],
    mode: GtpuMode,
) -> Result<Vec<Opened>, PortError> {
    if mode == GtpuMode::AfXdp {
        let ports = XdpGtpu::open_each(names, addresses, &XdpOptions::on(dev))?;
        let hows: Vec<String> =
            ports.iter().map(|port| format!("AF_XDP on {dev} ({})", port.description())).collect();
        let (names, addresses, dev) = (names.to_vec(), addresses.to_vec(), dev.to_owned());
        let again = move || XdpGtpu::open_each(&names, &addresses, &XdpOptions::on(&dev));
        return Ok(reconnecting_all(ports, again).into_iter().zip(hows).collect());
    }
    let name = names.first().map_or(dev, String::as_str);
    let port = EthernetGtpu::open(name, addresses, &EthernetOptions::on(dev))?;
    let how = format!("packet rings on {dev}");
    let (name, addresses, options) = (name.to_owned(), addresses.to_vec(), EthernetOptions::on(dev));
    let again =
        move || EthernetGtpu::open(&name, &addresses, &options).map(|port| Box::new(port) as Box<dyn Port>);
    Ok(vec![(reconnecting(port, again), how)])
}
