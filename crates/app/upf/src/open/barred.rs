//! What no framed route may hold an address of: a UE behind it would get what is the UPF's, or another's.

use std::net::IpAddr;

use causeway_ports::PortError;
use causeway_ports::netlink::Netlink;
use causeway_types::IpNet;
use tracing::warn;

use crate::config::{N6Mode, Upf};

/// The networks that this machine is connected to but for those of the UEs, the addresses of N4, and the SMFs of the configuration.
pub(crate) fn barred(upf: &Upf, n4: impl Iterator<Item = IpAddr>) -> Vec<IpNet> {
    let smfs = upf.pfcp.client.smf.iter().map(|smf| smf.address);
    let single = n4.chain(smfs).filter(|ip| !ip.is_unspecified()).map(IpNet::from);
    let connected = connected(upf).unwrap_or_else(|error| {
        warn!("framed routes are not checked against the networks of this machine: {error}");
        Vec::new()
    });
    single.chain(connected).collect()
}

fn connected(upf: &Upf) -> Result<Vec<IpNet>, PortError> {
    if upf.remote_switch().is_some() {
        return Ok(Vec::new());
    }
    let mut netlink = Netlink::open()?;
    let is_of_ues =
        |name: &str| upf.session.iter().any(|session| session.mode == N6Mode::Tun && session.dev == name);
    let of_ues: Vec<u32> =
        netlink.links()?.into_iter().filter(|link| is_of_ues(&link.name)).map(|link| link.index).collect();
    let addresses = netlink.addresses()?.into_iter().filter(|(link, _)| !of_ues.contains(link));
    Ok(addresses.map(|(_, net)| net.trunc()).collect())
}
