//! Following the kernel's tables.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE, NetlinkPayload};
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage,
};
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, recv, sockopt};

use super::configure::family;
use super::request::{DATAGRAM, Messages, connect};
use super::{Neighbour, Netlink, Table, TableChange};
use crate::PortError;

/// The groups of links, neighbours, addresses and routes: `RTMGRP_*` of `linux/rtnetlink.h`.
const GROUPS: u32 = (libc::RTMGRP_LINK
    | libc::RTMGRP_NEIGH
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV6_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_ROUTE) as u32;

/// Octets of events that the socket buffers.
const BACKLOG: usize = 1 << 20;

/// A [`Table`] that follows the kernel's.
pub struct RouteMonitor {
    netlink: Netlink,
    events: OwnedFd,
    datagram: Box<[u8]>,
    table: Table,
}

impl RouteMonitor {
    /// Subscribes to changes, then lists the existing entries.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open() -> Result<Self, PortError> {
        let events = connect(GROUPS, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        // A smaller buffer only means that tables are listed again more often.
        let _ = sockopt::set_socket_recv_buffer_size(&events, BACKLOG);
        let (netlink, datagram) = (Netlink::open()?, vec![0; DATAGRAM].into());
        let mut watch = Self { netlink, events, datagram, table: Table::default() };
        watch.list_all()?;
        Ok(watch)
    }

    /// The table as of the last [`RouteMonitor::refresh`].
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Applies the changes since the last call. `true` when the table has changed. Blocks only when routes must be
    /// listed again, until the kernel has listed them.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn refresh(&mut self) -> Result<bool, PortError> {
        let mut effect = TableChange::None;
        loop {
            match recv(&self.events, &mut *self.datagram, RecvFlags::empty()) {
                Ok((len, _)) => effect = effect.max(apply(&mut self.table, self.datagram.get(..len))),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // More events than the buffer holds.
                Err(Errno::NOBUFS) => {
                    self.list_all()?;
                    effect = TableChange::Changed;
                }
                Err(errno) => return Err(PortError::system("following netlink", errno, "CAP_NET_ADMIN")),
            }
        }
        if effect == TableChange::RoutesStale {
            self.list_routes()?;
        }
        Ok(effect != TableChange::None)
    }

    /// Requests the kernel to resolve or confirm a neighbour. The result arrives with a later
    /// [`RouteMonitor::refresh`].
    ///
    /// # Errors
    /// [`PortError::Permission`] without `CAP_NET_ADMIN`, or [`PortError::System`].
    pub fn resolve(&mut self, link: u32, ip: IpAddr) -> Result<(), PortError> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(ip);
        message.header.ifindex = link;
        message.header.flags = NeighbourFlags::Use;
        message.attributes.push(NeighbourAttribute::Destination(match ip {
            IpAddr::V4(ip) => NeighbourAddress::Inet(ip),
            IpAddr::V6(ip) => NeighbourAddress::Inet6(ip),
        }));
        // An old failure must not be taken for the result.
        if self.table.neighbours.lookup(link, ip) == Some(Neighbour::Unreachable) {
            self.table.neighbours.remove(link, ip);
        }
        self.netlink.change(
            "asking for a neighbour",
            Message::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    fn list_all(&mut self) -> Result<(), PortError> {
        self.table = Table::default();
        self.list("listing interfaces", Message::GetLink(LinkMessage::default()))?;
        self.list("listing addresses", Message::GetAddress(AddressMessage::default()))?;
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = NeighbourMessage::default();
            message.header.family = family;
            self.list("listing neighbours", Message::GetNeighbour(message))?;
        }
        self.list_routes()
    }

    fn list_routes(&mut self) -> Result<(), PortError> {
        self.table.routes.clear();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            self.list("listing routes", Message::GetRoute(message))?;
        }
        Ok(())
    }

    fn list(&mut self, operation: &str, request: Message) -> Result<(), PortError> {
        let table = &mut self.table;
        self.netlink.dump(operation, request, |message| {
            table.apply(&message, false);
        })
    }
}

impl AsFd for RouteMonitor {
    /// Readable when [`RouteMonitor::refresh`] has something to do.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// Applies a datagram of events.
fn apply(table: &mut Table, datagram: Option<&[u8]>) -> TableChange {
    let messages = Messages(datagram.unwrap_or_default()).flatten();
    let effects = messages.map(|message| match &message.payload {
        NetlinkPayload::InnerMessage(inner) => table.apply(inner, message.header.flags & NLM_F_REPLACE != 0),
        _ => TableChange::None,
    });
    effects.max().unwrap_or(TableChange::None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Input:  any octets in place of a datagram of the kernel.
        // Output: no panic.
        #[test]
        fn any_datagram_is_handled(datagram in prop::collection::vec(any::<u8>(), 0..200), kind in 16_u16..40) {
            let mut table = Table::default();
            apply(&mut table, Some(&datagram));
            let len = (datagram.len() + 16) as u32;
            let mut message = [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
            message.extend(&datagram);
            apply(&mut table, Some(&message));
        }
    }
}
