//! Opens the configured sockets and devices in the network namespace of the calling thread.

mod address;
mod address_translation;
mod ethernet;
mod forwarding;
mod gtpu;
mod late;
mod management;
mod n4;
mod neighbours;
mod network;
mod reconnect;
mod socket;
mod switch;
mod vxlan;

use causeway_ports::{MAX_PORTS, xdp};

use crate::config::{Config, GtpuMode, N6Mode, Session, Upf};
use crate::error::StartError;
use crate::host_networks::HostNetworks;
use crate::worker::{PortSet, cores};

pub(crate) use address::{addresses, advertised_n4_address, connected, n4_addresses, smf_networks};
pub use address_translation::NatError;
pub(crate) use address_translation::{AddressTranslation, address_translation};
pub(crate) use forwarding::{KernelForwarding, forwarding_advice, kernel_forwarding};
pub(crate) use late::first_missing;
pub use management::AccessError;
pub(crate) use management::{ManagementControl, check_unix, management_listeners};
pub(crate) use n4::n4_ports;
pub(crate) use neighbours::neighbours;
pub(crate) use network::tun_options;
pub(crate) use socket::n4_sockets;
use vxlan::VxlanEndpoints;

/// Opens all packet ports of the configuration, for each worker. The ports of the other workers are further queues of
/// those of the first. Ethernet networks and their sessions belong to the first worker.
///
/// # Errors
/// The first port that cannot be opened, with its key and the remedy.
pub fn ports(config: &Config) -> Result<Vec<PortSet>, StartError> {
    if config.upf.remote_switch().is_some() {
        return Ok(vec![switch::ports(&config.upf)]);
    }
    check_pools(&config.upf.session)?;
    let workers = packet_threads(&config.upf, cores()?.len());
    let mut sets: Vec<PortSet> = (0..workers).map(|number| PortSet::of_worker(number, workers)).collect();
    let mut segments = VxlanEndpoints::default();
    gtpu::open(&config.upf, &mut sets, &mut segments)?;
    network::open(&config.upf, &mut sets, &mut segments)?;
    if let Some(first) = sets.first_mut() {
        ethernet::open(&config.upf, first)?;
    }
    let ports = sets.iter().map(|set| set.slots().len()).max().unwrap_or(0);
    if ports > MAX_PORTS {
        return Err(StartError::TooManyPorts { ports, most: MAX_PORTS });
    }
    Ok(sets)
}

/// No pool takes addresses or routes of the host.
fn check_pools(sessions: &[Session]) -> Result<(), StartError> {
    let host = HostNetworks::read(sessions).map_err(StartError::Host)?;
    for (n, session) in sessions.iter().enumerate() {
        if let Some(source) = host.conflict(session, |name| name == session.dev) {
            return Err(StartError::Pool { key: format!("upf.session[{n}].subnet"), source });
        }
    }
    Ok(())
}

/// The number of packet threads on a host with so many cores.
pub(crate) fn packet_threads(upf: &Upf, cores: usize) -> usize {
    upf.packet_threads(cores, receive_queues(upf))
}

/// The smallest number of receive queues of the AF_XDP interfaces.
fn receive_queues(upf: &Upf) -> usize {
    let n3 = upf.gtpu.server.iter().filter(|_| upf.gtpu.mode == GtpuMode::AfXdp);
    let n3 = n3.filter_map(|server| server.dev.as_deref());
    let n6 = upf.session.iter().filter(|session| session.mode == N6Mode::AfXdp);
    let devices = n3.chain(n6.map(|session| session.dev.as_str()));
    devices.map(xdp::queues).min().unwrap_or(usize::MAX)
}

/// Opens only the GTP-U ports of a single worker, for callers that provide the ports of the data networks.
///
/// # Errors
/// The first port that cannot be opened, with its key and the remedy.
pub fn gtpu_ports(config: &Config) -> Result<PortSet, StartError> {
    let mut set = PortSet::new();
    gtpu::open(&config.upf, std::slice::from_mut(&mut set), &mut VxlanEndpoints::default())?;
    Ok(set)
}
