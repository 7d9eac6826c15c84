//! N3 and N9: the GTP-U ports.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::GtpuEndpoint;
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::NetworkInstance;
use tracing::info;

use super::address::addresses;
use crate::config::{Gtpu, GtpuServer};
use crate::error::StartError;
use crate::worker::PortSet;

/// Opens the GTP-U ports.
pub(super) fn open(gtpu: &Gtpu, set: &mut PortSet) -> Result<(), StartError> {
    for (n, server) in gtpu.server.iter().enumerate() {
        let key = format!("upf.gtpu.server[{n}]");
        for address in addresses(&key, server.address, server.dev.as_deref())? {
            open_one(&key, server, address, set)?;
        }
    }
    Ok(())
}

fn open_one(key: &str, server: &GtpuServer, address: IpAddr, set: &mut PortSet) -> Result<(), StartError> {
    let socket = SocketAddr::new(address, server.port);
    let port = UdpPort::bind(&format!("n3-{address}"), socket, &UdpOptions::default())
        .map_err(|source| StartError::Port { key: key.to_owned(), source })?;
    let network_instance = server.network_instance.as_deref().map(NetworkInstance::new);
    let serves = server.network_instance.as_deref().unwrap_or("every network instance");
    info!("N3 on {socket} over UDP, serves {serves}");
    set.add_gtpu(GtpuEndpoint { addr: address.into(), network_instance }, Box::new(port));
    Ok(())
}
