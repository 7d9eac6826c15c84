//! N3: GTP-U over Ethernet, and other protocols over UDP, such as N4.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use causeway_packet::{BATCH, Batch, Frame, Meta};

use super::interface::{EthernetInterface, OutgoingPacket};
use super::{Device, receive_filter};
use crate::netlink::Table;
use crate::outer::{self, GTPU_PORT};
use crate::udp::{UdpOptions, UdpPort, bind_refusing};
use crate::{Counter, Counters, Port, PortError};

/// A GTP-U port on an Ethernet interface, with port 2152 of one or more local addresses; or one of another protocol over UDP, with
/// its port.
///
/// Packets above the MTU are not fragmented: give the N3 network an MTU that holds a user's packet with its tunnel
/// headers.
pub struct Gtpu<D> {
    line: EthernetInterface<D>,
    addresses: Vec<IpAddr>,
    udp_port: u16,
    kernel: Kernel,
    /// Batches until the kernel's sockets are polled although the device has frames.
    batches_until_poll: u8,
    ipv4_id: u16,
}

/// The kernel's own sockets of the local port. They keep the kernel from sending "port unreachable", and other
/// processes from binding the port.
#[derive(Default)]
pub(crate) struct Kernel {
    /// They discard everything: the device receives it too.
    _refusing: Vec<OwnedFd>,
    /// They receive what the device does not.
    receiving: Vec<UdpPort>,
}

/// Batches of the device between two polls of the kernel's sockets, under load.
const BATCHES_PER_POLL: u8 = 32;

impl Kernel {
    /// Binds port 2152 of these addresses and discards what it receives.
    pub(crate) fn refusing(addresses: &[IpAddr]) -> Result<Self, PortError> {
        let reserved = addresses.iter().map(|ip| bind_refusing(SocketAddr::new(*ip, GTPU_PORT)));
        Ok(Self { _refusing: reserved.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Receives at port 2152 of these addresses.
    pub(crate) fn receiving(name: &str, addresses: &[IpAddr]) -> Result<Self, PortError> {
        let options = UdpOptions { receive_buffer: 1 << 20, offload: false, ..UdpOptions::default() };
        let bound = addresses.iter().map(|ip| UdpPort::bind(name, SocketAddr::new(*ip, GTPU_PORT), &options));
        Ok(Self { receiving: bound.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// The sockets to receive from.
    pub(crate) fn ports(&self) -> &[UdpPort] {
        &self.receiving
    }

    /// Fills the batch from the first socket with a datagram.
    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        for port in &mut self.receiving {
            let received = port.receive(batch)?;
            if received > 0 {
                return Ok(received);
            }
        }
        Ok(0)
    }
}

impl<D: Device> Gtpu<D> {
    pub(crate) const fn device(&self) -> &D {
        &self.line.device
    }

    pub(crate) fn new(line: EthernetInterface<D>, addresses: &[IpAddr], mut kernel: Kernel) -> Self {
        kernel.receiving.iter_mut().for_each(|port| port.use_counters(&line.counters));
        Self { kernel, ..Self::of_port(line, addresses, GTPU_PORT) }
    }

    /// For a protocol with another UDP port. The caller has the sockets of the kernel.
    pub(crate) fn of_port(line: EthernetInterface<D>, addresses: &[IpAddr], udp_port: u16) -> Self {
        let (addresses, kernel) = (addresses.to_vec(), Kernel::default());
        Self { line, addresses, udp_port, kernel, batches_until_poll: BATCHES_PER_POLL, ipv4_id: 0 }
    }
}

/// The outer header of a frame, and its destination.
fn outward(
    frame: &Frame<'_>,
    table: &Table,
    (addresses, udp_port): (&[IpAddr], u16),
    identification: u16,
) -> Result<OutgoingPacket, Counter> {
    let Meta::Gtpu { local, peer, tos, hops } = frame.meta else { return Err(Counter::TxWrongKind) };
    let local = if local.is_unspecified() { source(table, addresses, peer.ip())? } else { local };
    if !addresses.contains(&local) {
        return Err(Counter::TxBadSource);
    }
    let local = SocketAddr::new(local, udp_port);
    if local.is_ipv4() != peer.is_ipv4() {
        return Err(Counter::TxBadSource);
    }
    let outer =
        outer::wrap(local, peer, (tos, hops), identification, frame.data).map_err(|_| Counter::TxTooBig)?;
    Ok(OutgoingPacket { dst: peer.ip(), outer })
}

/// The source that the route prefers, if it is local, or else the first of the family.
fn source(table: &Table, addresses: &[IpAddr], peer: IpAddr) -> Result<IpAddr, Counter> {
    let preferred = table.routes.lookup(peer).and_then(|route| route.source);
    let first = addresses.iter().copied().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    preferred.filter(|ip| addresses.contains(ip)).or(first).ok_or(Counter::TxBadSource)
}

impl<D: Device> Port for Gtpu<D> {
    fn name(&self) -> &str {
        &self.line.name
    }

    fn mtu(&self) -> u32 {
        self.line.mtu()
    }

    fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.line.counters = Arc::clone(counters);
        self.kernel.receiving.iter_mut().for_each(|port| port.use_counters(counters));
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.line.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.line.refresh()?;
        self.batches_until_poll = self.batches_until_poll.checked_sub(1).unwrap_or(BATCHES_PER_POLL);
        if self.batches_until_poll == 0 && self.kernel.receive(batch)? > 0 {
            return Ok(batch.len());
        }
        let Self { line, addresses, udp_port, .. } = self;
        match line
            .receive(batch, |received, mac| receive_filter::datagram(received, mac, (addresses, *udp_port)))
        {
            0 => self.kernel.receive(batch),
            received => Ok(received),
        }
    }

    /// A frame whose next hop is not resolved yet counts as accepted: it is queued until the kernel resolves it.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.line.refresh()?;
        let Self { line, addresses, udp_port, ipv4_id: identification, .. } = self;
        let chunks = frames.chunks(BATCH).map(|chunk| {
            line.send(chunk, |frame, table| {
                *identification = identification.wrapping_add(1);
                outward(frame, table, (addresses, *udp_port), *identification)
            })
        });
        chunks.sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.line.poll_fd())
    }

    fn count_losses(&mut self) {
        self.line.count_losses();
    }

    fn fill_percent(&self) -> Option<u8> {
        self.line.device.fill_percent()
    }

    fn has_pending(&self) -> bool {
        self.line.device.has_pending()
    }
}
