//! Opens what the configuration asks for, in the network namespace of the calling thread.

mod address;
mod ethernet;
mod forwarding;
mod gtpu;
mod network;
mod socket;

use causeway_ports::MAX_PORTS;

use crate::config::Config;
use crate::error::StartError;
use crate::worker::{PortSet, cores};

pub(crate) use address::n4_addresses;
pub(crate) use forwarding::forwarding_advice;
pub(crate) use socket::{management_sockets, n4_sockets};

/// Opens every packet port of the configuration: those of the first worker, then those of each other, which are further
/// queues of the first one's. Ethernet networks are the first one's alone, as are their sessions.
///
/// # Errors
/// The first port that cannot be opened, with its key and the cure.
pub fn ports(config: &Config) -> Result<Vec<PortSet>, StartError> {
    let workers = config.upf.packet_threads(cores()?.len());
    (0..workers).map(|number| ports_of(config, PortSet::of_worker(number, workers))).collect()
}

fn ports_of(config: &Config, mut set: PortSet) -> Result<PortSet, StartError> {
    gtpu::open(&config.upf, &mut set)?;
    network::open(&config.upf, &mut set)?;
    if set.is_first() {
        ethernet::open(&config.upf, &mut set)?;
    }
    let ports = set.slots().len();
    if ports > MAX_PORTS {
        return Err(StartError::TooManyPorts { ports, most: MAX_PORTS });
    }
    Ok(set)
}

/// Opens only the GTP-U ports of a single worker, for callers that bring the ports of the data networks themselves.
///
/// # Errors
/// The first port that cannot be opened, with its key and the cure.
pub fn gtpu_ports(config: &Config) -> Result<PortSet, StartError> {
    let mut set = PortSet::new();
    gtpu::open(&config.upf, &mut set)?;
    Ok(set)
}
