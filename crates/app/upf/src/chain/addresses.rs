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
        let mut announced = Vec::new();
        for interface in &self.interfaces {
            match announce(interface, &self.addresses) {
                Ok(()) => announced.push(interface.as_str()),
                Err(error) => warn!("upf.chain.dev: {error}"),
            }
        }
        info!("{}", said(&self.addresses, &announced));
    }
}

fn said(addresses: &[Ipv4Addr], announced: &[&str]) -> String {
    let on = if announced.is_empty() { "no interface".to_owned() } else { announced.join(", ") };
    format!("chain: this host has {addresses:?}, announced on {on}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an address that was announced on two interfaces, and on none.
    // Output: their names; that there is none.
    #[test]
    fn only_what_was_announced_is_said_to_be() {
        let addresses = [Ipv4Addr::new(192, 0, 2, 10)];
        assert!(said(&addresses, &["eth0", "eth1"]).ends_with("has [192.0.2.10], announced on eth0, eth1"));
        assert!(said(&addresses, &[]).ends_with("announced on no interface"));
    }
}
