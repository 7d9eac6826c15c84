//! A copy of the kernel's links, addresses, routes and neighbours.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

use causeway_types::IpNet;
use netlink_packet_route::RouteNetlinkMessage as Message;

use super::configure::address;
use super::{Link, MacAddr, Neighbour, Neighbours, Route, RouteHop, Routes, neighbours};

/// The effect of a message of the kernel on the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TableChange {
    /// Nothing of interest.
    None,
    /// An entry has changed.
    Changed,
    /// Routes may have been removed without a message: they must be listed again.
    RoutesStale,
}

/// The next hop of a packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextHop {
    /// To the neighbour with this Ethernet address.
    Known {
        /// The Ethernet address.
        mac: MacAddr,
        /// The IP address that the kernel should be asked to confirm, if it should.
        confirm: Option<IpAddr>,
    },
    /// To the neighbour with this IP address, whose Ethernet address is unknown.
    Unknown(IpAddr),
    /// To an unreachable neighbour.
    Unreachable(IpAddr),
    /// None: no route, or one by another link.
    NoRoute,
}

/// The copy of the kernel's tables.
#[derive(Default)]
pub struct Table {
    /// Links by their index.
    pub links: HashMap<u32, Link>,
    /// The local addresses with their prefixes, each with the index of its link.
    pub addresses: HashSet<(u32, IpNet)>,
    /// Routes of the main table.
    pub routes: Routes,
    /// Neighbours of all links.
    pub neighbours: Neighbours,
}

impl Table {
    /// Applies one message. `replace`: a route in it replaces the one to the same prefix.
    pub fn apply(&mut self, message: &Message, replace: bool) -> TableChange {
        match message {
            Message::NewLink(message) => self.set_link(Link::from_message(message)),
            Message::DelLink(message) => self.drop_link(message.header.index),
            Message::NewAddress(message) => {
                self.change(|table| address(message).is_some_and(|address| table.addresses.insert(address)))
            }
            Message::DelAddress(message) => {
                let gone = address(message).is_some_and(|address| self.addresses.remove(&address));
                if gone { TableChange::RoutesStale } else { TableChange::None }
            }
            Message::NewRoute(message) => self.change(|table| {
                let route = Route::from_message(message);
                route.map(|route| table.routes.insert(route, replace)).is_some()
            }),
            Message::DelRoute(message) => self.change(|table| {
                Route::from_message(message).map(|route| table.routes.remove(&route)).is_some()
            }),
            Message::NewNeighbour(message) => self.change(|table| {
                neighbours::key(message)
                    .is_some_and(|(link, ip)| table.neighbours.insert(link, ip, neighbours::state(message)))
            }),
            Message::DelNeighbour(message) => self.change(|table| {
                neighbours::key(message).is_some_and(|(link, ip)| table.neighbours.remove(link, ip))
            }),
            _ => TableChange::None,
        }
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.values().find(|link| link.name == name)
    }

    /// The address is local, on any link.
    pub fn is_local(&self, ip: IpAddr) -> bool {
        self.addresses.iter().any(|(_, net)| net.addr() == ip)
    }

    /// The next hop of a packet to `ip` by `link`. Of several hops one is chosen by the address.
    pub fn next_hop(&self, link: u32, ip: IpAddr) -> NextHop {
        let Some(hop) = self.routes.lookup(ip).and_then(|route| choose(&route.hops, link, ip)) else {
            return NextHop::NoRoute;
        };
        let neighbour = hop.gateway.unwrap_or(ip);
        match self.neighbours.lookup(link, neighbour) {
            Some(Neighbour::Known { mac, confirmed }) => {
                NextHop::Known { mac, confirm: (!confirmed).then_some(neighbour) }
            }
            Some(Neighbour::Unreachable) => NextHop::Unreachable(neighbour),
            Some(Neighbour::Resolving) | None => NextHop::Unknown(neighbour),
        }
    }

    fn change(&mut self, work: impl FnOnce(&mut Self) -> bool) -> TableChange {
        if work(self) { TableChange::Changed } else { TableChange::None }
    }

    /// A link that goes down silently removes IPv4 routes and hops, and restores hops when it comes up.
    fn set_link(&mut self, link: Link) -> TableChange {
        let up = link.up;
        match self.links.insert(link.index, link) {
            Some(old) if old.up != up => TableChange::RoutesStale,
            _ => TableChange::Changed,
        }
    }

    fn drop_link(&mut self, index: u32) -> TableChange {
        self.addresses.retain(|(link, _)| *link != index);
        match self.links.remove(&index) {
            Some(_) => TableChange::RoutesStale,
            None => TableChange::None,
        }
    }
}

/// One of the hops over the link: always the same for the same address.
fn choose(hops: &[RouteHop], link: u32, ip: IpAddr) -> Option<&RouteHop> {
    let usable = || hops.iter().filter(|hop| hop.link == link);
    let count = usable().count() as u64;
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(ip);
    usable().nth(hash.checked_rem(count)? as usize)
}
