//! N3 and N9: the GTP-U ports.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::GtpuEndpoint;
use causeway_ports::PortError;
use causeway_ports::tpacket::{EthernetGtpu, EthernetOptions};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::NetworkInstance;
use tracing::info;

use super::address::addresses;
use crate::config::{Gtpu, GtpuMode, GtpuServer};
use crate::error::StartError;
use crate::worker::PortSet;

/// Opens the GTP-U ports.
pub(super) fn open(gtpu: &Gtpu, set: &mut PortSet) -> Result<(), StartError> {
    match gtpu.mode {
        GtpuMode::Udp => gtpu.server.iter().enumerate().try_for_each(|(n, server)| open_udp(n, server, set)),
        GtpuMode::Tpacket => {
            let first = |n: usize, server: &GtpuServer| {
                gtpu.server.iter().position(|other| other.dev == server.dev) == Some(n)
            };
            let devices = gtpu.server.iter().enumerate().filter(|(n, server)| first(*n, server));
            devices.map(|(n, _)| n).try_for_each(|n| open_tpacket(n, &gtpu.server, set))
        }
    }
}

fn key(n: usize) -> String {
    format!("upf.gtpu.server[{n}]")
}

fn failed(n: usize) -> impl Fn(PortError) -> StartError {
    move |source| StartError::Port { key: key(n), source }
}

fn endpoint(server: &GtpuServer, address: IpAddr) -> GtpuEndpoint {
    let network_instance = server.network_instance.as_deref().map(NetworkInstance::new);
    GtpuEndpoint { network_instance, ..GtpuEndpoint::new(address.into()) }
}

fn announce(server: &GtpuServer, address: IpAddr, how: &str) {
    let serves = server.network_instance.as_deref().unwrap_or("every network instance");
    info!("N3 on {} over {how}, serves {serves}", SocketAddr::new(address, server.port));
}

/// A socket for each address.
fn open_udp(n: usize, server: &GtpuServer, set: &mut PortSet) -> Result<(), StartError> {
    for address in addresses(&key(n), server.address, server.dev.as_deref())? {
        let socket = SocketAddr::new(address, server.port);
        let port = UdpPort::bind(&format!("n3-{address}"), socket, &UdpOptions::default());
        set.add_gtpu([endpoint(server, address)], Box::new(port.map_err(failed(n))?));
        announce(server, address, "UDP");
    }
    Ok(())
}

/// One ring for all addresses of an interface; the item at `first` is the first that names it.
fn open_tpacket(first: usize, servers: &[GtpuServer], set: &mut PortSet) -> Result<(), StartError> {
    let dev = servers.get(first).and_then(|server| server.dev.as_deref()).unwrap_or_default();
    let mut endpoints = Vec::new();
    let mut own = Vec::new();
    for (n, server) in servers.iter().enumerate().filter(|(_, server)| server.dev.as_deref() == Some(dev)) {
        for address in addresses(&key(n), server.address, Some(dev))? {
            own.push(address);
            endpoints.push(endpoint(server, address));
            announce(server, address, &format!("packet rings on {dev}"));
        }
    }
    let port = EthernetGtpu::open(&format!("n3-{dev}"), &own, &EthernetOptions::on(dev));
    set.add_gtpu(endpoints, Box::new(port.map_err(failed(first))?));
    Ok(())
}
