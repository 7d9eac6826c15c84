//! AF_XDP sockets: frames of one receive queue in memory that is shared with the kernel.
#![allow(unsafe_code)]

mod ring;
mod umem;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::sockopt::{option, set};
use super::{check, last_errno};
use ring::Ring;
use umem::Umem;

/// The address family (`linux/socket.h`).
const AF_XDP: u16 = 44;

/// The headroom of the kernel before each received frame (`XDP_PACKET_HEADROOM`).
pub(crate) const HEADROOM: usize = 256;

/// Octets between the start offsets of neighbouring frames to send, so that their headers do not share the sets of a
/// cache.
const STAGGER: usize = 64;

/// The memory sizes of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Octets of a chunk, 2048 or 4096: a frame may have [`HEADROOM`] fewer.
    pub(crate) chunk: usize,
    /// Frames in the receive ring, a power of two.
    pub(crate) receive: u32,
    /// Frames in the send ring, a power of two.
    pub(crate) send: u32,
}

/// The losses of a socket since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Losses {
    /// Frames not received for lack of a free chunk or of a free entry in the ring.
    pub(crate) received: u64,
    /// Frames to send that the kernel rejected.
    pub(crate) sent: u64,
}

/// A socket on one receive queue of an interface.
///
/// The first `receive` chunks of its memory circulate between the fill ring, the kernel, the receive ring and this
/// process; the others between this process, the send ring, the kernel and the completion ring. So neither direction
/// takes chunks of the other.
pub(crate) struct Socket {
    receive: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    send: Ring<libc::xdp_desc>,
    completion: Ring<u64>,
    /// Free chunks for frames to send.
    free: Vec<u64>,
    /// The chunk of the last received frame, which is returned to the kernel next.
    held: Option<u64>,
    umem: Umem,
    socket: OwnedFd,
}

impl Socket {
    /// A socket with its memory and rings, which receives nothing yet.
    ///
    /// # Errors
    /// [`Errno::NOBUFS`] when the process may not lock that much memory.
    pub(crate) fn open(sizes: Sizes) -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = AddressFamily::from_raw(AF_XDP);
        let socket = socket_with(family, SocketType::RAW, flags, None)?;
        let umem = Umem::new((sizes.receive + sizes.send) as usize, sizes.chunk)?;
        set(&socket, libc::SOL_XDP, libc::XDP_UMEM_REG, umem.registration())?;
        let rings = [
            (libc::XDP_UMEM_FILL_RING, sizes.receive),
            (libc::XDP_UMEM_COMPLETION_RING, sizes.send),
            (libc::XDP_RX_RING, sizes.receive),
            (libc::XDP_TX_RING, sizes.send),
        ];
        for (ring, size) in rings {
            set(&socket, libc::SOL_XDP, ring, size as libc::c_int)?;
        }
        let at: libc::xdp_mmap_offsets = option(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let of_send = |n: u32| u64::from(sizes.receive + n) * sizes.chunk as u64;
        let mut opened = Self {
            receive: Ring::map(&socket, libc::XDP_PGOFF_RX_RING as u64, at.rx, sizes.receive)?,
            send: Ring::map(&socket, libc::XDP_PGOFF_TX_RING as u64, at.tx, sizes.send)?,
            fill: Ring::map(&socket, libc::XDP_UMEM_PGOFF_FILL_RING, at.fr, sizes.receive)?,
            completion: Ring::map(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, at.cr, sizes.send)?,
            free: (0..sizes.send).rev().map(of_send).collect(),
            held: None,
            umem,
            socket,
        };
        for n in 0..sizes.receive {
            opened.fill.produce(u64::from(n) * sizes.chunk as u64);
        }
        opened.fill.publish_produced();
        Ok(opened)
    }

