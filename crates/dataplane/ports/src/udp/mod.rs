//! GTP-U over a UDP socket of the kernel, IPv4 or IPv6.
//!
//! The kernel does routing, ARP and ND, checksums and fragmentation of the outer packets. One system call
//! moves up to 32 datagrams. The MTU that the port tells is that of the interface with its address when it was
//! bound, or 1500 when it is bound to all addresses.

mod address;
mod ancillary;
mod open;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use arrayvec::ArrayVec;
use rustix::io::Errno;

use crate::sys::mmsg::{self, Envelope, Outgoing};
use crate::{BATCH, Batch, Counter, Counters, Frame, Meta, Port, PortError};
use address::SocketName;
use ancillary::Ancillary;

pub use open::UdpOptions;
pub(crate) use open::reserve;

/// A GTP-U port on one UDP socket.
pub struct UdpPort {
    name: String,
    socket: OwnedFd,
    local: SocketAddr,
    mtu: u32,
    receive_buffer: usize,
    counters: Arc<Counters>,
    envelopes: Box<[Envelope; BATCH]>,
    /// The count of overruns that the kernel told last. It wraps.
    overruns: u32,
}

impl UdpPort {
    /// The address and port that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Octets of the receive buffer that the kernel granted, its bookkeeping included.
    pub fn receive_buffer(&self) -> usize {
        self.receive_buffer
    }

    /// Makes one received message a frame, or counts why it is none.
    fn accept(&mut self, index: usize, batch: &mut Batch) {
        let Some(envelope) = self.envelopes.get(index) else { return };
        let ancillary = Ancillary::parse(envelope.control());
        if let Some(total) = ancillary.overruns {
            self.counters.add(Counter::RxOverrun, u64::from(total.wrapping_sub(self.overruns)));
            self.overruns = total;
        }
        let Some(peer) = address::parse(envelope.name()) else {
            self.counters.add(Counter::RxMalformed, 1);
            return batch.skip();
        };
        if envelope.truncated {
            self.counters.add(Counter::RxTruncated, 1);
            return batch.skip();
        }
        let local = ancillary.local.unwrap_or(self.local.ip());
        batch.commit(envelope.len, Meta::Gtpu { local, peer, tos: ancillary.tos.unwrap_or(0) });
        self.counters.received(1, envelope.len);
    }

    /// The address and the control messages of a frame, or why it cannot leave here.
    fn address(&self, frame: &Frame<'_>) -> Result<(SocketName, Ancillary), Counter> {
        let Meta::Gtpu { local, peer, tos } = frame.meta else { return Err(Counter::TxWrongKind) };
        if peer.is_ipv4() != self.local.is_ipv4() || !(local.is_unspecified() || same_family(local, peer)) {
            return Err(Counter::TxBadSource);
        }
        let local = Some(local).filter(|local| !local.is_unspecified());
        let tos = Some(tos).filter(|tos| *tos != 0);
        Ok((SocketName::new(peer), Ancillary { local, tos, overruns: None }))
    }

    /// Sends up to [`BATCH`] frames; each ends in one counter. Returns how many left.
    fn send_chunk(&self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let mut addressed = ArrayVec::<_, BATCH>::new();
        for frame in frames {
            match self.address(frame) {
                Ok((name, ancillary)) => {
                    addressed.push((name, ancillary.emit(self.local.is_ipv4()), frame.data));
                }
                Err(reason) => self.counters.add(reason, 1),
            }
        }
        let messages: ArrayVec<_, BATCH> = addressed
            .iter()
            .map(|(name, control, payload)| Outgoing { name: name.octets(), control, header: &[], payload })
            .collect();
        send_all(&self.socket, &messages, &self.counters).map_err(|errno| PortError::lost(&self.name, errno))
    }
}

fn same_family(local: IpAddr, peer: SocketAddr) -> bool {
    local.is_ipv4() == peer.is_ipv4()
}

/// Sends messages until all left or failed, and counts each. The payloads are what is counted as octets.
///
/// # Errors
/// Only what makes the socket useless.
pub(crate) fn send_all(
    fd: impl AsFd,
    messages: &[Outgoing<'_>],
    counters: &Counters,
) -> Result<usize, Errno> {
    let (mut rest, mut sent) = (messages, 0);
    while let Some((_, others)) = rest.split_first() {
        match mmsg::send(&fd, rest) {
            Ok(n) => {
                let (left, remaining) = rest.split_at_checked(n).unwrap_or((rest, &[]));
                counters.sent(left.len(), left.iter().map(|message| message.payload.len()).sum());
                (rest, sent) = (remaining, sent + left.len());
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                counters.add(Counter::TxWouldBlock, rest.len() as u64);
                return Ok(sent);
            }
            Err(errno) => {
                counters.add(send_failure(errno).ok_or(errno)?, 1);
                rest = others;
            }
        }
    }
    Ok(sent)
}

/// The counter of a failed transmission. `None` when the descriptor is of no use any more.
pub(crate) fn send_failure(errno: Errno) -> Option<Counter> {
    Some(match errno {
        Errno::BADF | Errno::NOTSOCK | Errno::BADFD | Errno::NODEV => return None,
        Errno::AGAIN => Counter::TxWouldBlock,
        Errno::NOBUFS | Errno::NOMEM => Counter::TxNoBuffer,
        Errno::NETUNREACH | Errno::HOSTUNREACH => Counter::TxNoRoute,
        Errno::MSGSIZE => Counter::TxTooBig,
        Errno::CONNREFUSED => Counter::TxRefused,
        Errno::PERM | Errno::ACCESS => Counter::TxForbidden,
        Errno::NETDOWN | Errno::NXIO | Errno::IO => Counter::TxLinkDown,
        Errno::INVAL | Errno::ADDRNOTAVAIL => Counter::TxBadSource,
        _ => Counter::TxError,
    })
}

impl Port for UdpPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        self.mtu
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        match mmsg::receive(&self.socket, &mut self.envelopes, batch.free()) {
            Ok(count) => (0..count).for_each(|index| self.accept(index, batch)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno @ (Errno::BADF | Errno::NOTSOCK)) => return Err(PortError::lost(&self.name, errno)),
            Err(_) => self.counters.add(Counter::RxError, 1),
        }
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        frames.chunks(BATCH).map(|chunk| self.send_chunk(chunk)).sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}
