//! The neighbours of the UPF, which framed routes must not contain: a UE would receive the packets of others.

use causeway_ports::PortError;
use causeway_ports::netlink::Netlink;
use causeway_types::IpNet;
use tracing::warn;

use crate::config::{N6Mode, Upf};

/// The networks that this host is connected to, except those of the UEs, and the SMFs of the configuration.
pub(crate) fn neighbours(upf: &Upf) -> Vec<IpNet> {
    let smfs = upf.pfcp.client.smf.iter().map(|smf| IpNet::from(smf.address));
    let connected = connected(upf).unwrap_or_else(|error| {
        warn!("framed routes are not checked against the networks of this host: {error}");
        Vec::new()
    });
    smfs.chain(connected).collect()
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
