//! The service addresses: those of N4, N3 and N6 that the primary has, whichever host it is.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use causeway_ports::PortError;
use causeway_ports::announce::announce;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_types::IpNet;
use tracing::{info, warn};

use crate::config::Chain;

/// The device that has the addresses.
pub(crate) const DEVICE: &str = "causeway-chain";

/// How often the addresses are announced, and how long apart: an announcement may be lost.
pub(crate) const ANNOUNCEMENTS: u32 = 5;
pub(crate) const APART: Duration = Duration::from_millis(200);

/// The addresses, until it is dropped: they are on a TUN device, which the kernel removes with the process. Hosts of the networks of this
/// host find them, since Linux answers ARP for any address that it has.
pub(crate) struct ServiceAddresses {
    _device: TunPort,
    addresses: Vec<Ipv4Addr>,
    interfaces: Vec<String>,
}

impl ServiceAddresses {
    /// Gives this host the addresses.
    ///
    /// # Errors
    /// The device cannot be created.
    pub(crate) fn take(chain: &Chain) -> Result<Self, PortError> {
        let addresses = chain.address.iter().map(|ip| IpNet::from(IpAddr::V4(*ip))).collect();
        let options =
            TunOptions { device: DEVICE.into(), addresses, offload: false, ..TunOptions::default() };
        let device = TunPort::open(DEVICE, &options)?;
        Ok(Self { _device: device, addresses: chain.address.clone(), interfaces: chain.dev.clone() })
    }

    /// Tells the hosts of the networks that the addresses are here (gratuitous ARP, RFC 5227 section 3).
    pub(crate) fn announce(&self) {
        for interface in &self.interfaces {
            if let Err(error) = announce(interface, &self.addresses) {
                warn!("upf.chain.dev: announcing on {interface}: {error}");
            }
        }
        info!("chain: this host has {:?}, announced on {}", self.addresses, self.interfaces.join(", "));
    }
}
