//! The Ethernet addresses of neighbours, by link and IP address.

use std::collections::HashMap;
use std::net::IpAddr;

use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};

pub use causeway_packet::MacAddr;

/// The state of a neighbour in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// It is reachable at this address. `confirmed` is false when the entry is stale: the kernel should be asked to
    /// confirm it.
    Known {
        /// Its Ethernet address.
        mac: MacAddr,
        /// No confirmation is needed.
        confirmed: bool,
    },
    /// It is being resolved.
    Resolving,
    /// It did not answer.
    Unreachable,
}

/// The neighbours by link and IP address.
#[derive(Default)]
pub struct Neighbours(HashMap<(u32, IpAddr), Neighbour>);

impl Neighbours {
    /// The neighbour with that address on that link.
    pub fn lookup(&self, link: u32, ip: IpAddr) -> Option<Neighbour> {
        self.0.get(&(link, ip)).copied()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Sets the state of a neighbour. `true` when it has changed.
    pub fn insert(&mut self, link: u32, ip: IpAddr, neighbour: Neighbour) -> bool {
        self.0.insert((link, ip), neighbour) != Some(neighbour)
    }

    /// Removes one. `true` when it existed.
    pub fn remove(&mut self, link: u32, ip: IpAddr) -> bool {
        self.0.remove(&(link, ip)).is_some()
    }
}

/// Link and IP address of the neighbour in a message of the kernel. `None` for entries of bridges and tunnels.
pub(super) fn key(message: &NeighbourMessage) -> Option<(u32, IpAddr)> {
    let ip = message.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => Some(IpAddr::V4(*ip)),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => Some(IpAddr::V6(*ip)),
        _ => None,
    })?;
    Some((message.header.ifindex, ip))
}

/// The state of the neighbour in a message of the kernel.
pub(super) fn state(message: &NeighbourMessage) -> Neighbour {
    let mac = message.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(mac) => mac.as_slice().try_into().ok().map(MacAddr),
        _ => None,
    });
    match (message.header.state, mac) {
        (NeighbourState::Failed, _) => Neighbour::Unreachable,
        (NeighbourState::Stale, Some(mac)) => Neighbour::Known { mac, confirmed: false },
        (NeighbourState::Incomplete | NeighbourState::None, _) | (_, None) => Neighbour::Resolving,
        (_, Some(mac)) => Neighbour::Known { mac, confirmed: true },
    }
}
