//! N3: GTP-U over Ethernet.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::line::{Line, Outward};
use super::{Device, accept};
use crate::netlink::Table;
use crate::outer::{self, GTPU_PORT};
use crate::udp::reserve;
use crate::{BATCH, Batch, Counter, Counters, Frame, Meta, Port, PortError};

/// A GTP-U port on an Ethernet interface, with port 2152 of one or more addresses of this machine.
///
/// Outer fragments are dropped and counted, and packets above the MTU are not fragmented: give the N3 network an MTU
/// that holds a user's packet with its tunnel headers.
pub struct Gtpu<D> {
    line: Line<D>,
    addresses: Vec<IpAddr>,
    /// Sockets that keep the kernel from refusing our datagrams, and other processes from the port.
    _reserved: Vec<OwnedFd>,
    identification: u16,
}

/// Sockets that hold port 2152 of these addresses.
pub(crate) fn reserve_all(addresses: &[IpAddr]) -> Result<Vec<OwnedFd>, PortError> {
    addresses.iter().map(|ip| reserve(SocketAddr::new(*ip, GTPU_PORT))).collect()
}

impl<D: Device> Gtpu<D> {
    pub(crate) const fn device(&self) -> &D {
        &self.line.device
    }

    pub(crate) fn new(line: Line<D>, addresses: &[IpAddr], reserved: Vec<OwnedFd>) -> Self {
        Self { line, addresses: addresses.to_vec(), _reserved: reserved, identification: 0 }
    }
}

/// The outer header of a frame, and whom it is sent to.
fn outward(
    frame: &Frame<'_>,
    table: &Table,
    addresses: &[IpAddr],
    identification: u16,
) -> Result<Outward, Counter> {
    let Meta::Gtpu { local, peer, tos } = frame.meta else { return Err(Counter::TxWrongKind) };
    let local = if local.is_unspecified() { source(table, addresses, peer.ip())? } else { local };
    if !addresses.contains(&local) {
        return Err(Counter::TxBadSource);
    }
    let local = SocketAddr::new(local, GTPU_PORT);
    if local.is_ipv4() != peer.is_ipv4() {
        return Err(Counter::TxBadSource);
    }
    let outer = outer::wrap(local, peer, tos, identification, frame.data).map_err(|_| Counter::TxTooBig)?;
    Ok(Outward { dst: peer.ip(), outer })
}

/// The source that the route prefers, if it is one of ours, or else the first of the family.
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

    fn counters(&self) -> &Arc<Counters> {
        &self.line.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        self.line.refresh()?;
        let Self { line, addresses, .. } = self;
        Ok(line.receive(batch, |received, mac| accept::gtpu(received, mac, addresses)))
    }

    /// A frame whose next hop is not known yet counts as taken: it waits for the kernel to find it.
    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        self.line.refresh()?;
        let Self { line, addresses, identification, .. } = self;
        let chunks = frames.chunks(BATCH).map(|chunk| {
            line.send(chunk, |frame, table| {
                *identification = identification.wrapping_add(1);
                outward(frame, table, addresses, *identification)
            })
        });
        chunks.sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.line.poll_fd())
    }

    fn pending(&self) -> bool {
        self.line.device.pending()
    }
}
