//! N4 below IP.

use std::net::IpAddr;

use causeway_ports::Port;
use causeway_ports::xdp::{XdpGtpu, XdpOptions};
use tracing::info;

use super::address::addresses;
use crate::config::{N4Mode, Pfcp};
use crate::error::StartError;

/// Opens an AF_XDP port on each interface of N4, in that mode. It receives what the kernel's sockets of the addresses would; these
/// receive the rest, such as fragments.
///
/// # Errors
/// The first that cannot be opened, with its key and the remedy.
pub(crate) fn n4_ports(pfcp: &Pfcp) -> Result<Vec<Box<dyn Port>>, StartError> {
    if pfcp.mode != N4Mode::AfXdp {
        return Ok(Vec::new());
    }
    let mut ports: Vec<Box<dyn Port>> = Vec::new();
    for (n, server) in pfcp.server.iter().enumerate() {
        let Some(dev) = &server.dev else { continue };
        if pfcp.server[..n].iter().any(|earlier| earlier.dev.as_ref() == Some(dev)) {
            continue;
        }
        let key = format!("upf.pfcp.server[{n}]");
        let mut own: Vec<IpAddr> = Vec::new();
        for same in pfcp.server.iter().filter(|other| other.dev.as_ref() == Some(dev)) {
            own.extend(addresses(&key, same.address, Some(dev))?);
        }
        let (name, options) = (format!("n4-{dev}"), XdpOptions::on(dev));
        let opened = XdpGtpu::open_on_port(&name, &own, server.port, &options);
        let port = opened.map_err(|source| StartError::Port { key, source })?;
        info!("N4 on {dev} over AF_XDP ({})", port.description());
        ports.push(Box::new(port));
    }
    Ok(ports)
}
