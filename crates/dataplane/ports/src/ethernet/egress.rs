//! Next hops for transmission, by the kernel's tables.

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use causeway_packet::{EtherType, MacAddr};

use super::neighbour_queue::{NeighbourQueue, Packet, QueueVerdict};
use crate::netlink::{Link, Neighbour, NextHop, RouteMonitor, Table};
use crate::{Counter, PortError};

/// The maximum number of cached next hops.
const NEXT_HOP_CACHE_SIZE: usize = 1 << 16;

/// Octets of an Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;

/// Finds the next hop of packets.
pub(crate) struct Egress {
    watch: RouteMonitor,
    link: Link,
    mac: MacAddr,
    known: HashMap<IpAddr, MacAddr>,
    /// The previous destination: most packets on N3 have few gNBs as destination.
    last: Option<(IpAddr, [u8; ETHERNET])>,
    waiting: NeighbourQueue,
}

/// The action on a packet.
pub(super) enum NextHopAction {
    /// Send it after this Ethernet header.
    Send([u8; ETHERNET]),
    /// Queue it until this neighbour is resolved.
    Queue(IpAddr),
    /// Drop it for this reason.
    Drop(Counter),
}

impl Egress {
    /// Looks up the interface.
    pub(crate) fn open(interface: &str) -> Result<Self, PortError> {
        let (watch, name) = (RouteMonitor::open()?, interface.to_owned());
        let Some(link) = watch.table().link(interface).cloned() else {
            return Err(PortError::InterfaceMissing { name });
        };
        let Some(mac) = link.mac else { return Err(PortError::NotEthernet { name }) };
        Ok(Self { watch, link, mac, known: HashMap::new(), last: None, waiting: NeighbourQueue::default() })
    }

    pub(crate) const fn link(&self) -> &Link {
        &self.link
    }

    pub(super) const fn mac(&self) -> MacAddr {
        self.mac
    }

    pub(crate) const fn table(&self) -> &Table {
        self.watch.table()
    }

    /// Applies changes of the kernel's tables. `None` when the interface is gone, else whether anything changed.
    pub(super) fn refresh(&mut self) -> Result<Option<bool>, PortError> {
        if !self.watch.refresh()? {
            return Ok(Some(false));
        }
        self.known.clear();
        self.last = None;
        let Some(link) = self.watch.table().links.get(&self.link.index) else { return Ok(None) };
        let (table, index, has_gone_down) = (self.watch.table(), self.link.index, self.link.up && !link.up);
        // A link that goes down ends what was requested. A resolved neighbour that is lost again is requested at once.
        self.waiting.requests.forget(|ip| {
            let found = table.neighbours.lookup(index, ip);
            has_gone_down || matches!(found, Some(Neighbour::Known { confirmed: true, .. }))
        });
        self.mac = link.mac.unwrap_or(self.mac);
        self.link.clone_from(link);
        Ok(Some(true))
    }

    /// The action on a packet of `len` octets to `dst`.
    pub(super) fn next_hop_action(&mut self, dst: IpAddr, len: usize) -> NextHopAction {
        if !self.link.up {
            return NextHopAction::Drop(Counter::TxLinkDown);
        }
        if len > self.link.mtu as usize {
            return NextHopAction::Drop(Counter::TxTooBig);
        }
        if let Some((_, header)) = self.last.filter(|(last, _)| *last == dst) {
            return NextHopAction::Send(header);
        }
        if let Some(mac) = self.known.get(&dst) {
            let header = self.header(*mac, dst);
            self.last = Some((dst, header));
            return NextHopAction::Send(header);
        }
        match self.watch.table().next_hop(self.link.index, dst) {
            NextHop::NoRoute => NextHopAction::Drop(Counter::TxNoRoute),
            NextHop::Unknown(neighbour) | NextHop::Unreachable(neighbour) => NextHopAction::Queue(neighbour),
            NextHop::Known { mac, confirm } => {
                if let Some(neighbour) = confirm
                    && self.waiting.requests.admit(neighbour, Instant::now())
                {
                    self.resolve(neighbour);
                }
                if self.known.len() < NEXT_HOP_CACHE_SIZE {
                    self.known.insert(dst, mac);
                }
                NextHopAction::Send(self.header(mac, dst))
            }
        }
    }

    /// A packet may be queued until the kernel has resolved the neighbour. Asks the kernel, unless it was asked recently.
    pub(super) fn may_queue(&mut self, neighbour: IpAddr, now: Instant) -> bool {
        let found = self.watch.table().neighbours.lookup(self.link.index, neighbour);
        let admission = self.waiting.admit(neighbour, found == Some(Neighbour::Unreachable), now);
        if admission.asks {
            self.resolve(neighbour);
        }
        admission.queues
    }

    /// Queues a packet. `true` when the oldest one was dropped for it.
    pub(super) fn enqueue(&mut self, packet: Packet) -> bool {
        self.waiting.push(packet)
    }

    /// After a change of the tables: packets whose neighbour was resolved, and the number of packets dropped because
    /// theirs was not.
    pub(super) fn take_resolved(&mut self) -> (Vec<Packet>, u64) {
        let (table, link) = (self.watch.table(), self.link.index);
        self.waiting.release(|packet| match table.next_hop(link, packet.dst) {
            NextHop::Known { .. } => QueueVerdict::Send,
            NextHop::Unknown(_) => QueueVerdict::Wait,
            NextHop::Unreachable(_) | NextHop::NoRoute => QueueVerdict::Drop,
        })
    }

    /// Drops the packets that were queued for too long. Returns their number.
    pub(super) fn expire(&mut self) -> u64 {
        if self.waiting.is_empty() { 0 } else { self.waiting.expire(Instant::now()) }
    }

    /// Without the privilege to resolve, the queued packets are dropped and counted in the end.
    fn resolve(&mut self, neighbour: IpAddr) {
        let _ = self.watch.resolve(self.link.index, neighbour);
    }

    fn header(&self, to: MacAddr, dst: IpAddr) -> [u8; ETHERNET] {
        let kind = if dst.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        let mut header = [0; ETHERNET];
        let parts = to.0.into_iter().chain(self.mac.0).chain(kind.value().to_be_bytes());
        header.iter_mut().zip(parts).for_each(|(octet, part)| *octet = part);
        header
    }
}

impl AsFd for Egress {
    /// Readable when [`Egress::refresh`] has something to do.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
