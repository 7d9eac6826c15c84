//! N3 and N6 of a switch, which provides the ports: no socket or device is opened.

use std::net::IpAddr;

use causeway_dataplane::{GtpuEndpoint, Network};
use causeway_types::{IpNet, NetworkInstance};
use tracing::info;

use crate::config::Upf;
use crate::worker::PortSet;

/// The topology of a switch.
pub(super) fn ports(upf: &Upf) -> PortSet {
    let endpoint = |server: &crate::config::GtpuServer| {
        let address = server.address?;
        let network_instance = server.network_instance.as_deref().map(NetworkInstance::new);
        let any = GtpuEndpoint::new(address.into());
        info!("N3 on {address} over ports of the switch");
        Some(GtpuEndpoint { network_instance, mtu: server.mtu.unwrap_or(any.mtu), ..any })
    };
    let mut set = PortSet::new();
    set.add_remote(upf.gtpu.server.iter().filter_map(endpoint), networks(upf));
    set
}

/// Each data network once, with all its pools.
fn networks(upf: &Upf) -> Vec<Network> {
    let mut networks: Vec<Network> = Vec::new();
    for session in &upf.session {
        let instance = NetworkInstance::new(&session.dnn);
        let (pools, gateways): (Vec<IpNet>, Vec<IpAddr>) = upf
            .session
            .iter()
            .filter(|other| other.dnn == session.dnn)
            .map(|other| (other.subnet, other.gateway))
            .fold((Vec::new(), Vec::new()), |(mut pools, mut gateways), (pool, gateway)| {
                pools.push(pool);
                gateways.extend(gateway);
                (pools, gateways)
            });
        if networks.iter().all(|known| known.instance != instance) {
            info!("N6 of {} over ports of the switch, MTU {}", session.dnn, session.mtu);
            networks.push(Network { gateways, mtu: session.mtu, ..Network::new(instance, pools) });
        }
    }
    networks
}
