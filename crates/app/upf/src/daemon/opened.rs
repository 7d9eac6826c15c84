//! What is open before the first thread starts.

use std::net::SocketAddr;

use causeway_ports::PortError;
use causeway_ports::netlink::AddressMonitor;
use causeway_types::DualIp;

use super::open_n4::OpenN4;
use crate::config::Config;
use crate::error::StartError;
use crate::host_addresses::HostWatch;
use crate::management::Listener;
use crate::open::{self, ManagementControl};
use crate::worker::PortSet;

/// The sockets of N4 and of management, and the watch of the host.
pub(super) struct Opened {
    pub(super) n4: OpenN4,
    /// The N4 addresses of the UPF, and those that SMFs are told.
    pub(super) pfcp: Vec<SocketAddr>,
    pub(super) advertised: DualIp,
    pub(super) listeners: Vec<Listener>,
    pub(super) access: ManagementControl,
    pub(super) address_monitor: Result<AddressMonitor, PortError>,
    pub(super) machine: HostWatch,
}

impl Opened {
    /// Opens them, for packet threads with these ports.
    ///
    /// # Errors
    /// As for [`crate::Daemon::start`].
    pub(super) fn open(config: &Config, ports: &mut [PortSet]) -> Result<Self, StartError> {
        let n4 = OpenN4::open(&config.upf, ports.len())?;
        let (listeners, access) = open::management_listeners(config)?;
        let advertised = open::advertised_n4_address(&config.upf.pfcp)?;
        let pfcp = n4.addresses()?;
        // Before the addresses of the host are read.
        let address_monitor = AddressMonitor::open();
        let machine = n4.host_watch(config, ports)?;
        Ok(Self { n4, pfcp, advertised, listeners, access, address_monitor, machine })
    }
}
