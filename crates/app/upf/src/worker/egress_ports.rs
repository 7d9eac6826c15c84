//! The port of each exit of the data plane.

use std::net::IpAddr;

use causeway_dataplane::{Egress, Exit, Ingress};
use causeway_ports::MAX_PORTS;
use causeway_types::NetworkInstance;

use super::ports::{PortRole, PortSet};

/// The port of each exit, by its index and by its name in the topology.
#[derive(Debug, Default)]
pub(super) struct EgressPorts {
    /// By the index of the local GTP-U address.
    locals: Vec<Option<usize>>,
    /// By the index of the data network of IP packets.
    networks: Vec<usize>,
    addresses: Vec<(IpAddr, usize)>,
    ip: Vec<(NetworkInstance, usize)>,
    ethernet: Vec<(NetworkInstance, usize)>,
}

impl EgressPorts {
    /// The exits to these ports.
    pub(super) fn of(set: &PortSet) -> Self {
        let mut egress_ports = Self::default();
        for (index, slot) in set.slots().iter().enumerate().take(MAX_PORTS) {
            match slot.role() {
                PortRole::Gtpu(own) => {
                    let addresses = own.iter().flat_map(|addr| addr.iter().collect::<Vec<_>>());
                    egress_ports.addresses.extend(addresses.map(|addr| (addr, index)));
                }
                PortRole::Network(Ingress::Ip { network }) => egress_ports.ip.push((network.clone(), index)),
                PortRole::Network(Ingress::Ethernet { network }) => {
                    egress_ports.ethernet.push((network.clone(), index));
                }
                PortRole::Network(Ingress::Gtpu { .. }) => {}
            }
        }
        let locals = set.topology().local_addresses();
        egress_ports.locals = locals.into_iter().map(|local| egress_ports.of_address(local)).collect();
        egress_ports.networks = egress_ports.ip.iter().map(|(_, index)| *index).collect();
        egress_ports
    }

    /// The port of an exit.
    #[inline]
    pub(super) fn of_exit(&self, exit: Exit) -> Option<usize> {
        match exit {
            Exit::Network(network) => self.networks.get(usize::from(network)).copied(),
            Exit::Tunnel { local, .. } => self.locals.get(usize::from(local)).copied().flatten(),
        }
    }

    /// The port of an address or network.
    pub(super) fn of_egress(&self, egress: &Egress) -> Option<usize> {
        match egress {
            Egress::Gtpu { local, .. } => self.of_address(*local),
            Egress::Ip { network } => find(&self.ip, network),
            Egress::Ethernet { network } => find(&self.ethernet, network),
        }
    }

    fn of_address(&self, address: IpAddr) -> Option<usize> {
        find(&self.addresses, &address)
    }
}

fn find<T: PartialEq>(known: &[(T, usize)], asked: &T) -> Option<usize> {
    known.iter().find(|(name, _)| name == asked).map(|(_, index)| *index)
}
