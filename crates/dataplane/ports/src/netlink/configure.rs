//! Queries and configuration of links, addresses and routes.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use causeway_types::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet, AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InetDevConf, LinkAttribute, LinkFlags, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};

use super::{Link, Netlink, Route};
use crate::PortError;

impl Netlink {
    /// The link of that name, if it exists.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn link(&mut self, name: &str) -> Result<Option<Link>, PortError> {
        Ok(self.links()?.into_iter().find(|link| link.name == name))
    }

    /// All links.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn links(&mut self) -> Result<Vec<Link>, PortError> {
        let mut links = Vec::new();
        self.dump("listing interfaces", Message::GetLink(LinkMessage::default()), |message| {
            if let Message::NewLink(message) = message {
                links.push(Link::from_message(&message));
            }
        })?;
        Ok(links)
    }

    /// The addresses of all links, each with the index of its link.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn addresses(&mut self) -> Result<Vec<(u32, IpNet)>, PortError> {
        let mut addresses = Vec::new();
        self.dump("listing addresses", Message::GetAddress(AddressMessage::default()), |message| {
            if let Message::NewAddress(message) = message {
                addresses.extend(address(&message));
            }
        })?;
        Ok(addresses)
    }

    /// The link that has the address.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn link_of(&mut self, ip: IpAddr) -> Result<Option<Link>, PortError> {
        let Some((index, _)) = self.addresses()?.into_iter().find(|(_, net)| net.addr() == ip) else {
            return Ok(None);
        };
        Ok(self.links()?.into_iter().find(|link| link.index == index))
    }

    /// Sets the link up.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn set_up(&mut self, link: &Link) -> Result<(), PortError> {
        let mut message = LinkMessage::default();
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.set_link(link, "setting up", message)
    }

    /// Sets the MTU of the link, in octets.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn set_mtu(&mut self, link: &Link, mtu: u32) -> Result<(), PortError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::Mtu(mtu));
        self.set_link(link, "setting the MTU of", message)
    }

    /// Sets the transmit queue length of the link, in packets.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn set_queue_length(&mut self, link: &Link, packets: u32) -> Result<(), PortError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::TxQueueLen(packets));
        self.set_link(link, "setting the queue length of", message)
    }

    /// The link with that index as it is now, if it still exists.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn link_at(&mut self, index: u32) -> Result<Option<Link>, PortError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let mut found = None;
        self.ask("looking up an interface", Message::GetLink(message), |message| {
            if let Message::NewLink(message) = message {
                found = Some(Link::from_message(&message));
            }
        })?;
        Ok(found)
    }

    /// Makes the link a port of the bridge.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`], also for an interface that is no bridge.
    pub fn set_bridge(&mut self, link: &Link, bridge: &Link) -> Result<(), PortError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::Controller(bridge.index));
        let operation = format!("adding to bridge {} the device", bridge.name);
        self.set_link(link, &operation, message)
    }

    /// Keeps the kernel from assigning an IPv6 link-local address to the link.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn disable_link_local(&mut self, link: &Link) -> Result<(), PortError> {
        let none = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![none])]));
        match self.set_link(link, "setting the IPv6 mode of", message) {
            // A kernel without IPv6 assigns none.
            Err(PortError::System { source, .. }) if source.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                Ok(())
            }
            other => other,
        }
    }

    /// Lets the kernel accept packets with a local IPv4 source address on the link (`accept_local`). By netlink, as
    /// /proc/sys may be read-only.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn accept_own_addresses(&mut self, link: &Link) -> Result<(), PortError> {
        let mut accept = InetDevConf::default();
        accept.accept_local = 1;
        let accept = AfSpecUnspec::Inet(vec![AfSpecInet::DevConfRequest(accept)]);
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![accept]));
        self.set_link(link, "setting accept_local of", message)
    }

    /// Adds an address, valid immediately, to the link, which is up. An existing one stays.
    ///
    /// # Errors
    /// [`PortError::Ipv6Off`], [`PortError::Permission`] or [`PortError::System`].
    pub fn add_address(&mut self, link: &Link, net: IpNet) -> Result<(), PortError> {
        let mut message = AddressMessage::default();
        message.header.family = family(net.addr());
        message.header.prefix_len = net.prefix_len();
        message.header.index = link.index;
        // No other host on the link can have the same address.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Local(net.addr()));
        message.attributes.push(AddressAttribute::Address(net.addr()));
        let operation = format!("adding {net} to {}", link.name);
        let added = self.change(&operation, Message::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE);
        added.map_err(|error| ipv6_off(net, link).unwrap_or(error))?;
        self.await_address(net.addr())
    }

    /// Removes an address from the link. One that is not there is no error.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn remove_address(&mut self, link: &Link, net: IpNet) -> Result<(), PortError> {
        let mut message = AddressMessage::default();
        message.header.family = family(net.addr());
        message.header.prefix_len = net.prefix_len();
        message.header.index = link.index;
        message.attributes.push(AddressAttribute::Local(net.addr()));
        message.attributes.push(AddressAttribute::Address(net.addr()));
        let operation = format!("removing {net} from {}", link.name);
        absent_is_removed(self.change(&operation, Message::DelAddress(message), 0))
    }

    /// Waits until the kernel accepts packets to the address: for IPv6 that takes some time.
    fn await_address(&mut self, ip: IpAddr) -> Result<(), PortError> {
        let end = Instant::now() + Duration::from_secs(1);
        while ip.is_ipv6() && !self.is_served(ip)? && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn is_served(&mut self, ip: IpAddr) -> Result<bool, PortError> {
        let mut request = RouteMessage::default();
        request.header.address_family = family(ip);
        let mut served = false;
        self.dump("listing routes", Message::GetRoute(request), |message| {
            if let Message::NewRoute(route) = message {
                served |= route.header.kind == RouteType::Local
                    && route.attributes.contains(&RouteAttribute::Destination(ip.into()));
            }
        })?;
        Ok(served)
    }

    /// The routes of the main table to exactly these prefixes, also those of links that are down.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn routes_to(&mut self, nets: &[IpNet]) -> Result<Vec<Route>, PortError> {
        let mut found = Vec::new();
        // Otherwise the kernel lists the routes of all tables.
        self.set_strict(true);
        for is_v4 in [true, false] {
            let Some(net) = nets.iter().find(|net| net.addr().is_ipv4() == is_v4) else { continue };
            let mut request = RouteMessage::default();
            request.header.address_family = family(net.addr());
            request.header.table = RouteHeader::RT_TABLE_MAIN;
            let listed = self.dump("listing routes", Message::GetRoute(request), |message| {
                let Message::NewRoute(mut message) = message else { return };
                message.header.flags.remove(RouteFlags::Dead);
                let route = Route::from_message(&message);
                found.extend(route.filter(|route| nets.iter().any(|net| net.trunc() == route.net)));
            });
            if let Err(error) = listed {
                self.set_strict(false);
                return Err(error);
            }
        }
        self.set_strict(false);
        Ok(found)
    }

    /// Routes a prefix to the link, through a gateway if given. An existing route there stays.
    ///
    /// # Errors
    /// [`PortError::RouteTaken`]: there is a route elsewhere. [`PortError::Ipv6Off`], [`PortError::Permission`] or [`PortError::System`].
    pub fn add_route(&mut self, net: IpNet, link: &Link, gateway: Option<IpAddr>) -> Result<(), PortError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(net.addr());
        message.header.destination_prefix_length = net.prefix_len();
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        let direct = gateway.is_none() && net.addr().is_ipv4();
        message.header.scope = if direct { RouteScope::Link } else { RouteScope::Universe };
        message.attributes.push(RouteAttribute::Destination(net.network().into()));
        message.attributes.push(RouteAttribute::Oif(link.index));
        message.attributes.extend(gateway.map(|gateway| RouteAttribute::Gateway(gateway.into())));
        let operation = format!("routing {net} to {}", link.name);
        match self.change(&operation, Message::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL) {
            Err(PortError::System { source, .. }) if source.raw_os_error() == Some(libc::EEXIST) => {
                let routes = self.routes_to(&[net])?;
                let leads_there = |route: &Route| route.hops.iter().any(|hop| hop.link == link.index);
                if routes.iter().any(leads_there) {
                    return Ok(());
                }
                let links = self.links()?;
                let route = routes.first().map_or_else(String::new, |route| route.describe(&links));
                Err(PortError::RouteTaken { net, route })
            }
            other => other.map_err(|error| ipv6_off(net, link).unwrap_or(error)),
        }
    }

    /// Removes a route to the link that [`Netlink::add_route`] made without a gateway. One that is not there is no error.
    ///
    /// # Errors
    /// [`PortError::Permission`] or [`PortError::System`].
    pub fn remove_route(&mut self, net: IpNet, link: &Link) -> Result<(), PortError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(net.addr());
        message.header.destination_prefix_length = net.prefix_len();
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        message.header.scope = if net.addr().is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
        message.attributes.push(RouteAttribute::Destination(net.network().into()));
        message.attributes.push(RouteAttribute::Oif(link.index));
        let operation = format!("removing the route of {net} to {}", link.name);
        absent_is_removed(self.change(&operation, Message::DelRoute(message), 0))
    }

    fn set_link(&mut self, link: &Link, operation: &str, mut message: LinkMessage) -> Result<(), PortError> {
        message.header.index = link.index;
        self.change(&format!("{operation} {}", link.name), Message::SetLink(message), 0)
    }
}

/// The error of a link without IPv6, which the kernel reports as a missing permission.
fn ipv6_off(net: IpNet, link: &Link) -> Option<PortError> {
    let setting = std::fs::read_to_string(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", link.name));
    let is_off = net.addr().is_ipv6() && setting.is_ok_and(|value| value.trim() == "1");
    is_off.then(|| PortError::Ipv6Off { net, name: link.name.clone() })
}

/// What is not there needs no removal.
fn absent_is_removed(removed: Result<(), PortError>) -> Result<(), PortError> {
    match removed {
        Err(PortError::System { source, .. })
            if matches!(
                source.raw_os_error(),
                Some(libc::EADDRNOTAVAIL | libc::ESRCH | libc::ENOENT | libc::ENODEV)
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

pub(super) fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The local address and its prefix. On a point-to-point link the peer is what the kernel calls "address".
pub(super) fn address(message: &AddressMessage) -> Option<(u32, IpNet)> {
    let find = |local: bool| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(ip) if local => Some(*ip),
            AddressAttribute::Address(ip) if !local => Some(*ip),
            _ => None,
        })
    };
    let ip = find(true).or_else(|| find(false))?;
    Some((message.header.index, IpNet::new(ip, message.header.prefix_len).ok()?))
}
