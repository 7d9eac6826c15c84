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
use crate::worker::PortSet;

pub(crate) use address::n4_addresses;
pub(crate) use forwarding::forwarding_advice;
pub(crate) use socket::{management_sockets, n4_sockets};

/// Opens every packet port of the configuration.
///
/// # Errors
/// The first port that cannot be opened, with its key and the cure.
pub fn ports(config: &Config) -> Result<PortSet, StartError> {
    let mut set = gtpu_ports(config)?;
    network::open(&config.upf, &mut set)?;
    ethernet::open(&config.upf, &mut set)?;
    let ports = set.slots().len();
    if ports > MAX_PORTS {
        return Err(StartError::TooManyPorts { ports, most: MAX_PORTS });
    }
    Ok(set)
}

/// Opens only the GTP-U ports, for callers that bring the ports of the data networks themselves.
///
/// # Errors
/// The first port that cannot be opened, with its key and the cure.
pub fn gtpu_ports(config: &Config) -> Result<PortSet, StartError> {
    let mut set = PortSet::new();
    gtpu::open(&config.upf, &mut set)?;
    Ok(set)
}
