//! Opening the ports of gNBs and UEs in their namespaces.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_packet::gtpu;
use causeway_ports::Port;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::{IpNet, Ipv4Net};

use super::Gnb;
use crate::LabError;
use crate::netns::Namespace;

/// Where a gNB stands.
#[derive(Clone, Copy, Debug)]
pub struct GnbSite<'a> {
    /// Its namespace; its role is the gNB's name.
    pub namespace: &'a Namespace,
    /// Its N3 address.
    pub address: Ipv4Addr,
}

impl GnbSite<'_> {
    /// Opens the N3 socket on port 2152.
    ///
    /// # Errors
    /// [`LabError::Port`].
    pub fn open(&self) -> Result<Gnb, LabError> {
        let address = IpAddr::V4(self.address);
        let name = self.namespace.role();
        let port = self.namespace.enter(|| {
            UdpPort::bind(name, SocketAddr::new(address, gtpu::PORT), &UdpOptions::default())
                .map_err(LabError::Port)
        })?;
        Ok(Gnb { name: name.into(), address, port: Box::new(port) })
    }
}

/// Where a UE is, and what its network card is called.
#[derive(Clone, Copy, Debug)]
pub struct UeSite<'a> {
    /// Its namespace. UEs may share one.
    pub namespace: &'a Namespace,
    /// Its device, for example `ue1`.
    pub device: &'a str,
    /// Its address.
    pub address: Ipv4Addr,
    /// MTU of the device in octets: what the network told the UE.
    pub mtu: u32,
    /// Number of a routing table of its own, not of the system's (1 to 252).
    pub table: u8,
}

impl UeSite<'_> {
    /// Creates the device, and routes through it whatever is bound to it or has its address. It goes when the
    /// port is closed.
    ///
    /// # Errors
    /// [`LabError::Port`], [`LabError::Command`] for the route.
    pub fn open(&self) -> Result<Box<dyn Port>, LabError> {
        let options = TunOptions {
            device: self.device.into(),
            addresses: vec![IpNet::V4(Ipv4Net::from(self.address))],
            mtu: Some(self.mtu),
            ..TunOptions::default()
        };
        let port = self.namespace.enter(|| TunPort::open(self.device, &options).map_err(LabError::Port))?;
        let Self { device, address, table, .. } = self;
        self.namespace.ip(format!(
            "route add default dev {device} metric {table}\nroute add default dev {device} table {table}\n\
             rule add from {address} table {table}"
        ))?;
        Ok(Box::new(port))
    }
}
