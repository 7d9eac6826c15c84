//! Opening the ports of gNBs and UEs in their namespaces.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use causeway_packet::gtpu;
use causeway_ports::Port;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::{IpNet, Ipv4Net};

use super::Gnb;
use crate::LabError;
use crate::netns::Namespace;

/// The link-local prefix (RFC 4291 clause 2.5.6).
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);

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
    /// Its IPv4 address, if it has one.
    pub address: Option<Ipv4Addr>,
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
            addresses: self.address.map(|address| IpNet::V4(Ipv4Net::from(address))).into_iter().collect(),
            mtu: Some(self.mtu),
            ..TunOptions::default()
        };
        let port = self.namespace.enter(|| TunPort::open(self.device, &options).map_err(LabError::Port))?;
        let Self { device, table, .. } = self;
        if let Some(address) = self.address {
            self.namespace.ip(format!(
                "route add default dev {device} metric {table}\nroute add default dev {device} table {table}\n\
                 rule add from {address} table {table}"
            ))?;
        }
        Ok(Box::new(port))
    }

    /// Gives the device, which is open, the link-local address that the network told the UE (TS 23.501 clause
    /// 5.8.2.2.3). From it the kernel solicits a router, and it configures an address in the advertised prefix.
    ///
    /// # Errors
    /// [`LabError::Io`] where the kernel has no IPv6, [`LabError::Command`].
    pub fn start_ipv6(&self, interface_id: u64) -> Result<(), LabError> {
        let device = self.device;
        self.namespace.sysctl(&format!("net/ipv6/conf/{device}/disable_ipv6"), "0")?;
        self.namespace.sysctl(&format!("net/ipv6/conf/{device}/accept_ra"), "1")?;
        let address = Ipv6Addr::from(u128::from(LINK_LOCAL) | u128::from(interface_id));
        self.namespace.ip(format!("address add {address}/64 dev {device}"))
    }
}