    /// Binds the socket: it receives the frames that an XDP program sends it from that queue. `zero_copy`: the driver
    /// writes into the socket's memory.
    pub(crate) fn bind(&self, interface: u32, queue: u32, zero_copy: bool) -> Result<(), Errno> {
        let mode = if zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
        let address = libc::sockaddr_xdp {
            sxdp_family: AF_XDP,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | mode,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let len = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: the kernel reads `len` octets of `address`, which lives until the call returns.
        check(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), len) })
    }

    /// [`Socket::next`] has a frame.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.receive.is_ready()
    }

    /// The used part of the receive ring, in percent.
    pub(crate) fn fill_percent(&self) -> u8 {
        self.receive.fill_percent()
    }

    /// Octets of the largest frame that can be sent.
    pub(crate) const fn frame_size(&self) -> usize {
        self.umem.chunk_size()
    }

    /// The next received frame, valid until this or [`Socket::finish_receive`] is called.
    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        self.give_back();
        let descriptor = self.receive.consume()?;
        self.held = Some(self.umem.chunk_of(descriptor.addr));
        // SAFETY: the kernel has passed the chunk to this process by the receive ring, and only `give_back` returns
        // it, which borrows the socket mutably and so ends the lifetime of the slice.
        let octets = unsafe { self.umem.octets(descriptor.addr, descriptor.len as usize) };
        Some(octets.unwrap_or_default())
    }

    fn give_back(&mut self) {
        if let Some(chunk) = self.held.take() {
            // The ring has as many entries as chunks circulate.
            self.fill.produce(chunk);
        }
    }

    /// Returns all received frames to the kernel.
    pub(crate) fn finish_receive(&mut self) {
        self.give_back();
        self.receive.publish_consumed();
        self.fill.publish_produced();
        if self.fill.needs_wakeup() {
            // SAFETY: no octet is received; the call only makes the driver read the fill ring.
            let _ =
                unsafe { libc::recv(self.socket.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        }
    }

    /// Copies a frame, header and payload, into a chunk for the kernel. `false` when no chunk is free.
    pub(crate) fn put(&mut self, header: &[u8], payload: &[u8]) -> bool {
        let len = header.len() + payload.len();
        let Some(spare) = self.umem.chunk_size().checked_sub(len) else { return false };
        let Some(chunk) = self.take_chunk() else { return false };
        let number = chunk as usize / self.umem.chunk_size();
        let start = chunk + (number * STAGGER % (HEADROOM + STAGGER)).min(spare) as u64;
        // SAFETY: the chunk was in the list of free ones, so neither the kernel nor a slice refers to it.
        let octets = unsafe { self.umem.octets_mut(start, len) }.unwrap_or_default();
        if let Some((front, back)) = octets.split_at_mut_checked(header.len()) {
            front.copy_from_slice(header);
            back.copy_from_slice(payload);
        }
        // The ring has as many entries as chunks: one is free.
        self.send.produce(libc::xdp_desc { addr: start, len: len as u32, options: 0 })
    }

    fn take_chunk(&mut self) -> Option<u64> {
        if self.free.is_empty() {
            self.complete();
        }
        self.free.pop()
    }

    /// Takes back the chunks of transmitted frames.
    fn complete(&mut self) {
        while let Some(address) = self.completion.consume() {
            self.free.push(self.umem.chunk_of(address));
        }
        self.completion.publish_consumed();
    }

    /// Submits the queued frames, and makes the kernel send them. Returns how many wait for another call, because the
    /// interface accepts no more for now.
    ///
    /// # Errors
    /// The error of the kernel about the interface; the frames stay queued.
    pub(crate) fn flush(&mut self) -> Result<u32, Errno> {
        self.send.publish_produced();
        let mut waiting = self.send.waiting();
        while waiting > 0 && self.send.needs_wakeup() {
            match self.wake_kernel() {
                Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            let now = self.send.waiting();
            // The kernel sends some 32 frames in one call; when it sends none, the interface is full.
            if now == waiting {
                break;
            }
            waiting = now;
        }
        // A driver that needs no call sends the rest by itself.
        Ok(if self.send.needs_wakeup() { waiting } else { 0 })
    }

    fn wake_kernel(&self) -> Result<(), Errno> {
        // SAFETY: no octet is sent and no address read; the call only makes the kernel read the send ring.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if sent == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// The losses so far.
    pub(crate) fn losses(&self) -> Losses {
        let stats: Result<libc::xdp_statistics, _> =
            option(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS);
        stats.map_or(Losses::default(), |stats| Losses {
            received: stats.rx_dropped + stats.rx_ring_full,
            sent: stats.tx_invalid_descs,
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
