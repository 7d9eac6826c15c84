//! Reads the frames of a network namespace beside whatever carries them, for a capture.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::PortError;
use crate::sys::ring::{Ring, Shape};
use crate::sys::{packet, sockopt};

/// Blocks that hold the longest frame that offloads join, delivered without haste.
const SHAPE: Shape = Shape { block: 1 << 18, retire: 20 };

/// A frame as it passed a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitoredFrame<'a> {
    /// When the kernel saw it, since the epoch of Unix.
    pub time: Duration,
    /// Its octets, from the destination address.
    pub data: &'a [u8],
    /// Its length on the wire, in octets.
    pub len: usize,
}

/// All frames of all links of one network namespace, sent and received, in a ring of memory.
///
/// The kernel copies each frame into the ring; nothing waits for the reader. A full ring loses frames of the monitor,
/// never of those who send or receive, and [`LinkMonitor::lost`] counts them.
pub struct LinkMonitor {
    socket: OwnedFd,
    ring: Ring,
    lost: u64,
}

impl LinkMonitor {
    /// Begins to monitor the namespace of the calling thread, with a ring of about that many octets.
    ///
    /// # Errors
    /// [`PortError::Permission`] without `CAP_NET_RAW`, [`PortError::PacketMissing`], or [`PortError::System`].
    pub fn open(ring: usize) -> Result<Self, PortError> {
        let failed = |errno| PortError::system("opening a packet ring", errno, "CAP_NET_RAW");
        let socket = packet::open_both().map_err(|errno| match errno {
            Errno::AFNOSUPPORT => PortError::PacketMissing,
            errno => failed(errno),
        })?;
        let ring = Ring::map(&socket, ring, SHAPE).map_err(failed)?;
        packet::bind(&socket, packet::ALL_LINKS).map_err(failed)?;
        Ok(Self { socket, ring, lost: 0 })
    }

    /// The next frame, which stays in the ring until the next call. `None`: none is there now.
    pub fn read(&mut self) -> Option<MonitoredFrame<'_>> {
        let slot = self.ring.next()?;
        Some(MonitoredFrame { time: slot.time, data: slot.data, len: slot.len })
    }

    /// Waits until frames can be read, or so long.
    pub fn wait(&self, at_most: Duration) {
        let wait = Timespec::try_from(at_most).ok();
        // An error of a link keeps the descriptor ready until it is read.
        let _ = rustix::net::sockopt::socket_error(&self.socket);
        // A call that fails waits for nothing; the caller reads and waits again.
        let _ = poll(&mut [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)], wait.as_ref());
    }

    /// From now on the kernel copies no frame into the ring, or again each.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn pause(&self, paused: bool) -> Result<(), PortError> {
        let result =
            if paused { sockopt::refuse_all(&self.socket) } else { sockopt::accept_all(&self.socket) };
        result.map_err(|errno| PortError::system("filtering a packet ring", errno, "CAP_NET_RAW"))
    }

    /// Frames that found the ring full, since it was opened.
    pub fn lost(&mut self) -> u64 {
        self.lost += u64::from(packet::take_losses(&self.socket));
        self.lost
    }
}
