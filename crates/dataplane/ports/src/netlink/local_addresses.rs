//! The addresses that are local to the kernel, and their changes.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use causeway_types::IpNet;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, recv};

use super::Netlink;
use super::request::{DATAGRAM, connect};
use crate::PortError;

/// The groups of links and addresses: `RTMGRP_*` of `linux/rtnetlink.h`.
const GROUPS: u32 = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;

/// The table of local routes: `RT_TABLE_LOCAL` of `linux/rtnetlink.h`.
const LOCAL: u8 = 255;

impl Netlink {
    /// The prefixes whose packets the kernel delivers to this host on any interface: the addresses of all interfaces,
    /// and the rest of its table of local routes: broadcast addresses of networks, anycast addresses, and prefixes
    /// that an operator has made local.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn local_prefixes(&mut self) -> Result<Vec<IpNet>, PortError> {
        let mut prefixes: Vec<IpNet> =
            self.addresses()?.into_iter().map(|(_, net)| IpNet::from(net.addr())).collect();
        // Otherwise the kernel lists the routes of all tables, and a router has many.
        self.set_strict(true);
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            request.header.table = LOCAL;
            let listed = self.dump("listing local routes", Message::GetRoute(request), |message| {
                if let Message::NewRoute(message) = message {
                    prefixes.extend(local(&message));
                }
            });
            if let Err(error) = listed {
                self.set_strict(false);
                return Err(error);
            }
        }
        self.set_strict(false);
        prefixes.sort_unstable();
        prefixes.dedup();
        Ok(prefixes)
    }
}

/// The prefix of a local route.
fn local(message: &RouteMessage) -> Option<IpNet> {
    let ends_here =
        matches!(message.header.kind, RouteType::Local | RouteType::Broadcast | RouteType::Anycast);
    // A kernel that does not filter by table lists all of them, and other tables may have such routes as well.
    let to = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(ip)) => Some(IpAddr::from(*ip)),
        RouteAttribute::Destination(RouteAddress::Inet6(ip)) => Some(IpAddr::from(*ip)),
        _ => None,
    });
    IpNet::new(to.filter(|_| ends_here)?, message.header.destination_prefix_length).ok()
}

/// Receives events of interfaces and their addresses.
#[derive(Debug)]
pub struct AddressMonitor(OwnedFd);

impl AddressMonitor {
    /// Subscribes to events from now on.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open() -> Result<Self, PortError> {
        connect(GROUPS, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).map(Self)
    }

    /// Takes the received events. `true`: an address may have changed.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn has_changed(&mut self) -> Result<bool, PortError> {
        let (mut datagram, mut has_changed) = (vec![0; DATAGRAM], false);
        loop {
            match recv(&self.0, &mut *datagram, RecvFlags::empty()) {
                Ok(_) | Err(Errno::NOBUFS) => has_changed = true,
                Err(Errno::AGAIN) => return Ok(has_changed),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(PortError::system("following addresses", errno, "CAP_NET_ADMIN")),
            }
        }
    }
}

impl AsFd for AddressMonitor {
    /// Readable when [`AddressMonitor::has_changed`] has something to take.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for AddressMonitor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the namespace of the test.
    // Output: the loopback network is among the local prefixes, if its interface is up, and none is listed twice.
    #[test]
    fn loopback_is_a_local_prefix() {
        let mut netlink = Netlink::open().unwrap();
        let is_up = netlink.link("lo").unwrap().is_some_and(|link| link.up);
        let prefixes = netlink.local_prefixes().unwrap();
        assert!(!is_up || prefixes.contains(&"127.0.0.0/8".parse().unwrap()), "{prefixes:?}");
        assert!(prefixes.is_sorted_by(|a, b| a < b));
    }
}
