//! GTP-U over a UDP socket of the kernel, IPv4 or IPv6.
//!
//! The kernel does routing, ARP and ND, checksums and fragmentation of the outer packets. Where it can, it also joins
//! received datagrams of one flow and cuts those to send, so that one message is up to 64 of them; one system call moves
//! several messages. The MTU that the port tells is that of the interface with its address when it was
//! bound, or 1500 when it is bound to all addresses.

mod address;
mod ancillary;
mod arrivals;
mod datagrams;
mod joined;
mod message;
mod offload;
mod open;
mod send;
mod train;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;

use crate::sys::mmsg::{self, Envelope, SEND};
use crate::sys::sockopt;
use crate::{BATCH, Batch, Counter, Counters, Frame, Port, PortError};
use joined::Joined;
use message::Reader;
use send::Sender;

pub use arrivals::{Arrivals, accept_from};
pub use datagrams::{Inbox, Outbox, overruns};
pub use offload::UdpOffload;
pub use open::UdpOptions;
pub(crate) use open::reserve;
pub(crate) use send::{send_all, send_failure};

/// A GTP-U port on one UDP socket.
pub struct UdpPort {
    name: String,
    socket: OwnedFd,
    local: SocketAddr,
    mtu: u32,
    receive_buffer: usize,
    offload: UdpOffload,
    counters: Arc<Counters>,
    reader: Reader,
    intake: Intake,
    sender: Sender,
}

/// How datagrams come in.
enum Intake {
    /// One by one, each into a buffer of the batch.
    Single(Box<[Envelope; BATCH]>),
    /// Joined by the kernel.
    Joined(Joined),
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

    /// Counts in the counters of a port that this one is a part of.
    pub(crate) fn count_in(&mut self, counters: &Arc<Counters>) {
        self.counters = Arc::clone(counters);
    }

    /// What the kernel does for this port.
    pub fn offload(&self) -> UdpOffload {
        self.offload
    }
}

/// Receives datagrams straight into the batch.
fn receive_singly(
    socket: impl AsFd,
    envelopes: &mut [Envelope; BATCH],
    batch: &mut Batch,
    reader: &mut Reader,
    counters: &Counters,
) -> Result<(), Errno> {
    let count = mmsg::receive(socket, envelopes, batch.free())?;
    counters.add(Counter::RxCalls, 1);
    let mut octets = 0;
    for envelope in envelopes.iter().take(count) {
        match reader.read(envelope, counters) {
            Ok(head) => {
                batch.commit(envelope.len, head.meta);
                octets += envelope.len;
            }
            Err(reason) => {
                counters.add(reason, 1);
                batch.skip();
            }
        }
    }
    counters.received(batch.len(), octets);
    Ok(())
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
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
        let Self { socket, reader, counters, .. } = self;
        let received = match &mut self.intake {
            Intake::Single(envelopes) => receive_singly(&*socket, envelopes, batch, reader, counters),
            Intake::Joined(joined) => joined.receive(&*socket, batch, reader, counters),
        };
        match received {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno @ (Errno::BADF | Errno::NOTSOCK)) => return Err(PortError::lost(&self.name, errno)),
            Err(_) => self.counters.add(Counter::RxError, 1),
        }
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let Self { name, socket, sender, counters, .. } = self;
        let mut send = |chunk| sender.send(&*socket, chunk, counters);
        frames.chunks(SEND).map(|chunk| send(chunk).map_err(|errno| PortError::lost(name, errno))).sum()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn count_losses(&mut self) {
        // A kernel that does not say it tells with the next message.
        if let Ok(total) = sockopt::drops(&self.socket) {
            self.reader.overran(total, &self.counters);
        }
    }

    fn filled(&self) -> Option<u8> {
        sockopt::memory(&self.socket).map(|memory| memory.filled)
    }

    fn pending(&self) -> bool {
        matches!(&self.intake, Intake::Joined(joined) if joined.is_waiting())
    }
}
