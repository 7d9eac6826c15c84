//! GTP-U over a UDP socket of the kernel, IPv4 or IPv6.
//!
//! The kernel provides routing, ARP and ND, checksums and fragmentation of the outer packets. Where it supports that,
//! it also joins received datagrams of one flow and segments those to send, so that one message holds up to 64 of
//! them; one system call moves several messages. The MTU of the port is that of the interface with its address when
//! it was bound, or 1500 when it is bound to all addresses.

mod address;
mod ancillary;
mod datagrams;
mod gro;
mod gso;
mod interface_filter;
mod message;
mod offload;
mod open;
mod pfcp_selection;
mod send;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use causeway_packet::{BATCH, Batch, Frame};
use rustix::io::Errno;

use crate::sys::mmsg::{self, MessageMeta, SEND};
use crate::sys::sockopt;
use crate::{Counter, Counters, Port, PortError};
use gro::GroReceiver;
use message::MessageParser;
use send::Sender;

pub use datagrams::{DatagramReceiver, DatagramSender, overruns, queued_octets};
pub use interface_filter::{InterfaceFilter, InterfaceGuard, SocketSelection};
pub use offload::UdpOffload;
pub use open::UdpOptions;
pub(crate) use open::bind_refusing;
pub use pfcp_selection::{
    pfcp_socket_of, pfcp_socket_of_datagram, pfcp_socket_of_new, pfcp_socket_of_sequence, select_pfcp_socket,
};
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
    reader: MessageParser,
    intake: ReceiveMode,
    sender: Sender,
}

/// How datagrams are received.
enum ReceiveMode {
    /// Singly, each into a buffer of the batch.
    Single(Box<[MessageMeta; BATCH]>),
    /// Joined by the kernel.
    Joined(GroReceiver),
}

impl UdpPort {
    /// The address and port that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Octets of the receive buffer that the kernel granted, its overhead included.
    pub fn receive_buffer(&self) -> usize {
        self.receive_buffer
    }

    /// Uses the counters of the port that this one is a part of.
    pub(crate) fn use_counters(&mut self, counters: &Arc<Counters>) {
        self.counters = Arc::clone(counters);
    }

    /// The offloads in use.
    pub fn offload(&self) -> UdpOffload {
        self.offload
    }
}

/// Receives datagrams directly into the batch.
fn receive_each(
    socket: impl AsFd,
    message_metas: &mut [MessageMeta; BATCH],
    batch: &mut Batch,
    reader: &mut MessageParser,
    counters: &Counters,
) -> Result<(), Errno> {
    let count = mmsg::receive(socket, message_metas, batch.free())?;
    counters.add(Counter::RxCalls, 1);
    let mut octets = 0;
    for message_meta in message_metas.iter().take(count) {
        match reader.read(message_meta, counters) {
            Ok(head) => {
                batch.commit(message_meta.len, head.meta);
                octets += message_meta.len;
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
            ReceiveMode::Single(message_metas) => {
                receive_each(&*socket, message_metas, batch, reader, counters)
            }
            ReceiveMode::Joined(joined) => joined.receive(&*socket, batch, reader, counters),
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
        // A kernel without this option reports it with the next message.
        if let Ok(total) = sockopt::drops(&self.socket) {
            self.reader.record_overruns(total, &self.counters);
        }
    }

    fn fill_percent(&self) -> Option<u8> {
        sockopt::memory(&self.socket).map(|memory| memory.filled)
    }

    fn has_pending(&self) -> bool {
        matches!(&self.intake, ReceiveMode::Joined(joined) if joined.is_waiting())
    }
}
