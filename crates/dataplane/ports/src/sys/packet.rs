//! Packet sockets: Ethernet frames below IP.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::check;
use super::sockopt::set;

/// A packet socket that receives nothing yet, and later both directions.
pub(crate) fn open_both() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)
}

/// A packet socket that receives nothing yet, and later what arrives at this host.
pub(crate) fn open() -> Result<OwnedFd, Errno> {
    let socket = open_both()?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
    Ok(socket)
}

/// The index that stands for all links of the network namespace.
pub(crate) const ALL_LINKS: u32 = 0;

/// Binds the socket: it receives all frames of the link from now on, and sends there.
pub(crate) fn bind(socket: impl AsFd, link: u32) -> Result<(), Errno> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: i32::try_from(link).map_err(|_| Errno::NODEV)?,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` octets of `address`, which lives until the call returns.
    check(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), len) })
}

/// Frames that the socket lost since the last call.
pub(crate) fn take_losses(socket: impl AsFd) -> u32 {
    let mut stats = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    let mut len = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` octets to `stats`, for which any bits are a legal value.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut len,
        )
    };
    if status == 0 { stats.tp_drops } else { 0 }
}
